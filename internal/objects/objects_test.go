package objects

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"forge/internal/git"
	"forge/internal/pace"
)

// world is a bare repository and machines that reach it.
type world struct {
	*testing.T
	dir, at string
	env     []string
	base    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, dir: dir, at: filepath.Join(dir, "team.git"), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + os.TempDir(),
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.invalid", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.invalid",
	}}
	w.git(dir, "init", "-q", "--bare", "-b", "main", w.at)
	w.git(dir, "init", "-q", "-b", "main", "user")
	if err := os.WriteFile(filepath.Join(dir, "user", "README.md"), []byte("a project\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.git(dir+"/user", "add", ".")
	w.git(dir+"/user", "commit", "-q", "-m", "first")
	w.base = w.git(dir+"/user", "rev-parse", "HEAD")
	return w
}

func (w *world) git(dir string, args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// machine is one with a state folder of its own; root is its checkout, "" = a mirror.
func (w *world) machine(name, root string) (*Place, *git.Mirror) {
	w.Helper()
	var m *git.Mirror
	if root == "" {
		var err error
		if m, err = git.OpenMirror(w.Context(), filepath.Join(w.dir, name+".mirror", "repo.git"), w.at, w.env); err != nil {
			w.Fatal(err)
		}
		root = m.Dir()
	}
	state := filepath.Join(w.dir, name)
	if err := os.MkdirAll(state, 0o700); err != nil {
		w.Fatal(err)
	}
	repo, err := git.Open(w.Context(), git.Config{StateDir: state, Root: root, Environ: w.env})
	if err != nil {
		w.Fatal(err)
	}
	return &Place{Repo: repo, At: w.at}, m
}

// work is a commit on parent, as a snapshot makes it.
func (w *world) work(p *Place, parent, text string) string {
	w.Helper()
	id, err := p.Repo.CommitRecord(w.Context(), map[string][]byte{"made.txt": []byte(text)}, []string{parent}, text)
	if err != nil {
		w.Fatal(err)
	}
	return id
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// there is what the team's repository has of a run.
func (w *world) there(run string) string {
	return w.git(w.at, "for-each-ref", "--format=%(objectname)", RefOf(run))
}

// A run that begins in a checkout is gone on with on a machine that never had one: its
// base is checked out there, with all of its history, and what is made there is back.
func TestTravels(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	begun, _ := w.machine("a", filepath.Join(w.dir, "user"))
	first := w.work(begun, w.base, "one")
	w.ok(begun.Begin(ctx, "r", w.base, first))

	other, mirror := w.machine("b", "")
	if _, err := other.Bring(ctx, "unknown"); !errors.Is(err, ErrNone) {
		t.Errorf("of a run that is not there: %v", err)
	}
	base, err := other.Bring(ctx, "r")
	if err != nil || base != w.base {
		t.Fatalf("it began on %q, %v; want %s", base, err, w.base)
	}
	dir := filepath.Join(w.dir, "b.mirror", "runs", "r")
	w.ok(other.Repo.KeepBase(ctx, "r", base))
	w.ok(mirror.CheckOut(ctx, base, dir))
	if text, err := os.ReadFile(filepath.Join(dir, "README.md")); err != nil || string(text) != "a project\n" {
		t.Errorf("the base is not checked out: %q, %v", text, err)
	}
	// Whoever looks at the mirror's own objects alone, as an agent does, finds them whole.
	w.git(mirror.Dir(), "fsck", "--full", "--strict")
	second := w.work(other, first, "two")
	w.ok(other.Keep(ctx, "r", second))
	was := w.there("r")
	w.ok(other.Keep(ctx, "r", second, first, "", w.base)) // twice is once
	if now := w.there("r"); now != was {
		t.Error("what is there already was pushed again")
	}

	if _, err := begun.Bring(ctx, "r"); err != nil {
		t.Fatal(err)
	}
	if has, err := begun.Repo.Holds(ctx, second, first); err != nil || !has {
		t.Errorf("what the other machine made is not here: %v", err)
	}
	if refs := w.git(filepath.Join(w.dir, "user"), "for-each-ref", "refs/forge/objects"); refs != "" {
		t.Errorf("the user's repository got %s", refs)
	}
	w.git(w.at, "fsck", "--full", "--strict")

	// A checkout that was half made when a process died is made anew; one that is dropped is gone.
	w.ok(os.Remove(dir + ".whole"))
	w.ok(os.Remove(filepath.Join(dir, "README.md")))
	w.ok(mirror.CheckOut(ctx, base, dir))
	if _, err := os.Stat(filepath.Join(dir, "README.md")); err != nil {
		t.Error(err)
	}
	w.ok(mirror.Drop(ctx, dir))
	if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
		t.Errorf("of a checkout that is dropped there is %v", left)
	}
	if trees := w.git(mirror.Dir(), "worktree", "list"); strings.Count(trees, "\n") > 0 {
		t.Errorf("the mirror still has\n%s", trees)
	}
}

// Whoever was taken over adds nothing any more, whatever it calls the place and however
// late it comes; the other one's counts.
func TestFence(t *testing.T) {
	pace.Slow(t, "dozens of gits, one after the other")
	w := newWorld(t)
	ctx := t.Context()
	orphan, _ := w.machine("a", filepath.Join(w.dir, "user"))
	other, _ := w.machine("b", "")
	w.ok(orphan.Begin(ctx, "r", w.base))
	w.ok(orphan.Fence(ctx, "r", "01", "first"))
	w.ok(orphan.Fence(ctx, "r", "02", "beside"))
	_, err := other.Bring(ctx, "r")
	w.ok(err)
	w.ok(other.Fence(ctx, "r", "01", "second"))

	late := w.work(orphan, w.base, "late")
	var taken *TakenError
	if err := orphan.KeepFenced(ctx, "r", "01", "first", late); !errors.As(err, &taken) || taken.Phase != "01" {
		t.Errorf("what the orphan made: %v", err)
	}
	counts := w.work(other, w.base, "counts")
	w.ok(other.KeepFenced(ctx, "r", "01", "second", counts))
	w.ok(other.KeepFenced(ctx, "r", "01", "second", counts)) // its answer was lost
	w.ok(orphan.KeepFenced(ctx, "r", "02", "beside", w.work(orphan, w.base, "beside")))
	if err := orphan.KeepFenced(ctx, "r", "01", "first", late); !errors.As(err, &taken) {
		t.Errorf("what the orphan made, after the other one was done: %v", err)
	}
	has := w.git(w.at, "rev-list", RefOf("r"))
	if !strings.Contains(has, counts) || strings.Contains(has, late) {
		t.Errorf("there is\n%s\nwith %s, without %s", has, counts, late)
	}
}

// Of many that add at once, nobody's is lost.
func TestAtOnce(t *testing.T) {
	pace.Slow(t, "each of them looks, fetches and pushes until its turn has come")
	w := newWorld(t)
	a, _ := w.machine("a", filepath.Join(w.dir, "user"))
	b, _ := w.machine("b", "")
	w.ok(a.Begin(t.Context(), "r", w.base))
	_, err := b.Bring(t.Context(), "r")
	w.ok(err)
	var all sync.WaitGroup
	made := make([]string, 6)
	for n := range made {
		p := []*Place{a, b}[n%2]
		made[n] = w.work(p, w.base, fmt.Sprint(n))
		all.Go(func() {
			if err := p.Keep(t.Context(), "r", made[n]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	has := w.git(w.at, "rev-list", RefOf("r"))
	for n, id := range made {
		if !strings.Contains(has, id) {
			t.Errorf("the commit of %d is lost", n)
		}
	}
}

// A place that is away is waited for, said once, and what was made arrives when it is
// back; one that answers and refuses is not waited for.
func TestAway(t *testing.T) {
	pace.Slow(t, "a place that is away is asked again after a second")
	w := newWorld(t)
	ctx := t.Context()
	p, _ := w.machine("a", filepath.Join(w.dir, "user"))
	w.ok(p.Begin(ctx, "r", w.base))
	made := w.work(p, w.base, "made")
	w.ok(os.Rename(w.at, w.at+".away"))
	var said []string
	p.Tell = func(what string) {
		if said = append(said, what); what != "" {
			w.ok(os.Rename(w.at+".away", w.at))
		}
	}
	w.ok(p.Patiently(ctx, func(ctx context.Context) error { return p.Keep(ctx, "r", made) }))
	if len(said) != 2 || !strings.Contains(said[0], "does not answer") || said[1] != "" {
		t.Errorf("it was said: %q", said)
	}
	if has := w.git(w.at, "rev-list", RefOf("r")); !strings.Contains(has, made) {
		t.Error("what was made has not arrived")
	}

	hook := filepath.Join(w.at, "hooks", "pre-receive")
	w.ok(os.MkdirAll(filepath.Dir(hook), 0o755))
	w.ok(os.WriteFile(hook, []byte("#!/bin/sh\necho no room >&2\nexit 1\n"), 0o755))
	err := p.Patiently(ctx, func(ctx context.Context) error { return p.Keep(ctx, "r", w.work(p, w.base, "more")) })
	if err == nil || Away(err) || !strings.Contains(err.Error(), "no room") {
		t.Errorf("a push that is refused: %v", err)
	}

	// Whoever is to end waits no longer.
	w.ok(os.Rename(w.at, w.at+".away"))
	ended, end := context.WithCancel(ctx)
	p.Tell = func(string) { end() }
	if err := p.Patiently(ended, func(context.Context) error { return p.Keep(ctx, "r", made) }); err == nil {
		t.Error("a place that is away has kept something")
	}
}

// Each machine names the project alike, also those that ask first at the same moment; no
// other project is named so.
func TestIdentity(t *testing.T) {
	w := newWorld(t)
	a, _ := w.machine("a", filepath.Join(w.dir, "user"))
	b, _ := w.machine("b", "")
	b.At = "file://" + w.at
	names := make([]string, 2)
	var all sync.WaitGroup
	for n, p := range []*Place{a, b} {
		all.Go(func() {
			var err error
			if names[n], err = p.Identity(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if names[0] == "" || names[0] != names[1] {
		t.Errorf("it is named %q and %q", names[0], names[1])
	}
	other := newWorld(t)
	c, _ := other.machine("c", filepath.Join(other.dir, "user"))
	if name, err := c.Identity(t.Context()); err != nil || name == names[0] {
		t.Errorf("another project is named %q as well: %v", name, err)
	}
}

// No text shows what an address holds of a secret.
func TestPlain(t *testing.T) {
	w := newWorld(t)
	p, _ := w.machine("a", filepath.Join(w.dir, "user"))
	w.git(filepath.Join(w.dir, "user"), "remote", "add", "far", "http://hunter2@127.0.0.1:1/x.git")
	p.At = "far"
	_, err := p.Bring(t.Context(), "r")
	if err == nil || !Away(err) {
		t.Fatalf("it was reached: %v", err)
	}
	_, named := p.Identity(t.Context())
	for _, err := range []error{err, p.Keep(t.Context(), "r", w.base), named} {
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("it is said: %v", err)
		}
	}
	for said, want := range map[string]string{
		"unable to access 'https://tok@h/x.git/': no":         "unable to access 'https://h/x.git/': no",
		"ssh://git@h/x and https://a:b@h/y; mail a@b.invalid": "ssh://h/x and https://h/y; mail a@b.invalid",
	} {
		if got := Plain(said); got != want {
			t.Errorf("%q is said as %q, want %q", said, got, want)
		}
	}
}
