package runs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A new file of a state folder is one that forge reset knows, too: whatever the
// program's own text joins to a state folder.
func TestResetKnowsEveryNameOfTheStateFolder(t *testing.T) {
	t.Parallel()
	joined := regexp.MustCompile(`Join\([\w.]*\b[sS]tate(?:Dir)?, "([^"]+)"`)
	found := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		body, err := os.ReadFile(path)
		for _, m := range joined.FindAllStringSubmatch(string(body), -1) {
			found[m[1]] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 12 {
		t.Fatalf("only %d names were found, the pattern is old: %v", len(found), found)
	}
	p := with(t)
	for name, path := range found {
		if strings.HasSuffix(name, "-") { // more is put to it
			name += "0123456789ab.json"
		}
		at := filepath.Join(p.State, name)
		if _, err := os.Lstat(at); err == nil {
			continue
		}
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(p.State)
		if err != nil {
			t.Fatal(err)
		}
		if err := (&Leftovers{p: p}).isState(entries); err != nil {
			t.Errorf("%s keeps %s, which forge reset does not know: %v", path, name, err)
			_ = os.Remove(at)
		}
	}
}
