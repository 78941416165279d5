package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	testThere = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
)

// Every row of the threat table names tests that there are.
func TestThreatsAreHeldByTests(t *testing.T) {
	there := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testThere.FindAllStringSubmatch(string(text), -1) {
			there[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(section(page(t, "SECURITY.md"), "Who may want what, how it is held, and by which test")) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| who |") {
			continue
		}
		rows++
		named := namedTest.FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, m := range named {
			if !there[m[1]] {
				t.Errorf("%s is no test: %s", m[1], line)
			}
		}
	}
	if rows < 15 {
		t.Errorf("only %d rows were read", rows)
	}
}
