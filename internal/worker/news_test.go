package worker

import (
	"testing"
	"time"

	"forge/factory"
	"forge/internal/board"
	"forge/internal/hostwatch"
	"forge/internal/work"
)

// What people did to a result's pull request counts while its host computes
// whether it can be merged; that it computes does not.
func TestNewsWhileTheHostComputes(t *testing.T) {
	t.Parallel()
	review := []work.PullReview{{ID: "1", By: "ann", Verdict: work.PullChangesRequested, Commit: "a", MayDecide: true}}
	for name, c := range map[string]struct {
		head    string
		reviews []work.PullReview
		news    bool
	}{
		"as it was shown":   {"a", nil, false},
		"changes requested": {"a", review, true},
		"pushed to":         {"b", nil, true},
	} {
		s := &Worker{Poke: make(chan struct{}, 1), Opened: &board.Opened{Board: factory.Board{Now: time.Now}}}
		q := hostwatch.Question{Issue: &work.Issue{ID: 7, Pull: &work.IssuePull{Shown: "a"}}, Over: true}
		look := work.PullLook{PullRequest: work.PullRequest{State: work.PullOpen, Head: c.head}, Mergeable: work.MergeComputing, Reviews: c.reviews}
		for _, news := range []bool{c.news, false} { // the same again is none
			s.StandsNow(q, look)
			got := false
			select {
			case <-s.Poke:
				got = true
			default:
			}
			if got != news {
				t.Errorf("%s: news %v, want %v", name, got, news)
			}
		}
	}
}
