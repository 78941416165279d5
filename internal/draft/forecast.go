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
	var past []planner.Sample
	err := runs.Recent(ctx, p, recentRuns, func(run string, s *orchestrator.State, evs []work.Event) {
		had := map[string]int{}
		for _, n := range s.Order {
			had[n] = s.View(n).Budget
		}
		past = append(planner.Samples(run, had, evs, work.Decode), past...) // the oldest run first
	})
	if err != nil {
		return planner.Forecast{}, err
	}
	f := planner.Predict(budgetsOf(spec), past)
	f.Phases, f.Checked = len(spec.Plan.Phases), planner.Backtest(past)
	if f.Time == nil {
		return f, nil
	}
	if err := runs.Expect(ctx, p, &spec); err != nil {
		return f, err
	}
	g, err := dag.New(orchestrator.Nodes(spec.Plan, spec.Settings))
	if err != nil {
		return f, err
	}
	takes := map[string]float64{}
	for _, ph := range spec.Plan.Phases {
		set := spec.Settings.Phases[ph.Number]
		take := f.Of(set.Budget)
		if set.ExpectSecs > 0 {
			take = float64(set.ExpectSecs)
		}
		takes[ph.Number] = take * float64(turnsOf(spec, ph.Number))
	}
	clock := planner.Schedule(g, takes, spec.Settings.MaxParallel)
	f.Clock = &clock
	return f, nil
}

// budgetsOf are the budgets of a plan's phases: each try of one is work of its own.
func budgetsOf(spec orchestrator.Spec) []int {
	var out []int
	for _, ph := range spec.Plan.Phases {
		set := spec.Settings.Phases[ph.Number]
		for range max(set.Tries, 1) {
			out = append(out, set.Budget)
		}
	}
	return out
}

// turnsOf is how many tries of a phase run one after the other: as many as there are
// places run side by side.
func turnsOf(spec orchestrator.Spec, number string) int {
	places := max(spec.Settings.MaxParallel, 1)
	return (max(spec.Settings.Phases[number].Tries, 1) + places - 1) / places
}
