package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"forge/internal/work"
)

// ClaimIssue gives an issue to owner and makes a change true that holds this
// issue alone, in one durable transaction. seen is the claim that the decision
// was made on: the one that somebody holds, or one without an owner when nobody
// does. Whoever comes second is refused. Whether a claim may be taken over is
// the caller's to judge.
//
//	work.ErrStale  the claim, the issue or its place are no longer as they were
//
// and the errors of ChangeBoard.
func (s *Store) ClaimIssue(ctx context.Context, owner Owner, seen work.IssueClaim, c work.BoardChange) (work.IssueClaim, work.Issue, error) {
	if err := CheckClaim(owner.ID, seen, c); err != nil {
		return work.IssueClaim{}, work.Issue{}, fmt.Errorf("claim issue: %w", err)
	}
	claim := work.IssueClaim{Project: c.Project, Issue: seen.Issue, Owner: owner.ID, PID: owner.PID, Host: owner.Host}
	var issue work.Issue
	err := s.write(ctx, s.durable, fmt.Sprintf("claim issue %d", seen.Issue), func(ctx context.Context, w *writer) error {
		stored, err := applyBoard(ctx, w, c)
		if err != nil {
			return err
		}
		issue, claim.Heartbeat = stored[0], s.now().UTC()
		err = w.row(ctx, `INSERT INTO claims (project, issue, epoch, owner, pid, host, boot, started, heartbeat)
			SELECT n, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8 FROM projects WHERE id = ?1 AND ?9 = ''
			ON CONFLICT (project, issue) DO UPDATE SET epoch = claims.epoch + 1, owner = excluded.owner, pid = excluded.pid, host = excluded.host,
				boot = excluded.boot, started = excluded.started, heartbeat = excluded.heartbeat, later = 0
			WHERE claims.owner IS NULL RETURNING epoch`,
			[]any{c.Project, claim.Issue, owner.ID, owner.PID, owner.Host, owner.Boot, owner.StartTime, claim.Heartbeat.UnixNano(), seen.Owner}, &claim.Epoch)
		if errors.Is(err, sql.ErrNoRows) && seen.Owner != "" {
			err = w.row(ctx, `UPDATE claims SET epoch = epoch + 1, owner = ?, pid = ?, host = ?, boot = ?, started = ?, heartbeat = ?, later = 0`+heldClaim+` RETURNING epoch`,
				[]any{owner.ID, owner.PID, owner.Host, owner.Boot, owner.StartTime, claim.Heartbeat.UnixNano(), c.Project, claim.Issue, seen.Epoch, seen.Owner}, &claim.Epoch)
		}
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("%w: the claim of issue %d", work.ErrStale, seen.Issue)
		}
		return err
	})
	if err != nil {
		return work.IssueClaim{}, work.Issue{}, err
	}
	claim.Heartbeat = s.local(claim.Heartbeat)
	return claim, issue, nil
}

// CheckClaim says what is wrong with a claim whatever the board holds.
func CheckClaim(owner string, seen work.IssueClaim, c work.BoardChange) error {
	switch {
	case owner == "":
		return errors.New("its owner is empty")
	case len(c.Issues) != 1 || len(c.Ranks) != 0 || c.Issues[0].Issue.ID != seen.Issue || seen.Issue < 1:
		return fmt.Errorf("it changes other issues than %d", seen.Issue)
	}
	return CheckBoardChange(c)
}

// ChangeClaimed is ChangeBoard for the holder of a claim alone.
// work.ErrNotClaimed when it is not the holder any more.
func (s *Store) ChangeClaimed(ctx context.Context, claim work.IssueClaim, c work.BoardChange) (work.Issue, error) {
	return s.underClaim(ctx, claim, &c, nil)
}

// EndClaim gives a claim back, and makes a change of its issue true in the same
// durable transaction; nil changes nothing of it. later, unless zero, is when
// the issue is worth claiming again. work.ErrNotClaimed when it was taken over.
func (s *Store) EndClaim(ctx context.Context, claim work.IssueClaim, c *work.BoardChange, later time.Time) (work.Issue, error) {
	return s.underClaim(ctx, claim, c, &later)
}

func (s *Store) underClaim(ctx context.Context, claim work.IssueClaim, c *work.BoardChange, later *time.Time) (issue work.Issue, err error) {
	if c != nil {
		if err := CheckClaim(claim.Owner, claim, *c); err != nil {
			return issue, fmt.Errorf("change claimed issue: %w", err)
		}
	}
	err = s.write(ctx, s.durable, fmt.Sprintf("change claimed issue %d", claim.Issue), func(ctx context.Context, w *writer) error {
		query, args := `UPDATE claims SET heartbeat = ?`, []any{s.now().UnixNano()}
		if later != nil {
			query = `UPDATE claims SET heartbeat = ?, owner = NULL, later = ?`
			args = append(args, nanoOrZero(*later))
		}
		n, err := w.exec(ctx, query+heldClaim, append(args, claim.Project, claim.Issue, claim.Epoch, claim.Owner)...)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: issue %d", work.ErrNotClaimed, claim.Issue)
		}
		if err != nil || c == nil {
			return err
		}
		stored, err := applyBoard(ctx, w, *c)
		if err == nil {
			issue = stored[0]
		}
		return err
	})
	return issue, err
}

// heldClaim is the row of a claim as long as it is its owner's.
const heldClaim = ` WHERE project = (SELECT n FROM projects WHERE id = ?) AND issue = ? AND epoch = ? AND owner = ?`

// KeepClaims says that the owner of claims lives, and returns those that are
// not its own any more: whoever works on them has to stop.
func (s *Store) KeepClaims(ctx context.Context, claims []work.IssueClaim) (lost []work.IssueClaim, err error) {
	err = s.quickly(ctx, "keep claims", everything, func(ctx context.Context, w *writer) error {
		lost = nil
		now := s.now().UnixNano()
		for _, c := range claims {
			n, err := w.exec(ctx, `UPDATE claims SET heartbeat = ?`+heldClaim, now, c.Project, c.Issue, c.Epoch, c.Owner)
			if err != nil {
				return err
			}
			if n == 0 {
				lost = append(lost, c)
			}
		}
		return nil
	})
	return lost, err
}

// Claims are the claims of a project that somebody holds, or that say when the
// issue may be claimed again, by issue.
func (s *Store) Claims(ctx context.Context, project string) (map[int64]work.IssueClaim, error) {
	number, err := s.board(ctx, project)
	if err != nil {
		return nil, s.explain("list claims", err)
	}
	list := map[int64]work.IssueClaim{}
	err = s.each(ctx, `SELECT issue, epoch, later, owner, pid, host, boot, started, heartbeat FROM claims
		WHERE project = ? AND (owner IS NOT NULL OR later <> 0)`, []any{number}, func(rows *sql.Rows) error {
		c, err := s.scanClaim(rows, project)
		list[c.Issue] = c
		return err
	})
	return list, s.explain("list claims", err)
}

func (s *Store) scanClaim(rows *sql.Rows, project string) (work.IssueClaim, error) {
	c := work.IssueClaim{Project: project}
	var h holder
	var later int64
	if err := rows.Scan(append([]any{&c.Issue, &c.Epoch, &later}, h.fields()...)...); err != nil {
		return c, err
	}
	c.Heartbeat = s.local(s.beat(&h))
	if later != 0 {
		c.Later = fromNano(later)
	}
	if h.id.Valid {
		c.Owner, c.PID, c.Host, c.Dead = h.id.String, h.owner.PID, h.owner.Host, h.owner.Dead()
	}
	return c, nil
}

func nanoOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
