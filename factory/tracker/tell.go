package tracker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// linesAtOnce is how much of a board's history is read at a time.
const linesAtOnce = 500

// untold is what the tracker may have to be told. It begins with everything,
// since another process may have ended between a change and its telling;
// afterwards the board's history says what changed.
type untold struct {
	begun  bool
	line   int64          // of the history, read so far
	issues map[int64]bool // that changed and were not told since
	// later are those of them that the tracker did not let Forge tell, such as one
	// that it does not close: when each is tried again. It delays no other.
	later map[int64]retry
}

// retry is when something is tried again, after how many failures in a row.
type retry struct {
	at       time.Time
	failures int
}

// tell posts how the board's issues stand, each once for each way of standing.
func (s *Sync) tell(ctx context.Context) error {
	rows, err := s.news(ctx)
	if err != nil {
		return err
	}
	var failed error
	var lost inARow
	for _, row := range rows {
		i, err := s.Store.Issue(ctx, row.Project, row.Issue)
		if err != nil {
			return errors.Join(failed, err)
		}
		later := s.untold.later[i.ID]
		if s.Board.Now().Before(later.at) {
			continue
		}
		err = s.tellOne(ctx, row, i)
		switch {
		case err == nil:
			lost = 0
			delete(s.untold.issues, i.ID)
			delete(s.untold.later, i.ID)
			failed = errors.Join(failed, s.untoldOn(ctx, row, i, ""))
			continue
		case !OfIssue(err):
			failed = errors.Join(failed, err)
			if lost.over(ctx, err) {
				return failed
			}
			continue
		}
		lost = 0
		if later.failures++; later.failures == 1 {
			s.say(i.ID, err.Error())
		}
		later.at = s.Board.Now().Add(Wait(tellAgain, later.failures, err))
		if s.untold.later == nil {
			s.untold.later = map[int64]retry{}
		}
		s.untold.later[i.ID] = later
		why := fmt.Sprintf("%s; it is tried again at %s", err, later.at.UTC().Format("2006-01-02 15:04Z"))
		failed = errors.Join(failed, s.untoldOn(ctx, row, i, why))
	}
	return failed
}

// untoldOn lets the card of an issue say why its tracker could not be told of it,
// and when that is tried again; why "" = it was told. A card that says something
// else keeps saying that.
func (s *Sync) untoldOn(ctx context.Context, row work.TrackerIssue, was work.Issue, why string) error {
	if said, _ := saidOf(was); was.Reason != "" && said != HoldUntold {
		return nil
	}
	now, bound := was, Bound{Hold: HoldUntold, Why: why}
	if now.Reason = ""; why != "" {
		now.Reason = bound.Line(was)
	}
	if now.Reason == was.Reason {
		return nil
	}
	change, err := s.Board.PlanEdit(ctx, was, now, s.by(bound))
	if err != nil {
		return err
	}
	row, ok, err := s.Store.TrackerIssue(ctx, row.Tracker, row.Remote)
	if err == nil && ok {
		err = s.Store.KeepTracker(ctx, row, &change)
	}
	if errors.Is(err, work.ErrStale) {
		return nil // whoever changed it had more to say
	}
	return err
}

// tellAgain is after how long an issue is told again that could not be, at
// first; twice as long each time.
const tellAgain = time.Minute

// OfIssue says that an error is of one issue alone, and not of its tracker.
func OfIssue(err error) bool {
	kind := work.HostKindOf(err)
	return kind == work.HostRefused || kind == work.HostNoRepository || kind == work.HostForbidden
}

// tellOne posts how one issue stands, unless that was said.
func (s *Sync) tellOne(ctx context.Context, row work.TrackerIssue, i work.Issue) error {
	report, standing := Tell(s.key(row), i)
	sum := digest(standing)
	if hold, _ := saidOf(i); sum == row.Posted || hold == HoldGone { // or there is nowhere to say it
		return nil
	}
	var err error
	if row.Posted != "" {
		// From now on nobody knows what stands there: whoever dies after the post, or
		// does not hear that it went well, must not take the last one for it.
		row.Posted = ""
		err = s.posted(ctx, row)
	}
	if err == nil {
		err = s.Host.Post(ctx, row.Remote, report)
	}
	if err == nil {
		s.served++
		row.Posted = sum
		err = s.posted(ctx, row)
	}
	if err != nil {
		return fmt.Errorf("tell %s how issue %d stands: %w", s.Host.Name(), row.Remote, err)
	}
	return nil
}

// Estimate says what an issue may take, in a comment of its own that a newer one
// replaces.
func (s *Sync) Estimate(ctx context.Context, row work.TrackerIssue, words text.Markdown) error {
	err := s.Host.Post(ctx, row.Remote, Report{Key: digest(s.key(row) + " estimate"), Body: words})
	if err != nil {
		return fmt.Errorf("tell %s what issue %d may take: %w", s.Host.Name(), row.Remote, err)
	}
	return nil
}

// news are the bound issues that may stand otherwise than the tracker was told,
// by their number on the tracker.
func (s *Sync) news(ctx context.Context) ([]work.TrackerIssue, error) {
	u := &s.untold
	if !u.begun {
		return s.everything(ctx)
	}
	end, err := s.Store.BoardEnd(ctx)
	if err != nil {
		return nil, err
	}
	for u.line < end {
		lines, err := s.Store.BoardLines(ctx, s.Board.Project, u.line, linesAtOnce)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if u.line = l.Seq; l.Issue != 0 {
				u.issues[l.Issue] = true
			}
		}
		if len(lines) < linesAtOnce {
			u.line = max(u.line, end) // the others are of other boards
		}
	}
	var rows []work.TrackerIssue
	for _, id := range slices.Sorted(maps.Keys(u.issues)) {
		row, ok, err := s.Store.TrackerIssueOf(ctx, s.Board.Project, id)
		if err != nil {
			return nil, err
		}
		if !ok || row.Tracker != s.Host.Name() {
			delete(u.issues, id)
			continue
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b work.TrackerIssue) int { return cmp.Compare(a.Remote, b.Remote) })
	return rows, nil
}

// everything are all bound issues. Where the history ends is asked first: what
// changes meanwhile is looked at twice rather than never.
func (s *Sync) everything(ctx context.Context) ([]work.TrackerIssue, error) {
	end, err := s.Store.BoardEnd(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.Store.TrackerIssues(ctx, s.Board.Project, s.Host.Name())
	if err != nil {
		return nil, err
	}
	s.untold = untold{begun: true, line: end, issues: map[int64]bool{}}
	for _, row := range rows {
		s.untold.issues[row.Issue] = true
	}
	return rows, nil
}
