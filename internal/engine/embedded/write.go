package embedded

import (
	"context"
	"fmt"

	"forge/internal/engine"
	"forge/orchestrator"
)

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
	if b.Empty() {
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
