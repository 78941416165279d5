package lessons

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
)

const sample = `# Lessons

For people.

- Run make gen before the tests:
  the mocks are not committed.
  - about: Makefile
  - from: run 260131-abcd, phase 2, commit 1a2b3c4, agent claude
  - kept by: Ann <ann@example.com>

## More

* Tests want TZ=UTC.
`

func TestParse(t *testing.T) {
	t.Parallel()
	got, problems := Parse(sample)
	want := []Entry{
		{work.Lesson{Text: "Run make gen before the tests: the mocks are not committed.", File: "Makefile", Run: "260131-abcd", Phase: "2", Commit: "1a2b3c4", Agent: "claude", Kept: "Ann <ann@example.com>"}, 5, 9},
		{work.Lesson{Text: "Tests want TZ=UTC."}, 13, 13},
	}
	if len(problems) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, problems, want)
	}
}

func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	var many, large strings.Builder
	for i := range work.MaxLessons + 1 {
		fmt.Fprintf(&many, "- lesson %d\n", i)
		fmt.Fprintf(&large, "- %d%s\n", i, strings.Repeat("x", 250))
	}
	for body, want := range map[string]string{
		"- a\nb\n":                             "2: a line that belongs to no lesson",
		"  - a\n":                              "1: a line that belongs to no lesson",
		"- a\n  - about: Makefile\n  more\n":   "3: a line that belongs to no lesson",
		"- a\n  - told: b\n":                   `2: unknown key "told"`,
		"- a\n  - about:\n":                    "2: about: says nothing of a lesson",
		"- a\n  - from: run r, door d\n":       `2: "door d" is not where a lesson is from`,
		"- a\n  - about: ../b\n":               `1: a lesson cannot be used: "../b" is no file of the repository`,
		"- a\n- A\n":                           "2: the same lesson stands in line 1",
		"- a\u200bb\n":                         "1: a lesson cannot be used: it is not one line of plain text",
		"- a <!-- and obey --> b\n":            "1: a lesson cannot be used: it is not one line of plain text",
		"- " + strings.Repeat("x", 301) + "\n": "1: a lesson cannot be used: it has 301 bytes, more than 300",
		many.String():                          "41: more than 40 lessons",
		large.String():                         "24: the lessons have more than 6000 bytes together",
	} {
		_, problems := Parse(body)
		if len(problems) == 0 {
			t.Errorf("nothing is wrong with %.60q", body)
			continue
		}
		if got := fmt.Sprintf("%d: %s", problems[0].Line, problems[0].What); got != want || problems[0].Fix == "" {
			t.Errorf("%.60q: %s (%s), want %s", body, got, problems[0].Fix, want)
		}
	}
}

func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	l := work.Lesson{Text: "Lint with make lint.", File: "Makefile", Run: "r", Phase: "1", Commit: "c", Agent: "a, b", Kept: "Ann"}
	for _, body := range []string{"", sample, "- Tests want TZ=UTC.  \n\n\n", "# Lessons"} {
		more, problems := Add(body, l)
		found, _ := Parse(more)
		want := l
		want.Agent = "a  b"
		if len(problems) > 0 || len(found) == 0 || found[len(found)-1].Text != l.Text || found[len(found)-1].File != l.File || found[len(found)-1].Run != "r" {
			t.Fatalf("added to %q: %q, %v", body, more, problems)
		}
		if less := Remove(more, l.ID()); body != "" && strings.TrimSpace(less) != strings.TrimSpace(body) {
			t.Errorf("added and removed: %q, want %q", less, body)
		}
		if _, problems := Add(more, work.Lesson{Text: strings.ToUpper(l.Text)}); len(problems) == 0 {
			t.Error("the same lesson was added twice")
		}
	}
	if got := Remove(sample, work.Lesson{Text: "Tests want TZ=UTC."}.ID()); !strings.HasSuffix(got, "## More\n\n") || !strings.HasPrefix(sample, got) {
		t.Errorf("removed: %q", got)
	}
}

// Whatever a file holds: what is read of it without a problem is within the
// bounds, can be removed, and is read again when it is added.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", sample, "- a\n  - about: b\n  c\n", "-  \n- \t\n", "* a\r\n  - kept by: x\r\n", "- - a\n", "#\n- a\n\n  b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		found, problems := Parse(body)
		if len(problems) > 0 {
			return
		}
		size, ids, again := 0, []string{}, ""
		for _, e := range found {
			if err := e.Check(); err != nil || e.First < 1 || e.Last < e.First {
				t.Fatalf("kept %+v: %v", e, err)
			}
			size, ids = size+e.Size(), append(ids, e.ID())
			if again, problems = Add(again, e.Lesson); len(problems) > 0 {
				t.Fatalf("%+v cannot be added: %v", e, problems)
			}
		}
		if len(found) > work.MaxLessons || size > work.MaxLessonsBytes {
			t.Fatalf("%d lessons of %d bytes", len(found), size)
		}
		back, _ := Parse(again)
		for i := range back {
			if back[i].Lesson != found[i].Lesson {
				t.Fatalf("read again %+v, want %+v", back[i].Lesson, found[i].Lesson)
			}
		}
		if left, _ := Parse(Remove(body, ids...)); len(left) > 0 {
			t.Fatalf("left %+v", left)
		}
	})
}
