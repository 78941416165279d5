package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/work"
)

// A move is taken back whole when the branch is just where Forge put it, and twice is
// once; what somebody built on it, or has in the way, stays.
func TestTakeBack(t *testing.T) {
	for name, tt := range map[string]struct {
		meanwhile func(b *bed)
		why       string
	}{
		"nothing happened":     {},
		"somebody built on it": {func(b *bed) { b.run("commit", "-q", "--allow-empty", "-m", "mine") }, "somebody has built on branch main"},
		"a file is changed": {func(b *bed) {
			if err := os.WriteFile(filepath.Join(b.user, "one"), []byte("mine"), 0o644); err != nil {
				b.t.Fatal(err)
			}
		}, "tracked file one is changed"},
		"another branch is out": {func(b *bed) { b.run("checkout", "-q", "-b", "elsewhere") }, "is not checked out any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			base := work.Base{Commit: b.base, Branch: "main", RepoRoot: b.user}
			commit := b.result("01", files{"one": "1"})
			b.mustDeliver("forge/run-1", commit)
			if d, err := b.FastForward(b.ctx, base, commit); err != nil || !d.FastForwarded {
				t.Fatalf("%+v, %v", d, err)
			}
			if tt.meanwhile != nil {
				tt.meanwhile(b)
			}
			before := b.run("rev-parse", "main", "HEAD") + b.run("status", "--porcelain", "--", ":!.forge")
			for range 2 {
				why, err := b.TakeBack(b.ctx, base, commit)
				if err != nil || (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
					t.Fatalf("why %q, %v; want %q", why, err, tt.why)
				}
			}
			if tt.why != "" {
				if after := b.run("rev-parse", "main", "HEAD") + b.run("status", "--porcelain", "--", ":!.forge"); after != before {
					t.Errorf("it says why not, and has changed\n%s\nto\n%s", before, after)
				}
				return
			}
			if got := b.run("rev-parse", "main"); got != b.base {
				t.Errorf("main is at %s, want %s", got, b.base)
			}
			if _, err := os.Lstat(filepath.Join(b.user, "one")); !os.IsNotExist(err) {
				t.Errorf("the file of the result is still there: %v", err)
			}
			if got := b.run("status", "--porcelain", "--", ":!.forge"); got != "" {
				t.Errorf("status = %q", got)
			}
			if stands, err := b.Stands(b.ctx, "main", commit); err != nil || stands {
				t.Errorf("main holds the result: %v, %v", stands, err)
			}
		})
	}
}

// What was built on a result holds it.
func TestStands(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	base := work.Base{Commit: b.base, Branch: "main", RepoRoot: b.user}
	commit := b.result("01", files{"one": "1"})
	b.mustDeliver("forge/run-1", commit)
	if _, err := b.FastForward(b.ctx, base, commit); err != nil {
		t.Fatal(err)
	}
	b.run("commit", "-q", "--allow-empty", "-m", "mine")
	for branch, want := range map[string]bool{"main": true, "none": false} {
		if stands, err := b.Stands(b.ctx, branch, commit); err != nil || stands != want {
			t.Errorf("%s: %v, %v", branch, stands, err)
		}
	}
}
