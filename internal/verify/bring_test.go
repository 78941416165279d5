package verify

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/filetree"
	"forge/internal/work"
)

func TestCopy(t *testing.T) {
	user := checkout(t,
		files{".gitignore": ".env*\nlocal/\nnode_modules/\n*.key\n", "app/.env.example": "tracked", "README": "r"},
		files{
			".env": "top", "app/.env": "app", "app/deep/er/.env": "deep",
			"local/a": "a", "local/sub/run": "!b", "local/link": "-> sub/run",
			"node_modules/dep/.env": "not mine", "node_modules/dep/index.js": "js",
			"keys/one.key": "1", "keys/README": "not ignored, not tracked",
		})
	git(t, user, "add", "-f", "app/.env.example")
	tests := []struct {
		globs []string
		want  []string
	}{
		{[]string{".env"}, []string{".env"}},
		{[]string{"/.env", "./.env", ".env"}, []string{".env"}},
		{[]string{"**/.env*"}, []string{".env", "app/.env", "app/deep/er/.env"}},
		{[]string{"app/**/.env"}, []string{"app/.env", "app/deep/er/.env"}},
		{[]string{"*/.env"}, []string{"app/.env"}},
		{[]string{"local/"}, []string{"local/a", "local/link", "local/sub/run"}},
		{[]string{"local", "local/sub/**"}, []string{"local/a", "local/link", "local/sub/run"}},
		{[]string{"keys"}, []string{"keys/one.key"}},
		{[]string{"node_modules/dep/.env"}, []string{"node_modules/dep/.env"}},
		{[]string{"README", "app/.env.example"}, nil},
		{[]string{"gone", "gone/*", "**/gone"}, nil},
		{[]string{"{.env,local/a}"}, []string{".env", "local/a"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.globs, " "), func(t *testing.T) {
			b := newBench(t, nil)
			dir := b.mustSetup(files{"README": "r", "app/.env.example": "tracked"}, user, work.Worktree{Copy: tt.globs})
			if got := added(t, dir); !slices.Equal(got, tt.want) {
				t.Errorf("copied %q, want %q", got, tt.want)
			}
		})
	}

	b := newBench(t, nil)
	dir := b.mustSetup(files{".env": "of the commit", "app": "-> " + b.outside}, user, work.Worktree{Copy: []string{"**/.env", "local"}})
	if got := read(t, dir, ".env"); got != "of the commit" {
		t.Errorf("a file of the commit became %q", got)
	}
	if exists(b.outside, ".env") {
		t.Error("a copy went out of the folder through a link of the commit")
	}
	info, err := os.Stat(filepath.Join(dir, "local/sub/run"))
	if err != nil || info.Mode().Perm() != 0o755 || read(t, dir, "local/link") != "b" {
		t.Errorf("copied program %v, %v, by its link %q", info.Mode(), err, read(t, dir, "local/link"))
	}
}

func TestLink(t *testing.T) {
	user := checkout(t,
		files{".gitignore": "node_modules/\n*.bin\n", "packages/own/index.js": "own"},
		files{
			"node_modules/dep/index.js": "dep", "node_modules/.bin/dep": "-> ../dep/index.js",
			"node_modules/same": "-> dep", "node_modules/own": "-> ../packages/own", "data.bin": "data",
		})
	b := newBench(t, nil)
	w := work.Worktree{Link: []string{"node_modules", "*.bin"}}
	dir := b.mustSetup(files{"packages/own/index.js": "own, changed"}, user, w)
	for p, want := range map[string]string{
		"node_modules/dep/index.js": "dep", "node_modules/.bin/dep": "dep", "node_modules/same/index.js": "dep",
		"node_modules/own/index.js": "own, changed", "data.bin": "data",
	} {
		if got := read(t, dir, p); got != want {
			t.Errorf("%s reads %q, want %q", p, got, want)
		}
	}
	// "node_modules/" in .gitignore covers a folder, not a link.
	if info, err := os.Lstat(filepath.Join(dir, "node_modules")); err != nil || !info.IsDir() {
		t.Errorf("node_modules is %v, %v", info.Mode(), err)
	}
	user, err := filepath.EvalSymlinks(user)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := b.Links(t.Context(), user, w)
	if want := []string{filepath.Join(user, "data.bin"), filepath.Join(user, "node_modules")}; err != nil || !slices.Equal(targets, want) {
		t.Errorf("targets %q, %v; want %q", targets, err, want)
	}
	if targets, err := b.Links(t.Context(), "", work.Worktree{}); err != nil || targets != nil {
		t.Errorf("no links: %q, %v", targets, err)
	}

	// Removing the folder leaves the user's files alone.
	if err := filetree.RemoveAll(dir); err != nil || read(t, user, "node_modules/dep/index.js") != "dep" {
		t.Errorf("removing: %v", err)
	}
}

func TestBringRefuses(t *testing.T) {
	secret := t.TempDir()
	write(t, secret, "id", "secret")
	user := checkout(t, files{".gitignore": "x/\nout\nabs\nvia\n"}, files{
		"x/up": "-> ../../secret", "x/abs": "-> " + secret, "out": "-> ..", "via": "-> " + secret, "new": "not ignored",
	})
	tests := []struct {
		name string
		w    work.Worktree
		want string
	}{
		{"parent", work.Worktree{Copy: []string{"../secret"}}, `copy: "../secret" is not a path inside the checkout`},
		{"hidden parent", work.Worktree{Link: []string{"x/../../secret"}}, `link: "x/../../secret" is not a path inside the checkout`},
		{"nothing", work.Worktree{Copy: []string{"/"}}, `copy: "/" is not a path inside the checkout`},
		{"git's own", work.Worktree{Copy: []string{".git/config"}}, `copy: ".git/config" is inside .git`},
		{"bad glob", work.Worktree{Copy: []string{"[a"}}, `copy: "[a" is not a glob`},
		{"too many spans", work.Worktree{Copy: []string{"**/**/**/**/**/**/a"}}, `more than 5 **`},
		{"copied link up", work.Worktree{Copy: []string{"x"}}, "out of the checkout"},
		{"copied absolute link", work.Worktree{Copy: []string{"x/abs"}}, "out of the checkout"},
		{"linked link", work.Worktree{Link: []string{"out"}}, "link: out is a link to .., out of the checkout"},
		{"link inside a linked folder", work.Worktree{Link: []string{"x"}}, "out of the checkout"},
		{"through a link", work.Worktree{Copy: []string{"via/id"}}, `"via/id" cannot be followed inside the checkout`},
		{"through a link, by glob", work.Worktree{Copy: []string{"via/*"}}, ""},
		{"not ignored", work.Worktree{Copy: []string{"new"}}, "copy: new is not ignored by git, so it would become part of the work: add it to .gitignore"},
		{"not ignored, linked", work.Worktree{Link: []string{"n*"}}, "link: new is not ignored by git"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil)
			tt.w.Setup = []string{b.mark("ran")}
			dir, rep := b.setup(files{}, user, tt.w)
			if tt.want == "" {
				if got := added(t, dir); len(got) != 0 {
					t.Errorf("brought %q", got)
				}
				return
			}
			if rep.OK || !strings.Contains(rep.Problem, tt.want) || b.marks("ran") != 0 {
				t.Errorf("got %+v, want a problem with %q", rep, tt.want)
			}
			if got := added(t, dir); len(got) != 0 {
				t.Errorf("brought %q all the same", got)
			}
		})
	}
	b := newBench(t, nil)
	if _, rep := b.setup(files{}, "", work.Worktree{Copy: []string{".env"}}); rep.OK {
		t.Error("copying from no checkout is OK")
	}
}

func TestBringNeedsGitToAnswer(t *testing.T) {
	b := newBench(t, nil)
	user := t.TempDir() // no repository
	write(t, user, ".env", "x")
	dir := filepath.Join(b.state, "phases", "01")
	if err := (files{}).write(dir); err != nil {
		t.Fatal(err)
	}
	req := work.SetupRequest{Dir: dir, Checkout: user, Settings: work.Worktree{Copy: []string{".env"}}, Sandbox: work.SandboxSettings{Mode: "off"}}
	if rep, err := b.Setup(t.Context(), req); err == nil || rep.OK {
		t.Errorf("got %+v, %v; want an error", rep, err)
	}
}

func TestPatterns(t *testing.T) {
	tests := []struct {
		glob      string
		match     []string
		not       []string
		start     string
		depth     int
		wantError bool
	}{
		{".env", []string{".env"}, []string{"a/.env", ".envx"}, ".env", 1, false},
		{"a/b/c*", []string{"a/b/c", "a/b/cd"}, []string{"a/b/c/d", "a/c"}, "a/b", 3, false},
		{"**/.env", []string{".env", "a/.env", "a/b/.env"}, []string{"x.env", "a/x.env"}, ".", 0, false},
		{"a/**/b", []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"b", "ab", "a/xb"}, "a", 0, false},
		{"**/a/**/b", []string{"a/b", "x/a/b", "a/y/b", "x/a/y/b"}, []string{"a", "xa/b"}, ".", 0, false},
		{"a/**", []string{"a/b", "a/b/c"}, []string{"b"}, "a", 0, false},
		{"*.{env,key}", []string{"a.env", "b.key"}, []string{"a/b.env", "a.other"}, ".", 0, false},
		{"a?c", []string{"abc"}, []string{"a/c", "ac"}, ".", 1, false},
		{"a//b", nil, nil, "", 0, true},
		{"", nil, nil, "", 0, true},
	}
	for _, tt := range tests {
		ps, err := compile("copy", []string{tt.glob})
		if (err != nil) != tt.wantError {
			t.Errorf("compile(%q): %v", tt.glob, err)
		}
		if err != nil {
			continue
		}
		p := ps[0]
		if p.start != tt.start || p.depth != tt.depth {
			t.Errorf("%q starts at %q with depth %d, want %q, %d", tt.glob, p.start, p.depth, tt.start, tt.depth)
		}
		for _, s := range tt.match {
			if !p.matches(s) {
				t.Errorf("%q does not match %q", tt.glob, s)
			}
		}
		for _, s := range tt.not {
			if p.matches(s) {
				t.Errorf("%q matches %q", tt.glob, s)
			}
		}
	}
}

// added lists the files in dir beside what the tests put there.
func added(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if !d.IsDir() && rel != "README" && rel != "app/.env.example" {
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
