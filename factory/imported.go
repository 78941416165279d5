package factory

import (
	"context"

	"forge/internal/work"
)

// PlanAdd is the change that puts a new issue on the board, for who stores it
// together with something else. It is refused like a new one of a person.
func (b Board) PlanAdd(ctx context.Context, i work.Issue, place Place, by By) (work.BoardChange, error) {
	if i.Column != work.ColumnBacklog && i.Column != work.ColumnReady {
		return work.BoardChange{}, refuse("backlog or ready", "a new issue does not begin in %q", i.Column)
	}
	i.Project, i.ID, i.Version, i.Author = b.Project, 0, 0, by.Name
	return b.plan(ctx, work.Issue{}, i, &place, work.IssueAdded, by)
}

// PlanEdit is the change that puts now in place of was: where it stands, or at
// the bottom of its new column.
func (b Board) PlanEdit(ctx context.Context, was, now work.Issue, by By) (work.BoardChange, error) {
	if was.Column == now.Column {
		return b.plan(ctx, was, now, nil, work.IssueEdited, by)
	}
	return b.plan(ctx, was, now, &Place{At: Bottom}, work.IssueMoved, by)
}
