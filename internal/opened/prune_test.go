package opened

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPruneByAgeAndNumber(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "opened"))
	now := time.Now()
	name := func(n int) string { return fmt.Sprintf("%040x", n) }
	old := func(path string, age time.Duration) {
		t.Helper()
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Keep(name(0), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if err := s.KeepWrites(name(0)); err != nil {
		t.Fatal(err)
	}
	old(s.file(name(0)), MostAge+time.Hour)
	old(s.writes(name(0)), MostAge-time.Hour)
	for n := 1; n <= MostFiles; n++ {
		if err := os.WriteFile(s.file(name(n)), []byte("[]"), 0o600); err != nil {
			t.Fatal(err)
		}
		old(s.file(name(n)), time.Duration(n)*time.Second)
	}
	var said []string
	for _, dry := range []bool{true, false} {
		said = nil
		if err := s.Prune(now, dry, func(path string) { said = append(said, filepath.Base(path)) }); err != nil {
			t.Fatal(err)
		}
		if want := name(0) + ".writes " + name(0) + ".json"; strings.Join(said, " ") != want {
			t.Errorf("dry %t: pruned %q, want %s", dry, said, want)
		}
	}
	if s.Of(name(0)) != nil || s.Writes(name(0)) || s.Of(name(MostFiles)) == nil {
		t.Error("kept what is old, or removed what is not")
	}

	// Keeping one more makes room by itself.
	if err := s.Keep(name(MostFiles+1), nil); err != nil {
		t.Fatal(err)
	}
	if s.Of(name(MostFiles)) != nil {
		t.Error("one more than there may be is kept")
	}
}
