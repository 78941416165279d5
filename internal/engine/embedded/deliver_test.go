package embedded

import (
	"context"
	"errors"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// Only what is all done and proven moves the user's branch by itself; whatever
// the case, the result is on its own branch, and the event says how to go on.
func TestDelivery(t *testing.T) {
	detached := func(sp *orchestrator.Spec) { sp.Base.Branch = "" }
	shallow := func(sp *orchestrator.Spec) { sp.Base.Shallow = true }
	keep := func(sp *orchestrator.Spec) { sp.NoMerge = true }
	tests := []struct {
		name   string
		change []func(*orchestrator.Spec)
		reason string // "" = moved
		ends   work.RunOutcome
	}{
		{"all done and proven", nil, "", work.RunCompleted},
		{"by its word alone", []func(*orchestrator.Spec){unproven()}, "word alone", work.RunCompleted},
		{"the owner's waiver", []func(*orchestrator.Spec){unproven(), setting(func(s *work.Settings) { s.Verify.None = true })}, "", work.RunCompleted},
		{"--no-merge", []func(*orchestrator.Spec){keep}, "--no-merge", work.RunCompleted},
		{"detached", []func(*orchestrator.Spec){detached}, "detached", work.RunCompleted},
		{"shallow", []func(*orchestrator.Spec){shallow}, "shallow", work.RunCompleted},
		{"not everything is done", []func(*orchestrator.Spec){phases("01", "02"), ofPhaseN("02", func(ps *work.PhaseSettings) { ps.Budget = 1 })}, "not everything", work.RunFailed},
		{"rejected", []func(*orchestrator.Spec){human(gates.PointFinal)}, "rejected", work.RunFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r *rig
			r = newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
				r.repo.write(req.Dir, req.Phase+".txt", "done")
				return ok("P01")
			}, tt.change...)
			r.journal.After = func(b engine.Batch) {
				for _, cp := range b.Opened {
					r.journal.Answer(work.Answer{Checkpoint: cp.ID, Status: work.CheckpointRejected, By: "test", Door: "cli"})
				}
			}
			r.ends(tt.ends)
			d := r.delivery()
			if d.FastForwarded != (tt.reason == "") || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("the delivery is %+v, want the reason %q", d, tt.reason)
			}
			if d.Branch != "forge/run-sim" || r.result()["01.txt"] != "done" || !d.FastForwarded && !strings.Contains(d.Next, d.Branch) {
				t.Errorf("the delivery is %+v with %v on its branch; want the work there, and what to do next", d, r.result())
			}
		})
	}
}

func (r *rig) delivery() work.Delivery {
	r.t.Helper()
	var d orchestrator.DeliverFinishedData
	for _, e := range r.journal.Events {
		if e.Kind == work.DeliverFinished {
			if err := work.Decode(e, &d); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	return d.Delivery
}

// A checkout that cannot be moved takes nothing away; a branch that cannot be
// written does, and is tried again.
func TestDeliveryThatFails(t *testing.T) {
	r := newRig(t, func(context.Context, work.IterationRequest) (work.IterationReport, error) { return ok("P01") })
	r.repo.refuse = errors.New("refs are read-only")
	r.ends(work.RunInterrupted)
	r.repo.refuse = nil
	r.repo.stuck = errors.New("an untracked file is in the way")
	r.ends(work.RunCompleted)
	if d := r.delivery(); d.FastForwarded || !strings.Contains(d.Reason, "in the way") {
		t.Errorf("the delivery is %+v, want why the checkout was not moved", d)
	}
}

// A cap of the day is held against what the journal knows of it.
func TestTheDayIsAsked(t *testing.T) {
	r := newRig(t, func(_ context.Context, req work.IterationRequest) (work.IterationReport, error) {
		if req.CostUSD == nil || *req.CostUSD != 1 {
			t.Errorf("the agent may spend %v, want the 1 that is left of the day", req.CostUSD)
		}
		return ok("P01")
	}, caps(work.Cost{DayUSD: usd(5)}))
	r.journal.Today = orchestrator.Day{USD: 4}
	r.ends(work.RunCompleted)
	r = newRig(t, func(context.Context, work.IterationRequest) (work.IterationReport, error) { return ok("P01") }, caps(work.Cost{DayUSD: usd(5)}))
	r.journal.Today = orchestrator.Day{USD: 5}
	r.ends(work.RunLimit)
	if n := r.started.Load(); n != 0 {
		t.Errorf("%d agents ran with the day's money spent", n)
	}
}
