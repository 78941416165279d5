package journal

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// readBack opens a journal that may be damaged, and reads what it has.
func readBack(t *testing.T, dir string, anchor int64, head string) (events []work.Event, err error) {
	t.Helper()
	s, err := Open(t.Context(), dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if events, err = s.Events(t.Context(), "run", 0); err != nil {
		return nil, err
	}
	return events, s.CheckAnchor(t.Context(), "run", anchor, head)
}

// killedFolder is the state folder of a process that was killed after n
// appends, so that they are in its log.
func killedFolder(t *testing.T, n int) (database, log []byte) {
	t.Helper()
	dir := t.TempDir()
	cmd := child(t, "loop", dir, "")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); n-- {
		if n == 1 {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	for _, file := range []struct {
		suffix string
		to     *[]byte
	}{{"", &database}, {"-wal", &log}} {
		if *file.to, err = os.ReadFile(filepath.Join(dir, databaseName+file.suffix)); err != nil {
			t.Fatal(err)
		}
	}
	return database, log
}

func folderWith(t *testing.T, database, log []byte) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, databaseName), database)
	if log != nil {
		write(t, filepath.Join(dir, databaseName+"-wal"), log)
	}
	return dir
}

// A log that ends anywhere, as a power cut leaves it, holds a beginning of
// what was appended: whole appends in their order. What was known before is
// found to be missing.
func TestTornLog(t *testing.T) {
	database, log := killedFolder(t, 12)
	whole, err := readBack(t, folderWith(t, database, log), 0, Root("run").String())
	if err != nil || len(whole) < 12 {
		t.Fatalf("%d events, %v", len(whole), err)
	}
	head := Root("run")
	for _, e := range whole[:6] {
		head = Link(head, e)
	}
	const header, frame = 32, 24 + 4096
	random := rand.New(rand.NewPCG(3, 4))
	cuts := []int{0, 1, header, len(log) - 1}
	// Whoever was killed in the middle of a frame left a part of it.
	for at := header; at < len(log); at += frame {
		cuts = append(cuts, at, at+random.IntN(min(frame, len(log)-at)))
	}
	for _, cut := range cuts {
		events, err := readBack(t, folderWith(t, database, log[:cut]), 6, head.String())
		switch {
		case err == nil && len(events) < 6:
			t.Errorf("cut at %d of %d: %d events and 6 were anchored", cut, len(log), len(events))
		case err != nil && !errors.Is(err, ErrBroken) && !errors.Is(err, ErrNoRun):
			t.Errorf("cut at %d of %d: %v", cut, len(log), err)
		}
		for i, e := range events {
			if Link(Hash{}, e) != Link(Hash{}, whole[i]) {
				t.Errorf("cut at %d: event %d is another", cut, i+1)
			}
		}
	}
}

// A byte that went bad anywhere in the database is found, or was not needed;
// it never makes other events of those that were appended.
func TestRotten(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	appendTo(t, s, create(t, s, "run"), Append{Events: eventsOf("run", 1, 200)})
	_, head, err := s.Head(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := s.Events(t.Context(), "run", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	database, err := os.ReadFile(filepath.Join(dir, databaseName))
	if err != nil {
		t.Fatal(err)
	}
	found, times := 0, 300
	if pace.Race {
		times = 60
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range times {
		rotten := append([]byte(nil), database...)
		at := random.IntN(len(rotten))
		rotten[at] ^= byte(1 + random.IntN(255))
		events, err := readBack(t, folderWith(t, rotten, nil), 200, head)
		if err != nil {
			found++
			continue
		}
		if len(events) != len(whole) {
			t.Errorf("byte %d: %d events and no error", at, len(events))
			continue
		}
		for i, e := range events {
			if Link(Hash{}, e) != Link(Hash{}, whole[i]) {
				t.Errorf("byte %d: event %d is another", at, i+1)
			}
		}
	}
	if found == 0 {
		t.Error("no damage was found: the test damages nothing")
	}
}
