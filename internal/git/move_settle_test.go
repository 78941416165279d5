package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/work"
)

// A half-done move is prepared by hand: the record, and half of the files.
func halfMoved(t *testing.T) (*moving, *move) {
	t.Helper()
	m := newMoving(t)
	return m, m.begin(t, func(mv *move) []movedPath { return mv.Paths[:len(mv.Paths)/2] })
}

// begin does a move up to where the paths that some names are in their places.
func (m *moving) begin(t *testing.T, some func(*move) []movedPath) *move {
	t.Helper()
	mv, diff, err := m.planMove(m.ctx, work.Base{Commit: m.base, Branch: "main"}, m.commit)
	if err != nil {
		t.Fatal(err)
	}
	held, err := m.holdMoves(m.ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	if err := m.prepareMove(m.ctx, held, mv, diff); err != nil {
		t.Fatal(err)
	}
	if err := mv.lockIndex(m.ctx); err != nil {
		t.Fatal(err)
	}
	half := *mv
	half.Paths = some(mv)
	if len(half.Paths) < 5 {
		half.Made = nil // only what goes first
	}
	if err := half.place(); err != nil {
		t.Fatal(err)
	}
	return mv
}

func TestMoveSettled(t *testing.T) {
	t.Run("taken back", func(t *testing.T) {
		m, _ := halfMoved(t)
		m.open()
		said, err := m.SettleMove(m.ctx)
		if err != nil || !strings.Contains(said, "a half-done move of main to "+m.commit[:12]+" was taken back") {
			t.Errorf("settled: %q, %v", said, err)
		}
		same(t, "checkout", list(t, m.user), m.before)
		m.clean("afterwards")
		if got := m.run("status", "--porcelain"); got != "" {
			t.Errorf("status %q", got)
		}
		if said, err := m.SettleMove(m.ctx); said != "" || err != nil {
			t.Errorf("again: %q, %v", said, err)
		}
	})
	t.Run("taken back after each removal", func(t *testing.T) {
		template := newMoving(t)
		for n := range 4 {
			m := template.copied(t)
			m.begin(t, func(mv *move) (gone []movedPath) {
				for _, p := range mv.Paths {
					if p.New == "" && len(gone) < n {
						gone = append(gone, p)
					}
				}
				return gone
			})
			if _, err := m.SettleMove(m.ctx); err != nil {
				t.Errorf("%d removed: %v", n, err)
			}
			same(t, fmt.Sprintf("%d removed", n), list(t, m.user), m.before)
			m.clean("afterwards")
		}
	})
	t.Run("the user's edits stay", func(t *testing.T) {
		m, mv := halfMoved(t)
		write(t, filepath.Join(m.user, mv.Paths[0].Path), "mine\n")
		write(t, filepath.Join(m.user, "many/9"), "mine too\n")
		d, err := m.forward()
		if err != nil || d.FastForwarded || !strings.Contains(d.Reason, "is changed") || d.Next != "git merge forge/run-1" {
			t.Errorf("delivery %+v, %v", d, err)
		}
		want := m.before
		want[mv.Paths[0].Path], want["many/9"] = "mine\n", "mine too\n"
		same(t, "checkout", list(t, m.user), want)
		m.clean("afterwards")
	})
	t.Run("edits are named", func(t *testing.T) {
		m, _ := halfMoved(t)
		write(t, filepath.Join(m.user, "many/9"), "mine\n")
		said, err := m.SettleMove(m.ctx)
		if err != nil || !strings.Contains(said, "changed it meanwhile: many/9 (git restore") {
			t.Errorf("settled: %q, %v", said, err)
		}
	})
	t.Run("somebody went on", func(t *testing.T) {
		m, mv := halfMoved(t)
		remove(t, mv.indexLock())
		m.run("add", "-A")
		m.run("commit", "-qm", "what is there")
		here, at := list(t, m.user), m.run("rev-parse", "HEAD")
		said, err := m.SettleMove(m.ctx)
		if err != nil || !strings.Contains(said, "nothing was touched") {
			t.Errorf("settled: %q, %v", said, err)
		}
		same(t, "checkout", list(t, m.user), here)
		if got := m.run("rev-parse", "HEAD"); got != at {
			t.Errorf("HEAD = %s", got)
		}
		m.clean("afterwards")
	})
	t.Run("an unreadable record", func(t *testing.T) {
		m, _ := halfMoved(t)
		write(t, m.notes("move.json"), "{")
		half := list(t, m.user)
		if _, err := m.forward(); err == nil || !strings.Contains(err.Error(), m.notes("move.json")) {
			t.Errorf("delivery: %v", err)
		}
		same(t, "checkout", list(t, m.user), half)
	})
}

// Locks of references are removed when the note says that a git of Forge's was
// at work and they hold what it writes.
func TestDeadLocks(t *testing.T) {
	b := newBed(t, nil)
	head := filepath.Join(b.user, ".git/HEAD.lock")
	branch := filepath.Join(b.user, ".git/refs/heads/main.lock")
	old := time.Now().Add(-time.Minute)
	leave := func(path, text string, at time.Time) {
		t.Helper()
		write(t, path, text)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	note := func(begun time.Time) {
		t.Helper()
		mkdir(t, b.notes())
		write(t, b.notes("refs.json"), fmt.Sprintf(`{"begun":%q,"locks":[{"path":%q},{"path":%q,"id":%q}]}`, begun.Format(time.RFC3339Nano), head, branch, b.base))
	}
	exists := func(path string) bool {
		_, err := os.Lstat(path)
		return !errors.Is(err, fs.ErrNotExist)
	}
	settle := func() {
		t.Helper()
		if _, err := b.SettleMove(b.ctx); err != nil {
			t.Fatal(err)
		}
	}

	leave(head, "", old)
	leave(branch, b.base[:7], old)
	settle()
	if !exists(head) || !exists(branch) {
		t.Error("locks that no note speaks of were removed")
	}
	note(old.Add(-time.Second))
	settle()
	if exists(head) || exists(branch) {
		t.Error("the locks of a dead git are still there")
	}
	leave(head, "x", old)
	leave(branch, strings.Repeat("1", 40)+"\n", old)
	note(old.Add(-time.Second))
	settle()
	if !exists(head) || !exists(branch) {
		t.Error("locks with another content were removed")
	}
	leave(head, "", old)
	note(time.Now())
	settle()
	if !exists(head) {
		t.Error("a lock that is older than Forge's git was removed")
	}
}

// A folder of a dead Forge's operation is removed after a minute, one that is
// in use never.
func TestOldTempFolders(t *testing.T) {
	b := newBed(t, nil)
	used, drop, err := b.tempDir()
	if err != nil {
		t.Fatal(err)
	}
	dead, young := filepath.Join(b.repo, "tmp-dead"), filepath.Join(b.repo, "tmp-young")
	mkdir(t, dead)
	mkdir(t, young)
	old := time.Now().Add(-time.Hour)
	for _, dir := range []string{used, dead} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	b.open()
	left, err := filepath.Glob(filepath.Join(b.repo, "tmp-*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(left)
	if want := []string{used, young}; len(left) != 2 || !slices.Contains(left, used) || !slices.Contains(left, young) {
		t.Errorf("left are %q, want %q", left, want)
	}
	drop()
	if _, err := os.Lstat(used); err == nil {
		t.Error("the folder outlived its operation")
	}
}

// A lock that a living git may hold is not taken away.
func TestMoveWaitsForTheLockOfALivingGit(t *testing.T) {
	pace.Slow(t, "a lock is waited for before it counts as held")
	m, mv := halfMoved(t)
	remove(t, mv.indexLock())
	write(t, mv.indexLock(), "")
	if _, err := m.SettleMove(m.ctx); err == nil || !strings.Contains(err.Error(), "another git holds") {
		t.Errorf("settled: %v", err)
	}
	remove(t, mv.indexLock())
	if _, err := m.SettleMove(m.ctx); err != nil {
		t.Error(err)
	}
	same(t, "checkout", list(t, m.user), m.before)
}
