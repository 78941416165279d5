package enginetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// NewJournal is an empty journal.
func NewJournal() *Journal {
	return &Journal{Records: map[string]work.Checkpoint{}, Running: map[engine.Attempt]bool{}}
}

// Journal is a working journal in memory: dense, one append at a time, whole
// or not at all.
type Journal struct {
	sync.Mutex
	writing atomic.Bool
	Events  []work.Event
	Batches []engine.Batch
	Records map[string]work.Checkpoint
	Waiting []engine.Inbox
	rows    int64
	seen    int64 // rows at the last Changed
	Running map[engine.Attempt]bool
	Today   orchestrator.Day
	FailAt  int                // append that fails, from 1; 0 = none
	Written bool               // it is on disk all the same
	Appends int                // also those that failed
	After   func(engine.Batch) // called after each append
	Stuck   error              // of Expire
}

// ErrDiskFull is what an append that fails says.
var ErrDiskFull = errors.New("no space left on device")

// Append writes a batch that goes on from the last event.
func (j *Journal) Append(ctx context.Context, b engine.Batch) (err error) {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !j.writing.CompareAndSwap(false, true) {
		return errors.New("two appends at once")
	}
	defer j.writing.Store(false)
	j.Lock()
	defer j.Unlock()
	if j.Appends++; j.Appends == j.FailAt {
		if !j.Written {
			return ErrDiskFull
		}
		defer func() { err = ErrDiskFull }()
	}
	for i, e := range b.Events {
		if want := int64(len(j.Events) + i + 1); e.Seq != want {
			return fmt.Errorf("event %d comes, %d was due", e.Seq, want)
		}
	}
	j.Events = append(j.Events, b.Events...)
	j.Batches = append(j.Batches, b)
	for _, cp := range b.Opened {
		j.Records[cp.ID] = cp
	}
	for _, id := range b.Closed {
		cp := j.Records[id]
		cp.Status = work.CheckpointExpired
		j.Records[id] = cp
	}
	j.Waiting = slices.DeleteFunc(j.Waiting, func(row engine.Inbox) bool { return slices.Contains(b.Consumed, row.ID) })
	for _, a := range b.Began {
		j.Running[a] = true
	}
	for _, a := range b.Over {
		delete(j.Running, a)
	}
	if j.After != nil {
		j.After(b)
	}
	return nil
}

// Answer is what a door does. While the run works, its caller holds the lock.
func (j *Journal) Answer(a work.Answer) {
	j.rows++
	j.Waiting = append(j.Waiting, engine.Inbox{ID: j.rows, Answer: a})
}

// Head is how many events there are, and a name for the last one.
func (j *Journal) Head(ctx context.Context) (int64, string, error) {
	if ctx.Err() != nil {
		return 0, "", ctx.Err()
	}
	j.Lock()
	defer j.Unlock()
	return int64(len(j.Events)), fmt.Sprintf("hash-%d", len(j.Events)), nil
}

// Inbox is what doors answered and no event holds yet.
func (j *Journal) Inbox(context.Context) ([]engine.Inbox, error) {
	j.Lock()
	defer j.Unlock()
	return slices.Clone(j.Waiting), nil
}

// Expire closes records, and leaves those alone whose answer waits.
func (j *Journal) Expire(_ context.Context, ids []string, now time.Time) ([]string, error) {
	j.Lock()
	defer j.Unlock()
	if j.Stuck != nil {
		return nil, j.Stuck
	}
	var closed []string
	for _, id := range ids {
		cp := j.Records[id]
		if cp.ExpiresAt == nil || now.Before(*cp.ExpiresAt) || slices.ContainsFunc(j.Waiting, func(row engine.Inbox) bool { return row.Answer.Checkpoint == id }) {
			continue
		}
		cp.Status = work.CheckpointExpired
		j.Records[id] = cp
		closed = append(closed, id)
	}
	return closed, nil
}

// Changed says whether a door answered since it was asked last.
func (j *Journal) Changed(context.Context) (bool, error) {
	j.Lock()
	defer j.Unlock()
	changed := j.rows != j.seen
	j.seen = j.rows
	return changed, nil
}

// Heartbeat does nothing: the lease is never lost.
func (j *Journal) Heartbeat(context.Context) error { return nil }

// Attempts are the effects that began and are not over.
func (j *Journal) Attempts(context.Context) ([]engine.Attempt, error) {
	j.Lock()
	defer j.Unlock()
	return slices.Collect(maps.Keys(j.Running)), nil
}

// Day is what the test says.
func (j *Journal) Day(context.Context) (orchestrator.Day, error) { return j.Today, nil }

// Processes are the processes that were ended by their mark.
type Processes struct {
	sync.Mutex
	Ended []string
	Err   error
}

// End notes the mark.
func (m *Processes) End(_ context.Context, mark string) error {
	m.Lock()
	defer m.Unlock()
	m.Ended = append(m.Ended, mark)
	return m.Err
}
