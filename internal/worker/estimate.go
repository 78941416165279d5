package worker

import (
	"context"

	"forge/internal/config"
	"forge/internal/draft"
	"forge/internal/project"
	"forge/internal/text"
	"forge/orchestrator"
)

// estimates says on the tracker of an issue what its run may take, where the owner
// asks for that and nothing of it has begun. It stands there once, however often
// the issue is begun: a newer one takes its place. A tracker that does not take it
// holds nothing up.
func (s *Worker) estimates(ctx context.Context, p *project.Checkout, state *orchestrator.State) {
	if !config.ValueOf(p.Config.File.Factory.Estimate) {
		return
	}
	for _, n := range state.Order {
		if ph := state.View(n); ph.Begun || ph.Iteration > 1 {
			return
		}
	}
	id := state.Spec.Issue.ID
	i, err := s.Journal.Issue(ctx, s.Project, id)
	if err == nil {
		f, forecastErr := draft.Forecast(ctx, p, state.Spec)
		if err = forecastErr; err == nil {
			err = s.Origins.Estimate(ctx, i, text.Format("What this may take, before the work on it begins: %s", f.String()))
		}
	}
	if err != nil {
		s.Log.Warn("what it may take is not said on its tracker", "issue", id, "err", text.Harmless(err.Error()))
	}
}
