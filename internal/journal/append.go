package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"forge/internal/work"
)

// Append is what becomes true of one run at one moment: all of it or nothing.
type Append struct {
	// Events follow the stored tail: Seq is dense, Run is the lease's run, V
	// is work.EventVersion, Time is set, Data is JSON of at most
	// work.MaxEventBytes (nil is stored as null).
	Events []work.Event
	// Open are new checkpoints, pending.
	Open []work.Checkpoint
	// Supersede are checkpoints that nobody will ask about any more: those
	// still pending become expired, answered ones stay as they are.
	Supersede []string
	// Consume are the inbox rows that Events speak of. One that is gone fails
	// the append (ErrConsumed), so an answer becomes an event once.
	Consume []int64
	// Status replaces what listings show of the run; nil leaves it.
	Status *Status
	// Usage is added to the day's totals, one row for each command.
	Usage []UsageRow
	// Begin and End note which attempts have processes.
	Begin []AttemptRow
	End   []work.CommandID
}

// Status is what Runs shows of a run without reading its events.
type Status struct {
	Outcome work.RunOutcome // "" while no process has left the run
	Branch  string          // "" when nothing was delivered
	CostUSD *float64        // so far; nil = unknown
}

// Check says what is wrong with a for a run whose last event is number tail.
// It looks at values only; what the journal holds is checked by Store.Append.
func (a *Append) Check(run string, tail int64) error {
	for i := range a.Events {
		e := &a.Events[i]
		if err := checkEvent(e, run); err != nil {
			return fmt.Errorf("event %d (%s): %w", e.Seq, e.Kind, err)
		}
		if want := tail + int64(i) + 1; e.Seq != want {
			return fmt.Errorf("event %d (%s): %w: the next one is %d", e.Seq, e.Kind, ErrSequence, want)
		}
	}
	for i := range a.Open {
		c := &a.Open[i]
		switch {
		case c.ID == "":
			return errors.New("open a checkpoint without an id")
		case c.Run != run:
			return fmt.Errorf("checkpoint %s: it is of run %q", c.ID, c.Run)
		case c.Status != work.CheckpointPending:
			return fmt.Errorf("checkpoint %s: it is %q, not pending", c.ID, c.Status)
		case c.Revision < 1:
			return fmt.Errorf("checkpoint %s: revision %d", c.ID, c.Revision)
		case !storable(c.OpenedAt):
			return fmt.Errorf("checkpoint %s: the time of opening is not set", c.ID)
		}
	}
	for _, row := range a.Usage {
		if err := row.check(run); err != nil {
			return err
		}
	}
	for _, row := range a.Begin {
		if err := row.check(run); err != nil {
			return err
		}
	}
	return nil
}

func checkEvent(e *work.Event, run string) error {
	switch {
	case e.Run != run:
		return fmt.Errorf("it is of run %q", e.Run)
	case e.V != work.EventVersion:
		return fmt.Errorf("it has version %d; %d is written", e.V, work.EventVersion)
	case e.Kind == "":
		return errors.New("it has no kind")
	case !storable(e.Time):
		return errors.New("its time is not set")
	case len(e.Data) > work.MaxEventBytes:
		return fmt.Errorf("its data has %d bytes, at most %d are allowed; the rest belongs into a blob", len(e.Data), work.MaxEventBytes)
	case e.Data != nil && !json.Valid(e.Data):
		return errors.New("its data is not JSON")
	}
	return nil
}

// storable says that t can be kept as nanoseconds since 1970 (1678 to 2262).
func storable(t time.Time) bool { return !t.IsZero() && time.Unix(0, t.UnixNano()).Equal(t) }

const insertEvent = `INSERT INTO events (id, time, kind, v, phase, iteration, attempt, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

// Append writes a in one transaction and one fsync; when it returns nil, all
// of it is durable. Only the holder of the lease appends: when the lease was
// lost it returns a *LeaseError. After a refusal or an error nothing was
// written, but after an error of the disk itself the events may still appear
// when the journal is opened again; the caller reads Head then.
func (s *Store) Append(ctx context.Context, l *Lease, a Append) error {
	if l.store != s {
		return fmt.Errorf("append to run %s: the lease is of another journal", l.run)
	}
	return s.writeTo(ctx, s.durable, "append to run "+l.run, l.number, func(ctx context.Context, w *writer) error {
		tail, prev, err := l.fence(ctx, w)
		if err != nil {
			return err
		}
		if err := a.Check(l.run, tail); err != nil {
			return err
		}
		for _, e := range a.Events {
			if e.Data == nil {
				e.Data = json.RawMessage("null")
			}
			prev, s.encoding = link(s.encoding, prev, e)
			w.last(insertEvent, eventID(l.number, e.Seq), e.Time.UnixNano(), string(e.Kind), e.V,
				e.Phase, e.Iteration, e.Attempt, string(e.Data), bytes.Clone(prev[:]))
		}
		return a.rows(ctx, w, l)
	})
}

// rows writes everything but the events.
func (a *Append) rows(ctx context.Context, w *writer, l *Lease) error {
	for _, id := range a.Consume {
		n, err := w.exec(ctx, `DELETE FROM inbox WHERE id = ? AND run = ?`, id, l.number)
		if err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("consume inbox row %d: %w", id, ErrConsumed)
		}
	}
	for _, id := range a.Supersede {
		if err := supersede(ctx, w, l.number, id); err != nil {
			return err
		}
	}
	for i := range a.Open {
		if err := openCheckpoint(ctx, w, l.number, &a.Open[i]); err != nil {
			return err
		}
	}
	for _, row := range a.Usage {
		if err := row.put(ctx, w, l.number); err != nil {
			return err
		}
	}
	for _, row := range a.Begin {
		if err := row.put(ctx, w, l.number); err != nil {
			return err
		}
	}
	for _, command := range a.End {
		if err := dropAttempt(ctx, w, l.number, command); err != nil {
			return err
		}
	}
	if a.Status == nil {
		return nil
	}
	_, err := w.exec(ctx, `UPDATE runs SET outcome = ?, branch = ?, cost = ? WHERE n = ?`,
		string(a.Status.Outcome), a.Status.Branch, a.Status.CostUSD, l.number)
	return err
}
