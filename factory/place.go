package factory

import (
	"context"
	"time"

	"forge/internal/work"
)

// Place is where in a column an issue is put.
type Place struct {
	At    Spot
	Issue int64 // for Before and After
}

// Spot is a way to name a place.
type Spot string

const (
	Top    Spot = "top"
	Bottom Spot = "bottom"
	Before Spot = "before"
	After  Spot = "after"
)

// between finds the keys between which there is room at p. When there is none,
// the column gets new keys first, as a change of its own: whatever then becomes
// of the move, the order is as it was.
func (b Board) between(ctx context.Context, i work.Issue, p Place, at time.Time, by By) (low, high string, err error) {
	for {
		if low, high, err = b.around(ctx, i, p); err != nil {
			return "", "", err
		}
		if _, ok := Between(low, high); ok {
			return low, high, nil
		}
		if err := b.rebalance(ctx, i.Column, at, by); err != nil {
			return "", "", err
		}
	}
}

// around are the keys between which p lies.
func (b Board) around(ctx context.Context, i work.Issue, p Place) (low, high string, err error) {
	if p.At == Top || p.At == Bottom {
		last, first, err := b.Store.RanksAround(ctx, b.Project, i.Column, "")
		if p.At == Top {
			return "", first, err
		}
		return last, "", err
	}
	if p.At != Before && p.At != After {
		return "", "", refuse("top, bottom, before or after", "%q is no place in a column", p.At)
	}
	if p.Issue == i.ID {
		return "", "", refuse("name another issue", "issue %d cannot stand %s itself", i.ID, p.At)
	}
	other, err := b.Store.Issue(ctx, b.Project, p.Issue)
	if err != nil {
		return "", "", err
	}
	if other.Column != i.Column {
		return "", "", refuse("name an issue of the column", "issue %d stands in %s, not in %s", p.Issue, other.Column, i.Column)
	}
	prev, next, err := b.Store.RanksAround(ctx, b.Project, other.Column, other.Rank)
	if p.At == Before {
		return prev, other.Rank, err
	}
	return other.Rank, next, err
}

// stands says that a key next to the issue's new place is its own: it is there
// already.
func (b Board) stands(ctx context.Context, i work.Issue, low, high string) bool {
	if i.Version == 0 {
		return false
	}
	stored, err := b.Store.Issue(ctx, b.Project, i.ID)
	return err == nil && stored.Column == i.Column && (stored.Rank == low || stored.Rank == high)
}

// rebalance gives a column keys with room between them.
func (b Board) rebalance(ctx context.Context, column work.Column, at time.Time, by By) error {
	ranks, err := b.Store.ColumnRanks(ctx, b.Project, column)
	if err != nil {
		return err
	}
	for n, key := range Spread(len(ranks)) {
		ranks[n].To = key
	}
	_, err = b.Store.ChangeBoard(ctx, work.BoardChange{Project: b.Project, Ranks: ranks, Board: &work.IssueEntry{
		At: at, By: by.Name, Door: by.Door, Action: work.IssueRebalanced, Note: string(column), Fields: []work.FieldChange{},
	}})
	return err
}
