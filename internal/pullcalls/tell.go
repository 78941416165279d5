package pullcalls

import (
	"context"
	"fmt"
	"strings"

	"forge/factory"
	"forge/factory/tracker"
	"forge/internal/text"
	"forge/internal/work"
)

// over ends the work for a pull request that was merged or closed: there is no branch
// that it would be for.
func (w *Watch) over(ctx context.Context, look work.PullLook) error {
	i, err := w.newest(ctx, look.Number)
	if err != nil || !open(i) {
		return err
	}
	by := factory.By{Name: "factory", Door: "factory", Note: fmt.Sprintf("pull request %d is %s", look.Number, look.State)}
	after, err := factory.Cancelled(i, by.Note)
	if err != nil {
		return nil //nolint:nilerr // what cannot be cancelled is over, or nearly so
	}
	change, err := w.goal.PlanEdit(ctx, i, after, by)
	if err == nil {
		_, err = w.goal.Journal.ChangeBoard(ctx, change)
	}
	if err == nil && w.goal.Ends != nil {
		err = w.goal.Ends(ctx, after, by)
	}
	return err
}

// tell says on pull requests how the work stands that was called for there, when people
// are to look at its result and when it is over.
func (w *Watch) tell(ctx context.Context) error {
	rows, err := w.called(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if strings.HasPrefix(row.Posted, string(work.ColumnDone)) {
			continue
		}
		i, err := w.goal.Journal.Issue(ctx, row.Project, row.Issue)
		if err != nil {
			return err
		}
		words, standing := tellOf(i)
		if standing == "" || standing == row.Posted {
			continue
		}
		err = w.host.Comment(ctx, numberOf(i), fmt.Sprintf("told %d %s", row.Remote, standing), words)
		if err != nil && !tracker.OfIssue(err) {
			return err
		}
		row.Posted = standing
		if err := w.goal.Journal.KeepTracker(ctx, row, nil); err != nil {
			return err
		}
	}
	return nil
}

// tellOf is what a pull request is told of the work, and a word that stays the same while
// that does; "" = nothing yet.
func tellOf(i work.Issue) (words text.Markdown, standing string) {
	switch {
	case i.State == work.IssueCancelled, i.State == work.IssueFailed, i.Column == work.ColumnDone:
		standing = strings.TrimSpace(string(i.Column) + " " + string(i.State) + " " + i.Run)
	case i.Column == work.ColumnInReview && i.Pull != nil:
		standing = fmt.Sprintf("%s pull %d %s", i.Column, i.Pull.Number, i.Run)
	case i.Column == work.ColumnInReview && i.State == "":
		standing = string(i.Column) + " " + i.Run
	default:
		return words, ""
	}
	report, _ := tracker.Tell("", i)
	words = report.Body
	if i.Pull != nil {
		words = text.Join("\n\n", words, text.Format("Its result: %s", text.OneLine(i.Pull.URL, 300)))
	}
	return words, standing
}
