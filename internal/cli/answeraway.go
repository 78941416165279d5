package cli

import (
	"context"
	"fmt"
	"strings"

	"forge/factory/triage"
	"forge/gates"
	"forge/internal/approval"
	"forge/internal/handoff"
	"forge/orchestrator"
)

// checkGoingOn refuses what forge resume would refuse after an answer that is to
// be gone on with here: said before, it leaves the question open.
func (a *App) checkGoingOn(ctx context.Context, checkpoint, level string) error {
	p, err := a.openRecorded(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if ok, err := p.OpenStore(ctx, false); err != nil || !ok {
		return err
	}
	cp, err := approval.Find(ctx, p.Checkout, checkpoint)
	if err != nil || triage.IsThread(cp.Run) {
		return nil // whoever takes the answer says what is wrong with it
	}
	_, away, err := p.Journal.TravelOf(ctx, cp.Run)
	if err != nil || !away {
		return err
	}
	if err := p.CheckKey(); err != nil {
		return err
	}
	var next func(*orchestrator.State) (gates.Policy, error)
	if level != "" {
		next = func(s *orchestrator.State) (gates.Policy, error) {
			c, err := approval.LevelFor(p.Checkout, s, level)
			return c.Policy, err
		}
	}
	if err := handoff.CheckElsewhere(ctx, p.Checkout, cp.Run, next, false); err != nil {
		return fmt.Errorf("nothing was answered: %w", err)
	}
	return nil
}

// fetchCheckpoint brings the run of a checkpoint from a remote, so that it can
// be answered here.
func (a *App) fetchCheckpoint(ctx context.Context, id, remote string) error {
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	return handoff.At(p.Checkout, repo, remote).Fetch(ctx, runOfCheckpoint(id))
}

// runOfCheckpoint is the run that a checkpoint's id, or its beginning, names.
func runOfCheckpoint(id string) string {
	run, _, _ := strings.Cut(id, ".")
	return run
}
