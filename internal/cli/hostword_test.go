package cli

import (
	"strings"
	"testing"
	"time"

	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// What holds an answer says the way out.
func TestWordOfWhatHolds(t *testing.T) {
	t.Parallel()
	review := work.PullReview{ID: "1", By: "ann", Verdict: work.PullChangesRequested, Commit: "old", MayDecide: true}
	for name, c := range map[string]struct {
		look work.PullLook
		want string
		lost string
	}{
		"closed":             {work.PullLook{PullRequest: work.PullRequest{Number: 7, State: work.PullClosed, Head: "h"}}, "pull request 7 is closed: reopen it there", ""},
		"closed with branch": {work.PullLook{PullRequest: work.PullRequest{Number: 7, State: work.PullClosed, Head: "h", BranchGone: true}}, "restore the branch and reopen it there", ""},
		"branch gone":        {work.PullLook{PullRequest: work.PullRequest{Number: 7, State: work.PullOpen, Head: "h", BranchGone: true}}, "restore it there", ""},
		"still against":      {work.PullLook{PullRequest: work.PullRequest{Number: 7, State: work.PullOpen, Head: "h"}, Reviews: []work.PullReview{review}}, "ann still asks for changes: ask for another look or dismiss that review there, or answer here", ""},
		// What people approve there is not what they are asked about.
		"forced": {work.PullLook{PullRequest: work.PullRequest{Number: 7, State: work.PullOpen, Head: "h"}, Reviews: []work.PullReview{
			{ID: "2", By: "ann", Verdict: work.PullApproved, Commit: "h", MayDecide: true}}, Mergeable: work.Mergeable}, "push c1 back to its branch", "the branch was forced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, held := pullrequest.AnswerOf(c.look, work.Checkpoint{ID: "r.1"}, orchestrator.Pull{Heard: []string{"r1"}, Lost: c.lost, Commit: "c1"}, 0, time.Time{})
			if a != nil || !strings.Contains(held, c.want) {
				t.Errorf("answer %+v, held by %q, want %q", a, held, c.want)
			}
		})
	}
}

// Who asks for changes is quoted by the first line, so that the history says what
// was asked for.
func TestRequestForChangesIsQuoted(t *testing.T) {
	t.Parallel()
	look := work.PullLook{PullRequest: work.PullRequest{Number: 7, State: work.PullOpen, Head: "h"}, Reviews: []work.PullReview{
		{ID: "2", By: "ann", Verdict: work.PullChangesRequested, Commit: "h", MayDecide: true, Body: "Keep the old name.\nIt is public."}}}
	a, held := pullrequest.AnswerOf(look, work.Checkpoint{ID: "r.1"}, orchestrator.Pull{}, 0, time.Time{})
	if a == nil || a.Comment != "changes are requested on pull request 7: Keep the old name." {
		t.Errorf("answer %+v, held by %q", a, held)
	}
}
