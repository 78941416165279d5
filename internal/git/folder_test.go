package git

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func with(content files, more files, without ...string) files {
	out := maps.Clone(content)
	maps.Copy(out, more)
	for _, name := range without {
		delete(out, name)
	}
	return out
}

func TestOpenFolder(t *testing.T) {
	content := files{"a.txt": "a\n", "run.sh": "! #!/bin/sh\n", "link": "-> a.txt", "dir/empty": "", ".forge/forge.toml": "x\n"}
	b := newBed(t, content)
	dir := b.folder("01")
	same(t, "folder", list(t, dir), content)
	if got := runGit(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("status in the folder = %q, want clean", got)
	}
	if got := runGit(t, dir, "log", "--format=%H %D"); got != b.base+" HEAD -> work" {
		t.Errorf("log in the folder = %q", got)
	}
	if got := runGit(t, dir, "config", "user.email"); got != "test@example.invalid" {
		t.Errorf("identity in the folder = %q", got)
	}
	alternates, err := os.ReadFile(filepath.Join(dir, ".git/objects/info/alternates"))
	if err != nil || strings.Contains(string(alternates), b.state) {
		t.Errorf("alternates of the folder = %q, %v", alternates, err)
	}
	// What the agent does with its repository stays there.
	write(t, filepath.Join(dir, "more"), "m")
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-qm", "own")
	if err := b.OpenFolder(b.ctx, dir, b.base); err != nil {
		t.Fatal(err)
	}
	same(t, "folder opened again", list(t, dir), content)
}

// A phase starts at the head of the run, which only Forge's repository has;
// what other phases did besides must not be readable there.
func TestFolderAheadOfBase(t *testing.T) {
	b := newBed(t, nil)
	dir := b.folder("01")
	b.write(dir, files{"one": "1"})
	snap := b.snap(dir, b.base)
	head, err := b.Squash(b.ctx, snap.Tree, b.base, "phase 1\n\nForge-Phase: 01\n", "refs/forge/head")
	if err != nil {
		t.Fatal(err)
	}
	b.open() // a new process knows nothing but what it reads
	second := filepath.Join(filepath.Dir(dir), "02")
	if err := b.OpenFolder(b.ctx, second, head); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, second, "log", "--format=%an %s", "-p", "--name-only"); !strings.Contains(got, "Test phase 1") || !strings.Contains(got, "one") {
		t.Errorf("log = %q", got)
	}
	if got := runGit(t, second, "status", "--porcelain"); got != "" {
		t.Errorf("status = %q", got)
	}
	if out, err := tryGit(second, "cat-file", "-e", snap.Commit); err == nil {
		t.Errorf("the snapshot of another phase is readable: %s", out)
	}
	runGit(t, second, "fsck", "--no-dangling")
}

func TestResetFolder(t *testing.T) {
	content := files{"a": "a\n", "d/x": "x\n", "f": "f\n", ".gitignore": "*.log\nout/\n", "link": "-> a"}
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"edits": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "a"), "changed")
			write(t, filepath.Join(dir, "new/file"), "n")
			remove(t, filepath.Join(dir, "f"))
		},
		"file to folder": func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "f"))
			write(t, filepath.Join(dir, "f/g"), "g")
		},
		"folder to file": func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "d"))
			write(t, filepath.Join(dir, "d"), "file")
		},
		"folder to link": func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "d"))
			outside := t.TempDir()
			write(t, filepath.Join(outside, "x"), "mine")
			write(t, filepath.Join(dir, "d"), "-> "+outside)
			t.Cleanup(func() { same(t, "outside", list(t, outside), files{"x": "mine"}) })
		},
		"nested repositories": func(t *testing.T, dir string) {
			mkdir(t, filepath.Join(dir, "nested/inner"))
			runGit(t, filepath.Join(dir, "nested"), "init", "-q")
			runGit(t, filepath.Join(dir, "nested/inner"), "init", "-q")
			write(t, filepath.Join(dir, "nested/inner/q"), "q")
		},
		"no .git": func(t *testing.T, dir string) { remove(t, filepath.Join(dir, ".git")) },
		"own commits": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "a"), "changed")
			runGit(t, dir, "checkout", "-qb", "other")
			runGit(t, dir, "commit", "-qam", "own")
		},
		"pipes": func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "f"))
			for _, p := range []string{"f", "pipe"} {
				if err := syscall.Mkfifo(filepath.Join(dir, p), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() { remove(t, filepath.Join(dir, "pipe")) })
		},
		"no rights": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "ro/file"), "n")
			for _, p := range []string{"ro", "d", "."} {
				if err := os.Chmod(filepath.Join(dir, p), 0); err != nil {
					t.Fatal(err)
				}
			}
		},
		"broken index": func(t *testing.T, dir string) {
			write(t, dir+".index", "nonsense")
			write(t, dir+".index.lock", "")
			write(t, filepath.Join(dir, "a"), "changed")
		},
		"submodule-like .gitmodules": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".gitmodules"), "[submodule \"x\"]\n\tpath = d\n\turl = ext::sh -c true\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, content)
			dir := b.folder("01")
			b.write(dir, files{"keep.log": "k", "out/keep": "k"})
			spoil(t, dir)
			if err := b.ResetFolder(b.ctx, dir, b.base); err != nil {
				t.Fatal(err)
			}
			got := list(t, dir)
			delete(got, "pipe") // git does not see a pipe, so it may stay
			same(t, "folder", got, with(content, files{"keep.log": "k", "out/keep": "k"}))
			if out := runGit(t, dir, "status", "--porcelain"); out != "" {
				t.Errorf("status = %q", out)
			}
			if snap := b.snap(dir, b.base); snap.Changed {
				t.Errorf("snapshot after the reset: %+v", snap)
			}
		})
	}
	b := newBed(t, content)
	missing := filepath.Join(b.state, "runs/r/phases/09")
	if err := b.ResetFolder(b.ctx, missing, b.base); err != nil {
		t.Fatal(err)
	}
	same(t, "missing folder", list(t, missing), content)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "mine"), "m")
	remove(t, missing)
	write(t, missing, "-> "+outside)
	if err := b.ResetFolder(b.ctx, missing, b.base); err != nil {
		t.Fatal(err)
	}
	same(t, "replaced folder", list(t, missing), content)
	same(t, "outside", list(t, outside), files{"mine": "m"})
}

func TestMaterialize(t *testing.T) {
	content := files{"a": "a\n", "d/x": "! x\n", ".gitignore": "*.log\nout/\n", "link": "-> nowhere"}
	b := newBed(t, content)
	dir := filepath.Join(b.state, "verify", "01")
	spoil := func() {
		b.write(dir, files{"keep.log": "k", "out/keep": "k", "d/new": "n", "a": "same", "e/f/g": "g", ".git/config": "[core]\n"})
		mkdir(t, filepath.Join(dir, "empty/deep"))
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
			t.Fatal(err)
		}
		remove(t, filepath.Join(dir, "link"))
		mkdir(t, filepath.Join(dir, "link/now"))
		if err := os.Chmod(filepath.Join(dir, "e/f"), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := b.Materialize(b.ctx, dir, b.base); err != nil {
			t.Fatal(err)
		}
		same(t, "materialized", list(t, dir), content)
		for _, gone := range []string{".git", "empty", "out", "e"} {
			if _, err := os.Lstat(filepath.Join(dir, gone)); err == nil {
				t.Errorf("%s is still there", gone)
			}
		}
		spoil()
	}
	if err := b.Overlay(b.ctx, dir, b.base); err != nil {
		t.Fatal(err)
	}
	got := list(t, dir)
	delete(got, "pipe")
	same(t, "overlaid", got, with(content, files{"keep.log": "k", "out/keep": "k"}))
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		t.Error("Overlay left .git")
	}
	// A template that was copied in has nothing to do with the private index.
	remove(t, dir)
	b.write(dir, files{"a": "template", "out/dep": "d", "stray": "s"})
	if err := b.Overlay(b.ctx, dir, b.base); err != nil {
		t.Fatal(err)
	}
	same(t, "over a template", list(t, dir), with(content, files{"out/dep": "d"}))
}

// An edit that leaves size and modification time as they were is still one.
func TestMaterializeSeesHiddenEdits(t *testing.T) {
	b := newBed(t, files{"a": "one\n"})
	dir := filepath.Join(b.state, "verify", "01")
	if err := b.Materialize(b.ctx, dir, b.base); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "two\n")
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := b.Materialize(b.ctx, dir, b.base); err != nil {
		t.Fatal(err)
	}
	same(t, "folder", list(t, dir), files{"a": "one\n"})
}

func TestFolderPathsAreChecked(t *testing.T) {
	b := newBed(t, nil)
	for _, dir := range []string{"", "relative", "/", "/tmp/../x", "/tmp/x/"} {
		if err := b.OpenFolder(b.ctx, dir, b.base); err == nil {
			t.Errorf("OpenFolder(%q) went through", dir)
		}
	}
	dir := b.folder("01")
	remove(t, dir)
	if _, err := b.Snapshot(b.ctx, dir, b.base, "refs/forge/test", "m"); !errors.Is(err, ErrFolder) {
		t.Errorf("deleted folder: %v", err)
	}
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "s")
	write(t, dir, "-> "+outside)
	if _, err := b.Snapshot(b.ctx, dir, b.base, "refs/forge/test", "m"); !errors.Is(err, ErrFolder) {
		t.Errorf("replaced folder: %v", err)
	}
	for _, id := range []string{"", "HEAD", "--all", strings.Repeat("g", 40), b.base + "~1"} {
		if err := b.OpenFolder(b.ctx, filepath.Join(b.state, "x"), id); err == nil {
			t.Errorf("OpenFolder at %q went through", id)
		}
	}
}
