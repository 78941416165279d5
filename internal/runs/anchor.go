package runs

import (
	"context"

	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// Anchor notes the journal's length outside of it.
func Anchor(ctx context.Context, p *project.Checkout, e *project.Machine, run string) error {
	ctx = context.WithoutCancel(ctx)
	count, head, err := p.Journal.Head(ctx, run)
	if err != nil {
		return err
	}
	return e.Repo.Anchor(ctx, run, count, head)
}

// CheckWork makes sure that every commit which the run goes on from is whole.
func CheckWork(ctx context.Context, e *project.Machine, s *orchestrator.State) error {
	if s.Spec.Base.Commit == "" {
		return nil // it ended before it began
	}
	commits := []string{s.Head}
	for _, number := range s.Order {
		if ph := s.Phases[number]; ph.Outcome != work.PhaseDone {
			commits = append(commits, ph.Base, ph.Last)
		}
	}
	return e.Repo.CheckWhole(ctx, s.Spec.Base.Commit, commits)
}

// CheckAnchor holds the journal against what Forge's own repository knows of
// its length: a chain cannot show a cut tail.
func CheckAnchor(ctx context.Context, p *project.Checkout, e *project.Machine, run string) error {
	count, head, ok, err := e.Repo.ReadAnchor(ctx, run)
	if err != nil || !ok {
		return err
	}
	return p.Journal.CheckAnchor(ctx, run, count, head)
}
