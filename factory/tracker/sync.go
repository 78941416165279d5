package tracker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"forge/factory"
	"forge/internal/work"
)

// Host is a repository's issues on a code host. An error is a
// *work.HostTrouble wherever the host said something.
type Host interface {
	// Name is which repository on which host, whatever the configuration calls
	// it.
	Name() string
	// Changed are the numbers of the issues, with or without the label, open or
	// closed, that changed since a mark, the longest unchanged first, and the
	// mark after them. The same mark and no numbers: nothing did.
	Changed(ctx context.Context, m work.TrackerMark) ([]int64, work.TrackerMark, error)
	// Read reads one issue and everything that its text rests on.
	Read(ctx context.Context, number int64) (Reading, error)
	// Post makes the one comment that has the report's key say what the report
	// says, brings the issue into the state that it is to have there, where the
	// tracker has states, and closes it where it is done. It may be called again.
	Post(ctx context.Context, number int64, r Report) error
	// Acknowledge lets whoever wrote a comment of a reading see that it was heard,
	// by a sign at the comment, where the tracker has signs. It may be called again.
	Acknowledge(ctx context.Context, number int64, c Comment) error
}

// Store remembers what was imported, together with the board.
type Store interface {
	TrackerIssue(ctx context.Context, tracker string, remote int64) (work.TrackerIssue, bool, error)
	TrackerIssues(ctx context.Context, project, tracker string) ([]work.TrackerIssue, error)
	ImportIssue(ctx context.Context, t work.TrackerIssue, c work.BoardChange) (work.Issue, error)
	KeepTracker(ctx context.Context, t work.TrackerIssue, c *work.BoardChange) error
	// HearTracker is KeepTracker for a call, which is acted on once: see Heard.
	HearTracker(ctx context.Context, t work.TrackerIssue, c *work.BoardChange) error
	Issue(ctx context.Context, project string, id int64) (work.Issue, error)
	TrackerMark(ctx context.Context, tracker string) (work.TrackerMark, error)
	SetTrackerMark(ctx context.Context, tracker string, m work.TrackerMark) error
	NewHook(ctx context.Context, tracker string, known []string) (bool, error)
	// TrackerIssueOf is the row that a board's issue is bound by.
	TrackerIssueOf(ctx context.Context, project string, issue int64) (work.TrackerIssue, bool, error)
	// BoardEnd is the last line of any board's history; BoardLines are those of
	// one board after a line.
	BoardEnd(ctx context.Context) (int64, error)
	BoardLines(ctx context.Context, project string, after int64, limit int) ([]work.IssueEntry, error)
	// Issues are those of a column after a rank, or those of the whole board
	// after a number.
	Issues(ctx context.Context, f work.IssueFilter, limit int, after string) ([]work.Issue, error)
	// ChangeBoard changes issues that are parts of a bound one.
	ChangeBoard(ctx context.Context, c work.BoardChange) ([]work.Issue, error)
}

// Rules are how issues of one tracker are taken.
type Rules struct {
	Name   string      // as the configuration calls it
	Label  string      // that chooses an issue
	Column work.Column // backlog or ready
	// States are those in which issues are taken and worked on, by their names on
	// the tracker; none = whichever.
	States []string
	// Called is the name by which people who may write call Forge in comments,
	// "" = nobody does.
	Called string
	// Level says whether a level may be chosen by its name.
	Level func(name string) error
	// Labels are those that the board's owner mapped, as they are now; nil = none.
	Labels func() ([]string, error)
	// Spell is how people call an issue of the tracker; nil = by its number.
	Spell func(number int64) string
}

// Sync brings the issues of one tracker onto one board and tells the tracker
// how they stand. One goroutine at a time uses it; others may work on the same
// board and tracker, in this process or another.
type Sync struct {
	Host  Host
	Store Store
	Board factory.Board
	Rules Rules
	// Say tells what is worth a line in a log. issue 0 = none.
	Say func(issue int64, what string)

	// History are the newest lines of an issue's history, for people; nil = none.
	History func(ctx context.Context, i work.Issue, most int) ([]string, error)
	// Ends ends what still runs of a cancelled issue; nil = nothing does.
	Ends func(ctx context.Context, i work.Issue, by factory.By) error

	untold untold
	ahead  progress
	served int
	calls  callCounts
	coming gate
}

// attempts is how often a change of the board is made anew because another one
// came first.
const attempts = 20

// Served is how often the tracker did what it was asked to about an issue: it grows in a
// round that fails half way.
func (s *Sync) Served() int { return s.served }

// Once reads what changed on the tracker and how the issues stand that are
// worked on, then tells it what changed here. An issue that cannot be read stops
// neither the others nor the telling. It is read again by the next round; how far was
// read is stored when none is left, so that whoever comes after a crash reads all of
// them.
func (s *Sync) Once(ctx context.Context) error {
	name := s.Host.Name()
	mark, err := s.Store.TrackerMark(ctx, name)
	if err != nil {
		return err
	}
	if s.ahead.of != mark { // at first, or since another process read on
		s.ahead = progress{of: mark, mark: mark}
	}
	numbers, next, err := s.Host.Changed(ctx, s.ahead.mark)
	if err != nil {
		return errors.Join(err, s.tell(ctx))
	}
	for _, n := range s.ahead.left {
		if !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	left, gone, failed := s.takeAll(ctx, numbers)
	s.ahead.mark, s.ahead.left = next, left
	if failed == nil && next != mark {
		if failed = s.Store.SetTrackerMark(ctx, name, next); failed == nil {
			s.ahead.of = next
		}
	}
	if !gone {
		failed = errors.Join(failed, s.sweep(ctx, numbers))
	}
	return errors.Join(failed, s.tell(ctx))
}

// progress is how far this process read on from the mark that is stored, but for the
// issues that are left.
type progress struct {
	of, mark work.TrackerMark
	left     []int64
}

// takeAll looks at issues of the tracker, one after the other. Those that may come up
// for work are put onto the board when all were read. It returns those that were not
// taken, and whether the tracker is gone.
func (s *Sync) takeAll(ctx context.Context, numbers []int64) (left []int64, gone bool, failed error) {
	var row inARow
	wrong := func(n int64, err error, rest []int64) {
		failed = errors.Join(failed, fmt.Errorf("issue %d of %s: %w", n, s.Host.Name(), err))
		if left = append(left, n); row.over(ctx, err) {
			left, gone = append(left, rest...), true
		}
	}
	var coming []read
	for at, n := range numbers {
		r, err := s.Host.Read(ctx, n)
		later := false
		if err == nil {
			s.served++
			later, err = s.comesUp(ctx, n)
		}
		switch {
		case err == nil && later:
			coming = append(coming, read{n, r})
		case err == nil:
			_, _, err = s.judged(ctx, n, r)
		}
		if err == nil {
			row = 0
		} else if wrong(n, err, numbers[at+1:]); gone {
			break
		}
	}
	if len(coming) == 0 {
		return left, gone, failed
	}

	defer s.coming.close()()
	byUrgency(coming)
	row = 0
	for at, c := range coming {
		if _, _, err := s.judged(ctx, c.number, c.of); err == nil {
			row = 0
		} else if wrong(c.number, err, numbersOf(coming[at+1:])); row.is(ctx) {
			break
		}
	}
	return left, gone, failed
}

func numbersOf(all []read) (out []int64) {
	for _, r := range all {
		out = append(out, r.number)
	}
	return out
}

// sweep looks at the issues that are in progress or wait for others, but for those that were looked
// at just now: not everything that takes an issue away is told as a change of
// it. Those that are ready or finished are asked about before they go on. A
// finished one that is said to be unwanted is looked at as well: whoever worked
// on it may have said so after it was wanted again.
func (s *Sync) sweep(ctx context.Context, but []int64) error {
	var numbers []int64
	for _, column := range []work.Column{work.ColumnBacklog, work.ColumnReady, work.ColumnInProgress, work.ColumnInReview} {
		err := s.each(ctx, work.IssueFilter{Project: s.Board.Project, Column: column}, "", func(i work.Issue) error {
			said, _ := saidOf(i)
			if i.Source == "" || column == work.ColumnInReview && (said == "" || said == HoldUntold) {
				return nil
			}
			blocked := waiting(i)
			if blocked {
				if look, err := s.unblocks(ctx, i); err != nil || !look {
					return err
				}
			}
			row, ok, err := s.Store.TrackerIssueOf(ctx, i.Project, i.ID)
			if err == nil && ok && row.Tracker == s.Host.Name() && (blocked || !slices.Contains(but, row.Remote)) {
				numbers = append(numbers, row.Remote)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	_, _, err := s.takeAll(ctx, numbers)
	return err
}

// Ask reads one issue that the board has, and puts onto the board what follows.
// wanted is false, with the line for its card, where it is not to be worked on.
// It may be called by several goroutines, whatever else Sync does; it reads when no
// round is in the middle of putting issues onto the board.
func (s *Sync) Ask(ctx context.Context, row work.TrackerIssue) (wanted bool, why string, err error) {
	s.coming.pass(ctx) // first, so that what is read is as it is now
	bound, ours, err := s.take(ctx, row.Remote)
	if err != nil || ours {
		return ours, "", err
	}
	i, err := s.Store.Issue(ctx, row.Project, row.Issue)
	return false, bound.Line(i), err
}

// inARow is how many issues the tracker failed of in a row, for a reason that is not
// theirs: a network that loses a request now and then holds up no other issue.
type inARow int

// goneAfter is after how many there is no use in asking for the next one.
const goneAfter = 3

// over counts an error, and says that there is no use in asking for the next issue.
func (n *inARow) over(ctx context.Context, err error) bool {
	var t *work.HostTrouble
	switch errors.As(err, &t); {
	case t == nil:
	case OfIssue(err):
		*n = 0
	case t.After > 0: // it asks for silence
		*n = goneAfter
	default:
		*n++
	}
	return n.is(ctx)
}

func (n *inARow) is(ctx context.Context) bool { return ctx.Err() != nil || *n >= goneAfter }

// take looks at one issue of the tracker, and says what of it counts.
func (s *Sync) take(ctx context.Context, number int64) (bound Bound, ours bool, err error) {
	r, err := s.Host.Read(ctx, number)
	if err != nil {
		return bound, false, err
	}
	return s.judged(ctx, number, r)
}

// judged puts onto the board what follows from a reading, and says what of it counts.
func (s *Sync) judged(ctx context.Context, number int64, r Reading) (bound Bound, ours bool, err error) {
	mapped, err := s.mapped()
	if err != nil {
		return bound, false, err
	}
	name := s.Host.Name()
	for n := 1; ; n++ {
		row, known, err := s.Store.TrackerIssue(ctx, name, number)
		if err != nil {
			return bound, false, err
		}
		if !known {
			row = work.TrackerIssue{Tracker: name, Remote: number}
		}
		bound, ours = s.Rules.bind(r, Seen{Revision: row.Revision, OK: row.SeenBare})
		bound.Mapped, bound.Labels = mapped, given(r, mapped)
		if bound, ours, err = s.judge(ctx, r, row, bound, ours); err == nil {
			err = s.hear(ctx, r, bound)
		}
		if !errors.Is(err, work.ErrStale) || n == attempts {
			return bound, ours, err
		}
	}
}

// judge decides what becomes of a reading, stores it, and says what of it counts
// for the board's issue.
func (s *Sync) judge(ctx context.Context, r Reading, row work.TrackerIssue, bound Bound, ours bool) (_ Bound, _ bool, err error) {
	var was work.Issue
	var needs []int64
	if row.Issue != 0 && row.Project == s.Board.Project {
		if was, err = s.Store.Issue(ctx, row.Project, row.Issue); err != nil {
			return bound, ours, err
		}
	}
	if ours {
		on, hold, err := s.blocked(ctx, r)
		if err != nil {
			return bound, ours, err
		}
		// Where a person let a text pass that nobody answers for, blockers count all
		// the same.
		passed := bound.Hold == "" || was.Column == work.ColumnReady && was.State == ""
		if needs = on; hold.Hold != "" && passed {
			bound.Hold, bound.Why = hold.Hold, hold.Why
		}
	}
	// Without the label: what its body is now is remembered, for the day on
	// which it gets it.
	bare := !r.Pull && !r.Gone && !has(r.Labels, s.Rules.Label) && r.Edits.Known && (!row.SeenBare || row.Revision != r.Edits.Revision)
	if bare {
		row.Revision, row.SeenBare = r.Edits.Revision, true
	}
	switch {
	case row.Issue != 0 && row.Project != s.Board.Project:
		return bound, ours, nil // another board has it
	case row.Issue != 0:
		judged := judgement(r, bound, ours, needs)
		if judged, ours = s.takenBack(row, was, bound, ours, judged); !ours {
			needs = nil
		}
		return bound, ours, s.again(ctx, r, row, was, bound, ours, needs, judged)
	case ours:
		return bound, ours, s.bring(ctx, r, row, bound, needs)
	case bare:
		return bound, ours, s.Store.KeepTracker(ctx, row, nil)
	}
	return bound, ours, nil
}

// takenBack is whether an issue on which work began is still for Forge: what a
// writer took back, nobody else brings back. One that a person brought to ready
// since the card said so goes on, and that is remembered in what was judged.
func (s *Sync) takenBack(row work.TrackerIssue, was work.Issue, bound Bound, ours bool, judged string) (string, bool) {
	begun := was.Column == work.ColumnInProgress || was.Column == work.ColumnInReview
	if !begun || bound.Hold != HoldReopened && bound.Hold != HoldReader {
		return judged, ours
	}
	before, _ := judgedOf(row.Judged)
	through := digest(judged + " a person let it through")
	if before == through || before == judged && was.Column == work.ColumnInProgress {
		return through, ours
	}
	return judged, false
}

// posted remembers what was said. The row may have been changed meanwhile by
// another process.
func (s *Sync) posted(ctx context.Context, said work.TrackerIssue) error {
	row, ok, err := s.Store.TrackerIssue(ctx, said.Tracker, said.Remote)
	if err != nil || !ok {
		return err
	}
	row.Posted = said.Posted
	return s.Store.KeepTracker(ctx, row, nil)
}

// key is the mark of an issue's report.
func (s *Sync) key(row work.TrackerIssue) string {
	return digest(fmt.Sprintf("%s\n%s\n%d", row.Tracker, row.Project, row.Issue))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func (s *Sync) say(issue int64, what string) {
	if s.Say != nil {
		s.Say(issue, what)
	}
}
