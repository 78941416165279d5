package journal

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Killed at any moment, a journal has every event that was acknowledged, no
// gap, and at most the one that was under way.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	// Where a dead owner is not known as such, its heartbeat must be old.
	later := time.Now()
	stored := int64(0)
	for round := range 10 {
		cmd := child(t, "loop", dir, "")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := stored
		left := 1 + rand.IntN(60)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			seq, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil || seq != acknowledged+1 {
				t.Fatalf("round %d: %q was acknowledged after %d", round, lines.Text(), acknowledged)
			}
			acknowledged = seq
			if left--; left == 0 {
				if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil || left > 0 {
			t.Fatalf("round %d: it ended by itself: %v", round, err)
		}

		later = later.Add(time.Minute)
		s := openIn(t, dir, WithClock(func() time.Time { return later }))
		events, err := s.Events(t.Context(), "run", 0)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		stored = int64(len(events))
		if stored < acknowledged || stored > acknowledged+1 {
			t.Fatalf("round %d: %d events are stored, %d were acknowledged", round, stored, acknowledged)
		}
		// An event's blob is durable before it.
		for _, e := range events {
			data, err := s.Blob(t.Context(), strings.Trim(string(e.Data), `"`))
			if err != nil || string(data) != fmt.Sprint("blob ", e.Seq) {
				t.Fatalf("round %d: the blob of event %d is %q, %v", round, e.Seq, data, err)
			}
		}
		l, err := s.AcquireRun(t.Context(), "run", Self())
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An append costs one fsync; heartbeats, attempts and states cost none.
func TestOneSyncForEachAppend(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	probe := exec.Command(strace, "-f", "--seccomp-bpf", "-o", os.DevNull, "-e", "trace=fsync", "true")
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %v: %s", err, out)
	}
	count := func(appends int) int {
		t.Helper()
		trace := filepath.Join(t.TempDir(), "trace")
		cmd := child(t, "append", t.TempDir(), strconv.Itoa(appends))
		cmd.Args = append([]string{strace, "-f", "--seccomp-bpf", "-e", "trace=fsync,fdatasync,sync_file_range,msync", "-o", trace}, cmd.Path)
		cmd.Path = strace
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		// A call that another thread interrupts has a second line, "resumed".
		return len(regexp.MustCompile(`(?m)^\d+ +\w+\(`).FindAll(data, -1))
	}
	few, many := count(50), count(150)
	if few < 50 || many-few != 100 {
		t.Errorf("%d fsyncs for 50 appends and %d for 150: %d for the 100 between them", few, many, many-few)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "read-only", dir, "")
	if os.Getuid() == 0 {
		// Root may write everywhere: be somebody else, who must be able to
		// come to the program and to the folder.
		exe := filepath.Join(filepath.Dir(dir), "journal.test")
		data, err := os.ReadFile(cmd.Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(exe, data, 0o755); err != nil {
			t.Fatal(err)
		}
		for parent := filepath.Dir(dir); parent != filepath.Dir(parent); parent = filepath.Dir(parent) {
			info, err := os.Stat(parent)
			if err != nil {
				t.Fatal(err)
			}
			if parent == filepath.Clean(os.TempDir()) {
				break
			}
			if err := os.Chmod(parent, info.Mode().Perm()|0o111); err != nil {
				t.Fatal(err)
			}
		}
		cmd.Path, cmd.Args = exe, []string{exe}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}}
		cmd.Dir = string(filepath.Separator)
	}
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
}
