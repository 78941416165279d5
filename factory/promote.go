package factory

import (
	"slices"

	"forge/internal/work"
	"forge/review"
)

// Promote is the issue after its run: done, in review with the reasons, or
// where it was, failed or cancelled with why in one line. proven are the ids of
// the criteria that have evidence; one without leaves the issue unverified.
//
// Done means landed: whoever stores a done issue has its result in the target
// branch before. An issue that is not in progress gives a *Refusal.
func Promote(i work.Issue, r review.RunResult, proven []string, why string) (work.Issue, error) {
	for _, c := range i.Criteria {
		r.Unverified = r.Unverified || !slices.Contains(proven, c.ID)
	}
	to, hold := review.Promote(r)
	column := i.Column
	switch to {
	case review.ToDone:
		column = work.ColumnDone
	case review.ToInReview:
		column = work.ColumnInReview
	}
	if column == i.Column || i.Column != work.ColumnInProgress {
		return notPromoted(i, r, why)
	}
	if err := MayMove(i, column, Machine); err != nil {
		return i, err
	}
	i = moved(i, column)
	for _, h := range hold {
		i.Hold = append(i.Hold, string(h))
	}
	return i, nil
}

func notPromoted(i work.Issue, r review.RunResult, why string) (work.Issue, error) {
	if i.Column != work.ColumnInProgress {
		return i, refuse("its run is not its own any more", "issue %d is %s: only an issue in progress is promoted", i.ID, standing(i))
	}
	i.State = work.IssueFailed
	if r.Pipeline == "cancelled" {
		i.State = work.IssueCancelled
	}
	if i.Reason = why; why == "" {
		i.Reason = "its run did not complete"
	}
	return i, nil
}
