package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Lease is the right to append to one run. It is kept by heartbeats and lost
// to whoever takes the run over; every write under a lost lease is refused
// with a *LeaseError. Its methods may be called by many goroutines.
type Lease struct {
	store  *Store
	run    string
	number int64
	// epoch counts the leases of a run. A taken-over lease has a lower one
	// than the run's row, for ever: that is the fence.
	epoch int64
}

// Run is the run that the lease is for.
func (l *Lease) Run() string { return l.run }

// CreateRun makes a run without events and acquires it. ErrRunExists when
// there is one of that name.
func (s *Store) CreateRun(ctx context.Context, run string, owner Owner) (*Lease, error) {
	return s.createRun(ctx, run, owner, newRun{})
}

// CreateIssueRun is CreateRun for an issue of a board. Such a run stands in
// nobody's way: CreateSoleRun does not look at it.
func (s *Store) CreateIssueRun(ctx context.Context, run string, owner Owner, project string, issue int64) (*Lease, error) {
	if project == "" || issue < 1 {
		return nil, fmt.Errorf("create run: %d is no issue of project %q", issue, project)
	}
	return s.createRun(ctx, run, owner, newRun{project: project, issue: issue})
}

// newRun is what is special about a run that is made.
type newRun struct {
	sole    bool
	project string
	issue   int64
}

// CreateSoleRun is CreateRun unless a person's own run is unfinished: then it
// returns an *UnfinishedError and nothing is made. Of two processes that try at once one
// finds the other's run.
func (s *Store) CreateSoleRun(ctx context.Context, run string, owner Owner) (*Lease, error) {
	return s.createRun(ctx, run, owner, newRun{sole: true})
}

func (s *Store) createRun(ctx context.Context, run string, owner Owner, as newRun) (*Lease, error) {
	if run == "" || owner.ID == "" {
		return nil, errors.New("create run: its id or its owner is empty")
	}
	l := &Lease{store: s, run: run, epoch: 1}
	err := s.write(ctx, s.durable, "create run "+run, func(ctx context.Context, w *writer) error {
		if as.sole {
			unfinished, err := s.unfinished(ctx, w.conn)
			if err != nil {
				return err
			}
			unfinished = slices.DeleteFunc(unfinished, func(r RunRow) bool { return r.Issue != 0 })
			if len(unfinished) > 0 {
				return &UnfinishedError{Runs: unfinished}
			}
		}
		now := s.now().UnixNano()
		n, err := w.exec(ctx, `INSERT INTO runs (id, created, epoch, owner, pid, host, boot, started, heartbeat, project, issue)
			VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			run, now, owner.ID, owner.PID, owner.Host, owner.Boot, owner.StartTime, now, as.project, as.issue)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrRunExists
		}
		return w.row(ctx, `SELECT n FROM runs WHERE id = ?`, []any{run}, &l.number)
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// AcquireRun takes the lease of a run that nobody holds, whose holder's last
// heartbeat is older than LeaseTimeout, or whose holder is known dead. Else
// it returns a *LeaseError; ErrNoRun when there is no such run; an *AwayError
// when it is at a remote and this machine has not claimed it there. A run that its
// owner itself asks for again is held too.
func (s *Store) AcquireRun(ctx context.Context, run string, owner Owner) (*Lease, error) {
	if owner.ID == "" {
		return nil, errors.New("acquire run: its owner is empty")
	}
	l := &Lease{store: s, run: run}
	err := s.write(ctx, s.durable, "acquire run "+run, func(ctx context.Context, w *writer) error {
		var h holder
		err := w.row(ctx, `SELECT n, epoch, owner, pid, host, boot, started, heartbeat FROM runs WHERE id = ?`, []any{run},
			append([]any{&l.number, &l.epoch}, h.fields()...)...)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNoRun
		}
		if err != nil {
			return err
		}
		if s.holds(&h, s.now()) {
			return s.refusal(&h, run)
		}
		if err := present(ctx, w, l.number); err != nil {
			return err
		}
		l.epoch++
		_, err = w.exec(ctx, `UPDATE runs SET epoch = ?, owner = ?, pid = ?, host = ?, boot = ?, started = ?, heartbeat = ? WHERE n = ?`,
			l.epoch, owner.ID, owner.PID, owner.Host, owner.Boot, owner.StartTime, s.now().UnixNano(), l.number)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Heartbeat says that the owner lives; call it every HeartbeatEvery. A
// *LeaseError means that the run was taken over: stop its agents.
func (l *Lease) Heartbeat(ctx context.Context) error {
	return l.store.quickly(ctx, "keep run "+l.run, l.number, func(ctx context.Context, w *writer) error {
		return l.update(ctx, w, `UPDATE runs SET heartbeat = ? WHERE n = ? AND epoch = ? AND owner IS NOT NULL`, l.store.now().UnixNano())
	})
}

// Keep says that the owner lives, until stop is called, while it does something that
// takes its time. A lease that is lost shows at the next write, or at its release.
func (l *Lease) Keep(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var over sync.WaitGroup
	over.Go(func() {
		tick := time.NewTicker(HeartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = l.Heartbeat(ctx)
			}
		}
	})
	return func() {
		cancel()
		over.Wait()
	}
}

// Release gives the run back, so that the next process need not wait. A
// *LeaseError means that there was nothing to give back any more.
func (l *Lease) Release(ctx context.Context) error {
	return l.store.quickly(ctx, "release run "+l.run, l.number, func(ctx context.Context, w *writer) error {
		return l.update(ctx, w, `UPDATE runs SET owner = NULL, heartbeat = ? WHERE n = ? AND epoch = ? AND owner IS NOT NULL`, l.store.now().UnixNano())
	})
}

func (l *Lease) update(ctx context.Context, w *writer, query string, now int64) error {
	n, err := w.exec(ctx, query, now, l.number, l.epoch)
	if err == nil && n == 0 {
		err = l.lost(ctx, w)
	}
	return err
}

// fence reads the run's tail if the lease still holds, in the transaction
// that is about to write. An overdue heartbeat does not matter as long as
// nobody took over.
func (l *Lease) fence(ctx context.Context, w *writer) (seq int64, prev Hash, err error) {
	var id sql.NullInt64
	var hash []byte
	err = w.row(ctx, `SELECT e.id, e.hash FROM runs r LEFT JOIN events e ON e.id = (SELECT max(id) FROM events WHERE id > ? AND id < ?)
		WHERE r.n = ? AND r.epoch = ? AND r.owner IS NOT NULL`,
		[]any{eventID(l.number, 0), eventID(l.number+1, 0), l.number, l.epoch}, &id, &hash)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, Hash{}, l.lost(ctx, w)
	case err != nil:
		return 0, Hash{}, err
	case !id.Valid:
		return 0, Root(l.run), nil
	}
	seq = id.Int64 - eventID(l.number, 0)
	if len(hash) != len(prev) {
		return 0, Hash{}, &BrokenError{File: l.store.path, Run: l.run, Seq: seq, What: "its hash is not one"}
	}
	return seq, Hash(hash), nil
}

// lost says who has the run instead.
func (l *Lease) lost(ctx context.Context, w *writer) error {
	var h holder
	err := w.row(ctx, `SELECT owner, pid, host, boot, started, heartbeat FROM runs WHERE n = ?`, []any{l.number}, h.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: its row is gone", ErrNoRun)
	}
	if err != nil {
		return err
	}
	return l.store.refusal(&h, l.run)
}

// holder is the lease part of a run's row.
type holder struct {
	id        sql.NullString
	owner     Owner
	heartbeat int64
}

// fields are the places for owner, pid, host, boot, started, heartbeat.
func (h *holder) fields() []any {
	return []any{&h.id, &h.owner.PID, &h.owner.Host, &h.owner.Boot, &h.owner.StartTime, &h.heartbeat}
}

// holds says that nobody else may have the run now. A heartbeat in the future
// (the clock was set back) holds too: when in doubt, a run is not taken.
func (s *Store) holds(h *holder, now time.Time) bool {
	return h.id.Valid && now.Sub(s.beat(h)) <= LeaseTimeout && !h.owner.Dead()
}

func (s *Store) refusal(h *holder, run string) error {
	if !h.id.Valid {
		return &LeaseError{Run: run}
	}
	return &LeaseError{Run: run, Owner: h.id.String, PID: h.owner.PID, Host: h.owner.Host, Heartbeat: s.local(s.beat(h))}
}
