package draft

import (
	"context"

	"forge/dag"
	"forge/internal/planner"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// recentRuns is how many past runs a forecast looks at.
const recentRuns = 20

// Forecast is what the phases of spec may take, by what earlier runs took. The
// journal of p is open.
func Forecast(ctx context.Context, p *project.Checkout, spec orchestrator.Spec) (planner.Forecast, error) {
	var budgets []int
	for _, ph := range spec.Plan.Phases {
		budgets = append(budgets, spec.Settings.Phases[ph.Number].Budget)
	}
	var past []planner.Sample
	err := runs.Recent(ctx, p, recentRuns, func(run string, s *orchestrator.State, evs []work.Event) {
		had := map[string]int{}
		for n, ph := range s.Phases {
			had[n] = ph.Budget
		}
		past = append(planner.Samples(run, had, evs, work.Decode), past...) // the oldest run first
	})
	if err != nil {
		return planner.Forecast{}, err
	}
	f := planner.Predict(budgets, past)
	f.Checked = planner.Backtest(past)
	if f.Time == nil {
		return f, nil
	}
	g, err := dag.New(orchestrator.Nodes(spec.Plan, spec.Settings))
	if err != nil {
		return f, err
	}
	takes := map[string]float64{}
	for n, ph := range spec.Plan.Phases {
		takes[ph.Number] = f.Of(budgets[n])
	}
	clock := planner.Schedule(g, takes, spec.Settings.MaxParallel)
	f.Clock = &clock
	return f, nil
}
