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

// CheckWork makes sure that every commit which the run goes on from is here, and whole.
func CheckWork(ctx context.Context, p *project.Checkout, e *project.Machine, s *orchestrator.State) error {
	if s.Spec.Base.Commit == "" {
		return nil // it ended before it began
	}
	if err := p.Bring(ctx, s.Run); err != nil {
		return err
	}
	if err := e.Repo.CheckWhole(ctx, s.Spec.Base.Commit, goesOnFrom(s, "")); err != nil || len(s.Spec.Repositories) == 0 {
		return err
	}
	return checkBeside(ctx, p, s)
}

// goesOnFrom are the commits that a run goes on from in one of its repositories.
func goesOnFrom(s *orchestrator.State, repository string) []string {
	commits := []string{s.HeadOf(repository)}
	for _, number := range s.Order {
		if ph := s.View(number); ph.Outcome != work.PhaseDone && ph.Plan.Repository == repository {
			commits = append(commits, ph.Base, ph.Last)
		}
	}
	return commits
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
