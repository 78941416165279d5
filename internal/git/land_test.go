package git

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestLand(t *testing.T) {
	b := newBed(t, files{"a": "a\n"})
	one, two := b.result("01", files{"one": "1"}), b.result("02", files{"two": "2"})
	land := func(branch, commit, old string) error { return b.Land(b.ctx, branch, commit, old) }
	if err := land("forge/landed", one, ""); err != nil {
		t.Fatal(err)
	}
	if got, err := b.BranchHead(b.ctx, "forge/landed"); err != nil || got != one {
		t.Errorf("head = %q, %v, want %s", got, err, one)
	}
	var moved *MovedError
	for _, old := range []string{"", b.base} {
		if err := land("forge/landed", two, old); !errors.As(err, &moved) {
			t.Errorf("from %q: %v, want *MovedError", old, err)
		}
	}
	m, err := b.Merge(b.ctx, one, two)
	if err != nil || len(m.Conflicts) > 0 {
		t.Fatal(m, err)
	}
	merge, err := b.MergeCommit(b.ctx, m.Tree, []string{one, two}, "both\n\nForge-Run: r\n", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := land("forge/landed", merge, one); err != nil {
		t.Fatal(err)
	}
	for commit, want := range map[string]bool{one: true, two: true, merge: true, b.base: true} {
		if got, err := b.Holds(b.ctx, merge, commit); err != nil || got != want {
			t.Errorf("holds %s = %v, %v", commit, got, err)
		}
	}
	if got, err := b.Holds(b.ctx, one, two); err != nil || got {
		t.Errorf("one holds two = %v, %v", got, err)
	}
	if got := b.run("log", "-1", "--format=%an|%s", "forge/landed"); got != b.run("config", "user.name")+"|both" {
		t.Errorf("landed as %q", got)
	}
	// No checkout's branch is moved under its files, whichever worktree it is.
	var out *BranchError
	if err := land("main", one, b.base); !errors.As(err, &out) {
		t.Errorf("checked out: %v, want *BranchError", err)
	}
	b.run("worktree", "add", "-q", filepath.Join(filepath.Dir(b.user), "second"), "forge/landed")
	if err := land("forge/landed", two, merge); !errors.As(err, &out) {
		t.Errorf("in another worktree: %v, want *BranchError", err)
	}
	if got, err := b.BranchHead(b.ctx, "nowhere"); err != nil || got != "" {
		t.Errorf("no branch = %q, %v", got, err)
	}
	if got := b.run("status", "--porcelain") + b.run("rev-parse", "HEAD"); got != b.base {
		t.Errorf("the checkout changed: %s", got)
	}
}
