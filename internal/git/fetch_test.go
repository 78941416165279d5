package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What is here already is not fetched again; a commit that is here without all
// it is made of, as a fetch leaves it that is cut off, is.
func TestRemoteFetchOfWhatIsHere(t *testing.T) {
	b, g := newBed(t, nil), newGitHost(t)
	one := b.child(b.base, "1")
	if err := b.PushCommit(b.ctx, g.Remote, "forge/a", one, ""); err != nil {
		t.Fatal(err)
	}
	asked := func(do func() (string, error), want string) int {
		t.Helper()
		before, _ := g.seen()
		if got, err := do(); err != nil || got != want {
			t.Fatalf("at %q, %v, want %q", got, err, want)
		}
		now, _ := g.seen()
		return now - before
	}
	head := func() (string, error) { return b.RemoteHead(b.ctx, g.Remote, "forge/a") }
	fetch := func() (string, error) { return b.FetchBranch(b.ctx, g.Remote, "forge/a", "refs/forge/a") }
	if look, got := asked(head, one), asked(fetch, one); got != look {
		t.Errorf("%d requests for what Forge has pushed, to look takes %d", got, look)
	}
	if at, err := b.ReadRef(b.ctx, "refs/forge/a"); err != nil || at != one {
		t.Errorf("the reference is at %q, %v", at, err)
	}
	parent := g.person("forge/a", one)
	theirs := g.person("forge/a", parent)
	look := asked(head, theirs)
	if got := asked(fetch, theirs); got <= look {
		t.Errorf("%d requests for what a person pushed, to look takes %d", got, look)
	}
	if got := asked(fetch, theirs); got != look {
		t.Errorf("%d requests for what was fetched, to look takes %d", got, look)
	}
	if err := errors.Join(b.UpdateRef(b.ctx, "refs/forge/a", "", ""), os.Remove(filepath.Join(b.repo, "objects", parent[:2], parent[2:]))); err != nil {
		t.Fatal(err)
	}
	if got := asked(fetch, theirs); got <= look {
		t.Errorf("%d requests for a commit whose parent is missing, to look takes %d", got, look)
	}
	if held, err := b.Holds(b.ctx, theirs, parent); err != nil || !held {
		t.Errorf("the parent is not here again: %v", err)
	}
}
