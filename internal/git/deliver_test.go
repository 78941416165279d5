package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
)

// result makes a squash commit on the base with the given files.
func (b *bed) result(name string, content files, without ...string) string {
	b.t.Helper()
	dir := b.folder(name)
	for _, path := range without {
		remove(b.t, filepath.Join(dir, path))
	}
	b.write(dir, content)
	snap := b.snap(dir, b.base)
	id, err := b.Squash(b.ctx, snap.Tree, b.base, "result "+name, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bed) mustDeliver(branch, commit string) {
	b.t.Helper()
	if err := b.Deliver(b.ctx, branch, commit); err != nil {
		b.t.Fatal(err)
	}
}

func TestDeliver(t *testing.T) {
	b := newBed(t, nil)
	one := b.result("01", files{"one": "1"})
	index, err := os.ReadFile(filepath.Join(b.user, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.KeepBase(b.ctx, "r1", b.base); err != nil {
		t.Fatal(err)
	}
	b.mustDeliver("forge/run-1", one)
	b.mustDeliver("forge/run-1", one)
	if got := b.run("log", "--all", "--topo-order", "--format=%H"); got != one+"\n"+b.base {
		t.Errorf("log --all = %q: more than the result arrived", got)
	}
	if got := b.run("show", "forge/run-1:one"); got != "1" {
		t.Errorf("file of the result = %q", got)
	}
	if after, err := os.ReadFile(filepath.Join(b.user, ".git/index")); err != nil || string(after) != string(index) {
		t.Errorf("the index changed, %v", err)
	}
	if got := b.run("status", "--porcelain") + b.run("symbolic-ref", "HEAD"); got != "refs/heads/main" {
		t.Errorf("checkout = %q", got)
	}
	b.run("fsck", "--strict", "--no-dangling")
	// The result stands by itself: without Forge's state nothing is missing.
	two := b.result("02", files{"two": "2"})
	b.open()
	b.mustDeliver("forge/run-1", two) // not a descendant: Forge's own branch may move
	if err := b.DropBase(b.ctx, "r1"); err != nil {
		t.Fatal(err)
	}
	if err := b.DropBase(b.ctx, "r1"); err != nil {
		t.Errorf("dropping twice: %v", err)
	}
	remove(t, b.state)
	b.run("fsck", "--no-dangling")
	if got := b.run("for-each-ref", "--format=%(refname)"); got != "refs/heads/forge/run-1\nrefs/heads/main" {
		t.Errorf("references = %q", got)
	}
}

// Results do not leave a pack each in the user's repository, which every git there looks
// through; a large one is kept as a pack.
func TestDeliverAsGitWouldFetch(t *testing.T) {
	b := newBed(t, nil)
	packs := func() int {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(b.user, ".git/objects/pack/*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	b.mustDeliver("forge/small", b.result("01", files{"one": "1"}))
	if n := packs(); n != 0 {
		t.Errorf("%d packs after a small result", n)
	}
	many := files{}
	for i := range smallPack {
		many[fmt.Sprint("many/", i)] = fmt.Sprintln("file", i)
	}
	b.mustDeliver("forge/large", b.result("02", many))
	if n := packs(); n != 1 {
		t.Errorf("%d packs after a large result", n)
	}
	if got := b.run("show", "forge/small:one") + b.run("show", "forge/large:many/7"); got != "1file 7" {
		t.Errorf("the results hold %q", got)
	}
	b.run("fsck", "--strict", "--no-dangling")
}

// TestKeepBaseBesideAWorktreeInTheMaking: between two steps of "git worktree add", and
// for good where it was killed there, a worktree's head names nothing.
func TestKeepBaseBesideAWorktreeInTheMaking(t *testing.T) {
	b := newBed(t, nil)
	one := b.result("01", files{"one": "1"})
	b.run("worktree", "add", "--quiet", "--detach", filepath.Join(t.TempDir(), "half"), b.base)
	write(t, filepath.Join(b.user, ".git/worktrees/half/HEAD"), ZeroID+"\n")
	if err := b.KeepBase(b.ctx, "r1", one); err != nil {
		t.Error(err)
	}
	b.mustDeliver("forge/run-1", one)
}

func TestDeliverLeavesForeignBranches(t *testing.T) {
	b := newBed(t, nil)
	one := b.result("01", files{"one": "1"})
	refuse := func(what, branch string) {
		t.Helper()
		var be *BranchError
		if err := b.Deliver(b.ctx, branch, one); !errors.As(err, &be) {
			t.Errorf("%s: %v, want *BranchError", what, err)
		}
	}
	b.run("branch", "forge/mine")
	refuse("the user's branch", "forge/mine")
	refuse("outside of forge/", "main")
	other := b.result("02", files{"two": "2"})
	b.mustDeliver("forge/moved", other)
	b.run("branch", "-f", "forge/moved", b.base)
	refuse("moved by the user", "forge/moved")
	b.mustDeliver("forge/held", other)
	b.run("worktree", "add", "-q", filepath.Join(filepath.Dir(b.user), "held"), "forge/held")
	refuse("checked out", "forge/held")
	for _, branch := range []string{"forge/", "forge/a b", "forge/..", "forge/x.lock", "-forge/x", "forge/\n"} {
		if err := b.Deliver(b.ctx, branch, one); err == nil {
			t.Errorf("branch %q went through", branch)
		}
	}
	// Killed after the user's reference was written, before Forge's note of it.
	b.mustDeliver("forge/crash", other)
	if err := b.UpdateRef(b.ctx, "refs/forge/delivered/forge/crash", "", ""); err != nil {
		t.Fatal(err)
	}
	b.mustDeliver("forge/crash", one)
	if got := b.run("rev-parse", "forge/crash"); got != one {
		t.Errorf("branch = %s", got)
	}
}

func TestDeliverIntoShallowClone(t *testing.T) {
	b := newBed(t, nil)
	b.write(b.user, files{"a.txt": "second\n"})
	b.run("commit", "-qam", "second")
	shallow := filepath.Join(filepath.Dir(b.user), "shallow")
	runGit(t, filepath.Dir(b.user), "clone", "-q", "--depth=1", "file://"+b.user, shallow)
	b.user = shallow
	b.base = b.run("rev-parse", "HEAD")
	b.state += "2"
	b.open()
	one := b.result("01", files{"one": "1"})
	if got := runGit(t, filepath.Join(b.state, "runs/r/phases/01"), "log", "--format=%s"); got != "second" {
		t.Errorf("log in the folder = %q", got)
	}
	b.mustDeliver("forge/run-1", one)
	b.run("fsck", "--no-dangling")
	if got := b.run("log", "--format=%s", "forge/run-1"); got != "result 01\nsecond" {
		t.Errorf("log = %q", got)
	}
}

func TestFastForward(t *testing.T) {
	content := files{".forge/forge.toml": "x\n", "a": "a\n", "d/x": "x\n", "f": "f\n", "m/n/one.go": "1\n", ".gitignore": "*.log\nign/\n"}
	change := files{"a": "new\n", "added/file": "n", "d": "now a file", "f/g": "now a folder", "m/n/one/one.go": "1\n"}
	gone := []string{"d", "f", "m/n/one.go"} // the last of its folder, in which a new folder comes
	clean := func(*bed) {}
	for _, c := range []struct {
		name, why string
		prepare   func(b *bed)
		base      func(base *work.Base)
	}{
		{"clean", "", clean, nil},
		{"untracked elsewhere", "", func(b *bed) { b.write(b.user, files{"mine": "m", "x.log": "l", ".forge/new": "n"}) }, nil},
		{".forge changed", "", func(b *bed) { b.write(b.user, files{".forge/forge.toml": "edited"}) }, nil},
		{".forge staged", "", func(b *bed) { b.write(b.user, files{".forge/forge.toml": "edited"}); b.run("add", ".forge") }, nil},
		{"a file of the result is there", "untracked file added/file is in the way", func(b *bed) { b.write(b.user, files{"added/file": "mine"}) }, nil},
		{"an ignored file below", "untracked file d/y.log is in the way", func(b *bed) { b.write(b.user, files{"d/y.log": "mine"}) }, nil},
		{"a file above", "untracked file added is in the way", func(b *bed) { b.write(b.user, files{"added": "mine"}) }, nil},
		{"a link above", "untracked file added is in the way", func(b *bed) { b.write(b.user, files{"added": "-> d"}) }, nil},
		{"changed", "tracked file a is changed", func(b *bed) { b.write(b.user, files{"a": "mine"}) }, nil},
		{"changed elsewhere", "tracked file .gitignore is changed", func(b *bed) { b.write(b.user, files{".gitignore": "mine"}) }, nil},
		{"staged", "tracked file new is changed", func(b *bed) { b.write(b.user, files{"new": "mine"}); b.run("add", "new") }, nil},
		{"moved", "has moved", func(b *bed) { b.run("commit", "-q", "--allow-empty", "-m", "more") }, nil},
		{"other branch", "not checked out any more", func(b *bed) { b.run("checkout", "-q", "-b", "other") }, nil},
		{"detached now", "not checked out any more", func(b *bed) { b.run("checkout", "-q", "--detach") }, nil},
		{"detached then", "no branch was checked out", clean, func(base *work.Base) { base.Branch = "" }},
		{"shallow", "shallow", clean, func(base *work.Base) { base.Shallow = true }},
		{"bisect", "a bisect is in progress", func(b *bed) { b.run("bisect", "start") }, nil},
		{"second worktree", "another worktree", func(b *bed) {
			b.run("worktree", "add", "-q", "--force", filepath.Join(filepath.Dir(b.user), "second"), "main")
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, content)
			marker := filepath.Join(b.state, "marker")
			for _, hook := range []string{"post-merge", "post-checkout", "reference-transaction", "post-index-change"} {
				write(t, filepath.Join(b.user, ".git/hooks", hook), "! #!/bin/sh\ntouch '"+marker+"'\n")
			}
			commit := b.result("01", change, gone...)
			b.mustDeliver("forge/run-1", commit)
			base := work.Base{Commit: b.base, Branch: "main", RepoRoot: b.user}
			if c.base != nil {
				c.base(&base)
			}
			c.prepare(b)
			_ = os.Remove(marker) // the user's own commands ran the hooks
			before := list(t, b.user)
			index := b.run("ls-files", "-s")
			d, err := b.FastForward(b.ctx, base, commit)
			if err != nil {
				t.Fatal(err)
			}
			notExecuted(t, marker)
			if c.why != "" {
				if d.FastForwarded || !strings.Contains(d.Reason, c.why) || d.Next != "git merge forge/run-1" || d.Undo != "" {
					t.Errorf("delivery = %+v, want reason %q", d, c.why)
				}
				same(t, "checkout", list(t, b.user), before)
				if after := b.run("ls-files", "-s"); after != index {
					t.Errorf("index changed:\n%s", after)
				}
				return
			}
			if !d.FastForwarded || d.Reason != "" || d.Next != "" || d.Branch != "forge/run-1" || d.Commit != commit {
				t.Fatalf("delivery = %+v", d)
			}
			if got := b.run("rev-parse", "main", "HEAD"); got != commit+"\n"+commit {
				t.Errorf("main, HEAD = %s", got)
			}
			if got := b.run("status", "--porcelain", "--", ":!.forge", ":!mine"); got != "" {
				t.Errorf("status = %q", got)
			}
			again, err := b.FastForward(b.ctx, base, commit)
			if err != nil || !reflect.DeepEqual(again, d) {
				t.Errorf("again: %+v, %v, want %+v", again, err, d)
			}
			b.run(strings.Fields(d.Undo)[1:]...)
			if got := b.run("rev-parse", "main"); got != b.base {
				t.Errorf("after %q main is at %s", d.Undo, got)
			}
			after := list(t, b.user)
			for path := range before {
				if !strings.HasPrefix(path, ".git/") && after[path] != before[path] {
					t.Errorf("after %q: %s = %q, was %q", d.Undo, path, after[path], before[path])
				}
			}
		})
	}
	b := newBed(t, content)
	d, err := b.FastForward(b.ctx, work.Base{Commit: b.base, Branch: "main"}, b.base)
	if err != nil || d.FastForwarded || d.Next != "" || d.Reason == "" {
		t.Errorf("nothing to deliver: %+v, %v", d, err)
	}
}

func TestPush(t *testing.T) {
	b := newBed(t, nil)
	remote := filepath.Join(filepath.Dir(b.user), "remote.git")
	runGit(t, filepath.Dir(b.user), "init", "-q", "--bare", remote)
	b.run("remote", "add", "origin", remote)
	one := b.result("01", files{"one": "1"})
	b.mustDeliver("forge/run-1", one)
	for range 2 {
		if err := b.Push(b.ctx, "origin", "forge/run-1"); err != nil {
			t.Fatal(err)
		}
	}
	if got := runGit(t, remote, "for-each-ref", "--format=%(objectname) %(refname)"); got != one+" refs/heads/forge/run-1" {
		t.Errorf("remote has %q", got)
	}
	two := b.result("02", files{"two": "2"})
	b.mustDeliver("forge/run-1", two)
	if err := b.Push(b.ctx, "origin", "forge/run-1"); err == nil {
		t.Error("a push that is no fast-forward went through")
	}
	b.run("remote", "add", "evil", "ext::sh -c 'touch "+b.state+"/marker'")
	for _, remote := range []string{"evil", "nowhere", "", "--mirror", "a\nb"} {
		if err := b.Push(b.ctx, remote, "forge/run-1"); err == nil {
			t.Errorf("push to %q went through", remote)
		}
	}
	notExecuted(t, b.state+"/marker")
}
