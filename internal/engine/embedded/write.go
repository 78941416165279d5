package embedded

import (
	"context"
	"fmt"

	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// collect puts events into the batch, with the rows that go with them.
func (r *session) collect(evs []work.Event) error {
	r.batch.Events = append(r.batch.Events, evs...)
	for _, e := range evs {
		switch e.Kind {
		case work.CheckpointOpened:
			var cp work.Checkpoint
			if err := work.Decode(e, &cp); err != nil {
				return err
			}
			r.batch.Opened = append(r.batch.Opened, cp)
		case work.IterationFinished:
			var it work.IterationFinishedData
			if err := work.Decode(e, &it); err != nil {
				return err
			}
			r.used(it.Command, it.Usage)
		case work.ReviewFinished:
			var rv orchestrator.ReviewFinishedData
			if err := work.Decode(e, &rv); err != nil {
				return err
			}
			r.used(rv.Command, rv.Usage)
		case work.ArbiterFinished:
			var ar orchestrator.ArbiterFinishedData
			if err := work.Decode(e, &ar); err != nil {
				return err
			}
			r.used(ar.Command, ar.Answer.Usage)
		case work.HookFinished:
			var h work.HookFinishedData
			if err := work.Decode(e, &h); err != nil {
				return err
			}
			if h.Usage != nil {
				r.used(h.Command, *h.Usage)
			}
		case work.PhaseRewound:
			var back orchestrator.PhaseRewoundData
			if err := work.Decode(e, &back); err != nil {
				return err
			}
			r.batch.Closed = append(r.batch.Closed, back.Closed...)
		case work.RunFinished:
			r.batch.Expire = r.s.Outcome.Final()
		}
	}
	return nil
}

// used notes what an effect consumed, for the caps of the day.
func (r *session) used(id work.CommandID, of work.Usage) {
	u := engine.UsageEntry{Command: id, USD: of.CostUSD}
	if u.USD == nil {
		// Silence leaves the reservation standing.
		u.USD = r.s.Spec.Settings.Cost.IterationUSD
	}
	if n, ok := of.Tokens(); ok {
		u.Tokens = &n
	}
	r.batch.Usage = append(r.batch.Usage, u)
}

// day is what was consumed today, where a cap of the day is set.
func (r *session) day(ctx context.Context) (orchestrator.Day, error) {
	if c := r.s.Spec.Settings.Cost; c.DayUSD == nil && c.DayTokens == nil {
		return orchestrator.Day{}, nil
	}
	day, err := r.Journal.Day(context.WithoutCancel(ctx))
	if err != nil {
		return day, fmt.Errorf("read the day's usage: %w", err)
	}
	return day, nil
}

// flush writes what the core decided; only then may any of it be acted upon.
func (r *session) flush(ctx context.Context) error {
	b := r.batch
	if len(b.Events) == 0 && len(b.Consumed) == 0 && len(b.Over) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.Effects.Refute(ctx, b.Events); err != nil {
		return fmt.Errorf("take back what was proven before: %w", err)
	}
	if err := r.Journal.Append(ctx, b); err != nil {
		return fmt.Errorf("append to the journal: %w", err)
	}
	r.Effects.Keep(ctx, r.s.Run, r.s.Spec.Base.Commit, b.Events)
	r.batch = engine.Batch{}
	r.Watch.Events(b.Events, r.s)
	return nil
}
