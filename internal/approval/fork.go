package approval

import (
	"context"
	"errors"
	"fmt"

	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// Fork is what a run is opened with that goes on from what an iteration of another
// one left. That one is only read, whoever drives it.
func Fork(ctx context.Context, p *project.Checkout, run string, r work.Rewind, by string) (orchestrator.Spec, error) {
	row, s, err := p.StandOf(ctx, run)
	if err != nil {
		return orchestrator.Spec{}, err
	}
	if why := s.CannotFork(r.Phase, r.Iteration, r.Attempt); why != "" {
		return orchestrator.Spec{}, refusal.New(fmt.Sprintf("forge status %s shows the phases, forge logs --run %s their iterations", row.ID, row.ID), "nothing was begun: %s", why)
	}
	spec, err := s.ForkOf(r, by)
	if err != nil {
		return orchestrator.Spec{}, err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return orchestrator.Spec{}, err
	}
	var lost *git.StateError
	if err := repo.CheckWhole(ctx, spec.Fork.Head, []string{spec.Fork.Commit}); errors.As(err, &lost) {
		return orchestrator.Spec{}, refusal.New("bring the objects back, for example with git fetch", "what iteration %d of phase %s left is gone: %s", r.Iteration, r.Phase, lost.What)
	} else if err != nil {
		return orchestrator.Spec{}, err
	}
	return spec, nil
}
