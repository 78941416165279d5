package verify

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/opened"
	"forge/internal/work"
)

// TestTrace sees what is opened after setup, also where its reader sets the
// time of access back, and says of a folder in which nothing was that nobody
// can tell.
func TestTrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"setup.json", "read.csv", "hidden.csv", "idle.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen, err := newTrace(dir)
	if err != nil {
		t.Fatal(err)
	}
	if seen.files == nil {
		t.Skip("this file system keeps no times of access")
	}
	open := func(name string) {
		if _, err := os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	open("setup.json")
	seen.begin()
	if paths, ok := seen.opened(); ok {
		t.Errorf("nothing was opened: %q", paths)
	}
	open("read.csv")
	open("hidden.csv")
	info, err := os.Stat(filepath.Join(dir, "hidden.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "hidden.csv"), longAgo(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	paths, ok := seen.opened()
	slices.Sort(paths)
	if want := []string{"hidden.csv", "read.csv"}; !ok || !slices.Equal(paths, want) {
		t.Errorf("opened %q, %t; want %q", paths, ok, want)
	}
}

// However many sources a tree has, its data is traced.
func TestTracedOfLargeTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.go", "b.go", "c.csv", "d.go", "e.unknown", "f.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for most, want := range map[int]string{0: "c.csv e.unknown", 1: "c.csv e.unknown", 3: "a.go c.csv e.unknown", 9: "a.go b.go c.csv d.go e.unknown f.go"} {
		paths, err := traced(dir, most)
		if err != nil {
			t.Fatal(err)
		}
		for i := range paths {
			paths[i] = filepath.Base(paths[i])
		}
		slices.Sort(paths)
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("of at most %d: %s, want %s", most, got, want)
		}
	}
}

// withTrees is a checkout that names the trees of its commits.
type withTrees struct{ Checkout }

func (withTrees) TreeOf(_ context.Context, commit string) (string, error) {
	if commit == "nobody's" {
		return "", errors.New("not there")
	}
	return strings.Repeat("ab", 20), nil
}

// TestVerifyKeepsWhatWasOpened: a green verify keeps the data that its commands
// opened, by the tree; a red one keeps nothing.
func TestVerifyKeepsWhatWasOpened(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command string
		want    []string // nil = not traced
	}{
		{"cat read.csv run.sh >/dev/null", []string{"read.csv"}},
		{"cat read.csv; false", nil},
	} {
		b := newBench(t, nil)
		b.commits.all = map[string]files{"base": {"read.csv": "1\n", "idle.csv": "1\n", "run.sh": "true\n"}}
		b.checkout = withTrees{b.checkout}
		b.opened = opened.New(filepath.Join(b.state, "opened"))
		dir := filepath.Join(b.state, "verify")
		if seen, err := newTrace(t.TempDir()); err != nil || seen.files == nil {
			t.Skip("this file system keeps no times of access")
		}
		_, err := b.Verify(t.Context(), work.VerifyRequest{
			Phase: "01", Dir: dir, Commit: "base", Commands: []string{tt.command},
			Sandbox: work.SandboxSettings{Mode: "off"}, LogPath: filepath.Join(b.state, "log"),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.opened.Of(strings.Repeat("ab", 20)); !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%s: kept %q, want %q (%v)", tt.command, got, tt.want, slices.Collect(maps.Keys(b.commits.all)))
		}
	}
}
