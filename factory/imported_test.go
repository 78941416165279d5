package factory

import (
	"testing"

	"forge/internal/work"
)

// What stood on another board waits, or is over; nothing of it begins by itself, and
// nothing is said of it that only a run here can say.
func TestPlanTaken(t *testing.T) {
	b, _ := newBoard(t)
	plain := func(change func(*work.Issue)) work.Issue {
		i := work.Issue{Title: "t", Priority: work.PriorityNormal, Column: work.ColumnBacklog}
		change(&i)
		return i
	}
	for name, c := range map[string]struct {
		issue work.Issue
		ok    bool
	}{
		"backlog":         {plain(func(*work.Issue) {}), true},
		"waits":           {plain(func(i *work.Issue) { i.State = work.IssueWaits }), true},
		"cancelled":       {plain(func(i *work.Issue) { i.State = work.IssueCancelled }), true},
		"done":            {plain(func(i *work.Issue) { i.Column = work.ColumnDone }), true},
		"failed":          {plain(func(i *work.Issue) { i.State = work.IssueFailed }), false},
		"ready":           {plain(func(i *work.Issue) { i.Column = work.ColumnReady }), false},
		"in progress":     {plain(func(i *work.Issue) { i.Column = work.ColumnInProgress }), false},
		"in review":       {plain(func(i *work.Issue) { i.Column = work.ColumnInReview }), false},
		"done and waits":  {plain(func(i *work.Issue) { i.Column, i.State = work.ColumnDone, work.IssueWaits }), false},
		"no column":       {plain(func(i *work.Issue) { i.Column = "" }), false},
		"a run":           {plain(func(i *work.Issue) { i.Run = "r" }), false},
		"done with a run": {plain(func(i *work.Issue) { i.Column, i.Run = work.ColumnDone, "r" }), false},
		"a branch":        {plain(func(i *work.Issue) { i.Branch = "b" }), false},
		"a pull request":  {plain(func(i *work.Issue) { i.Pull = &work.IssuePull{Number: 1} }), false},
		"a parent":        {plain(func(i *work.Issue) { i.Parent = 1 }), false},
	} {
		change, err := b.PlanTaken(t.Context(), c.issue, By{Name: "ann", Door: "cli"})
		if _, refused := Refused(err); refused == c.ok || c.ok && (err != nil || len(change.Issues) != 1 || change.Issues[0].Issue.State != c.issue.State || change.Issues[0].Issue.Column != c.issue.Column) {
			t.Errorf("%s: %+v, %v", name, change.Issues, err)
		}
	}
}
