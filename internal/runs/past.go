package runs

import (
	"context"
	"maps"
	"time"

	"forge/factory/triage"
	"forge/internal/patterns"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// Recent tells of the runs of p, the newest first, at most of so many. One that
// cannot be read is said and left out. The journal of p is open.
func Recent(ctx context.Context, p *project.Checkout, most int, tell func(run string, s *orchestrator.State, evs []work.Event)) error {
	rows, err := p.Journal.Runs(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if triage.IsThread(r.ID) {
			continue
		}
		if most--; most < 0 {
			break
		}
		s, evs, err := p.LoadRun(ctx, r.ID)
		if err != nil {
			p.Log.Warn("leave a past run out", "run", r.ID, "err", err)
			continue
		}
		tell(r.ID, s, evs)
	}
	return ctx.Err()
}

// Past is what the phases of the last runs took, at most of so many runs. A phase
// that is not over, was cancelled or skipped is none, and neither is a part of one.
func Past(ctx context.Context, p *project.Checkout, most int) ([]patterns.Phase, error) {
	var out []patterns.Phase
	err := Recent(ctx, p, most, func(run string, s *orchestrator.State, _ []work.Event) {
		for _, n := range s.Order {
			if ph := s.View(n); ph.Parent == "" && patterns.Ended(ph.Outcome) {
				out = append(out, pastOf(run, ph))
			}
		}
	})
	return out, err
}

func pastOf(run string, ph *orchestrator.View) patterns.Phase {
	return patterns.Phase{
		Run: run, Number: ph.Number, Name: ph.Plan.Name, Type: ph.Plan.PhaseType, About: ph.Plan.Reasoning,
		Agent: ph.Set.Agent, Done: ph.Outcome == work.PhaseDone, Iterations: ph.Spent, Budget: ph.Budget,
		Time: ph.Time.Spent, USD: ph.Usage.Cost(),
	}
}

// mostPast is of how many runs the phases say how long others take.
const mostPast = 20

// Expect notes in spec how long its phases will take, by those of past runs: all of
// them, or none where the past does not say it of each.
func Expect(ctx context.Context, p *project.Checkout, spec *orchestrator.Spec) error {
	past, err := Past(ctx, p, mostPast)
	if err != nil {
		return err
	}
	phases := maps.Clone(spec.Settings.Phases)
	for _, ph := range spec.Plan.Phases {
		set := phases[ph.Number]
		takes := patterns.Expect(patterns.Planned{Number: ph.Number, Name: ph.Name, Type: ph.PhaseType, About: ph.Reasoning, Agent: set.Agent, Budget: set.Budget}, past)
		if takes == 0 {
			return nil
		}
		set.ExpectSecs = int64(takes / time.Second)
		phases[ph.Number] = set
	}
	spec.Settings.Phases = phases
	return nil
}

// inOrder lets what is longest ahead begin first. Without the past, budgets say that:
// it is no reason not to open a run.
func inOrder(ctx context.Context, p *project.Checkout, spec *orchestrator.Spec) {
	if spec.Job != nil || len(spec.Plan.Phases) < 2 || spec.Settings.MaxParallel < 2 {
		return // one begins after the other in any case
	}
	if err := Expect(ctx, p, spec); err != nil {
		p.Log.Warn("the past does not say how long the phases take", "err", err)
	}
}
