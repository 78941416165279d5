package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// person answers at a door beside the processes of a rig: by compare-and-set
// on the record, with a row in the inbox.
type person struct {
	*rig
	told map[string]work.CheckpointStatus // what the door accepted
}

// answers says yes to all that waits, but sends the first result back.
func (p *person) answers() {
	p.t.Helper()
	j := p.journal
	for id, cp := range j.Records {
		if cp.Status != work.CheckpointPending {
			continue
		}
		a := work.Answer{Checkpoint: id, Revision: cp.Revision, Status: work.CheckpointApproved, By: "test", Door: "cli", At: p.now()}
		if cp.Kind == string(gates.PointPhaseTransition) && cp.Revision == 1 {
			a.Status, a.Comment = work.CheckpointChangesRequested, "write two.txt as well"
		}
		now, err := gates.Resolve(cp, a, a.At)
		if errors.Is(err, work.ErrExpired) && cp.ExpiresAt != nil {
			cp.Status = work.CheckpointExpired // held, until a process asks again
			j.Records[id] = cp
			continue
		}
		if err != nil {
			p.t.Fatalf("checkpoint %s waits and takes no answer: %v", id, err)
		}
		if j.Records[id] = now; p.told[id] != "" {
			p.t.Errorf("checkpoint %s is answered twice", id)
		}
		p.told[id] = a.Status
		j.Answer(a)
	}
}

// A cycle of freezing, answering and going on is killed at each of its appends:
// before it is on disk, and after it, when its process does not know. What
// waits can be answered, what was accepted is acted on once, and the run ends
// as if nobody had killed it. In the second round questions expire as well: a
// person looks only every other time, and hours lie between two processes.
func TestKillAtEveryOffsetOfAFreeze(t *testing.T) {
	want := map[string]string{"a.txt": "base", "one.txt": "1", "two.txt": "2"}
	play := func(t *testing.T, expire bool, failAt int, written bool) (appends int) {
		var r *rig
		r = newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
			name := map[int]string{1: "one.txt", 2: "two.txt"}[req.Iteration]
			r.repo.write(req.Dir, name, fmt.Sprint(req.Iteration))
			return ok("P01")
		}, human(gates.PointPhaseStart, gates.PointIteration, gates.PointPhaseTransition, gates.PointFinal))
		p := &person{rig: r, told: map[string]work.CheckpointStatus{}}
		jump := time.Duration(0)
		if expire {
			expiresAfter(time.Hour)(&r.spec)
			tick := r.now
			r.now = func() time.Time { return tick().Add(jump) }
		}
		r.journal.FailAt, r.journal.Written = failAt, written
		for round := 1; ; round++ {
			got, err := r.run(context.Background())
			if evs := r.journal.Events; len(evs) > 0 {
				var end work.RunFinishedData
				if last := evs[len(evs)-1]; last.Kind == work.RunFinished && work.Decode(last, &end) == nil && end.Outcome == work.RunCompleted {
					break
				}
			}
			if err == nil && got.Outcome != work.RunFrozen || err != nil && r.journal.Appends != failAt || round > 40 {
				t.Fatalf("process %d ended %q, %v; the last events are\n%s", round, got.Outcome, err, tail(r.journal.Events, 8))
			}
			if !expire || round%2 == 0 {
				p.answers()
			}
			jump += 2 * time.Hour
		}
		if got := r.result(); !maps.Equal(got, want) {
			t.Errorf("the result is %v, want %v", got, want)
		}
		heard := map[string]work.CheckpointStatus{}
		iterations := 0
		for _, e := range r.journal.Events {
			var a orchestrator.CheckpointAnsweredData
			var it work.IterationFinishedData
			switch {
			case e.Kind == work.CheckpointAnswered && work.Decode(e, &a) == nil:
				if heard[a.ID] != "" || a.Refused != "" {
					t.Errorf("checkpoint %s was answered %s, and then %s %s", a.ID, heard[a.ID], a.Status, a.Refused)
				}
				heard[a.ID] = a.Status
			case e.Kind == work.IterationFinished && work.Decode(e, &it) == nil && it.Outcome == work.OutcomeOK:
				iterations++
			}
		}
		if !maps.Equal(heard, p.told) || len(r.journal.Waiting) > 0 {
			t.Errorf("heard were %v, accepted were %v; %d are left", heard, p.told, len(r.journal.Waiting))
		}
		if iterations != 2 {
			t.Errorf("%d iterations came to a result, want 2", iterations)
		}
		if n := r.count(work.CheckpointOverdue); expire && n < 2 || !expire && n > 0 {
			t.Errorf("%d checkpoints expired", n)
		}
		return r.journal.Appends
	}
	for _, expire := range []bool{false, true} {
		appends := play(t, expire, 0, false)
		if appends < 20 {
			t.Fatalf("the cycle has only %d appends", appends)
		}
		for at := 1; at <= appends; at++ {
			for _, written := range []bool{false, true} {
				t.Run(fmt.Sprintf("expire %v, append %d, written %v", expire, at, written), func(t *testing.T) { play(t, expire, at, written) })
			}
		}
	}
}
