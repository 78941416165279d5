package embedded

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"forge/internal/shortage"
	"forge/internal/work"
)

// What the machine ran out of is no phase's fault: the run stops, says what it
// was, and goes on from there when there is more.
func TestTheMachineRunsOut(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "write", Path: "/s/x", Err: syscall.ENOSPC}, "ran out: the disk that holds /s/x is full"},
		{&fs.PathError{Op: "open", Path: "/s/x", Err: syscall.EMFILE}, "ran out: too many open files (limit "},
		{&fs.PathError{Op: "fork/exec", Path: "/bin/git", Err: syscall.EAGAIN}, "ran out: no more processes can be started"},
		{syscall.ENOMEM, "ran out: out of memory"},
	} {
		short := true
		r := newRig(t, func(context.Context, work.IterationRequest) (work.IterationReport, error) {
			if short {
				return work.IterationReport{}, fmt.Errorf("start it: %w", c.err)
			}
			return ok("P01")
		})
		got, err := r.run(context.Background())
		if err != nil || got.Outcome != work.RunInterrupted || !strings.HasPrefix(got.Reason, c.want) {
			t.Errorf("%v: the run ended %+v, %v, want %q", c.err, got, err, c.want)
		}
		if n := r.count(work.PhaseFinished); n != 0 {
			t.Errorf("%v: %d phases ended", c.err, n)
		}
		short = false
		r.ends(work.RunCompleted)
	}
}

// An agent that fails and a test that is red while the disk is full say nothing
// about the work, and nothing is begun on a full disk.
func TestNothingIsJudgedOnAFullDisk(t *testing.T) {
	var full atomic.Bool
	agents, broken := 0, true
	var r *rig
	r = newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
		agents++
		if broken {
			full.Store(true)
			return work.IterationReport{Outcome: work.OutcomeAgentFailed, Detail: "write error"}, nil
		}
		r.repo.write(req.Dir, "one.txt", "1")
		return ok("P01")
	})
	r.room = func() error {
		if full.Load() {
			return &shortage.NoRoom{Path: "/state", Need: 1 << 20}
		}
		return nil
	}
	const why = "ran out: the disk that holds /state is full"
	stops := func(when string) {
		t.Helper()
		got, err := r.run(context.Background())
		if err != nil || got.Outcome != work.RunInterrupted || got.Reason != why {
			t.Errorf("%s: the run ended %+v, %v", when, got, err)
		}
		if n := r.count(work.PhaseFinished); n != 0 {
			t.Errorf("%s: %d phases ended", when, n)
		}
	}
	stops("the agent fails")
	stops("it is still full")
	if agents != 1 {
		t.Errorf("%d agents ran, the disk was full after the first", agents)
	}
	broken = false
	full.Store(false)
	r.ends(work.RunCompleted)
	if got, want := r.result(), map[string]string{"a.txt": "base", "one.txt": "1"}; !maps.Equal(got, want) {
		t.Errorf("the result is %v, want %v", got, want)
	}
}
