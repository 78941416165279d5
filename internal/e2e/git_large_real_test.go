//go:build real && linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRealLargeFile drives an agent that writes 200 MB, one half of it a single
// line: it arrives whole, and Forge's own memory stays within bounds. Git's is
// its own affair.
func TestRealLargeFile(t *testing.T) {
	const most = 96 << 10 // KiB
	k := newCorner(t, `
head -c 100000000 /dev/zero | tr '\0' x >line.txt; head -c 100000000 /dev/urandom >data.bin; sha256sum line.txt data.bin >sums`+claims, "sha256sum -c sums")
	var stdout, stderr bytes.Buffer
	cmd := k.command(os.Args[0], "run", "--autonomous")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	peak := 0
	for running := true; running; {
		select {
		case err := <-over:
			if err != nil {
				t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
			}
			running = false
		case <-time.After(20 * time.Millisecond):
			peak = max(peak, peakMemory(cmd.Process.Pid))
		}
	}
	if peak == 0 || peak > most {
		t.Errorf("forge took %d KiB of memory, at most %d are allowed", peak, most)
	}
	t.Logf("forge took %d KiB of memory", peak)
	k.sh(`sha256sum -c sums; clean; test "$(git cat-file -s HEAD:line.txt)" = 100000000`)
	for _, args := range [][]string{{"diff", "01"}, {"show"}, {"why"}} {
		if out, _, _ := k.forge(args...); len(out) > 32<<20 {
			t.Errorf("forge %v printed %d bytes", args, len(out))
		}
	}
}

// peakMemory is the most memory that a process has had, in KiB; 0 = unknown.
func peakMemory(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		return 0
	}
	return kib
}
