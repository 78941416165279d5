package hostwatch

import (
	"context"
	"strings"

	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
)

// mostFlaky bounds what is remembered of them; the host keeps each said once.
const mostFlaky = 1000

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
	if err := w.host.Comment(ctx, look.Number, key, pullrequest.TellFlaky(look)); err != nil {
		w.p.Log.Warn("what is flaky is not said on the pull request", "pull", look.Number, "err", err)
		return
	}
	if len(w.told) >= mostFlaky {
		clear(w.told)
	}
	w.told[key] = true
	w.p.Log.Warn("checks failed and passed on the same commit", "pull", look.Number, "commit", text.Short(look.Head), "checks", text.OneLine(strings.Join(look.CI.Flaky, ", "), 300))
}
