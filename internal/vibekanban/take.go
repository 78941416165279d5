package vibekanban

import (
	"context"
	"errors"
	"fmt"

	"forge/factory"
	"forge/internal/work"
)

// Store remembers which task stands on which board, together with the board.
type Store interface {
	TrackerIssue(ctx context.Context, tracker string, remote int64) (work.TrackerIssue, bool, error)
	ImportIssue(ctx context.Context, t work.TrackerIssue, c work.BoardChange) (work.Issue, error)
}

// Taken is where tasks were taken to: what is known of them is kept as of issues of
// trackers, each task being a tracker of one issue, since it has no number.
type Taken map[string]work.TrackerIssue

const (
	trackerPrefix = "vibe-kanban:"
	onlyIssue     = 1
)

// Before is which of the tasks of projects, and of those that they wait for, were
// taken somewhere before.
func Before(ctx context.Context, store Store, projects []Project) (Taken, error) {
	taken := Taken{}
	look := func(key string) error {
		row, ok, err := store.TrackerIssue(ctx, trackerPrefix+key, onlyIssue)
		if ok && row.Issue != 0 {
			taken[key] = row
		}
		return err
	}
	for _, p := range projects {
		for _, t := range p.Tasks {
			for _, key := range append([]string{t.Key}, t.Blockers...) {
				if err := look(key); err != nil {
					return nil, fmt.Errorf("look for task %s on the boards: %w", key, err)
				}
			}
		}
	}
	return taken, nil
}

// Standing is where a task was taken to, seen from a board.
func (t Taken) Standing(board, key string) Standing {
	switch row, ok := t[key]; {
	case !ok:
		return Nowhere
	case row.Project == board:
		return OnBoard
	}
	return Elsewhere
}

// Check says what is wrong with cards before the first of them is stored.
func Check(cards []Card) error {
	for _, c := range cards {
		if problems := c.Issue.Check(); len(problems) > 0 {
			return fmt.Errorf("task %s: %w", c.Key, &factory.ProblemsError{List: problems})
		}
	}
	return nil
}

// attempts is how often a change of the board is made anew because another one came
// first.
const attempts = 500

// Take puts a card on the board, unless its task stands on one already, as taken
// says; added is false then, and nothing is changed. A card and the memory of its
// task are stored together: who takes the rest after a crash takes each task once.
func Take(ctx context.Context, b factory.Board, store Store, c Card, taken Taken, by factory.By) (added bool, err error) {
	for n := 1; ; n++ {
		if taken.Standing(b.Project, c.Key) != Nowhere {
			return false, nil
		}
		i := c.Issue
		for _, need := range c.Needs {
			if row, ok := taken[need]; ok && row.Project == b.Project {
				i.Needs = append(i.Needs, row.Issue)
			} else {
				return false, fmt.Errorf("take task %s: task %s, which it waits for, is not on the board", c.Key, need)
			}
		}
		row := work.TrackerIssue{Tracker: trackerPrefix + c.Key, Remote: onlyIssue, Project: b.Project}
		change, err := b.PlanTaken(ctx, i, by)
		if err == nil {
			i, err = store.ImportIssue(ctx, row, change)
		}
		if err == nil {
			row.Issue = i.ID
			taken[c.Key] = row
			return true, nil
		}
		if !errors.Is(err, work.ErrStale) || n == attempts {
			return false, fmt.Errorf("take task %s: %w", c.Key, err)
		}

		// Somebody else may have taken it meanwhile.
		if row, ok, err := store.TrackerIssue(ctx, trackerPrefix+c.Key, onlyIssue); err != nil {
			return false, err
		} else if ok && row.Issue != 0 {
			taken[c.Key] = row
		}
	}
}
