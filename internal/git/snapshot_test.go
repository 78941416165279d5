package git

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"forge/internal/work"
)

func TestSnapshot(t *testing.T) {
	b := newBed(t, nil)
	before := b.userState()
	dir := b.folder("01")
	if snap := b.snap(dir, b.base); snap.Changed || snap.Commit != b.base || snap.Files != nil || snap.Dropped != nil {
		t.Errorf("unchanged folder: %+v", snap)
	}
	if got, _ := b.ReadRef(b.ctx, "refs/forge/test"); got != "" {
		t.Errorf("unchanged folder set the reference to %s", got)
	}
	b.write(dir, files{"a.txt": "changed\n", "new/deep/file": "n", "noise.log": "ignored"})
	remove(t, filepath.Join(dir, "src/b.txt"))
	one := b.snap(dir, b.base)
	sameStrings(t, "files", changed(one), []string{"M a.txt", "A new/deep/file", "D src/b.txt"})
	same(t, "snapshot", b.tree(one.Commit), files{".forge/forge.toml": "[agent]\n", "a.txt": "changed\n", "new/deep/file": "n", ".gitignore": "*.log\n"})
	if got, _ := b.ReadRef(b.ctx, "refs/forge/test"); got != one.Commit {
		t.Errorf("reference = %s, want %s", got, one.Commit)
	}
	if got := b.ownGit("log", "-1", "--format=%P|%an|%ae|%cn|%s", one.Commit); got != b.base+"|Forge|forge@localhost|Forge|snapshot" {
		t.Errorf("commit = %q", got)
	}
	// Rewritten with the same content: nothing changed.
	b.write(dir, files{"a.txt": "changed\n"})
	if again := b.snap(dir, one.Commit); again.Changed || again.Commit != one.Commit || again.Tree != one.Tree {
		t.Errorf("same content: %+v", again)
	}
	b.open()
	b.write(dir, files{"a.txt": "again\n"})
	two := b.snap(dir, one.Commit)
	sameStrings(t, "files after a restart", changed(two), []string{"M a.txt"})
	// A snapshot may be taken on another parent than the last one.
	three := b.snap(dir, b.base)
	sameStrings(t, "files against the base", changed(three), []string{"M a.txt", "A new/deep/file", "D src/b.txt"})
	if after := b.userState(); after != before {
		t.Errorf("the user's repository changed:\n%s\nwas\n%s", after, before)
	}
}

// A change has a shape, which blanks, comments and new names of files are not
// part of.
func TestSnapshotShape(t *testing.T) {
	b := newBed(t, nil)
	dir := b.folder("01")
	snap := func(parent string, change files) work.Snapshot {
		b.write(dir, change)
		return b.snap(dir, parent)
	}
	one := snap(b.base, files{"m.go": "package m\n\nfunc A() {}\n"})
	two := snap(one.Commit, files{"m.go": "package m\n\n// A does it.\nfunc A()  {}\n"})
	remove(t, filepath.Join(dir, "m.go"))
	three := snap(two.Commit, files{"n.go": "package m\n\n// A does it.\nfunc A()  {}\n"})
	four := snap(three.Commit, files{"n.go": "package m\n\nfunc B() {}\n"})
	five := snap(four.Commit, files{"o.go": "package m\n\nfunc A() {}\n"})
	if one.Shape == "" || one.Bare || four.Shape == "" || four.Bare || one.Shape == four.Shape {
		t.Errorf("code: %+v, %+v", one, four)
	}
	for _, bare := range []work.Snapshot{two, three} {
		if !bare.Changed || bare.Shape != "" || !bare.Bare {
			t.Errorf("comments and names: %+v", bare)
		}
	}
	if five.Shape != one.Shape {
		t.Errorf("the same change in another file: %+v, %+v", one, five)
	}
	if same := b.snap(dir, five.Commit); same.Shape != "" || same.Bare {
		t.Errorf("unchanged: %+v", same)
	}
}

func TestSnapshotOddFiles(t *testing.T) {
	odd := files{
		"with space": "1", "new\nline": "2", "tab\tquote\"": "3", "-dash": "4", "*": "5", ":(top)x": "6", "\xc3\xa9": "7",
		"empty": "", "exe": "! x", "link": "-> /etc/passwd", "dangling": "-> nowhere", "sub/.hidden": "8", "back\\slash": "9",
	}
	if runtime.GOOS == "linux" { // macOS refuses the name
		odd["bad\xff\xfeutf8"] = "10"
	}
	b := newBed(t, nil)
	base := b.tree(b.base)
	dir := b.folder("01")
	b.write(dir, odd)
	mkdir(t, filepath.Join(dir, "empty dir/inner"))
	one := b.snap(dir, b.base)
	same(t, "snapshot", b.tree(one.Commit), with(base, odd))
	sameStrings(t, "dropped", one.Dropped, nil)
	for _, name := range []string{"link", "sub", "with space", "exe"} {
		remove(t, filepath.Join(dir, name))
	}
	b.write(dir, files{"with space/now/folder": "f", "sub": "now a file", "exe": "x", "link": "was a link"})
	two := b.snap(dir, one.Commit)
	same(t, "second snapshot", b.tree(two.Commit), with(with(base, odd),
		files{"with space/now/folder": "f", "sub": "now a file", "exe": "x", "link": "was a link"}, "with space", "sub/.hidden"))
	if err := b.ResetFolder(b.ctx, dir, one.Commit); err != nil {
		t.Fatal(err)
	}
	same(t, "folder", list(t, dir), with(base, odd))
	for _, c := range two.Files {
		if c.Path == "link" && c.Status != "T" {
			t.Errorf("link became a file: status %s", c.Status)
		}
	}
}

// Files that git cannot record are named, and the rest is recorded.
func TestSnapshotUnrecordable(t *testing.T) {
	b := newBed(t, nil)
	base := b.tree(b.base)
	dir := b.folder("01")
	b.write(dir, files{"ok": "1", "x/.GIT/q": "2", "git~1": "3", ".gitattributes": "*.u working-tree-encoding=UTF-16\n", "bad.u": "abc"})
	remove(t, filepath.Join(dir, "a.txt"))
	for _, p := range []string{"a.txt", "pipe"} {
		if err := syscall.Mkfifo(filepath.Join(dir, p), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"a.txt", "bad.u", "git~1", "x/.GIT/q"}
	if !isRoot() {
		b.write(dir, files{"secret": "s", "closed/f": "c", "src/b.txt": "unreadable"})
		for _, p := range []string{"secret", "closed", "src/b.txt"} {
			if err := os.Chmod(filepath.Join(dir, p), 0); err != nil {
				t.Fatal(err)
			}
		}
		defer func() { _ = os.Chmod(filepath.Join(dir, "closed"), 0o700) }()
		want = []string{"a.txt", "bad.u", "closed/", "git~1", "secret", "src/b.txt", "x/.GIT/q"}
	}
	snap := b.snap(dir, b.base)
	same(t, "snapshot", b.tree(snap.Commit), with(base, files{"ok": "1", ".gitattributes": "*.u working-tree-encoding=UTF-16\n"}))
	sameStrings(t, "dropped", snap.Dropped, want)
}

func TestSnapshotCarriesForge(t *testing.T) {
	content := files{".forge/forge.toml": "[agent]\n", ".forge/skills/x.md": "x\n", ".forge/.gitignore": "cache/\n", "a": "a\n", ".forgery": "f\n"}
	outside := t.TempDir()
	write(t, filepath.Join(outside, "forge.toml"), "mine")
	for name, c := range map[string]struct {
		edit    func(t *testing.T, dir string)
		dropped []string
		kept    files // ignored files in .forge stay
	}{
		"edit": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".forge/forge.toml"), "evil")
			write(t, filepath.Join(dir, ".forge/cache/c"), "c")
		}, []string{".forge/forge.toml"}, files{".forge/cache/c": "c"}},
		"add": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, ".forge/skills/new/y.md"), "evil") }, []string{".forge/skills/new/y.md"}, nil},
		"mode": {func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, ".forge/forge.toml"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, []string{".forge/forge.toml"}, nil},
		"remove": {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, ".forge")) },
			[]string{".forge/.gitignore", ".forge/forge.toml", ".forge/skills/x.md"}, nil},
		"link": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, ".forge"))
			write(t, filepath.Join(dir, ".forge"), "-> "+outside)
		}, []string{".forge", ".forge/.gitignore", ".forge/forge.toml", ".forge/skills/x.md"}, nil},
		"inner link": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, ".forge/skills"))
			write(t, filepath.Join(dir, ".forge/skills"), "-> "+outside)
		}, []string{".forge/skills", ".forge/skills/x.md"}, nil},
		"file": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, ".forge"))
			write(t, filepath.Join(dir, ".forge"), "file")
		}, []string{".forge", ".forge/.gitignore", ".forge/forge.toml", ".forge/skills/x.md"}, nil},
		"repository": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".forge/n/f"), "f")
			runGit(t, filepath.Join(dir, ".forge/n"), "init", "-q")
		}, []string{".forge/n/f"}, nil},
		"encoding": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".forge/.gitattributes"), "* working-tree-encoding=UTF-16\n")
			write(t, filepath.Join(dir, ".forge/u"), "abc")
		}, []string{".forge/.gitattributes", ".forge/u"}, nil},
		"pipe": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, ".forge/forge.toml"))
			pipe(t, filepath.Join(dir, ".forge/forge.toml"))
		}, []string{".forge/forge.toml"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, content)
			dir := b.folder("01")
			write(t, filepath.Join(dir, "a"), "work")
			write(t, filepath.Join(dir, ".forgery"), "work")
			c.edit(t, dir)
			snap := b.snap(dir, b.base)
			want := with(content, files{"a": "work", ".forgery": "work"})
			same(t, "snapshot", b.tree(snap.Commit), want)
			got := list(t, dir)
			delete(got, ".forge/n/.git")
			for path := range got {
				if strings.HasPrefix(path, ".forge/n/.git/") {
					delete(got, path)
				}
			}
			same(t, "folder", got, with(want, c.kept))
			sameStrings(t, "dropped", snap.Dropped, c.dropped)
			sameStrings(t, "files", changed(snap), []string{"M .forgery", "M a"})
		})
	}
	same(t, "outside", list(t, outside), files{"forge.toml": "mine"})
}

func TestSnapshotWithoutForge(t *testing.T) {
	b := newBed(t, files{"a": "a\n"})
	dir := b.folder("01")
	b.write(dir, files{".forge/forge.toml": "mine"})
	snap := b.snap(dir, b.base)
	sameStrings(t, "dropped", snap.Dropped, []string{".forge/forge.toml"})
	if snap.Changed {
		t.Errorf("snapshot = %+v", snap)
	}
	same(t, "folder", list(t, dir), files{"a": "a\n"})
}

func TestSnapshotNestedRepositories(t *testing.T) {
	b := newBed(t, files{"a": "a\n", ".gitignore": "ign/\n"})
	base := b.tree(b.base)
	dir := b.folder("01")
	repo := func(rel string, commit bool) {
		path := filepath.Join(dir, rel)
		mkdir(t, path)
		runGit(t, path, "init", "-q")
		write(t, filepath.Join(path, "f"), rel)
		if commit {
			runGit(t, path, "add", "-A")
			runGit(t, path, "-c", "user.name=Test", "-c", "user.email=test@example.invalid", "commit", "-qm", "x")
		}
	}
	repo("n", true)
	repo("n/deep/inner", false)
	repo("n/deep/committed", true)
	repo("m", false)
	repo("ign/dep", true)
	b.write(dir, files{"n/.gitignore": "*.o\n", "n/x.o": "ignored"})
	write(t, filepath.Join(dir, "linked/.git"), "gitdir: ../n/.git\n")
	write(t, filepath.Join(dir, "linked/f"), "linked")
	one := b.snap(dir, b.base)
	want := with(base, files{"n/f": "n", "n/.gitignore": "*.o\n", "n/deep/inner/f": "n/deep/inner", "n/deep/committed/f": "n/deep/committed", "m/f": "m", "linked/f": "linked"})
	same(t, "snapshot", b.tree(one.Commit), want)
	sameStrings(t, "dropped", one.Dropped, nil)

	b.write(dir, files{"n/later": "l"})
	remove(t, filepath.Join(dir, "m/f"))
	two := b.snap(dir, one.Commit)
	sameStrings(t, "files", changed(two), []string{"D m/f", "A n/later"})
	b.write(dir, files{"m/g": "back"})
	three := b.snap(dir, two.Commit)
	sameStrings(t, "files", changed(three), []string{"A m/g"})

	// A repository in the place of a file.
	remove(t, filepath.Join(dir, "a"))
	repo("a", true)
	four := b.snap(dir, three.Commit)
	sameStrings(t, "files", changed(four), []string{"D a", "A a/f"})
	if err := b.ResetFolder(b.ctx, dir, b.base); err != nil {
		t.Fatal(err)
	}
	got := list(t, dir)
	for path := range got {
		if strings.HasPrefix(path, "ign/") {
			delete(got, path)
		}
	}
	same(t, "folder", got, base)
}

func TestSnapshotKeepsSubmodules(t *testing.T) {
	b := newBed(t, nil)
	library := filepath.Join(filepath.Dir(b.user), "library")
	mkdir(t, library)
	runGit(t, library, "init", "-q")
	write(t, filepath.Join(library, "f"), "f")
	runGit(t, library, "add", "-A")
	runGit(t, library, "-c", "user.name=Test", "-c", "user.email=test@example.invalid", "commit", "-qm", "x")
	b.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "lib")
	b.run("commit", "-qm", "submodule")
	b.base = b.run("rev-parse", "HEAD")
	b.open()
	base := b.tree(b.base)
	dir := b.folder("01")
	if got := runGit(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("status = %q", got)
	}
	for name, edit := range map[string]func(path string){
		"untouched": func(string) {},
		"removed":   func(path string) { remove(t, path) },
		"a file":    func(path string) { remove(t, path); write(t, path, "file") },
		"files":     func(path string) { write(t, filepath.Join(path, "f"), "f") },
		"repository": func(path string) {
			runGit(t, filepath.Dir(path), "clone", "-q", library, path)
			hostile(t, path, dir+".marker")
		},
	} {
		if err := b.ResetFolder(b.ctx, dir, b.base); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(dir, "lib"))
		if err != nil || len(entries) != 0 {
			t.Errorf("%s: lib holds %v, %v", name, entries, err)
		}
		edit(filepath.Join(dir, "lib"))
		b.write(dir, files{"more": name})
		snap := b.snap(dir, b.base)
		same(t, name, b.tree(snap.Commit), with(base, files{"more": name}))
		notExecuted(t, dir+".marker")
	}
}

func TestSnapshotLineEnds(t *testing.T) {
	b := newBed(t, files{"a.txt": "a\n", "b.bin": "a\n", ".gitattributes": "*.bin -text\n"})
	b.run("config", "core.autocrlf", "true")
	b.open()
	dir := b.folder("01")
	same(t, "folder", list(t, dir), files{"a.txt": "a\r\n", "b.bin": "a\n", ".gitattributes": "*.bin -text\r\n"})
	if got := runGit(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("status = %q", got)
	}
	if snap := b.snap(dir, b.base); snap.Changed {
		t.Errorf("unchanged: %+v", snap)
	}
	b.write(dir, files{"a.txt": "a\r\nb\r\n", "new.txt": "n\n", "b.bin": "a\r\n"})
	snap := b.snap(dir, b.base)
	same(t, "snapshot", b.tree(snap.Commit), files{"a.txt": "a\nb\n", "new.txt": "n\n", "b.bin": "a\r\n", ".gitattributes": "*.bin -text\n"})
}

// The user's own filters and ignore rules hold, wherever they are configured.
func TestUserConfigurationHolds(t *testing.T) {
	b := newBed(t, files{"a.up": "text\n", ".gitattributes": "*.up filter=case\n"})
	tool := filepath.Join(t.TempDir(), "case tool")
	write(t, tool, "! #!/bin/sh\nif [ \"$1\" = up ]; then tr a-z A-Z; else tr A-Z a-z; fi\n")
	b.run("config", "filter.case.smudge", "'"+tool+"' up")
	b.run("config", "filter.case.clean", "'"+tool+"' down")
	b.run("config", "filter.case.required", "true")
	b.run("config", "alias.x", "!false")
	write(t, filepath.Join(b.user, ".git/info/exclude"), "private/\n")
	b.open()
	dir := b.folder("01")
	same(t, "folder", list(t, dir), files{"a.up": "TEXT\n", ".gitattributes": "*.up filter=case\n"})
	b.write(dir, files{"b.up": "MORE\n", "private/note": "p"})
	snap := b.snap(dir, b.base)
	same(t, "snapshot", b.tree(snap.Commit), files{"a.up": "text\n", "b.up": "more\n", ".gitattributes": "*.up filter=case\n"})
	if config := b.ownGit("config", "--list"); strings.Contains(config, "alias.") {
		t.Errorf("carried too much:\n%s", config)
	}
	// A filter that lies in the project is the agent's to rewrite.
	write(t, filepath.Join(b.user, "tools/clean.sh"), "! #!/bin/sh\ncat\n")
	for _, command := range []string{"./tools/clean.sh %f", "sh tools/clean.sh"} {
		b.run("config", "filter.case.clean", command)
		_, err := Open(b.ctx, Config{StateDir: b.state, Root: b.user})
		if err == nil || !strings.Contains(err.Error(), "tools/clean.sh") {
			t.Errorf("filter %q: %v", command, err)
		}
	}
}
