package git

import (
	"strings"
	"testing"

	"forge/internal/work"
)

// A target that nobody has checked out is moved and taken back as a reference alone, made
// where it is not there yet; where it is elsewhere or checked out by then, it stays.
func TestATargetApart(t *testing.T) {
	for name, tt := range map[string]struct {
		begin     func(b *bed) // before the run
		meanwhile func(b *bed) // after it began
		why       string
		onto      bool // and it went on to where it is now
		was       bool // it was behind what the run began at
	}{
		"not there yet": {},
		"there":         {begin: func(b *bed) { b.run("branch", "forge/landed") }},
		"went on": {func(b *bed) { b.run("branch", "forge/landed") }, func(b *bed) {
			b.run("update-ref", "refs/heads/forge/landed", b.run("commit-tree", "-p", b.base, "-m", "mine", b.base+"^{tree}"))
		}, "forge/landed has moved", true, false},
		"made by somebody": {nil, func(b *bed) {
			b.run("update-ref", "refs/heads/forge/landed", b.run("commit-tree", "-m", "mine", b.base+"^{tree}"))
		}, "forge/landed has moved", false, false},
		"behind the base": {begin: func(b *bed) {
			b.run("branch", "forge/landed")
			b.run("commit", "-q", "--allow-empty", "-m", "mine")
			b.base = b.run("rev-parse", "HEAD")
		}, was: true},
		"checked out by then": {func(b *bed) { b.run("branch", "forge/landed") }, func(b *bed) { b.run("checkout", "-q", "forge/landed") }, "is checked out in", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			if tt.begin != nil {
				tt.begin(b)
			}
			base := work.Base{Commit: b.base, Branch: "forge/landed", RepoRoot: b.user, Apart: true}
			back := b.base
			if tt.was {
				base.Was = b.run("rev-parse", "forge/landed")
				back = base.Was
			}
			commit := b.result("01", files{"one": "1"})
			b.mustDeliver("forge/run-1", commit)
			if tt.meanwhile != nil {
				tt.meanwhile(b)
			}
			at, err := b.BranchHead(b.ctx, "forge/landed")
			if err != nil {
				t.Fatal(err)
			}
			why, err := b.InTheWay(b.ctx, base, commit)
			if err != nil || (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
				t.Fatalf("in the way is %q, %v; want %q", why, err, tt.why)
			}
			onto, err := b.WentOn(b.ctx, base, commit)
			if err != nil || (onto != "") != tt.onto || tt.onto && onto != at {
				t.Errorf("it went on to %q, %v; it is at %q", onto, err, at)
			}
			for range 2 {
				d, err := b.FastForward(b.ctx, base, commit)
				if err != nil || d.FastForwarded != (tt.why == "") || !strings.Contains(d.Reason, tt.why) {
					t.Fatalf("%+v, %v", d, err)
				}
			}
			now, err := b.BranchHead(b.ctx, "forge/landed")
			if err != nil || tt.why != "" && now != at || tt.why == "" && now != commit {
				t.Fatalf("it is at %q, %v, and was at %q", now, err, at)
			}
			if b.run("status", "--porcelain", "--", ":!.forge") != "" {
				t.Error("a file of the checkout was touched")
			}
			if tt.why != "" {
				return
			}
			for range 2 {
				if why, err := b.TakeBack(b.ctx, base, commit); err != nil || why != "" {
					t.Fatalf("taken back: %q, %v", why, err)
				}
			}
			if now, err := b.BranchHead(b.ctx, "forge/landed"); err != nil || now != back {
				t.Errorf("it is at %q, %v", now, err)
			}
		})
	}
}
