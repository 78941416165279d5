package journal

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"forge/internal/work"
)

// RunRow is what a listing shows of a run.
type RunRow struct {
	ID      string
	Created time.Time
	Updated time.Time // of the last event
	Events  int64
	Status
	// Owner holds the run, nil when nobody does. Alive says that it may not
	// be taken over now; a holder that is not alive died or hangs.
	Owner *Owner
	Alive bool
	// Project and Issue are what the factory runs it for; "" and 0 = it is a
	// person's own.
	Project string
	Issue   int64
	// Stalled is why nobody takes what the run needs done, "" = somebody does, or nobody
	// knows. The journal does not know it: doors ask who drives the run.
	Stalled string
}

// Unfinished says that something of the run is left to do.
func (r RunRow) Unfinished() bool { return !r.Outcome.Final() }

// queryer is a connection or a pool of them.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// A run without events and without a living owner never began: its process
// died before it could say what the run is. It is not listed.
const selectRuns = `SELECT r.id, r.created, r.outcome, r.branch, r.cost, coalesce(e.id, 0) & 4294967295, coalesce(e.time, r.created), r.project, r.issue,
	r.owner, r.pid, r.host, r.boot, r.started, r.heartbeat
	FROM runs r LEFT JOIN events e ON e.id = (SELECT max(id) FROM events WHERE id > r.n << 32 AND id < (r.n + 1) << 32)
	WHERE (e.id IS NOT NULL OR r.owner IS NOT NULL)`

// Runs returns all runs, the newest first, without reading their events.
func (s *Store) Runs(ctx context.Context) ([]RunRow, error) {
	rows, err := s.listRuns(ctx, s.readers, selectRuns+` ORDER BY r.n DESC`)
	return rows, s.explain("list runs", err)
}

// RunOf returns the row of a run; ErrNoRun when there is none that began.
func (s *Store) RunOf(ctx context.Context, run string) (RunRow, error) {
	rows, err := s.listRuns(ctx, s.readers, selectRuns+` AND r.id = ?`, run)
	if err == nil && len(rows) == 0 {
		return RunRow{}, fmt.Errorf("read run %s: %w", run, ErrNoRun)
	}
	if err != nil {
		return RunRow{}, s.explain("read run", err)
	}
	return rows[0], nil
}

// IssueRuns returns the runs of a project's issues that are in progress or in
// review: of each the one that its card names.
func (s *Store) IssueRuns(ctx context.Context, project string) ([]RunRow, error) {
	// By the cards, which are few, and not by all the runs that there ever were.
	rows, err := s.listRuns(ctx, s.readers, selectRuns+` AND r.issue <> 0 AND r.project = ?1 AND r.id IN (SELECT i.record ->> 'run' FROM projects p
		JOIN issues i ON i.project = p.n WHERE p.id = ?1 AND i.col IN ('in_progress', 'in_review') AND i.record ->> 'run' IS NOT NULL)`, project)
	return rows, s.explain("list the runs of issues", err)
}

// Unfinished returns the runs that have something left to do, the newest
// first: those that are running, frozen, interrupted or at a limit, and those
// whose process died.
func (s *Store) Unfinished(ctx context.Context) ([]RunRow, error) {
	rows, err := s.unfinished(ctx, s.readers)
	return rows, s.explain("list unfinished runs", err)
}

func (s *Store) unfinished(ctx context.Context, q queryer) ([]RunRow, error) {
	rows, err := s.listRuns(ctx, q, selectRuns+` AND r.outcome NOT IN ('completed', 'failed', 'cancelled') ORDER BY r.n DESC`)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func (s *Store) listRuns(ctx context.Context, q queryer, query string, args ...any) ([]RunRow, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	now := s.now()
	var runs []RunRow
	for rows.Next() {
		var r RunRow
		var h holder
		var created, updated int64
		var outcome string
		if err := rows.Scan(append([]any{&r.ID, &created, &outcome, &r.Branch, &r.CostUSD, &r.Events, &updated, &r.Project, &r.Issue}, h.fields()...)...); err != nil {
			return nil, err
		}
		r.Created, r.Updated, r.Outcome = fromNano(created), fromNano(updated), work.RunOutcome(outcome)
		if h.id.Valid {
			h.owner.ID = h.id.String
			r.Owner, r.Alive = &h.owner, s.holds(&h, now)
		}
		if r.Events == 0 && !r.Alive {
			continue
		}
		runs = append(runs, r)
	}
	return runs, rows.Err()
}
