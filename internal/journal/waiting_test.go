package journal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/work"
)

// childWaits is a server that waits: it holds the journal open, notices what
// others write, and shows all pages of what is open. It says how many goroutines
// that takes.
func childWaits(ctx context.Context, s *Store) error {
	seen := 0
	for _, page := range []int{50, 1000} {
		if _, err := s.Changed(ctx); err != nil {
			return err
		}
		seen = 0
		for after := ""; ; {
			found, err := s.Checkpoints(ctx, CheckpointFilter{Status: work.CheckpointPending}, page, after)
			if err != nil {
				return err
			}
			if seen += len(found); len(found) < page {
				break
			}
			after = found[len(found)-1].ID
		}
	}
	fmt.Printf("%d open, %d goroutines\n", seen, runtime.NumGoroutine())
	return nil
}

// Ten thousand questions that wait hold no goroutine, and next to no memory of
// a server that waits with them.
func TestWaitingHoldsNothing(t *testing.T) {
	const mostMegabytes = 200
	goroutines := map[int]string{}
	for _, n := range []int{10, 10_000} {
		dir := t.TempDir()
		s := openIn(t, dir, unsynced)
		var a Append
		end := testTime.Add(time.Hour)
		for i := range n {
			c := checkpoint("run", fmt.Sprintf("run.%05d", i), testTime.Add(time.Duration(i)))
			c.Facts, c.Question, c.ExpiresAt = strings.Repeat("a fact of the question\n", 100), "Land the result?", &end
			a.Open = append(a.Open, c)
		}
		appendTo(t, s, create(t, s, "run"), a)
		cmd := child(t, "wait", dir, "")
		cmd.Env = append(cmd.Environ(), "GOGC=100") // whatever the tests themselves run with
		out, err := cmd.Output()
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			t.Fatalf("%v\n%s", err, ended.Stderr)
		}
		if err != nil {
			t.Fatal(err)
		}
		open, rest, _ := strings.Cut(string(out), " open, ")
		if goroutines[n] = rest; open != fmt.Sprint(n) {
			t.Errorf("the server saw %s of %d", open, n)
		}
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok || runtime.GOOS != "linux" {
			continue // counted in other units
		}
		megabytes := float64(usage.Maxrss) * 1024 / 1e6
		t.Logf("%d open checkpoints: %.0f MB", n, megabytes)
		if megabytes > mostMegabytes && !pace.Race {
			t.Errorf("a server that waits with %d open checkpoints takes %.0f MB, at most %d are allowed", n, megabytes, mostMegabytes)
		}
	}
	if goroutines[10] != goroutines[10_000] {
		t.Errorf("10 that wait take %s, 10,000 take %s", goroutines[10], goroutines[10_000])
	}
}
