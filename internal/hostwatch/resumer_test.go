package hostwatch

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	charm "charm.land/log/v2"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/work"
)

// answeredRun is a project with a run that a review answered and nobody heard.
func answeredRun(t *testing.T, run string) *project.Checkout {
	t.Helper()
	p := &project.Checkout{Env: project.Env{Log: charm.New(io.Discard), Now: time.Now}, State: t.TempDir()}
	if _, err := p.OpenStore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	lease, err := p.Journal.CreateRun(t.Context(), run, journal.Self())
	if err == nil {
		err = p.Journal.Append(t.Context(), lease, journal.Append{
			Events: []work.Event{{V: work.EventVersion, Seq: 1, Time: time.Now(), Run: run, Kind: work.Warned}},
			Open:   []work.Checkpoint{{ID: "asked", Run: run, Kind: "stale", Revision: 1, Hash: "hash", Policy: "policy", Question: "go on?", Status: work.CheckpointPending, OpenedAt: time.Now()}},
			Status: &journal.Status{Outcome: work.RunFrozen},
		})
	}
	if err == nil {
		err = lease.Release(t.Context())
	}
	if err == nil {
		_, err = p.Journal.Answer(t.Context(), work.Answer{Checkpoint: "asked", Revision: 1, Status: work.CheckpointApproved, By: "ann", Door: pullrequest.Channel, At: time.Now()})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A run that is still on its way out is gone on with when that is over, without
// a poll; one that could not go on with an answer waits for the next poll, or
// for another answer.
func TestAnswersThatComeLate(t *testing.T) {
	t.Parallel()
	w := New(answeredRun(t, "run"), nil, work.PullSettings{})
	begun, end := make(chan string, 9), make(chan struct{})
	r := NewResumer(w, func(_ context.Context, run string) error {
		begun <- run
		<-end
		return errors.New("its agent is not there")
	})
	tried := func(want int, when string) {
		t.Helper()
		if len(begun) != want {
			t.Fatalf("%s it was tried %d times, want %d", when, len(begun), want)
		}
	}
	r.Start(t.Context(), true)
	r.Start(t.Context(), true)
	close(end)
	r.Wait()
	tried(1, "while it goes on")
	select {
	case <-w.hints.wake:
	default:
		t.Error("the end of a run wakes nobody")
	}
	r.Start(t.Context(), false)
	r.Wait()
	tried(1, "without a poll")
	r.Start(t.Context(), true)
	r.Wait()
	tried(2, "after a poll")
	r.last["run"]-- // as if the answer had come since
	r.Start(t.Context(), false)
	r.Wait()
	tried(3, "after another answer")
	if run := <-begun; run != "run" {
		t.Errorf("gone on with %q", run)
	}
}

// Whoever only answers goes on with nothing.
func TestNobodyGoesOn(t *testing.T) {
	t.Parallel()
	var r *Resumer
	r.Start(t.Context(), true)
	r.Wait()
}
