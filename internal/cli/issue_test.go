package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/work"
)

func TestIssueFormComesBack(t *testing.T) {
	word := rapid.StringMatching(`[a-zé:#-]{1,8}( [a-z:]{1,5})?`)
	rapid.Check(t, func(t *rapid.T) {
		i := work.Issue{
			ID: 3, Title: word.Draw(t, "title"), Priority: work.PriorityHigh, Level: rapid.SampledFrom([]string{"", "full"}).Draw(t, "level"),
			Labels: rapid.SliceOfN(word, 0, 3).Draw(t, "labels"), Needs: rapid.SliceOfN(rapid.Int64Range(1, 99), 0, 3).Draw(t, "needs"),
			Description: rapid.SampledFrom([]string{"", "a", "a\n", "---\n", "a\n\n---\nb\n", "\n", "title: x"}).Draw(t, "description"),
		}
		for n, text := range rapid.SliceOfN(word, 0, 3).Draw(t, "criteria") {
			i.Criteria = append(i.Criteria, work.Criterion{ID: "c" + string(rune('1'+2*n)), Text: text})
			i.CriteriaGiven = 2*n + 1
		}
		got, err := readIssueForm(i, issueForm(i))
		if err != nil {
			t.Fatal(err)
		}
		if len(i.Labels) == 0 {
			got.Labels = i.Labels
		}
		if len(i.Needs) == 0 {
			got.Needs = i.Needs
		}
		if !reflect.DeepEqual(got, i) {
			t.Fatalf("form\n%s\ngave %+v, want %+v", issueForm(i), got, i)
		}
	})
}

func TestIssueFormIsRefused(t *testing.T) {
	i := work.Issue{ID: 3, Title: "a", Priority: work.PriorityLow, Criteria: []work.Criterion{{ID: "c1", Text: "x"}}, CriteriaGiven: 4}
	form := issueForm(i)
	for name, c := range map[string][3]string{
		"no rule":           {"---\n", "", "the line --- is gone"},
		"unknown field":     {"level:", "policy:", `unknown field: "policy:"`},
		"field twice":       {"level:", "level:\nlevel:", "the field stands twice"},
		"field gone":        {"level:\n", "", `the line "level:" is gone`},
		"not a field":       {"level:", "hello\nlevel:", "line 5: not a field"},
		"criteria inline":   {"criteria:", "criteria: x", "criteria stand below"},
		"item too early":    {"title:", "- c1: x\ntitle:", "unknown field"},
		"need not a number": {"needs:", "needs: one", `"one" is not the number`},
	} {
		_, err := readIssueForm(i, strings.Replace(form, c[0], c[1], 1))
		if err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v, want %q", name, err, c[2])
		}
	}
	got, err := readIssueForm(i, strings.Replace(form, "- c1: x", "- c2: new\r\n- also new\r\n", 1))
	want := []work.Criterion{{ID: "c5", Text: "c2: new"}, {ID: "c6", Text: "also new"}}
	if err != nil || !reflect.DeepEqual(got.Criteria, want) {
		t.Errorf("criteria %+v, %v, want %+v", got.Criteria, err, want)
	}
}

// Whatever is written into the form: it is refused, or what it gives comes back
// from a form of its own.
func FuzzIssueForm(f *testing.F) {
	i := work.Issue{ID: 3, Title: "a", Priority: work.PriorityLow, Description: "d\n", Criteria: []work.Criterion{{ID: "c1", Text: "x"}}, CriteriaGiven: 1}
	f.Add(issueForm(i))
	f.Add("title: b\npriority: x\nlabels: a,,b , c\nneeds: #1, 2\nlevel:\ncriteria:\n- c1: y\n- c9: z\n\n---\n---\n")
	f.Add("---\n")
	f.Fuzz(func(t *testing.T, text string) {
		now, err := readIssueForm(i, text)
		if err != nil || len(now.Check()) > 0 {
			return
		}
		for _, c := range now.Criteria {
			now.CriteriaGiven = max(now.CriteriaGiven, c.Number())
		}
		again, err := readIssueForm(now, issueForm(now))
		if err != nil || !reflect.DeepEqual(again, now) {
			t.Fatalf("%+v\ncame back as %+v, %v", now, again, err)
		}
	})
}

// A state folder that several checkouts share has a board for each; one whose
// folder was moved is found again.
func TestBoardsOfSeveralCheckouts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.forge("issue", "add", "mine").want(exitDone)
	other := *w
	other.root = filepath.Join(filepath.Dir(w.root), "other", filepath.Base(w.root))
	if err := os.MkdirAll(other.root, 0o755); err != nil {
		t.Fatal(err)
	}
	other.git("init", "--quiet", ".")
	other.git("commit", "--quiet", "--allow-empty", "-m", "first")
	other.forge("issue", "list").want(exitDone).says("The board is empty")
	other.forge("issue", "add", "theirs").want(exitDone).says("#1 theirs")
	w.forge("issue", "show", "1").want(exitDone).says("#1 mine")
	moved := w.root + "-moved"
	if err := os.Rename(w.root, moved); err != nil {
		t.Fatal(err)
	}
	w.root = moved
	w.forge("issue", "list").want(exitDone).says("mine")
	w.forge("issue", "add", "more").want(exitDone).says("#2 more")
	other.forge("issue", "show", "1").want(exitDone).says("#1 theirs")
}

func TestIssueDescriptionIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("long.md", strings.Repeat("x", work.MaxIssueDescription+1))
	w.write("fits.md", strings.Repeat("x", work.MaxIssueDescription-2)+"\r\n")
	w.forge("issue", "add", "a", "--file", "long.md").want(exitUsage).warns("description: it has", "more than 262144")
	w.forge("issue", "add", "a", "--file", "fits.md").want(exitDone)
	w.fed("a\x1b[2J", "issue", "add", "b", "--description", "-").want(exitUsage).warns("line 1 has the control character U+001B")
}
