package embedded

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/work"
)

// The next process asks again, once, and loses no answer that a door accepted.
func TestResumeAsksAgain(t *testing.T) {
	r := diligentRig(t)
	human(gates.PointFinal)(&r.spec)
	expiresAfter(24 * time.Hour)(&r.spec)
	r.ends(work.RunFrozen)
	r.ends(work.RunFrozen)
	if n := r.count(work.CheckpointOverdue); n != 0 {
		t.Fatalf("%d expired before their time", n)
	}
	late := 25 * time.Hour
	tick := r.now
	r.now = func() time.Time { return tick().Add(late) }
	r.ends(work.RunFrozen)
	r.ends(work.RunFrozen)
	if n := r.count(work.CheckpointOverdue); n != 1 || r.count(work.CheckpointOpened) != 2 || len(r.journal.Records) != 2 {
		t.Fatalf("%d expired, %d opened, %d records; want 1, 2, 2", n, r.count(work.CheckpointOpened), len(r.journal.Records))
	}
	pending := ""
	for id, cp := range r.journal.Records {
		if cp.Status == work.CheckpointPending {
			pending += id
		}
	}
	if pending != "sim.2" {
		t.Errorf("%q can be answered, want sim.2", pending)
	}
	// It was answered in time; the process that hears it comes days later.
	answeredAt := r.journal.Records["sim.2"].OpenedAt.Add(time.Minute)
	r.journal.Answer(work.Answer{Checkpoint: "sim.2", Status: work.CheckpointApproved, By: "test", Door: "cli", At: answeredAt})
	late = 200 * time.Hour
	r.ends(work.RunCompleted)
	if n := r.count(work.CheckpointOverdue); n != 1 {
		t.Errorf("%d expired, want 1", n)
	}
}

// A door accepts an answer between the look at the inbox and the expiry.
func TestAnswerBesideTheExpiry(t *testing.T) {
	r := diligentRig(t)
	human(gates.PointFinal)(&r.spec)
	expiresAfter(time.Hour)(&r.spec)
	r.ends(work.RunFrozen)
	end := *r.journal.Records["sim.1"].ExpiresAt
	tick := r.now
	calls := 0
	r.now = func() time.Time {
		// Once the run is resumed and the inbox was read.
		if calls++; len(r.journal.Events) > 0 && r.journal.Events[len(r.journal.Events)-1].Kind == work.RunResumed && len(r.journal.Waiting) == 0 && r.count(work.CheckpointAnswered) == 0 {
			r.journal.Answer(work.Answer{Checkpoint: "sim.1", Status: work.CheckpointApproved, By: "test", Door: "cli", At: end.Add(-1)})
		}
		return tick().Add(2 * time.Hour)
	}
	r.ends(work.RunCompleted)
	if n := r.count(work.CheckpointOverdue); n != 0 {
		t.Errorf("%d expired, and the answer was accepted", n)
	}
}

// A journal that cannot close a record asks nothing again.
func TestExpiryThatCannotBeWritten(t *testing.T) {
	r := diligentRig(t)
	human(gates.PointFinal)(&r.spec)
	expiresAfter(time.Hour)(&r.spec)
	r.ends(work.RunFrozen)
	tick := r.now
	r.now = func() time.Time { return tick().Add(2 * time.Hour) }
	r.journal.Stuck = fmt.Errorf("no space left")
	if _, err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), "close checkpoints") {
		t.Fatalf("the run ended with %v", err)
	}
	r.journal.Stuck = nil
	r.ends(work.RunFrozen)
	if r.count(work.CheckpointOverdue) != 1 {
		t.Errorf("%d expired, want 1", r.count(work.CheckpointOverdue))
	}
}
