package backtest

import (
	"context"
	"iter"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// Recorded is the record of a project's runs.
type Recorded interface {
	// SpecOf is what a run began with, by its first event.
	SpecOf(context.Context, work.Event) (orchestrator.Spec, error)
	// Replay yields the events of a run from the one after a number on.
	Replay(ctx context.Context, run string, after int64) iter.Seq2[work.Event, error]
}

// All asks of runs what policy would have decided.
func All(ctx context.Context, from Recorded, policy gates.Policy, runs []string) ([]Report, error) {
	out := []Report{}
	for _, run := range runs {
		report, err := replay(ctx, from, run, policy)
		if err != nil {
			return nil, err
		}
		out = append(out, report)
	}
	return out, nil
}

// replay asks of one run what policy would have decided. Its events are read
// once, a page at a time.
func replay(ctx context.Context, from Recorded, run string, policy gates.Policy) (Report, error) {
	opened := func(e work.Event) (orchestrator.Spec, error) { return from.SpecOf(ctx, e) }
	story, err := Read(opened, from.Replay(ctx, run, 0))
	if err != nil {
		return Report{}, err
	}
	return Replay(story, policy.WithCheckpointTypes(story.Spec.Settings.CheckpointTypes)), nil
}
