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

// PlanTaken is the change that puts an issue on the board that stood on another
// board before, which is a file by now. No run has worked on it here, so it waits
// in the backlog, or is done or cancelled since it was there: nothing of it begins
// by itself.
func (b Board) PlanTaken(ctx context.Context, i work.Issue, by By) (work.BoardChange, error) {
	switch {
	case i.Run != "" || i.Branch != "" || i.Pull != nil || i.Parent != 0:
		return work.BoardChange{}, refuse("leave them out", "an issue of another board has no run, branch, pull request or parent here")
	case i.Column == work.ColumnBacklog && (i.State == "" || i.State == work.IssueWaits || i.State == work.IssueCancelled):
	case i.Column == work.ColumnDone && i.State == "":
	default:
		return work.BoardChange{}, refuse("backlog or done", "an issue of another board does not begin as %s", standing(i))
	}
	i.Project, i.ID, i.Version, i.Author = b.Project, 0, 0, by.Name
	return b.plan(ctx, work.Issue{}, i, &Place{At: Bottom}, work.IssueAdded, by)
}

// PlanEdit is the change that puts now in place of was: where it stands, or at
// the bottom of its new column.
func (b Board) PlanEdit(ctx context.Context, was, now work.Issue, by By) (work.BoardChange, error) {
	if was.Column == now.Column {
		return b.plan(ctx, was, now, nil, work.IssueEdited, by)
	}
	return b.plan(ctx, was, now, &Place{At: Bottom}, work.IssueMoved, by)
}
