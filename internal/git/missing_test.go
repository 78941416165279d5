package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A change from or to a commit that was pruned says so, as a run does that needs it.
func TestDiffOfWhatWasPruned(t *testing.T) {
	b := newBed(t, nil)
	gone := strings.Repeat("1", len(b.base))
	for _, c := range [][2]string{{gone, b.base}, {b.base, gone}} {
		var state *StateError
		if _, err := b.Diff(b.ctx, c[0], c[1]); !errors.As(err, &state) || !strings.Contains(state.What, "missing: commit "+gone) {
			t.Errorf("got %v, want one about the commit", err)
		}
	}
}

func TestCheckWhole(t *testing.T) {
	b := newBed(t, nil)
	dir := b.folder("p")
	b.write(dir, files{"new.txt": "new\n"})
	snap, err := b.Snapshot(b.ctx, dir, b.base, "refs/forge/t/a", "work")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.CheckWhole(b.ctx, b.base, []string{"", b.base, snap.Commit}); err != nil {
		t.Errorf("all is there: %v", err)
	}
	if err := b.CheckWhole(b.ctx, b.base, nil); err != nil {
		t.Errorf("the base alone: %v", err)
	}
	if err := b.CheckWhole(b.ctx, "main", nil); err == nil {
		t.Error("a name that is no id was taken")
	}
	missing := func(what, base string, commits ...string) {
		t.Helper()
		var state *StateError
		if err := b.CheckWhole(b.ctx, base, commits); !errors.As(err, &state) || !strings.Contains(state.What, what) {
			t.Errorf("got %v, want one about %q", err, what)
		}
	}
	object := func(id string) string { return filepath.Join(b.repo, "objects", id[:2], id[2:]) }
	blob := b.ownGit("rev-parse", snap.Commit+":new.txt")
	if err := os.Chmod(object(blob), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(object(blob), 0); err != nil {
		t.Fatal(err)
	}
	// What another git is about to write is empty at first, and not Forge's to take.
	begun := filepath.Join(filepath.Dir(object(blob)), "tmp_obj_aB3dE5")
	if err := os.WriteFile(begun, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	missing("object "+blob, b.base, snap.Commit)
	if _, err := os.Lstat(begun); err != nil {
		t.Errorf("what another git writes at this moment: %v", err)
	}
	if _, err := os.Lstat(object(blob)); err == nil {
		t.Error("the empty object is still there")
	}
	if err := os.Remove(object(snap.Commit)); err != nil {
		t.Fatal(err)
	}
	missing("commit "+snap.Commit, b.base, snap.Commit)
	none := strings.Repeat("1", 40)
	missing("commit "+none, none)
}

// A folder of objects goes with its last one when git packs beside it.
func TestCheckWholeBesideGitThatPacks(t *testing.T) {
	b := newBed(t, nil)
	// Listed, and gone by the time that it is read.
	gone := filepath.Join(b.repo, "objects", "0f")
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", gone); err != nil {
		t.Fatal(err)
	}
	if err := b.CheckWhole(b.ctx, b.base, nil); err != nil {
		t.Error(err)
	}
}
