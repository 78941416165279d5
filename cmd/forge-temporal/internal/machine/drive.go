package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// Drive has a run driven on the server that is configured until it ends or rests.
// lease is the right to the run that who opened or resumed it has; the engine holds
// it from now on.
func Drive(ctx context.Context, p *project.Checkout, lease *journal.Lease, s *orchestrator.State, first orchestrator.Fact, o runs.Options) (work.RunFinishedData, error) {
	times := temporal.Usual()
	if set, err := p.Config.Engine(); err == nil { // else drive says what is wrong with it
		times.Host = time.Duration(set.TakeoverSecs) * time.Second
	}
	return drive(ctx, temporal.CoreVersion, p, lease, s, first, o, times)
}

func drive(ctx context.Context, core string, p *project.Checkout, lease *journal.Lease, s *orchestrator.State, first orchestrator.Fact, o runs.Options, times temporal.Times) (end work.RunFinishedData, err error) {
	released := false
	defer func() {
		if !released {
			_ = lease.Release(context.WithoutCancel(ctx))
		}
	}()
	set, err := p.Config.Engine()
	if err != nil {
		return end, err
	}
	c, err := Connect(ctx, set, p.Journal)
	if err != nil {
		return end, err
	}
	defer c.Close()
	if err := Check(ctx, c, set); err != nil {
		return end, err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return end, err
	}
	t, err := teamOf(ctx, p, repo, set)
	if err != nil {
		return end, err
	}
	if err := t.sent(ctx, p, repo, s); err != nil {
		return end, err
	}
	if released = true; lease != nil {
		if err := lease.Release(ctx); err != nil {
			return end, fmt.Errorf("hand run %s to the engine: %w", s.Run, err)
		}
	}
	// Nobody takes it between this and the first event.
	if _, err := p.Journal.JoinRun(ctx, s.Run, ownerOf(s.Run)); err != nil {
		return end, err
	}
	if o.Unserved == nil {
		o.Unserved = func(what string) {
			if what != "" {
				p.Log.Warn(what, "run", s.Run)
			}
		}
	}
	e := &temporal.Engine{
		Client: c, Queues: t.queues, Core: core, Times: times, Project: t.name, Record: &record{p: p, run: s.Run},
		Watch: o.Watch, Answers: o.Answers, Deadline: o.Deadline, Tagged: true, Leave: o.Leave,
		Unserved: o.Unserved, Requires: p.Config.Requires(namesOf(s)),
	}
	defer beating(ctx, p, s.Run, beatEvery)()
	end, err = e.Run(ctx, s, first)
	if errors.Is(err, temporal.ErrLeft) {
		return end, runs.ErrLeft
	}
	if err == nil {
		err = t.brought(context.WithoutCancel(ctx), p, repo, s)
	}
	return end, err
}

// Engine is what drives the runs of a checkout whose configuration names a Temporal
// server; nil for others, and where it cannot be read, which is refused elsewhere.
func Engine(p *project.Checkout) runs.Elsewhere {
	if set, err := p.Config.Engine(); err != nil || set.Kind != config.EngineTemporal {
		return nil
	}
	return Drive
}
