package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"forge/internal/shortage"
	"forge/internal/work"
)

// inSmallWorld says that the test runs where it may mount: in a namespace of
// its own, in which it is started again.
const inSmallWorld = "FORGE_TEST_SMALL_WORLD"

// smallWorld runs the test that calls it in a namespace where disks can be
// mounted. It returns false in the outer one, where there is nothing left to do.
func smallWorld(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inSmallWorld) != "" {
		return true
	}
	if runtime.GOOS != "linux" {
		t.Skip("small disks are made with Linux's namespaces")
	}
	in := []string{"--user", "--map-root-user", "--mount"}
	if out, err := exec.Command("unshare", append(in, "mount", "-t", "tmpfs", "tmpfs", t.TempDir())...).CombinedOutput(); err != nil {
		t.Skipf("a disk cannot be mounted here: %v %s", err, out)
	}
	cmd := exec.Command("unshare", append(in, os.Args[0], "-test.v", "-test.run", "^"+t.Name()+"$")...)
	cmd.Env = append(os.Environ(), inSmallWorld+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// disk mounts a disk of so many bytes and files at dir.
func disk(t testing.TB, dir string, bytes, names int) {
	t.Helper()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d,nr_inodes=%d", bytes, names), "tmpfs", dir).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
}

// A disk that is full, by bytes or by files, leaves the checkout as it was.
// With more room the printed command does what was not done.
func TestMoveOnAFullDisk(t *testing.T) {
	if !smallWorld(t) {
		return
	}
	moved, refused := 0, 0
	for free := 0; free <= 40; free += 40 / min(kills(4), 40) {
		m := newFull(t)
		ballast := filepath.Join(m.user, ".git", "ballast")
		m.fill(ballast, int64(free)*50<<10)
		d, err := m.forward()
		if err != nil {
			t.Fatalf("%d KB free: %v", 50*free, err)
		}
		when := fmt.Sprintf("%d KB free", 50*free)
		if d.FastForwarded {
			moved++
			remove(t, ballast)
			m.isWhole(when)
			continue
		}
		refused++
		if !strings.Contains(d.Reason, "the disk that holds "+m.user) || !strings.Contains(d.Reason, "is full") || d.Next != "git merge forge/run-1" {
			t.Errorf("%s: %+v", when, d)
		}
		same(t, when, list(t, m.user), m.before)
		m.clean(when)
		remove(t, ballast)
		if got := m.run("status", "--porcelain"); got != "" {
			t.Errorf("%s: status %q", when, got)
		}
		m.run(strings.Fields(d.Next)[1:]...)
		same(t, when+", merged", list(t, m.user), m.after)
	}
	if moved == 0 || refused == 0 {
		t.Errorf("%d moves, %d refusals: the sizes are not around what it takes", moved, refused)
	}
}

// Where room is found and is gone when it is needed, all is taken back.
func TestMoveRunsOutOfRoom(t *testing.T) {
	if !smallWorld(t) {
		return
	}
	struck := 0
	for free := 1; free <= 33; free += 32 / min(kills(2), 32) {
		m := newFull(t)
		ballast := filepath.Join(m.user, ".git", "ballast")
		m.fill(ballast, int64(free)*16<<10)
		held, err := m.holdMoves(m.ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		mv, diff, err := m.planMove(m.ctx, work.Base{Commit: m.base, Branch: "main"}, m.commit)
		if err != nil {
			t.Fatal(err)
		}
		// As moveCheckout does, without the look at the room.
		when := fmt.Sprintf("%d KB free", 16*free)
		if err = m.prepareMove(m.ctx, held, mv, diff); err == nil {
			err = m.carryOut(m.ctx, held, mv)
		}
		if err == nil {
			continue
		}
		struck++
		var told *notMoved
		if got := notMovedBy(mv, err, nil); shortage.Of(err) == "" || !errors.As(got, &told) || !strings.Contains(told.why, "is full; make room") {
			t.Errorf("%s: %v", when, err)
		}
		if _, err := m.takeBack(m.ctx, mv); err != nil {
			t.Fatalf("%s: take back: %v", when, err)
		}
		if err := m.forgetMove(mv); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		same(t, when, list(t, m.user), m.before)
		_ = held.Close()
		m.clean(when)
		remove(t, ballast)
		if d, err := m.forward(); err != nil || !d.FastForwarded {
			t.Errorf("%s: with room: %+v, %v", when, d, err)
		}
	}
	if struck == 0 {
		t.Error("there was always room")
	}
}

// newFull is a checkout on a disk of its own, 8 MB large, and a result of about
// a megabyte.
func newFull(t testing.TB) *moving {
	t.Helper()
	dir := realPath(t, t.TempDir())
	disk(t, dir, 8<<20, 2000)
	old, now := files{}, files{}
	for i := range 16 {
		old[fmt.Sprintf("f%d", i)] = strings.Repeat(fmt.Sprintln("old", i), 100)
		now[fmt.Sprintf("f%d", i)] = strings.Repeat(fmt.Sprintln("new", i), 5000)
		now[fmt.Sprintf("more/%d/f", i)] = strings.Repeat(fmt.Sprintln("more", i), 1000)
	}
	b := newBedAt(t, filepath.Join(dir, "user"), filepath.Join(realPath(t, t.TempDir()), "state"), old)
	m := &moving{bed: b, before: list(t, b.user), after: now}
	m.commit = b.result("01", now)
	b.mustDeliver("forge/run-1", m.commit)
	return m
}

// fill leaves so many bytes of the disk.
func (m *moving) fill(path string, free int64) {
	m.t.Helper()
	room, err := shortage.RoomAt(m.user)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, max(int64(room.Bytes)-free, 0)), 0o600); err != nil {
		m.t.Fatal(err)
	}
}
