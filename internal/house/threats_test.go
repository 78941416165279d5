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
	rows := rowsWithTests(t, section(page(t, "SECURITY.md"), "Who may want what, how it is held, and by which test"))
	if rows < 15 {
		t.Errorf("only %d rows were read", rows)
	}
}

// So does every promise of what stays between versions. Rows that promise nothing
// have no test.
func TestPromisesAreHeldByTests(t *testing.T) {
	var promises strings.Builder
	for line := range strings.Lines(section(page(t, "docs/compatibility.md"), "What you may build on")) {
		if !strings.Contains(line, "| nothing. ") {
			promises.WriteString(line)
		}
	}
	if rows := rowsWithTests(t, promises.String()); rows < 9 {
		t.Errorf("only %d rows were read", rows)
	}
}

// rowsWithTests counts the rows of a table, and fails for those that name no test
// or one that is not there.
func rowsWithTests(t *testing.T, table string) (rows int) {
	t.Helper()
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
	headed := false
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		if !headed || strings.HasPrefix(line, "|---") {
			headed = true
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
	return rows
}
