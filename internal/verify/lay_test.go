package verify

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"forge/internal/filetree"
	"forge/internal/proc"
	"forge/internal/work"
)

// newLaying is a bench where what setup made lies below the folders of proofs.
func newLaying(t *testing.T, tree files) *bench {
	t.Helper()
	caps := proc.Detect(t.Context())
	if !caps.Bubblewrap {
		t.Skip(caps.Why)
	}
	b := newBench(t, tree)
	if err := proc.TryOverlay(t.Context(), b.state); err != nil {
		t.Skip(err)
	}
	b.caps = caps
	t.Cleanup(func() { _ = filetree.RemoveAll(b.state) })
	return b
}

// laying is a request for a proof over what w makes in a folder of accepted work.
func (b *bench) laying(w work.Worktree, commands ...string) work.VerifyRequest {
	req := b.req(commands...)
	req.Worktree, req.Sandbox.Mode = w, "required"
	return req
}

// kept is the one entry of the setup cache.
func (b *bench) kept() string {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.state, "cache", "setup", "*"))
	if err != nil || len(found) != 1 {
		b.t.Fatalf("the setup cache holds %v, %v; want one entry", found, err)
	}
	return found[0]
}

var package1 = cached(
	"mkdir -p deps/p/.bin $HOME/tool && echo one >deps/p/i.js && echo two >deps/p/j.js && echo run >deps/p/.bin/run && chmod 751 deps/p/.bin/run && ln -s p/i.js deps/l && echo h >$HOME/tool/h")

// What setup made is read as it was made, by every command of every proof, and
// what a command does to it is gone with its proof.
func TestSetupLiesBelowProofs(t *testing.T) {
	t.Parallel()
	b := newLaying(t, locked)
	b.mustSetup(locked, "", package1)
	look := "test $(cat deps/p/i.js deps/l src/a | tr -d '\\n') = oneonea && test $(stat -c %a deps/p/.bin/run) = 751 && test $(cat $HOME/tool/h) = h"
	for range 2 {
		b.green(b.laying(package1, look, look))
		b.green(b.laying(package1, look+" && rm -r deps $HOME/tool && mkdir deps && echo three >deps/x && echo y >deps/p"))
	}
	entry := b.kept()
	if got := read(t, entry, "folder/deps/p/i.js") + read(t, entry, "home/tool/h"); got != "one\nh\n" || exists(entry, "folder/deps/x") {
		t.Errorf("a command reached what is kept: %q", got)
	}
	if left, err := filepath.Glob(filepath.Join(b.state, "verify", "*")); err != nil || len(left) > 0 {
		t.Errorf("a proof left %v, %v", left, err)
	}
}

// An entry that somebody touched is read for its sums and never laid below: what
// was changed makes it useless, what was added is not seen.
func TestSetupThatWasTouchedIsNotLaidBelow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		touch func(t *testing.T, entry string)
		again int // how often setup runs in proofs
	}{
		"nothing":      {func(*testing.T, string) {}, 0},
		"file changed": {func(t *testing.T, e string) { write(t, e, "folder/deps/p/i.js", "hax\n") }, 1},
		"file added":   {func(t *testing.T, e string) { write(t, e, "folder/deps/p/sitecustomize.py", "x") }, 0},
		"file removed": {func(t *testing.T, e string) { remove(t, e, "folder/deps/p/j.js") }, 1},
		"added on top": {func(t *testing.T, e string) { write(t, e, "folder/conftest.py", "x") }, 0},
		"home changed": {func(t *testing.T, e string) { write(t, e, "home/tool/h", "k\n") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLaying(t, locked)
			b.mustSetup(locked, "", package1)
			tt.touch(t, b.kept())

			rep := b.green(b.laying(package1, "test $(cat deps/p/i.js) = one && test -e deps/p/j.js && test ! -e deps/p/sitecustomize.py && test ! -e conftest.py && test $(cat $HOME/tool/h) = h"))
			if got := strings.Count(read(t, b.state, "logs/01.log"), "mkdir -p deps/p"); got != tt.again {
				t.Errorf("setup ran %d times, want %d: %+v", got, tt.again, rep)
			}
		})
	}
}

// A command that changes a package that lies below the folder changes what the
// next one judges, also where it hides what it did.
func TestVerifyIsDisturbedOverSetup(t *testing.T) {
	t.Parallel()
	b := newLaying(t, locked)
	b.mustSetup(locked, "", package1)
	for name, tt := range map[string]struct{ command, what string }{
		"rewritten":             {"echo pass >deps/p/i.js", "deps/p/i.js"},
		"with the old time":     {"touch -r deps/p/i.js .t; printf 'eno\\n' >deps/p/i.js; touch -r .t deps/p/i.js", "deps/p/i.js"},
		"made anew":             {"rm -r deps/p && mkdir deps/p && echo pass >deps/p/j.js", "deps/p/j.js"},
		"moved there":           {"echo pass >x && mv x deps/p/i.js", "deps/p/i.js"},
		"a link in its place":   {"ln -sf /dev/null deps/p/i.js", "deps/p/i.js"},
		"a folder in its place": {"rm deps/p/i.js && mkdir deps/p/i.js", "deps/p/i.js"},
		"its rights":            {"chmod 700 deps/p/i.js", "deps/p/i.js"},
		"a link elsewhere":      {"ln -sf /dev/null deps/l", "deps/l"},
		"the same link":         {"ln -sf p/i.js deps/l", ""},
		"a tool":                {"echo true >deps/p/.bin/run", "deps/p/.bin/run"},
		"a folder from beside":  {"mv deps/p x && ln -s ../x deps/p", "deps/p"},
		"a tracked file":        {"rm src/a", "src/a"},
		"opened, not changed":   {": >>deps/p/i.js", ""},
		"removed":               {"rm deps/p/i.js", ""},
	} {
		rep := b.verify(b.laying(package1, tt.command))
		if rep.OK != (tt.what == "") || !strings.Contains(rep.Disturbed, tt.what) {
			t.Errorf("%s: OK %v, disturbed %q, want one that names %q", name, rep.OK, rep.Disturbed, tt.what)
		}
	}
}

// What a command adds beside what setup made is taken out where the next one
// would load it; what setup made stays, though a command wrote beside it.
func TestVerifyTakesOutOverSetup(t *testing.T) {
	t.Parallel()
	b := newLaying(t, locked)
	b.mustSetup(locked, "", package1)
	b.green(b.laying(package1,
		"echo x >deps/p/.bin/new; echo x >deps/p/conftest.py; echo x >deps/built; mkdir deps/p/__pycache__",
		"test -e deps/p/.bin/run && test -e deps/p/.bin/new && test ! -e deps/p/conftest.py && test -e deps/built && test ! -e deps/p/__pycache__"))
}

// What lies below a command is not removed below it. It is free when it was given
// back, also where a process that was being started had the file open by then.
func TestSetupThatIsLaidStays(t *testing.T) {
	t.Parallel()
	b := newLaying(t, locked)
	b.mustSetup(locked, "", package1)
	entry := b.kept()
	l, err := b.cache.lay(filepath.Base(entry), b.state)
	if err != nil || l == nil {
		t.Fatalf("lay: %v, %v", l, err)
	}
	if err := b.cache.drop(entry); err != nil || !exists(entry, "folder/deps/p/i.js") {
		t.Errorf("dropped while it was laid below a folder: %v", err)
	}
	started, err := syscall.Dup(int(l.held.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(started)
	l.giveBack()
	if err := b.cache.drop(entry); err != nil || exists(entry) {
		t.Errorf("not dropped when it was given back: %v", err)
	}
	if l, err := b.cache.lay(filepath.Base(entry), b.state); err != nil || l != nil {
		t.Errorf("lay what is gone: %v, %v", l, err)
	}
}

// Setup of a folder that stays is a copy: an agent works in it, and it outlives
// the entry.
func TestSetupOfAFolderThatStaysIsACopy(t *testing.T) {
	t.Parallel()
	b := newLaying(t, locked)
	b.mustSetup(locked, "", package1)
	dir := b.mustSetup(locked, "", package1)
	if err := os.RemoveAll(b.kept()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "deps/l"); got != "one\n" {
		t.Errorf("the folder holds %q", got)
	}
}

// That a proof of accepted work begins with empty caches is said before its first
// command; of others nobody could fill any.
func TestVerifySaysThatCachesAreEmpty(t *testing.T) {
	t.Parallel()
	b := newBench(t, files{})
	said := func(accepted, cold bool) string {
		t.Helper()
		var kinds []string
		req := b.req("true")
		req.Accepted, req.Caches.Off = accepted, cold
		if _, err := b.Verify(t.Context(), req, func(a work.Activity) { kinds = append(kinds, a.Kind) }); err != nil {
			t.Fatal(err)
		}
		return strings.Join(kinds, " ")
	}
	for _, tt := range []struct {
		accepted, off bool
		want          string
	}{{true, false, "cold verify"}, {false, false, "verify"}, {true, true, "verify"}} {
		if got := said(tt.accepted, tt.off); got != tt.want {
			t.Errorf("accepted %v, without caches %v: it said %q, want %q", tt.accepted, tt.off, got, tt.want)
		}
	}
}
