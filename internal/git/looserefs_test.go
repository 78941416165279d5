package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Of many who move a reference from where it is, here and by git, one does.
func TestReferencesMoveOnce(t *testing.T) {
	b := newBed(t, nil)
	const ref = "refs/forge/x"
	now := b.result("00", files{"x": "0"})
	if err := b.UpdateRef(b.ctx, ref, now, ZeroID); err != nil {
		t.Fatal(err)
	}
	for round := range 8 {
		if round == 4 {
			b.ownGit("pack-refs", "--all", "--prune")
		}
		var to []string
		for i := range 4 {
			to = append(to, b.result(fmt.Sprint(round, i), files{"x": fmt.Sprint(round, i)}))
		}
		var won atomic.Int32
		var all sync.WaitGroup
		for i, id := range to {
			all.Go(func() {
				if i == 3 {
					if exec.Command("git", "--git-dir="+b.repo, "update-ref", "--no-deref", ref, id, now).Run() == nil {
						won.Add(1)
					}
					return
				}
				err := b.UpdateRef(b.ctx, ref, id, now)
				var moved *MovedError
				if err == nil {
					won.Add(1)
				} else if !errors.As(err, &moved) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		at, err := b.ReadRef(b.ctx, ref)
		if err != nil || won.Load() != 1 || !slices.Contains(to, at) || b.ownGit("rev-parse", ref) != at {
			t.Fatalf("round %d: %d won, it is at %s of %q, %v", round, won.Load(), at, to, err)
		}
		now = at
	}
	if left, _ := filepath.Glob(filepath.Join(b.repo, "refs/forge/*.lock")); len(left) > 0 {
		t.Errorf("locks are left: %q", left)
	}
}

// What stands in the way of a reference, and who holds it, is git's to say.
func TestReferencesInEachOthersWay(t *testing.T) {
	b := newBed(t, nil)
	id := b.result("01", files{"x": "1"})
	for _, packed := range []bool{false, true} {
		for _, ref := range []string{"refs/forge/a", "refs/forge/b/c"} {
			if err := b.UpdateRef(b.ctx, ref, id, ""); err != nil {
				t.Fatal(err)
			}
		}
		if packed {
			b.ownGit("pack-refs", "--all", "--prune")
		}
		for _, ref := range []string{"refs/forge/a/x", "refs/forge/b"} {
			if err := b.UpdateRef(b.ctx, ref, id, ""); err == nil {
				t.Errorf("packed %v: %s was made", packed, ref)
			}
		}
		refs, err := b.RefsBelow(b.ctx, "refs/forge/")
		if err != nil || len(refs) < 2 || refs["refs/forge/a"] != id || refs["refs/forge/b/c"] != id || refs["refs/forge/b"] != "" {
			t.Errorf("packed %v: %q, %v", packed, refs, err)
		}
		if got := strings.Count(b.ownGit("for-each-ref", "refs/forge/"), "commit"); got != len(refs) {
			t.Errorf("packed %v: %q, git has %d", packed, refs, got)
		}
	}
	// A folder that is empty is no reference.
	mkdir(t, filepath.Join(b.repo, "refs/forge/e/e"))
	if at, err := b.ReadRef(b.ctx, "refs/forge/e"); err != nil || at != "" {
		t.Errorf("an empty folder is at %q, %v", at, err)
	}
	if err := b.UpdateRef(b.ctx, "refs/forge/e", id, ZeroID); err != nil {
		t.Errorf("over an empty folder: %v", err)
	}
	if err := b.UpdateRef(b.ctx, "refs/forge/none", strings.Repeat("1", 40), ""); err == nil {
		t.Error("points at what is not there")
	}
}

// Writing goes on while objects and references are packed, which removes empty folders.
func TestWritingBesidePacking(t *testing.T) {
	b := newBed(t, nil)
	var work sync.WaitGroup
	var over atomic.Bool
	work.Go(func() {
		defer over.Store(true)
		for i := range 150 {
			id, err := b.writeHere(object{"blob", []byte(fmt.Sprint("beside ", i))})
			if err == nil {
				err = b.UpdateRef(b.ctx, fmt.Sprintf("refs/forge/beside/%d/x", i), id, ZeroID)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	for !over.Load() {
		b.ownGit("pack-refs", "--all", "--prune")
		b.ownGit("prune-packed", "-q")
		for _, dir := range []string{"refs/forge/beside", "objects"} { // as both do with what they emptied
			found, _ := filepath.Glob(filepath.Join(b.repo, dir, "*"))
			for _, path := range found {
				_ = os.Remove(path)
			}
		}
	}
	work.Wait()
	if got := strings.Count(b.ownGit("for-each-ref", "refs/forge/beside/"), "blob"); got != 150 {
		t.Errorf("%d references of 150 are there", got)
	}
}

// What was written is on disk before it has its name.
func TestWrittenHereIsOnDisk(t *testing.T) {
	needStrace(t)
	b := newBed(t, nil)
	cmd := exec.Command("strace", "-f", "--seccomp-bpf", "-qq", "-y", "-e", "trace=fsync,fdatasync,renameat,renameat2,rename", os.Args[0])
	cmd.Env = append(os.Environ(), moveChild+"="+anchorOrder+b.state+"\n"+b.user)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said := string(out)
	for _, file := range []string{"tmp_obj_", "refs/forge/journal/r.lock"} {
		synced, renamed := -1, -1
		for i, line := range strings.Split(said, "\n") {
			switch {
			case !strings.Contains(line, file):
			case strings.Contains(line, "sync("):
				synced = i
			case strings.Contains(line, "rename"):
				renamed = i
			}
		}
		if synced < 0 || renamed < synced {
			t.Errorf("%s is synced at %d and renamed at %d of\n%s", file, synced, renamed, said)
		}
	}
	if count, head, ok, err := b.ReadAnchor(b.ctx, "r"); count != 7 || head != "head" || !ok || err != nil {
		t.Errorf("the anchor is %d %q, %v, %v", count, head, ok, err)
	}
}
