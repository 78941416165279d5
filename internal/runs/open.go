package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// Create makes a run's row in the journal and takes its lease.
type Create func(ctx context.Context, run string, owner journal.Owner) (*journal.Lease, error)

// Opened is a run that was opened and that nobody drives yet. Who opened it holds
// its lease, and feeds First.
type Opened struct {
	Lease *journal.Lease
	State *orchestrator.State
	First orchestrator.Opened
}

// Open opens a run with spec: its proofs are held against what a person last
// accepted on the branch target, and its base is kept for as long as it lives.
func Open(ctx context.Context, p *project.Checkout, e *project.Machine, id string, spec orchestrator.Spec, target string, create Create) (Opened, error) {
	if err := p.TrustedFor(ctx, e, id, target, &spec); err != nil {
		return Opened{}, err
	}
	if err := openBeside(ctx, p, id, &spec); err != nil {
		return Opened{}, err
	}
	inOrder(ctx, p, &spec)
	out := Opened{First: orchestrator.Opened{Inline: &spec, Core: orchestrator.Version}}
	text, err := json.Marshal(spec)
	if err != nil {
		return out, fmt.Errorf("record what the run is opened with: %w", err)
	}
	if len(text) > work.MaxEventBytes/2 {
		out.First.Inline = nil
		if out.First.Blob, err = p.Journal.PutBlob(ctx, text); err != nil {
			return out, err
		}
	}
	if out.Lease, err = create(ctx, id, journal.Self()); err != nil {
		return out, err
	}
	if err = e.Repo.KeepBase(ctx, id, spec.Base.Commit); err == nil && spec.Fork != nil {
		// Whatever becomes of the run that it was forked from.
		err = e.Repo.UpdateRef(ctx, orchestrator.Ref(id, "fork"), spec.Fork.Commit, "")
	}
	if err == nil {
		out.State, err = orchestrator.NewState(id, spec)
	}
	if err != nil {
		return out, errors.Join(err, out.Lease.Release(context.WithoutCancel(ctx)))
	}
	return out, nil
}
