package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// easel is a host of which pictures alone are asked.
type easel struct {
	host.Host
	text []string // texts in their order, each with how many pictures there were by then
	all  []work.PullPicture
	err  error
	none bool
}

func (e *easel) Pictures(_ context.Context, number int64, all []work.PullPicture) ([]string, error) {
	if e.none || e.err != nil {
		return nil, e.err
	}
	if number != 7 {
		return nil, fmt.Errorf("pull request %d", number)
	}
	e.all = all
	var out []string
	for _, one := range all {
		out = append(out, "https://host.example/"+one.Sum)
	}
	return out, nil
}

func (e *easel) opens(pictures text.Markdown) (int64, error) {
	e.text = append(e.text, pictures.String())
	return 7, nil
}

func TestPicturesOfPages(t *testing.T) {
	t.Parallel()
	sum := func(c string) string { return strings.Repeat(c, 64) }
	changed := work.PageShown{URL: "http://localhost:1/", Before: sum("a"), After: sum("b"), Marked: sum("c"), Changed: 3, Of: 100}
	same := work.PageShown{URL: "http://localhost:2/", Before: sum("d"), After: sum("d"), Of: 100}
	lost := work.PageShown{URL: "http://localhost:3/", Problem: "nothing listens"}
	sizes := map[string]int{}
	kept := func(_ context.Context, sum string) ([]byte, error) {
		if n := sizes[sum]; n < 0 {
			return nil, errors.New("it is gone")
		}
		return make([]byte, max(sizes[sum], 1)), nil
	}
	for _, c := range []struct {
		name   string
		number int64
		pages  []work.PageShown
		sizes  map[string]int
		host   easel
		keeps  bool
		texts  int
		shown  string // the sums' letters, in order
		away   bool
	}{
		{"no pages", 0, nil, nil, easel{}, true, 1, "", false},
		{"a new pull request is opened first", 0, []work.PageShown{changed, same}, nil, easel{}, true, 2, "abcd", false},
		{"one that there is gets one text", 7, []work.PageShown{changed, same, lost}, nil, easel{}, true, 1, "abcd", false},
		{"twice the same", 7, []work.PageShown{changed, changed}, nil, easel{}, true, 1, "abc", false},
		{"one is too large", 7, []work.PageShown{changed}, map[string]int{sum("b"): mostPictureBytes + 1}, easel{}, true, 1, "ac", true},
		{"all are too large together", 7, []work.PageShown{changed, same, {After: sum("e")}, {After: sum("f")}},
			map[string]int{sum("a"): mostPictureBytes, sum("b"): mostPictureBytes, sum("c"): mostPictureBytes, sum("d"): mostPictureBytes - 1, sum("e"): 2}, easel{}, true, 1, "abcdf", true},
		{"one is gone", 7, []work.PageShown{changed}, map[string]int{sum("a"): -1}, easel{}, true, 1, "bc", true},
		{"the host fails", 7, []work.PageShown{changed}, nil, easel{err: errors.New("500")}, true, 1, "", true},
		{"the host takes none", 7, []work.PageShown{changed}, nil, easel{none: true}, true, 1, "", true},
		{"they are for nobody outside", 0, []work.PageShown{changed}, nil, easel{}, false, 1, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			sizes = c.sizes
			e := c.host
			h := &Port{Host: &e}
			if c.keeps {
				h.Picture = kept
			}
			if err := h.OpenWith(t.Context(), c.number, c.pages, e.opens); err != nil {
				t.Fatal(err)
			}
			var shown string
			for _, one := range e.all {
				shown += one.Sum[:1]
			}
			if shown != c.shown || len(e.text) != c.texts {
				t.Errorf("%q are shown in %d texts, want %q in %d", shown, len(e.text), c.shown, c.texts)
			}
			last := e.text[len(e.text)-1]
			for _, one := range e.all {
				if !strings.Contains(last, "](https://host.example/"+one.Sum+") ") {
					t.Errorf("the text does not show %s:\n%s", one.Sum, last)
				}
			}
			if strings.Contains(last, "on the page of the run") != c.away {
				t.Errorf("what is not there is said, want %v:\n%s", c.away, last)
			}
			if n := slices.IndexFunc(c.pages, func(p work.PageShown) bool { return !strings.Contains(last, text.Format("%s", p.Line()).String()) }); n >= 0 {
				t.Errorf("page %d is not said:\n%s", n, last)
			}
		})
	}
}
