package opened

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStore(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "opened"))
	tree, empty := strings.Repeat("a1", 20), strings.Repeat("b2", 20)
	if err := s.Keep(tree, []string{"b.csv", "a/c.json", "b.csv"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(empty, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.Of(tree); !slices.Equal(got, []string{"a/c.json", "b.csv"}) {
		t.Errorf("opened %q", got)
	}
	if got := s.Of(empty); got == nil || len(got) != 0 {
		t.Errorf("traced, and nothing was opened: %v", got)
	}
	if got := s.Of(strings.Repeat("c3", 20)); got != nil {
		t.Errorf("never traced: %q", got)
	}
	if err := os.WriteFile(s.file(tree), []byte(`["a`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.Of(tree); got != nil {
		t.Errorf("of a broken file: %q", got)
	}
}

// A name that is none of git's leads nowhere, and a store without a folder
// keeps nothing.
func TestStoreKeepsToItsFolder(t *testing.T) {
	dir := t.TempDir()
	s := New(filepath.Join(dir, "opened"))
	for _, tree := range []string{"", "../../" + strings.Repeat("a", 40), strings.Repeat("A", 40)} {
		if err := s.Keep(tree, []string{"x"}); err != nil || s.Of(tree) != nil {
			t.Errorf("%q: %v, %q", tree, err, s.Of(tree))
		}
	}
	if found, _ := os.ReadDir(dir); len(found) != 0 {
		t.Errorf("made %v", found)
	}
	tree := strings.Repeat("a", 40)
	if err := New("").Keep(tree, []string{"x"}); err != nil || New("").Of(tree) != nil {
		t.Error("a store without a folder keeps something")
	}
}
