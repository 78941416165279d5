package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"forge/internal/pace"
)

func TestUpdateRef(t *testing.T) {
	pace.Slow(t, "a fresh lock is waited for")
	b := newBed(t, nil)
	one, two := b.result("01", files{"x": "1"}), b.result("02", files{"x": "2"})
	const ref = "refs/forge/x/y"
	set := func(id, old string) error { return b.UpdateRef(b.ctx, ref, id, old) }
	var moved *MovedError
	if err := set(one, two); !errors.As(err, &moved) {
		t.Errorf("absent, expected two: %v", err)
	}
	if err := set(one, ZeroID); err != nil {
		t.Fatal(err)
	}
	if err := set(two, ZeroID); !errors.As(err, &moved) {
		t.Errorf("there, expected none: %v", err)
	}
	if err := set(two, two); !errors.As(err, &moved) {
		t.Errorf("one, expected two: %v", err)
	}
	if err := set(two, one); err != nil {
		t.Error(err)
	}
	// What a power cut and a killed git leave behind.
	path := filepath.Join(b.repo, ref)
	write(t, path, "")
	if err := set(one, ""); err != nil {
		t.Errorf("over an empty file: %v", err)
	}
	write(t, path+".lock", "")
	long := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path+".lock", long, long); err != nil {
		t.Fatal(err)
	}
	if err := set(two, one); err != nil {
		t.Errorf("with an old lock: %v", err)
	}
	if got, err := b.ReadRef(b.ctx, ref); err != nil || got != two {
		t.Errorf("ReadRef = %s, %v", got, err)
	}
	if err := set("", two); err != nil {
		t.Error(err)
	}
	if got, err := b.ReadRef(b.ctx, ref); err != nil || got != "" {
		t.Errorf("after removal: %q, %v", got, err)
	}
	if err := b.UpdateRef(b.ctx, "HEAD", one, ""); err == nil {
		t.Error("HEAD went through")
	}
}

func TestAnchor(t *testing.T) {
	b := newBed(t, nil)
	if _, _, ok, err := b.ReadAnchor(b.ctx, "r1"); ok || err != nil {
		t.Errorf("before: %v, %v", ok, err)
	}
	for _, count := range []int64{7, 8} {
		if err := b.Anchor(b.ctx, "r1", count, "abc"); err != nil {
			t.Fatal(err)
		}
	}
	if count, head, ok, err := b.ReadAnchor(b.ctx, "r1"); count != 8 || head != "abc" || !ok || err != nil {
		t.Errorf("ReadAnchor = %d, %q, %v, %v", count, head, ok, err)
	}
	for _, run := range []string{"", "../x", "a b"} {
		if err := b.Anchor(b.ctx, run, 1, "abc"); err == nil {
			t.Errorf("run %q went through", run)
		}
	}
	if err := b.Anchor(b.ctx, "r1", 1, "a b"); err == nil {
		t.Error("a head with a space went through")
	}
}

// FuzzRefName holds validRef against git itself.
func FuzzRefName(f *testing.F) {
	for _, s := range []string{"refs/heads/x", "refs/a..b", "refs/x.lock/y", "refs/.x", "refs/x@{1}", "refs//x", "refs/x.", "refs/\x7f", "refs/@", "heads/x", "refs/-x", "refs/é", "refs/"} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, name string) {
		for i := 0; i < len(name); i++ {
			if name[i] == 0 {
				return // cannot be an argument
			}
		}
		_, err := tryGit(dir, "check-ref-format", name)
		want := err == nil && len(name) > 5 && name[:5] == "refs/"
		if got := validRef(name); got != want {
			t.Errorf("validRef(%q) = %v, git says %v", name, got, want)
		}
	})
}

func FuzzParsers(f *testing.F) {
	f.Add([]byte(":100644 100644 aaa bbb M\x00a.txt\x00"))
	f.Add([]byte("worktree /x\x00HEAD abc\x00branch refs/heads/x\x00\x00"))
	f.Add([]byte("core.bare\x00user.name\nTest\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := parseRaw(data); err == nil && len(c.files) != len(c.modes) {
			t.Errorf("%d files, %d modes", len(c.files), len(c.modes))
		}
		parseWorktrees(data)
		settings := parseConfig(data)
		if _, err := renderConfig(settings); err == nil && len(data) == 0 && len(settings) != 0 {
			t.Error("settings from nothing")
		}
	})
}

// Dozens of runs that begin and land wait for each other's references: that a turn is
// long in coming is no reason to give a run up.
func TestAReferenceWaitsForItsTurn(t *testing.T) {
	pace.Slow(t, "others hold the lock for longer than one of them should")
	t.Parallel()
	b := newBed(t, nil)
	held, err := b.holdMoves(b.ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(12*time.Second, func() { _ = held.Close() })
	if err := b.setUserRef(b.ctx, "refs/forge/keep/r1", b.base, "", "forge: base of a run"); err != nil {
		t.Error(err)
	}
}

// What git says when a disk is full, in the places where it does not say why.
func TestWhatCouldNotBeWritten(t *testing.T) {
	for said, want := range map[string]bool{
		"fatal: update_ref failed for ref 'refs/forge/x': cannot update ref 'refs/forge/x': couldn't write '/s/refs/forge/x.lock'": true,
		"error: unable to write file a.txt":                                     true,
		"fatal: unable to create '/s/packed-refs.lock': no words":               true,
		"error: failed to write object":                                         true,
		"fatal: Could not write new index file.":                                true,
		"fatal: bad object worktrees/half/HEAD":                                 false,
		"fatal: cannot lock ref 'refs/forge/x': is at 1 but expected 2":         false,
		"error: Your local changes to the following files would be overwritten": false,
	} {
		if got := couldNotWrite(said); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}
