package approval

import (
	"context"
	"strings"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
)

// Find is the checkpoint with that id, or the only one that begins
// with it; ".N" is the N-th of the newest run.
func Find(ctx context.Context, p *project.Checkout, id string) (work.Checkpoint, error) {
	if strings.HasPrefix(id, ".") {
		row, err := p.PickRun(ctx, "")
		if err != nil {
			return work.Checkpoint{}, err
		}
		id = row.ID + id
	}
	return p.Journal.Checkpoint(ctx, id)
}

// Checkpoints are all that the filter lets through, in the order of their
// opening.
func Checkpoints(ctx context.Context, p *project.Checkout, filter journal.CheckpointFilter) ([]work.Checkpoint, error) {
	const page = 1000
	var all []work.Checkpoint
	for after := ""; ; {
		found, err := p.Journal.Checkpoints(ctx, filter, page, after)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if len(found) < page {
			return all, nil
		}
		after = found[len(found)-1].ID
	}
}

// Exact is the checkpoint of just that id.
func Exact(ctx context.Context, p *project.Checkout, id string) (work.Checkpoint, error) {
	cp, err := p.Journal.Checkpoint(ctx, id)
	if err == nil && cp.ID != id {
		err = work.NoCheckpoint("there is no checkpoint %q", id)
	}
	return cp, err
}
