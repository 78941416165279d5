package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"forge/internal/project"
	"forge/internal/proven"
	"forge/internal/work"
)

// Proofs are the green verifies that a project remembers.
type Proofs struct {
	project *project.Checkout
	machine *project.Machine
	store   *proven.Store
}

// ProofsOf are the green verifies that p remembers on e.
func ProofsOf(p *project.Checkout, e *project.Machine) *Proofs {
	return &Proofs{project: p, machine: e, store: provenIn(p)}
}

func provenIn(p *project.Checkout) *proven.Store {
	return proven.New(filepath.Join(p.State, "cache", "proven"), p.Now)
}

// Key names the verify that is asked for.
func (o *Proofs) Key(ctx context.Context, q work.ProofQuestion) (work.ProofKey, error) {
	tree, err := o.machine.Repo.TreeOf(ctx, q.Verify.Commit)
	if err != nil {
		return work.ProofKey{}, err
	}
	about, err := o.machine.Bench.Identity(ctx, q)
	if err != nil {
		return work.ProofKey{}, err
	}
	sum := sha256.Sum256([]byte(tree + "\n" + about))
	return work.ProofKey{Key: hex.EncodeToString(sum[:]), Tree: tree}, nil
}

// Find is the record of a key that the journal of its run bears out.
func (o *Proofs) Find(ctx context.Context, key string) (work.ProvenBefore, bool) {
	green, ok := o.store.Find(key)
	if !ok {
		return green, false
	}
	_, evs, err := o.project.LoadRun(ctx, green.Run)
	if err != nil || !bearsOut(evs, green) {
		return work.ProvenBefore{}, false
	}
	return green, true
}

// Shown says that the pages of the project were shown for a green verify, and are good
// whatever they are compared with. Which pages, and how, is a part of its key.
func (o *Proofs) Shown(ctx context.Context, green work.ProvenBefore) bool {
	_, evs, err := o.project.LoadRun(ctx, green.Run)
	if err != nil || !bearsOut(evs, green) {
		return false
	}
	for _, e := range evs {
		var d work.VerifyFinishedData
		if e.Kind == work.VerifyFinished && work.Decode(e, &d) == nil && d.ID == green.Command && d.Key == green.Key {
			return d.OK && work.Anywhere(d.Pages)
		}
	}
	return false
}

// bearsOut says that a run's events hold the one which a record is of, and none
// that speaks against it.
func bearsOut(evs []work.Event, green work.ProvenBefore) bool {
	found := false
	for _, e := range evs {
		switch e.Kind {
		case work.VerifyFinished:
			var d work.VerifyFinishedData
			if work.Decode(e, &d) != nil || d.Key == green.Key && !d.OK {
				return false
			}
			found = found || d.Key == green.Key && d.Tree == green.Tree && d.ID == green.Command && d.Before == nil && e.Time.Equal(green.At)
		case work.ControlFinished, work.RestFinished:
			var d work.ControlFinishedData
			if work.Decode(e, &d) != nil || d.Refutes == green.Key {
				return false
			}
		}
	}
	return found
}

// Keep remembers a verify that was green.
func (o *Proofs) Keep(_ context.Context, green work.ProvenBefore) error { return o.store.Keep(green) }

// Refute makes every record of key count for nothing.
func (o *Proofs) Refute(_ context.Context, key string) error { return o.store.Refute(key) }
