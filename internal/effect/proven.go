package effect

import (
	"context"

	"forge/internal/work"
)

// Proofs remembers which verifies were green, out of every agent's reach. It may
// be called for several phases at once.
type Proofs interface {
	// Key names the verify that is asked for. Without an error, what cannot be
	// told is an empty key.
	Key(ctx context.Context, q work.ProofQuestion) (work.ProofKey, error)
	// Find is the record of a key that the journal of its run bears out. One that
	// is damaged or refuted is none.
	Find(ctx context.Context, key string) (work.ProvenBefore, bool)
	// Keep remembers a verify that was green, once its event is in the journal.
	Keep(ctx context.Context, green work.ProvenBefore) error
	// Refute makes every record of key count for nothing.
	Refute(ctx context.Context, key string) error
}

// Refute takes from the records what is red or disturbed by the events, before
// these are written: a death in between costs a run of the commands, no more.
func (m *Machine) Refute(ctx context.Context, evs []work.Event) error {
	if m.Proofs == nil {
		return nil
	}
	for _, e := range evs {
		key := ""
		switch e.Kind {
		case work.VerifyFinished:
			var d work.VerifyFinishedData
			if err := work.Decode(e, &d); err != nil {
				return err
			}
			if !d.OK {
				key = d.Key
			}
		case work.ControlFinished:
			var d work.ControlFinishedData
			if err := work.Decode(e, &d); err != nil {
				return err
			}
			key = d.Refutes
		case work.RestFinished:
			var d work.RestFinishedData
			if err := work.Decode(e, &d); err != nil {
				return err
			}
			key = d.Refutes
		}
		if key == "" {
			continue
		}
		if err := m.Proofs.Refute(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// Keep remembers what is green by events of a run that are written; base is the
// commit that the run began with. What cannot be kept is run again.
func (m *Machine) Keep(ctx context.Context, run, base string, evs []work.Event) {
	if m.Proofs == nil {
		return
	}
	for _, e := range evs {
		var d work.VerifyFinishedData
		if e.Kind != work.VerifyFinished || work.Decode(e, &d) != nil || !d.OK || d.Key == "" || d.Before != nil {
			continue
		}
		_ = m.Proofs.Keep(ctx, work.ProvenBefore{
			Key: d.Key, Tree: d.Tree, Run: run, Command: d.ID, At: e.Time, Millis: d.Millis, Base: base, Filled: d.Filled,
		})
	}
}
