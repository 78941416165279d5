package pullcalls

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"forge/factory/tracker"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// mostTries is how often a review is begun that does not come to an end.
const mostTries = 3

// begin reviews a pull request beside everything else, unless another is reviewed.
func (w *Watch) begin(ctx context.Context, number int64, row work.TrackerIssue) {
	select {
	case w.busy <- struct{}{}:
	default:
		return // its turn comes
	}
	w.reviews.Go(func() {
		defer func() {
			<-w.busy
			select {
			case w.wake <- struct{}{}:
			default:
			}
		}()
		if err := w.reviewed(ctx, number, row); err != nil && ctx.Err() == nil {
			w.p.Log.Warn("a review that was called for is begun again", "pull", number, "err", text.Harmless(err.Error()))
		}
	})
}

// reviewed reviews a pull request, and notes that. Each try is noted before it begins.
func (w *Watch) reviewed(ctx context.Context, number int64, row work.TrackerIssue) error {
	tries, _ := strconv.Atoi(row.Judged)
	err := fmt.Errorf("it was begun %d times and never ended", tries) // the server died each time
	if tries < mostTries {
		row.Judged = strconv.Itoa(tries + 1)
		if err := w.goal.Journal.KeepTracker(ctx, row, nil); err != nil {
			return err
		}
		err = w.review(ctx, number)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *refusal.Error
	if err != nil {
		if !errors.As(err, &refused) && tries+1 < mostTries {
			return err
		}
		said := text.Format("Not done, %s: %s", text.Code("review"), text.OneLine(err.Error(), 500))
		if err := w.host.Comment(ctx, number, fmt.Sprintf("review %d", row.Remote), said); err != nil && !tracker.OfIssue(err) {
			return err
		}
	}
	row.Hash = heard
	return w.goal.Journal.KeepTracker(ctx, row, nil)
}
