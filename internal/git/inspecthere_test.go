package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever is found out without git is what git says, in repositories of all sorts; and
// the usual ones need no git.
func TestInspectHereIsGits(t *testing.T) {
	b := newBed(t, files{"src/b.txt": "b\n", "src/deep/c.txt": "c\n"})
	above := filepath.Dir(b.user)
	git := func(name string, args ...string) { t.Helper(); runGit(t, filepath.Join(above, name), args...) }
	made := func(name string) string {
		t.Helper()
		dir := filepath.Join(above, name)
		if err := os.CopyFS(dir, os.DirFS(b.user)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	put := func(path, data string) { t.Helper(); write(t, filepath.Join(above, path), data) }
	config := func(name, lines string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(made(name), ".git/config"))
		if err != nil {
			t.Fatal(err)
		}
		put(name+"/.git/config", string(data)+lines)
	}
	made("usual")
	made("two\nlines")
	made("packed")
	git("packed", "gc", "-q")
	made("shallow")
	put("shallow/.git/shallow", b.base+"\n")
	git(".", "clone", "-q", "--shared", b.user, "borrows")
	made("detached")
	git("detached", "checkout", "-q", "--detach")
	made("odd branch")
	git("odd branch", "update-ref", "refs/remotes/origin/main", "HEAD")
	git("odd branch", "symbolic-ref", "HEAD", "refs/remotes/origin/main")
	made("indirect")
	git("indirect", "symbolic-ref", "refs/heads/alias", "refs/heads/main")
	git("indirect", "symbolic-ref", "HEAD", "refs/heads/alias")
	made("packed reference")
	git("packed reference", "pack-refs", "--all")
	made("linked head")
	if err := os.Remove(filepath.Join(above, "linked head/.git/HEAD")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("refs/heads/main", filepath.Join(above, "linked head/.git/HEAD")); err != nil {
		t.Fatal(err)
	}
	git("usual", "worktree", "add", "-q", "-b", "side", filepath.Join(above, "worktree"))
	git(".", "init", "-q", "empty")
	made("likely")
	for _, branch := range []string{"forge-old", "old/forge", "forge/run", "forges"} {
		git("likely", "branch", branch)
	}
	for _, branch := range []string{"forge", "Forge"} {
		made("way of " + branch)
		git("way of "+branch, "branch", branch)
		made("packed way of " + branch)
		git("packed way of "+branch, "branch", branch)
		git("packed way of "+branch, "pack-refs", "--all")
	}
	made("lost commit")
	git("lost commit", "update-ref", "--no-deref", "HEAD", "HEAD")
	put("lost commit/.git/HEAD", strings.Repeat("1", 40)+"\n")
	made("a tree")
	put("a tree/.git/HEAD", runGit(t, filepath.Join(above, "a tree"), "rev-parse", "HEAD^{tree}")+"\n")
	made("no objects")
	if err := os.Rename(filepath.Join(above, "no objects/.git/objects"), filepath.Join(above, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	made("no refs")
	git("no refs", "pack-refs", "--all")
	if err := os.RemoveAll(filepath.Join(above, "no refs/.git/refs")); err != nil {
		t.Fatal(err)
	}
	made("outer")
	mkdir(t, filepath.Join(above, "outer/in/.git/refs"))
	mkdir(t, filepath.Join(above, "outer/bare"))
	git("outer/bare", "init", "-q", "--bare")
	if err := os.Symlink("outer", filepath.Join(above, "link")); err != nil {
		t.Fatal(err)
	}
	config("bare", "[core]\n\tbare = true\n")
	config("bare at once", "[core] bare\n")
	config("bare again", "[core]\n\tBARE\n\tbare = false\n")
	config("elsewhere its checkout", "[core]\n\tworktree = ../../usual\n")
	config("version one", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha1\n")
	config("includes", "[include]\n\tpath = more\n")
	put("includes/.git/more", "[core]\n\tbare = true\n\tworktree = ../../usual\n")
	home := filepath.Join(above, "home")
	mkdir(t, home)
	put("home/.gitconfig", "[core]\n\tbare = true\n\tworktree = /\n")

	for name, want := range map[string]bool{
		"usual": true, "usual/src": true, "usual/src/deep": true, "two\nlines": true, "shallow": true, "borrows": true, "detached": true,
		"packed reference": true, "likely": true, "outer": true, "link/src": true, "includes": true, "bare again": false,
		"packed": false, "odd branch": false, "indirect": false, "linked head": false, "worktree": false, "empty": false,
		"way of forge": false, "way of Forge": false, "packed way of forge": false, "packed way of Forge": false, "lost commit": false, "a tree": false,
		"no objects": false, "no refs": false, "outer/in": false, "outer/bare": false, "outer/bare/refs": false, "usual/.git": false, "usual/.git/refs": false,
		"bare": false, "bare at once": false, "elsewhere its checkout": false, "version one": false, ".": false, "missing": false, "usual/src/b.txt": false,
	} {
		dir := filepath.Join(above, name)
		base, gitDir, ok := inspectHere(dir)
		if ok != want {
			t.Errorf("%q: answered without git: %v, want %v", name, ok, want)
		}
		for _, environ := range [][]string{os.Environ(), append(os.Environ(), "HOME="+home)} {
			if !ok {
				break
			}
			r, err := newRunner(environ)
			if err != nil {
				t.Fatal(err)
			}
			if slow, slowDir, err := r.inspectStepByStep(b.ctx, dir); err != nil || base != slow || gitDir != slowDir {
				t.Errorf("%q: without git %+v %s, git says %+v %s, %v", name, base, gitDir, slow, slowDir, err)
			}
		}
	}
	// A command in a usual one starts no git: this one would fail.
	put("broken/git", "! #!/bin/sh\nexit 1\n")
	if base, err := inspect(b.ctx, []string{"PATH=" + filepath.Join(above, "broken")}, filepath.Join(above, "usual")); err != nil || base.Branch != "main" {
		t.Errorf("a usual one is at %+v, %v", base, err)
	}
}

// A commit of the user's is found where git finds it, and none that is Forge's alone.
func TestFindCommit(t *testing.T) {
	b := newBed(t, nil)
	b.run("tag", "-a", "-m", "a tag", "v1")
	b.run("tag", "light")
	b.run("branch", "packed")
	b.run("pack-refs", "--all")
	b.run("commit", "-q", "--allow-empty", "-m", "second")
	b.run("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	own := b.result("own", files{"x": "1"})
	tree := b.run("rev-parse", "HEAD^{tree}")
	second := b.run("rev-parse", "HEAD")
	for rev, want := range map[string]string{
		second: second, b.base: b.base, "refs/heads/main": second, "refs/heads/packed": b.base, "refs/tags/v1": b.base, "refs/tags/light": b.base,
		"refs/heads/alias": second, "main": second, "v1": b.base, "HEAD": second, "HEAD~1": b.base, second[:12]: second,
		own: "", tree: "", strings.Repeat("1", 40): "", "refs/heads/none": "", "refs/heads/../heads/main": "", "": "", "--all": "",
	} {
		if got, err := b.FindCommit(b.ctx, rev); err != nil || got != want {
			t.Errorf("%q is at %q, %v; want %q", rev, got, err, want)
		}
	}
	// Each worktree has a few references of its own.
	linked := filepath.Join(filepath.Dir(b.user), "linked")
	b.run("worktree", "add", "-q", "-b", "side", linked, b.base)
	b.run("update-ref", "refs/worktree/x", second)
	other, err := Open(b.ctx, Config{StateDir: b.state + "2", Root: linked})
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{"refs/worktree/x": "", "refs/heads/side": b.base, "HEAD": b.base} {
		if got, err := other.FindCommit(b.ctx, ref); err != nil || got != want {
			t.Errorf("in a worktree, %s is at %q, %v; want %q", ref, got, err, want)
		}
	}
	counted := 0
	for _, rev := range []string{second, "refs/heads/main", "refs/heads/packed", "refs/tags/light"} {
		if _, ok := b.userCommit(rev); ok {
			counted++
		}
	}
	if counted != 4 {
		t.Errorf("%d of 4 are found without git", counted)
	}
}
