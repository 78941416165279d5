package project

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"

	"forge/internal/engine"
	"forge/internal/journal"
	"forge/internal/work"
	"forge/orchestrator"
)

// KeepEvery is after how many events a run's state is written down. Shorter
// runs are folded and verified from their first event each time.
const KeepEvery = 500

// StandOf is where a run stands now. Unlike look it begins at the last state
// that was written down, so that it costs the same however long the run is.
func (p *Checkout) StandOf(ctx context.Context, run string) (journal.RunRow, *orchestrator.State, error) {
	row, err := p.PickRun(ctx, run)
	if err != nil {
		return row, nil, err
	}
	if row.Events == 0 {
		return row, nil, justOpened(row.ID)
	}
	s, saved := p.Saved(ctx, row.ID)
	// The process that drives the run may write between the two reads.
	for range 5 {
		if s, err = p.Fold(ctx, row.ID, s); err != nil {
			return row, nil, err
		}
		if row, err = p.PickRun(ctx, row.ID); err != nil {
			return row, nil, err
		}
		if row.Events == s.Seq {
			break
		}
	}
	p.keep(ctx, s, saved)
	return row, s, nil
}

// Fold goes on from s, nil being the beginning, to the end of the journal.
// What s was folded from was verified then; here only its last event is looked
// for. When that is not as it was, the whole run is read again, which says
// what is wrong with it.
func (p *Checkout) Fold(ctx context.Context, run string, s *orchestrator.State) (*orchestrator.State, error) {
	if s != nil {
		if err := p.foldOn(ctx, run, s); err == nil {
			return s, nil
		}
	}
	s, _, err := p.LoadRun(ctx, run)
	return s, err
}

func (p *Checkout) foldOn(ctx context.Context, run string, s *orchestrator.State) error {
	for e, err := range p.Journal.Replay(ctx, run, s.Seq) {
		if err == nil {
			err = orchestrator.Apply(s, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Saved is the state of a run that was written down last, nil when there is
// none that can be used, and the number of its last event.
func (p *Checkout) Saved(ctx context.Context, run string) (*orchestrator.State, int64) {
	seq, data, err := p.Journal.LoadState(ctx, run)
	if err != nil || data == nil {
		return nil, 0
	}
	sum, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok || string(sum) != checksum(run, body) {
		return nil, 0
	}
	s, err := orchestrator.Restore(body)
	if err != nil || s.Run != run || s.Seq != seq {
		return nil, 0
	}
	return s, seq
}

// keep writes s down when much has happened since event number saved, and
// returns the event up to which it is written down. Nothing depends on it: a
// state that is not kept is folded again.
func (p *Checkout) keep(ctx context.Context, s *orchestrator.State, saved int64) int64 {
	if s.Seq-saved < KeepEvery {
		return saved
	}
	body, err := s.Snapshot()
	if err == nil {
		err = p.Journal.SaveState(ctx, s.Run, s.Seq, append([]byte(checksum(s.Run, body)+"\n"), body...))
	}
	if err != nil {
		p.Log.Debug("keep the state of the run", "err", err)
	}
	return s.Seq
}

// checksum is over what was written down, for which run, and by which program:
// another build of Forge may fold the same events to something else.
func checksum(run string, body []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", program(), run)
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// program tells this build of Forge from others.
func program() string {
	id := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		id = info.String() // with the commit, and what a release set when it linked
	}
	// Builds between two commits have all of that in common.
	if path, err := os.Executable(); err == nil {
		if file, err := os.Stat(path); err == nil {
			id += fmt.Sprintf(" %d %d", file.Size(), file.ModTime().UnixNano())
		}
	}
	return id
}

// Keeper is a watcher beside another one: it writes the state down as the run
// goes.
type Keeper struct {
	engine.Watcher
	Checkout *Checkout
	Saved    int64
}

// Events passes the events on, and writes the state down when it is time.
func (k *Keeper) Events(evs []work.Event, s *orchestrator.State) {
	k.Watcher.Events(evs, s)
	k.Saved = k.Checkout.keep(context.Background(), s, k.Saved)
}
