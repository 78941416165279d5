package worker

import (
	"testing"

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
		s := &Worker{Poke: make(chan struct{}, 1)}
		q := hostwatch.Question{Issue: &work.Issue{ID: 7, Pull: &work.IssuePull{Shown: "a"}}, Over: true}
		look := work.PullLook{PullRequest: work.PullRequest{State: work.PullOpen, Head: c.head}, Mergeable: work.MergeComputing, Reviews: c.reviews}
		if s.StandsNow(q, look); s.pulls.news[7] != c.news {
			t.Errorf("%s: news %v, want %v", name, s.pulls.news[7], c.news)
		}
	}
}
