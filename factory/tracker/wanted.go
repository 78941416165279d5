package tracker

import (
	"context"
	"strconv"

	"forge/factory"
	"forge/internal/work"
)

// notWanted is the board's issue once the tracker does not want it any more.
func notWanted(was work.Issue, bound Bound) work.Issue {
	switch factory.NextOfOrigin(factory.WantedNo, was, factory.AtLook) {
	case factory.OriginBack:
		return factory.PutBack(was, bound.Line(was))
	case factory.OriginSay:
		// What waits in the backlog for something else keeps saying for what.
		if _, unwanted := saidOf(was); was.Column == work.ColumnBacklog && was.State != "" && !unwanted {
			return was
		}
		was.Reason = bound.Line(was)
	}
	return was
}

// wantedAgain is an issue that the tracker held or did not want, and wants now.
// What was put back goes to the column where the tracker's issues go. A finished
// result is looked at again by the loop, which brings it where it belongs. What
// stood in the backlog anyway stays there.
func wantedAgain(was work.Issue, to work.Column) work.Issue {
	switch {
	case was.Column == work.ColumnInReview:
		was.Column, was.Hold = work.ColumnInProgress, []string{}
	case was.State != "":
		was.Column = to
	}
	was.State, was.Reason = "", ""
	return was
}

// parts lets the parts that an issue was broken into go the way of the issue:
// back where it is not wanted any more, and on where it is again.
func (s *Sync) parts(ctx context.Context, of work.Issue, bound Bound, ours bool) error {
	if of.Column == work.ColumnDone {
		return nil // all of them are
	}
	family := map[int64]bool{of.ID: true}
	filter := work.IssueFilter{Project: of.Project}
	return s.each(ctx, filter, strconv.FormatInt(of.ID, 10), func(i work.Issue) error {
		if !family[i.Parent] {
			return nil
		}
		family[i.ID] = true                           // parts are younger than what they are part of
		i, err := s.Store.Issue(ctx, i.Project, i.ID) // a list has no descriptions
		if err != nil {
			return err
		}
		now := i
		_, unwanted := saidOf(i)
		switch {
		case !ours && i.Column != work.ColumnBacklog:
			now = notWanted(i, bound)
		case ours && bound.Hold == "" && unwanted && i.Column != work.ColumnDone && i.State != work.IssueCancelled:
			now = wantedAgain(i, work.ColumnReady)
		}
		if len(factory.Changes(i, now)) == 0 {
			return nil
		}
		change, err := s.Board.PlanEdit(ctx, i, now, s.by(bound))
		if err == nil {
			_, err = s.Store.ChangeBoard(ctx, change)
		}
		return err
	})
}

// issuesAtOnce is how many issues are read at a time.
const issuesAtOnce = 100

// each calls do with the issues that a filter lets through, after one of them.
func (s *Sync) each(ctx context.Context, f work.IssueFilter, after string, do func(work.Issue) error) error {
	for {
		page, err := s.Store.Issues(ctx, f, issuesAtOnce, after)
		if err != nil {
			return err
		}
		for _, i := range page {
			if after = i.Rank; f.Column == "" {
				after = strconv.FormatInt(i.ID, 10)
			}
			if err := do(i); err != nil {
				return err
			}
		}
		if len(page) < issuesAtOnce {
			return nil
		}
	}
}
