package hostwatch

import (
	"context"
	"errors"
	"time"

	"forge/internal/work"
)

// Loop reads every so often, and looks at once at what a webhook names, until
// ctx ends. What fails is said, and asked again. after is called after each
// round, and told whether that was a poll.
func (w *Watch) Loop(ctx context.Context, hooks *Hooks, after func(polled bool)) {
	poll := time.NewTimer(0)
	defer poll.Stop()
	var quiet time.Time // the host asks for silence until then
	for {
		var err error
		polled := false
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			polled = true
			_, err = w.read(ctx, "")
			var t *work.HostTrouble
			wait := w.Every
			if errors.As(err, &t) && t.After > 0 {
				wait, quiet = max(wait, t.After), w.p.Now().Add(t.After)
			}
			poll.Reset(wait)
		case <-w.hints.wake:
			if w.p.Now().Before(quiet) {
				continue // the next poll takes the hint
			}
			if _, err = w.Hinted(ctx); err == nil {
				after(false)
				continue // says nothing of whether the whole can be read
			}
		}
		if ctx.Err() != nil {
			return
		}
		w.noted(err, hooks)
		after(polled)
	}
}
