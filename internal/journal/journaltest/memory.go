package journaltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"forge/internal/journal"
	"forge/internal/work"
)

// Stage is a moment of an append at which a Memory can fail.
type Stage int

// An append that fails BeforeCommit has not happened, one that fails
// AfterCommit has: its caller cannot tell them apart.
const (
	BeforeCommit Stage = iota
	AfterCommit
)

// Memory is a journal in memory: no durability, the same rules. Its methods
// may be called by many goroutines. Make it with NewMemory.
type Memory struct {
	// Fault is asked twice in each append, with the lock held, and makes it
	// fail by returning an error; nil never does. Set it before use.
	Fault func(at Stage, run string, a journal.Append) error

	now func() time.Time

	mu          sync.Mutex
	runs        map[string]*memoryRun
	checkpoints map[string]*work.Checkpoint
	inbox       []journal.InboxRow
	lastInbox   int64
}

type memoryRun struct {
	events    []work.Event
	head      journal.Hash
	status    journal.Status
	epoch     int64
	owner     *journal.Owner
	heartbeat time.Time
}

// MemoryLease is the lease of a Memory.
type MemoryLease struct {
	journal *Memory
	run     string
	epoch   int64
}

// NewMemory makes an empty journal whose clock is now.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, runs: map[string]*memoryRun{}, checkpoints: map[string]*work.Checkpoint{}}
}

// CreateRun is as of *journal.Store.
func (m *Memory) CreateRun(_ context.Context, run string, owner journal.Owner) (*MemoryLease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[run] != nil {
		return nil, fmt.Errorf("create run %s: %w", run, journal.ErrRunExists)
	}
	m.runs[run] = &memoryRun{head: journal.Root(run), epoch: 1, owner: &owner, heartbeat: m.now()}
	return &MemoryLease{m, run, 1}, nil
}

// AcquireRun is as of *journal.Store; nobody is ever known dead.
func (m *Memory) AcquireRun(_ context.Context, run string, owner journal.Owner) (*MemoryLease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.run(run)
	if err != nil {
		return nil, err
	}
	if r.owner != nil && m.now().Sub(r.heartbeat) <= journal.LeaseTimeout {
		return nil, r.refusal(run)
	}
	r.epoch++
	r.owner, r.heartbeat = &owner, m.now()
	return &MemoryLease{m, run, r.epoch}, nil
}

func (m *Memory) run(run string) (*memoryRun, error) {
	r := m.runs[run]
	if r == nil {
		return nil, fmt.Errorf("run %q: %w", run, journal.ErrNoRun)
	}
	return r, nil
}

func (r *memoryRun) refusal(run string) error {
	if r.owner == nil {
		return &journal.LeaseError{Run: run}
	}
	return &journal.LeaseError{Run: run, Owner: r.owner.ID, PID: r.owner.PID, Host: r.owner.Host, Heartbeat: r.heartbeat}
}

// held returns the lease's run while the lease holds.
func (l *MemoryLease) held() (*memoryRun, error) {
	r := l.journal.runs[l.run]
	if r.owner == nil || r.epoch != l.epoch {
		return nil, r.refusal(l.run)
	}
	return r, nil
}

// Heartbeat is as of *journal.Lease.
func (l *MemoryLease) Heartbeat(context.Context) error {
	l.journal.mu.Lock()
	defer l.journal.mu.Unlock()
	r, err := l.held()
	if err == nil {
		r.heartbeat = l.journal.now()
	}
	return err
}

// Release is as of *journal.Lease.
func (l *MemoryLease) Release(context.Context) error {
	l.journal.mu.Lock()
	defer l.journal.mu.Unlock()
	r, err := l.held()
	if err == nil {
		r.owner = nil
	}
	return err
}

// Append is as of *journal.Store; usage and attempts are not kept.
func (m *Memory) Append(ctx context.Context, l *MemoryLease, a journal.Append) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := l.held()
	if err != nil {
		return err
	}
	if err := m.check(l.run, r, a); err != nil {
		return fmt.Errorf("append to run %s: %w", l.run, err)
	}
	if m.Fault != nil {
		if err := m.Fault(BeforeCommit, l.run, a); err != nil {
			return err
		}
	}
	m.commit(r, a)
	if m.Fault != nil {
		return m.Fault(AfterCommit, l.run, a)
	}
	return nil
}

func (m *Memory) check(run string, r *memoryRun, a journal.Append) error {
	if err := a.Check(run, int64(len(r.events))); err != nil {
		return err
	}
	for i, id := range a.Consume {
		known := slices.ContainsFunc(m.inbox, func(row journal.InboxRow) bool { return row.ID == id && row.Run == run })
		if !known || slices.Contains(a.Consume[:i], id) {
			return fmt.Errorf("consume inbox row %d: %w", id, journal.ErrConsumed)
		}
	}
	opened := map[string]bool{}
	for _, c := range a.Open {
		if m.checkpoints[c.ID] != nil || opened[c.ID] {
			return fmt.Errorf("open checkpoint %s: there is one", c.ID)
		}
		opened[c.ID] = true
	}
	return nil
}

func (m *Memory) commit(r *memoryRun, a journal.Append) {
	for _, e := range a.Events {
		e.Data, e.Time = bytes.Clone(e.Data), e.Time.UTC()
		if e.Data == nil {
			e.Data = json.RawMessage("null")
		}
		r.head = journal.Link(r.head, e)
		r.events = append(r.events, e)
	}
	m.inbox = slices.DeleteFunc(m.inbox, func(row journal.InboxRow) bool { return slices.Contains(a.Consume, row.ID) })
	for _, id := range a.Supersede {
		if c := m.checkpoints[id]; c != nil && c.Status == work.CheckpointPending {
			c.Status = work.CheckpointExpired
		}
	}
	for _, c := range a.Open {
		m.checkpoints[c.ID] = &c
	}
	if a.Status != nil {
		r.status = *a.Status
	}
}

// Events is as of *journal.Store.
func (m *Memory) Events(_ context.Context, run string, after int64) ([]work.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.run(run)
	if err != nil {
		return nil, err
	}
	if after < 0 || after > int64(len(r.events)) {
		return nil, &journal.BrokenError{File: "memory", Run: run, Seq: after, What: "it was there once and is missing"}
	}
	list := slices.Clone(r.events[after:])
	for i := range list {
		list[i].Data = bytes.Clone(list[i].Data)
	}
	return list, nil
}

// Head is as of *journal.Store.
func (m *Memory) Head(_ context.Context, run string) (int64, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.run(run)
	if err != nil {
		return 0, "", err
	}
	return int64(len(r.events)), r.head.String(), nil
}

// Status returns what the last append said of run.
func (m *Memory) Status(run string) journal.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.runs[run]; r != nil {
		return r.status
	}
	return journal.Status{}
}

// Answer is as of *journal.Store, written a second time on purpose: the suite
// holds the two against each other.
func (m *Memory) Answer(_ context.Context, a work.Answer) (work.Checkpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.checkpoints[a.Checkpoint]
	if c == nil {
		return work.Checkpoint{}, work.ErrUnknown
	}
	answers := []work.CheckpointStatus{work.CheckpointApproved, work.CheckpointChangesRequested, work.CheckpointRejected}
	if !slices.Contains(answers, a.Status) || a.At.IsZero() {
		return *c, fmt.Errorf("answer %q at %s is not one", a.Status, a.At)
	}
	if slices.Contains(answers, c.Status) {
		return *c, work.ErrAlreadyResolved
	}
	if c.Status == work.CheckpointExpired || (c.ExpiresAt != nil && !c.ExpiresAt.After(a.At)) {
		c.Status = work.CheckpointExpired
		return *c, work.ErrExpired
	}
	if a.Revision == 0 {
		a.Revision = c.Revision
	}
	if a.Revision != c.Revision {
		return *c, work.ErrConflict
	}
	if c.Wordless(a.Status, a.Choice, a.Comment) {
		return *c, work.ErrEmptyFeedback
	}
	if a.Choice != "" && !slices.ContainsFunc(c.Choices, func(o work.Choice) bool { return o.Name == a.Choice && o.Answer == a.Status }) {
		return *c, fmt.Errorf("no choice %q", a.Choice)
	}
	at := a.At.UTC()
	c.Status, c.AnsweredBy, c.Door, c.Comment, c.Choice, c.AnsweredAt = a.Status, a.By, a.Door, a.Comment, a.Choice, &at
	m.lastInbox++
	m.inbox = append(m.inbox, journal.InboxRow{ID: m.lastInbox, Run: c.Run, Answer: a})
	return *c, nil
}

// Expire is as of *journal.Store.
func (m *Memory) Expire(_ context.Context, run string, ids []string, now time.Time) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var closed []string
	for _, id := range ids {
		c := m.checkpoints[id]
		if c != nil && c.Run == run && c.Status == work.CheckpointPending && c.ExpiresAt != nil && !c.ExpiresAt.After(now) {
			c.Status = work.CheckpointExpired
		}
		if c == nil || c.Run != run || c.Status == work.CheckpointExpired {
			closed = append(closed, id)
		}
	}
	return closed, nil
}

// Inbox is as of *journal.Store.
func (m *Memory) Inbox(_ context.Context, run string) ([]journal.InboxRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.run(run); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(m.inbox), func(row journal.InboxRow) bool { return row.Run != run }), nil
}
