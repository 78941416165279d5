package factory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"forge/internal/work"
)

// Store keeps boards. What ChangeBoard refuses with work.ErrStale was not
// written; reads may be older than another caller's last write, and ChangeBoard
// finds that out. Any number of processes may use one store at once.
type Store interface {
	Issue(ctx context.Context, project string, id int64) (work.Issue, error)
	BoardGraph(ctx context.Context, project string) (work.BoardGraph, error)
	RanksAround(ctx context.Context, project string, column work.Column, rank string) (prev, next string, err error)
	ColumnRanks(ctx context.Context, project string, column work.Column) ([]work.RankChange, error)
	ChangeBoard(ctx context.Context, c work.BoardChange) ([]work.Issue, error)
}

// Board is one project's board, for a person who changes it.
type Board struct {
	Store   Store
	Project string
	Now     func() time.Time
}

// By is who changes a board, through which door, and what they say about it.
type By struct{ Name, Door, Note string }

// attempts is how often a change is decided anew because another one came
// first. Each time at least one of the others got through.
const attempts = 500

// again repeats a change that does not depend on what it was looked at before.
func again(do func() (work.Issue, error)) (work.Issue, error) {
	for n := 1; ; n++ {
		i, err := do()
		if err == nil || !errors.Is(err, work.ErrStale) || n == attempts {
			return i, err
		}
	}
}

// ProblemsError is everything that is wrong with an issue.
type ProblemsError struct{ List []work.Problem }

func (e *ProblemsError) Error() string {
	text := ""
	for n, p := range e.List {
		if n > 0 {
			text += "; "
		}
		text += p.String()
	}
	return text
}

// Add stores a new issue in backlog or ready; other columns are refused. Number,
// author, rank and times are given here.
func (b Board) Add(ctx context.Context, i work.Issue, place Place, by By) (work.Issue, error) {
	if i.Column != work.ColumnBacklog && i.Column != work.ColumnReady {
		return i, refuse("backlog or ready", "a new issue does not begin in %q", i.Column)
	}
	i.Project, i.ID, i.Version, i.Author = b.Project, 0, 0, by.Name
	return again(func() (work.Issue, error) { return b.put(ctx, work.Issue{}, i, &place, work.IssueAdded, by) })
}

// Edit changes what a person writes into an issue: title, description,
// criteria, priority, labels, needs, level. version is the one that the change
// was made from; when it is not the stored one any more, Edit returns
// work.ErrStale and changes nothing. 0 = whatever is stored: apply may then be
// called several times, with newer issues.
func (b Board) Edit(ctx context.Context, id, version int64, apply func(*work.Issue) error, by By) (work.Issue, error) {
	return again(func() (work.Issue, error) {
		was, err := b.Store.Issue(ctx, b.Project, id)
		if err != nil {
			return was, err
		}
		if version != 0 && was.Version != version {
			// Not wrapped as stale for again: trying once more changes nothing.
			return was, &StaleError{Issue: id, Read: version, Stored: was.Version}
		}
		now := clone(was)
		if err := apply(&now); err != nil {
			return was, err
		}
		if len(Changes(was, now)) == 0 {
			return was, nil
		}
		return b.put(ctx, was, now, nil, work.IssueEdited, by)
	})
}

// StaleError is an edit that was made from a version that is not the newest.
type StaleError struct{ Issue, Read, Stored int64 }

func (e *StaleError) Error() string {
	return fmt.Sprintf("issue %d changed meanwhile: version %d was edited, version %d is stored", e.Issue, e.Read, e.Stored)
}

// Move puts an issue into a column, at a place there.
func (b Board) Move(ctx context.Context, id int64, to work.Column, place Place, by By) (work.Issue, error) {
	return b.change(ctx, id, work.IssueMoved, by, func(was work.Issue) (work.Issue, *Place, error) {
		return moved(was, to), &place, MayMove(was, to, Person)
	})
}

// Cancel says that nobody shall work on an issue any more; by.Note says why.
func (b Board) Cancel(ctx context.Context, id int64, by By) (work.Issue, error) {
	return b.change(ctx, id, work.IssueCancel, by, func(was work.Issue) (work.Issue, *Place, error) {
		now, err := cancelled(was, by.Note)
		return now, nil, err
	})
}

// Retry takes a failed or cancelled issue up again; one that comes back to
// ready goes to its top.
func (b Board) Retry(ctx context.Context, id int64, by By) (work.Issue, error) {
	return b.change(ctx, id, work.IssueRetried, by, func(was work.Issue) (work.Issue, *Place, error) {
		now, err := retried(was)
		if now.Column == was.Column {
			return now, nil, err
		}
		return now, &Place{At: Top}, err
	})
}

// change decides on the stored issue and stores what it becomes.
func (b Board) change(ctx context.Context, id int64, action work.IssueAction, by By, decide func(work.Issue) (work.Issue, *Place, error)) (work.Issue, error) {
	return again(func() (work.Issue, error) {
		was, err := b.Store.Issue(ctx, b.Project, id)
		if err != nil {
			return was, err
		}
		now, place, err := decide(clone(was))
		if err != nil {
			return was, err
		}
		return b.put(ctx, was, now, place, action, by)
	})
}

// put stores now in place of was, with its line of history. place is nil when
// it stays where it is.
func (b Board) put(ctx context.Context, was, now work.Issue, place *Place, action work.IssueAction, by By) (work.Issue, error) {
	change, err := b.plan(ctx, was, now, place, action, by)
	if err != nil || len(change.Issues) == 0 {
		return was, err
	}
	stored, err := b.Store.ChangeBoard(ctx, change)
	if err != nil {
		return was, err
	}
	return stored[0], nil
}

// plan is the change that puts now in place of was; without issues when it
// stands where it is put already.
func (b Board) plan(ctx context.Context, was, now work.Issue, place *Place, action work.IssueAction, by By) (change work.BoardChange, err error) {
	at := b.Now().UTC()
	now.Changed = at
	if now.Version == 0 {
		now.Created = at
	}
	tidy(&now)
	if problems := now.Check(); len(problems) > 0 {
		return change, &ProblemsError{problems}
	}
	change.Project = b.Project
	if !slices.Equal(was.Needs, now.Needs) {
		g, err := b.Store.BoardGraph(ctx, b.Project)
		if err != nil {
			return change, err
		}
		if err := CheckNeeds(g, now.ID, now.Needs); err != nil {
			return change, err
		}
		change.Graph = &g.Revision
	}
	ic := work.IssueChange{Issue: now}
	if ic.Issue.Rank = ""; place != nil {
		low, high, err := b.between(ctx, now, *place, at, by)
		if err != nil {
			return change, err
		}
		if b.stands(ctx, now, low, high) {
			if was.Column != now.Column { // somebody else has just put it there
				err = fmt.Errorf("%w: issue %d", work.ErrStale, now.ID)
			}
			return change, err
		}
		ic.Issue.Rank, _ = Between(low, high)
		ic.Low, ic.High = low, high
	}
	ic.Entry = work.IssueEntry{At: at, By: by.Name, Door: by.Door, Action: action, Note: by.Note, Fields: []work.FieldChange{}}
	if was.ID != 0 {
		ic.Entry.Fields = Changes(was, now)
	}
	change.Issues = []work.IssueChange{ic}
	return change, nil
}

// tidy gives lists their order, and makes no list an empty one.
func tidy(i *work.Issue) {
	i.Labels, i.Needs = append([]string{}, i.Labels...), append([]int64{}, i.Needs...)
	i.Criteria, i.Hold = append([]work.Criterion{}, i.Criteria...), append([]string{}, i.Hold...)
	slices.Sort(i.Labels)
	slices.Sort(i.Needs)
	for _, c := range i.Criteria {
		i.CriteriaGiven = max(i.CriteriaGiven, c.Number())
	}
}

func clone(i work.Issue) work.Issue {
	tidy(&i)
	return i
}
