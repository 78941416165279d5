package machine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.temporal.io/api/serviceerror"

	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
)

// release lets go of a run that nobody decides about: its workflow ends, and its lease.
// The journal has all that is known of the run, so that whoever resumes it loses
// nothing. One that a worker answers for is left alone.
func release(ctx context.Context, p *project.Checkout, core string, set config.EngineSettings, args []string, stdout io.Writer) error {
	if len(args) != 1 {
		return refusal.New("forge-temporal release RUN", "which run?")
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	defer p.Close()
	row, err := p.PickRun(ctx, args[0])
	if err != nil {
		return err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	t, err := teamOf(ctx, p, repo, set)
	if err != nil {
		return err
	}
	c, err := Connect(ctx, set, p.Journal)
	if err != nil {
		return err
	}
	defer c.Close()
	e := &temporal.Engine{Client: c, Queues: t.queues, Core: core}
	switch err := e.Release(ctx, row.ID); {
	case errors.Is(err, temporal.ErrServed):
		return refusal.New("stop it by forge cancel, or stop its worker first", "run %s is worked on: a worker of its version answers for it", row.ID)
	case errors.As(err, new(*serviceerror.NotFound)):
		return refusal.New("forge resume "+row.ID+" goes on with it", "run %s has no workflow that is under way", row.ID)
	case err != nil:
		return err
	}
	// Its lease is the engine's, which has let go.
	lease, err := p.Journal.JoinRun(ctx, row.ID, ownerOf(row.ID))
	if err != nil {
		return fmt.Errorf("let go of run %s: %w", row.ID, err)
	}
	if err := lease.Release(ctx); err != nil {
		return fmt.Errorf("let go of run %s: %w", row.ID, err)
	}
	fmt.Fprintf(stdout, "run %s is let go of; forge resume %s goes on with it\n", row.ID, row.ID)
	return nil
}
