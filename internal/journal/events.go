package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"forge/internal/work"
)

// An event's id holds its run's number above these bits and its seq below.
const seqBits = 32

func eventID(run, seq int64) int64 { return run<<seqBits | seq }

// Events read from the database at a time: the database is not held while the
// caller works on them.
const eventPage = 1000

const selectEvents = `SELECT id, time, kind, v, phase, iteration, attempt, data, hash FROM events WHERE id > ? AND id < ? ORDER BY id LIMIT ?`

// Events returns the events of run after number after (0 = all), verified and
// brought up to the current version. See Replay for the errors.
func (s *Store) Events(ctx context.Context, run string, after int64) ([]work.Event, error) {
	var events []work.Event
	for e, err := range s.Replay(ctx, run, after) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// Replay yields the events of run after number after, in order, each verified
// against the chain and brought up to the current version. Of the event after
// itself the stored hash is trusted. It sees what is appended while it runs.
//
// It ends with a *BrokenError at a gap, a wrong hash, or a version that no
// upcaster knows, and also when there is no event number after: the journal
// then ends earlier than the caller has seen it. ErrNoRun when there is no
// such run.
func (s *Store) Replay(ctx context.Context, run string, after int64) iter.Seq2[work.Event, error] {
	return func(yield func(work.Event, error) bool) {
		if err := s.replay(ctx, run, after, yield); err != nil {
			yield(work.Event{}, s.explain("read run "+run, err))
		}
	}
}

func (s *Store) replay(ctx context.Context, run string, after int64, yield func(work.Event, error) bool) error {
	number, err := s.number(ctx, run)
	if err != nil {
		return err
	}
	r := reader{store: s, run: run, number: number, seq: after, prev: Root(run)}
	if after != 0 {
		if r.prev, err = s.hashAt(ctx, number, run, after); err != nil {
			return err
		}
	}
	for {
		// Asked before the page is read: what is there now must be in it. A
		// damaged table can end early for a walk and not for a look-up.
		tail, _, err := s.tail(ctx, number)
		if err != nil {
			return err
		}
		page, broken := r.page(ctx)
		for i := range page {
			if !yield(page[i], nil) {
				return nil
			}
		}
		switch {
		case broken != nil:
			return broken
		case len(page) == eventPage:
		case r.seq < tail:
			return &BrokenError{File: s.path, Run: run, Seq: r.seq + 1, What: fmt.Sprintf("it is missing; the last one is %d", tail)}
		default:
			return nil
		}
	}
}

// reader goes through the events of a run, a page at a time. Its buffers are
// kept from page to page: most of the cost of reading is garbage otherwise.
type reader struct {
	store    *Store
	run      string
	number   int64
	seq      int64 // of the last event that was read
	prev     Hash  // and its hash
	events   []work.Event
	encoding []byte
}

// page returns the next events, fewer than eventPage at the end. With an
// error it returns those before the broken one.
func (r *reader) page(ctx context.Context) ([]work.Event, error) {
	r.events = r.events[:0]
	rows, err := r.store.readers.QueryContext(ctx, selectEvents, eventID(r.number, r.seq), eventID(r.number+1, 0), eventPage)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var id, nanos int64
	var hash sql.RawBytes
	e := work.Event{Run: r.run}
	columns := []any{&id, &nanos, &e.Kind, &e.V, &e.Phase, &e.Iteration, &e.Attempt, (*[]byte)(&e.Data), &hash}
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return r.events, err
		}
		e.Seq, e.Time = id-eventID(r.number, 0), fromNano(nanos)
		current, err := r.verify(e, hash)
		if err != nil {
			return r.events, err
		}
		r.events = append(r.events, current)
	}
	return r.events, rows.Err()
}

// verify takes e, read from a row with that hash, as the next event, and
// returns it in the current version.
func (r *reader) verify(e work.Event, hash []byte) (work.Event, error) {
	r.seq++
	broken := func(what string) error {
		return &BrokenError{File: r.store.path, Run: r.run, Seq: r.seq, What: what}
	}
	if e.Seq != r.seq {
		return e, broken(fmt.Sprintf("it is missing; the next one is %d", e.Seq))
	}
	if r.prev, r.encoding = link(r.encoding, r.prev, e); !bytes.Equal(r.prev[:], hash) {
		return e, broken("it or one before it was changed: the hash does not match")
	}
	current, err := r.store.upcasters.lift(e)
	if err != nil {
		return e, broken(err.Error())
	}
	return current, nil
}

// Head returns the number and the chain hash of run's last event; before the
// first event 0 and the hash of Root. Count and head belong where they cannot
// be cut together with the journal: see CheckAnchor.
func (s *Store) Head(ctx context.Context, run string) (count int64, head string, err error) {
	number, err := s.number(ctx, run)
	if err != nil {
		return 0, "", s.explain("read head", err)
	}
	seq, stored, err := s.tail(ctx, number)
	if err != nil {
		return 0, "", s.explain("read head", err)
	}
	if seq == 0 {
		return 0, Root(run).String(), nil
	}
	if len(stored) != len(Hash{}) {
		return 0, "", s.explain("read head", &BrokenError{File: s.path, Run: run, Seq: seq, What: "its hash is not one"})
	}
	return seq, Hash(stored).String(), nil
}

// tail looks up the last event of a run; 0 when there is none.
func (s *Store) tail(ctx context.Context, number int64) (seq int64, hash []byte, err error) {
	var id int64
	err = s.readers.QueryRowContext(ctx, `SELECT id, hash FROM events WHERE id > ? AND id < ? ORDER BY id DESC LIMIT 1`,
		eventID(number, 0), eventID(number+1, 0)).Scan(&id, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, nil
	}
	return id - eventID(number, 0), hash, err
}

// CheckAnchor holds a count and head that were kept outside (a ref, a commit
// trailer) against the journal. A chain alone cannot show that its tail was
// cut; this does: *BrokenError when the journal ends earlier, or has another
// event there.
func (s *Store) CheckAnchor(ctx context.Context, run string, count int64, head string) error {
	number, err := s.number(ctx, run)
	if err != nil {
		return s.explain("check anchor", err)
	}
	stored := Root(run)
	if count != 0 {
		if stored, err = s.hashAt(ctx, number, run, count); err != nil {
			return s.explain("check anchor", err)
		}
	}
	if stored.String() != head {
		return s.explain("check anchor", &BrokenError{File: s.path, Run: run, Seq: count, What: "it is not the one that was anchored"})
	}
	return nil
}

func (s *Store) hashAt(ctx context.Context, number int64, run string, seq int64) (Hash, error) {
	if seq < 0 || seq >= 1<<seqBits {
		return Hash{}, fmt.Errorf("there is no event number %d", seq)
	}
	var stored []byte
	err := s.readers.QueryRowContext(ctx, `SELECT hash FROM events WHERE id = ?`, eventID(number, seq)).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return Hash{}, &BrokenError{File: s.path, Run: run, Seq: seq, What: "it was there once and is missing"}
	}
	if err != nil {
		return Hash{}, err
	}
	if len(stored) != len(Hash{}) {
		return Hash{}, &BrokenError{File: s.path, Run: run, Seq: seq, What: "its hash is not one"}
	}
	return Hash(stored), nil
}

// number finds a run's number.
func (s *Store) number(ctx context.Context, run string) (n int64, err error) {
	err = s.readers.QueryRowContext(ctx, `SELECT n FROM runs WHERE id = ?`, run).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("run %q: %w", run, ErrNoRun)
	}
	return n, err
}
