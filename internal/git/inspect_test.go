package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInspect(t *testing.T) {
	b := newBed(t, nil)
	base, err := Inspect(b.ctx, filepath.Join(b.user, "src"))
	if err != nil || base.RepoRoot != b.user || base.Commit != b.base || base.Branch != "main" || base.Shallow {
		t.Fatalf("Inspect = %+v, %v", base, err)
	}
	linked := filepath.Join(filepath.Dir(b.user), "linked")
	b.run("worktree", "add", "-q", "-b", "side", linked)
	if base, err = Inspect(b.ctx, linked); err != nil || base.RepoRoot != linked || base.Branch != "side" {
		t.Errorf("linked worktree: %+v, %v", base, err)
	}
	s, err := Open(b.ctx, Config{StateDir: filepath.Join(filepath.Dir(b.user), "state2"), Root: linked})
	if err != nil {
		t.Fatal(err)
	}
	sameStrings(t, "ObjectPaths", s.ObjectPaths(), []string{filepath.Join(b.user, ".git", "objects")})
	b.run("checkout", "-q", "--detach")
	if base, err = Inspect(b.ctx, b.user); err != nil || base.Branch != "" {
		t.Errorf("detached: %+v, %v", base, err)
	}
	b.run("checkout", "-q", "main")
	b.run("commit", "-q", "--allow-empty", "-m", "second")
	shallow := filepath.Join(filepath.Dir(b.user), "shallow")
	runGit(t, filepath.Dir(b.user), "clone", "-q", "--depth=1", "file://"+b.user, shallow)
	if base, err = Inspect(b.ctx, shallow); err != nil || !base.Shallow {
		t.Errorf("shallow: %+v, %v", base, err)
	}
}

// Whatever is asked in one process is answered as it is step by step, or not at
// all.
func TestInspectAtOnceIsStepByStep(t *testing.T) {
	b := newBed(t, nil)
	above := filepath.Dir(b.user)
	b.run("worktree", "add", "-q", "-b", "side", filepath.Join(above, "linked"))
	runGit(t, above, "clone", "-q", "--depth=1", "file://"+b.user, "shallow")
	runGit(t, above, "clone", "-q", b.user, "detached")
	runGit(t, filepath.Join(above, "detached"), "checkout", "-q", "--detach")
	runGit(t, above, "clone", "-q", b.user, "two\nlines")
	runGit(t, above, "clone", "-q", b.user, "named")
	runGit(t, filepath.Join(above, "named"), "update-ref", "refs/heads/HEAD", "HEAD")
	runGit(t, above, "init", "-q", "empty")
	runGit(t, above, "clone", "-q", b.user, "likely")
	for _, branch := range []string{"forge-old", "old/forge", "forge/run", "forges"} {
		runGit(t, filepath.Join(above, "likely"), "branch", branch)
	}
	runGit(t, above, "clone", "-q", b.user, "in the way")
	runGit(t, filepath.Join(above, "in the way"), "branch", "forge")
	runGit(t, above, "clone", "-q", b.user, "other case")
	runGit(t, filepath.Join(above, "other case"), "branch", "Forge")
	runGit(t, above, "clone", "-q", "in the way", "packed")
	runGit(t, filepath.Join(above, "packed"), "branch", "forge", "HEAD")
	runGit(t, filepath.Join(above, "packed"), "pack-refs", "--all")
	r, err := newRunner(os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"user": true, "user/src": true, "linked": true, "shallow": true, "detached": true, "likely": true, "in the way": false, "other case": false, "packed": false,
		"named": false, "two\nlines": false, "empty": false, "user/.git": false, ".": false,
	} {
		dir := filepath.Join(above, name)
		if name == "user" {
			dir = b.user
		}
		base, gitDir, ok := r.inspectAtOnce(b.ctx, dir)
		if ok != want {
			t.Errorf("%q: answered at once: %v, want %v", name, ok, want)
		}
		slow, slowDir, err := r.inspectStepByStep(b.ctx, dir)
		if ok && (err != nil || base != slow || gitDir != slowDir) {
			t.Errorf("%q: at once %+v %s, step by step %+v %s, %v", name, base, gitDir, slow, slowDir, err)
		}
	}
}

func TestInspectRefuses(t *testing.T) {
	conflict := func(verb ...string) func(*bed) string {
		return func(b *bed) string {
			b.run("checkout", "-q", "-b", "side")
			b.write(b.user, files{"a.txt": "side\n"})
			b.run("commit", "-qam", "side")
			b.run("checkout", "-q", "main")
			b.write(b.user, files{"a.txt": "main\n"})
			b.run("commit", "-qam", "main")
			_, _ = tryGit(b.user, append(verb, "side")...)
			return b.user
		}
	}
	for _, c := range []struct {
		name, want string
		dir        func(b *bed) string
	}{
		{"none", "not in a git repository", func(b *bed) string { return filepath.Dir(b.user) }},
		{"bare", "bare git repository", func(b *bed) string { return b.repo }},
		{"git folder", "inside a .git folder", func(b *bed) string { return filepath.Join(b.user, ".git") }},
		{"unborn", "no commit yet", func(b *bed) string {
			dir := filepath.Join(b.user, "new")
			mkdir(t, dir)
			runGit(t, dir, "init", "-q")
			return dir
		}},
		{"sha256", "object format sha256", func(b *bed) string {
			dir := filepath.Join(b.user, "new")
			mkdir(t, dir)
			runGit(t, dir, "init", "-q", "--object-format=sha256")
			return dir
		}},
		{"merge", "a merge is in progress", conflict("merge")},
		{"rebase", "a rebase is in progress", conflict("rebase")},
		{"cherry-pick", "a cherry-pick is in progress", conflict("cherry-pick")},
		{"revert", "a revert is in progress", func(b *bed) string {
			conflict("version")(b)
			b.write(b.user, files{"a.txt": "again\n"})
			b.run("commit", "-qam", "again")
			_, _ = tryGit(b.user, "revert", "HEAD~1")
			return b.user
		}},
		{"a branch in the way", "in the way of the branches forge/", func(b *bed) string { b.run("branch", "forge"); return b.user }},
		{"bisect", "a bisect is in progress", func(b *bed) string { b.run("bisect", "start"); return b.user }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := c.dir(newBed(t, nil))
			_, err := Inspect(context.Background(), dir)
			var state *StateError
			if !errors.As(err, &state) || !strings.Contains(state.What, c.want) || state.Fix == "" {
				t.Errorf("Inspect(%s) = %v, want %q", dir, err, c.want)
			}
		})
	}
}

func TestProbe(t *testing.T) {
	if err := Probe(context.Background()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	environ := []string{"PATH=" + dir + ":."}
	if err := probe(context.Background(), environ); !errors.Is(err, ErrNoGit) {
		t.Errorf("no git: %v", err)
	}
	for version, ok := range map[string]bool{
		"git version 2.38.9": false, "git version 1.99": false, "git version 2.39.0": true, "git version 2.50.1 (Apple Git-155)": true,
		"git version 3.0.0": true, "something else": false,
	} {
		write(t, filepath.Join(dir, "git"), "! #!/bin/sh\necho '"+version+"'\n")
		err := probe(context.Background(), environ)
		var old *VersionError
		if ok != (err == nil) || !ok && !errors.As(err, &old) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// A shell that is set up for another repository must not redirect Forge.
func TestForeignEnvironmentDoesNotReachGit(t *testing.T) {
	b := newBed(t, nil)
	evil := filepath.Join(t.TempDir(), "evil")
	environ := append(os.Environ(),
		"GIT_DIR="+evil, "GIT_INDEX_FILE="+evil, "GIT_WORK_TREE="+evil, "GIT_OBJECT_DIRECTORY="+evil, "GIT_NAMESPACE=x",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.bare", "GIT_CONFIG_VALUE_0=true", "GIT_CONFIG_PARAMETERS='core.bare'='true'",
		"GIT_CONFIG_GLOBAL="+evil, "GIT_EXEC_PATH="+evil, "GIT_TRACE="+evil, "GIT_EXTERNAL_DIFF="+evil, "GIT_AUTHOR_NAME=Evil", "GIT_SSH_COMMAND="+evil)
	if base, err := inspect(b.ctx, environ, b.user); err != nil || base.Commit != b.base {
		t.Fatalf("inspect = %+v, %v", base, err)
	}
	s, err := Open(b.ctx, Config{StateDir: b.state, Root: b.user, Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	b.Store = s
	dir := b.folder("01")
	b.write(dir, files{"new": "n"})
	snap := b.snap(dir, b.base)
	if !snap.Changed {
		t.Error("no change seen")
	}
	if _, err := os.Stat(evil); err == nil {
		t.Error("something was written where the environment pointed")
	}
}
