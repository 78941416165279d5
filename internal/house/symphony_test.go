package house

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	requirement = regexp.MustCompile("(?m)^\\| ([0-9]+(?:\\.[0-9]+)+) \\| ([^|]+) \\| ([^|]+) \\| `(Test[A-Za-z0-9]+)` \\|$")
	testFunc    = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(t \*testing\.T\)`)
)

// TestSymphonyTable holds docs/symphony.md: each requirement of the specification has
// its row, in order, says whether it is kept, and names a test that is there.
func TestSymphonyTable(t *testing.T) {
	t.Parallel()
	holdsTable(t, "docs/symphony.md", []tablePart{{"18.1", 18}, {"17.1", 15}, {"17.2", 12}, {"17.3", 9}, {"17.4", 15}, {"17.5", 17}, {"17.6", 6}, {"17.7", 6}})
}

// TestListeningTable holds the same of docs/listening.md.
func TestListeningTable(t *testing.T) {
	t.Parallel()
	holdsTable(t, "docs/listening.md", []tablePart{{"1", 16}, {"3", 7}})
}

// tablePart is how many rows a part of a table has.
type tablePart struct {
	name string
	most int
}

func holdsTable(t *testing.T, name string, parts []tablePart) {
	t.Helper()
	tests := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		body, err := fs.ReadFile(os.DirFS(root), path)
		for _, m := range testFunc.FindAllStringSubmatch(string(body), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, part := range parts {
		for n := range part.most {
			want = append(want, fmt.Sprintf("%s.%d", part.name, n+1))
		}
	}
	var got []string
	for _, m := range requirement.FindAllStringSubmatch(page(t, name), -1) {
		got = append(got, m[1])
		if kept, _, _ := strings.Cut(m[3], ":"); !strings.HasPrefix(m[3], "as it says") && kept != "stricter" && kept != "otherwise" {
			t.Errorf("%s says %q: as it says, stricter or otherwise", m[1], m[3])
		}
		if !tests[m[4]] {
			t.Errorf("%s names %s, which is no test", m[1], m[4])
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the rows are\n%v\nwant\n%v", got, want)
	}
}
