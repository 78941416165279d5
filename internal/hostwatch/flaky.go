package hostwatch

import (
	"context"
	"strings"

	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
)

// mostTold bounds what is remembered of them; the host keeps each said once.
const mostTold = 1000

// ofPeople says whether the head of a pull request is what people pushed there, as
// far as the record knows.
func ofPeople(q Question, look work.PullLook) bool {
	if q.Issue != nil {
		return q.Issue.Pull != nil && look.Head != q.Issue.Pull.Shown
	}
	return q.Pull.Taken == look.Head
}

// redOfPeople tells people on their pull request that checks fail on what they
// pushed, once for each head: the agent is not set on it.
func (w *Watch) redOfPeople(ctx context.Context, q Question, look work.PullLook) {
	key := "red checks " + look.Head
	if look.State != work.PullOpen || look.Head == "" || !ofPeople(q, look) || w.told[key] {
		return
	}
	if mend, _ := look.CI.Seen(look.Head, q.Pull.Heard, q.Fixes, w.p.Now()).Next(); !mend {
		return // nothing failed, or some still run
	}
	pullrequest.WithLogs(ctx, w.host, &look, w.p.Log.Warn)
	w.sayOnce(ctx, look, key, pullrequest.TellRedChecks(look, q.Pull.By))
}

// sayOnce posts a comment that the host keeps once, and says whether it did now.
func (w *Watch) sayOnce(ctx context.Context, look work.PullLook, key string, words text.Markdown) bool {
	if err := w.host.Comment(ctx, look.Number, key, words); err != nil {
		w.p.Log.Warn("what checks found is not said on the pull request", "pull", look.Number, "err", err)
		return false
	}
	if len(w.told) >= mostTold {
		clear(w.told)
	}
	w.told[key] = true
	return true
}

// flaky says on a pull request which checks were red and green on one commit.
// Nothing follows from it.
func (w *Watch) flaky(ctx context.Context, look work.PullLook) {
	if len(look.CI.Flaky) == 0 || look.State != work.PullOpen {
		return
	}
	key := "flaky " + look.Head
	if w.told[key] {
		return
	}
	if !w.sayOnce(ctx, look, key, pullrequest.TellFlaky(look)) {
		return
	}
	w.p.Log.Warn("checks failed and passed on the same commit", "pull", look.Number, "commit", text.Short(look.Head), "checks", text.OneLine(strings.Join(look.CI.Flaky, ", "), 300))
}
