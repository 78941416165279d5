package embedded

import (
	"context"
	"testing"

	"forge/internal/work"
)

// An urgent message ends the iteration, whose work is kept; one that had ended by
// itself, or at a cap, just before is what it is.
func TestAMessageEndsAnIteration(t *testing.T) {
	for name, test := range map[string]struct {
		end  work.Outcome
		want work.Outcome
		run  work.RunOutcome
	}{
		"it is ended":             {work.OutcomeInterrupted, work.OutcomeTold, work.RunCompleted},
		"it was at its cap":       {work.OutcomeCostLimit, work.OutcomeCostLimit, work.RunLimit},
		"it was done by itself":   {work.OutcomeOK, work.OutcomeOK, work.RunCompleted},
		"its agent failed itself": {work.OutcomeAgentFailed, work.OutcomeAgentFailed, work.RunCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			var r *rig
			r = newRig(t, func(agent context.Context, req work.IterationRequest) (work.IterationReport, error) {
				if req.Iteration > 1 {
					r.repo.write(req.Dir, "two.txt", "done")
					return ok("P01")
				}
				r.repo.write(req.Dir, "half.txt", "half done")
				r.journal.Lock()
				r.journal.Answer(work.Answer{By: "test", Door: "cli", Message: &work.Message{ID: "m1", Phase: "01", Text: "use tabs", Now: true}})
				r.journal.Unlock()
				<-agent.Done()
				return work.IterationReport{Outcome: test.end}, nil
			})
			got, err := r.run(context.Background())
			if err != nil || got.Outcome != test.run {
				t.Fatalf("the run ended %q, %v, want %q", got.Outcome, err, test.run)
			}
			first := work.Outcome("")
			for _, b := range r.journal.Batches {
				for _, e := range b.Events {
					var d work.IterationFinishedData
					if e.Kind == work.IterationFinished && first == "" && work.Decode(e, &d) == nil {
						first = d.Outcome
					}
				}
			}
			if first != test.want {
				t.Errorf("the iteration ended %q, want %q", first, test.want)
			}
			if test.run == work.RunCompleted && r.result()["half.txt"] != "half done" {
				t.Errorf("its work is lost: %v", r.result())
			}
		})
	}
}
