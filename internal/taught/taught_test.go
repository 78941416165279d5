package taught

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/project"
	"forge/internal/work"
)

func learned(outside bool) Learned {
	return Learned{Run: "r", Outside: outside, Lessons: []Proposal{
		{1, work.Lesson{Text: "a", Phase: "01", Agent: "x"}, false}, {2, work.Lesson{Text: "b", Agent: "x"}, true}, {3, work.Lesson{Text: "c", Agent: "x"}, false},
	}}
}

// What came of an issue from outside is kept by naming each, and never in one go.
func TestWhatComesFromOutsideIsNamedOneByOne(t *testing.T) {
	t.Parallel()
	theirs := learned(true)
	if got, err := theirs.Chosen("all"); err == nil || got != nil {
		t.Errorf("all of it is kept: %+v, %v", got, err)
	}
	if got, err := theirs.Chosen("3, 1"); err != nil || len(got) != 2 || got[0].Text != "c" || got[1].Text != "a" {
		t.Errorf("chosen %+v, %v", got, err)
	}
	if !strings.Contains(theirs.String(), "from outside") {
		t.Errorf("nobody is warned:\n%s", theirs)
	}
	own := learned(false)
	if got, err := own.Chosen("all"); err != nil || len(got) != 2 {
		t.Errorf("all of the own: %+v, %v", got, err)
	}
	for _, words := range []string{"", "0", "4", "1,,2", "-1", "ALL"} {
		if got, err := own.Chosen(words); err == nil {
			t.Errorf("%q chose %+v", words, got)
		}
	}
}

// All are kept or none, in the name of who says so; what is bounded stays so.
func TestKeepAndRemove(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := &project.Checkout{Base: work.Base{RepoRoot: root}, Env: project.Env{Environ: []string{"USER=ann"}}}
	file := filepath.Join(root, ".forge/lessons.md")
	if _, err := Keep(p, work.Lesson{Text: "a"}, work.Lesson{Text: "A"}); err == nil {
		t.Error("the same lesson is kept twice")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("one of two is kept")
	}
	l := work.Lesson{Text: "run make gen", File: "Makefile", Run: "r", Commit: "0123456789abcdef", Agent: "x", Kept: "the agent itself"}
	if _, err := Keep(p, l); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(body), "- kept by: ann\n") || !strings.Contains(string(body), "commit 0123456789ab,") {
		t.Errorf("%s, %v", body, err)
	}
	for i := 0; ; i++ {
		if _, err := Keep(p, work.Lesson{Text: strings.Repeat("y", 200) + string(rune('a'+i))}); err != nil {
			if i < 20 || !strings.Contains(err.Error(), "more than 6000 bytes together") {
				t.Errorf("after %d: %v", i, err)
			}
			break
		}
	}
	if _, err := Remove(p, l.ID()[:3], l.ID()); err != nil {
		t.Error(err)
	}
	if body, _ := os.ReadFile(file); strings.Contains(string(body), "make gen") {
		t.Errorf("it stands there still:\n%s", body)
	}
	// One line that cannot be used does not keep a person from removing it.
	if err := os.WriteFile(file, []byte("- a\n- "+strings.Repeat("z", 400)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Remove(p, work.Lesson{Text: strings.Repeat("z", 400)}.ID()); err != nil {
		t.Error(err)
	}
	if body, _ := os.ReadFile(file); !slices.Equal(strings.Fields(string(body)), []string{"-", "a"}) {
		t.Errorf("left %q", body)
	}
}
