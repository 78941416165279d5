package machine

import (
	"context"
	"time"

	"forge/internal/journal"
	"forge/internal/project"
)

// beating keeps the lease of a run for as long as something of it is under way in this
// process: appends may be far apart, and whoever finds a run without a sign of life
// takes it over. It takes no lease that the engine does not hold.
func beating(ctx context.Context, p *project.Checkout, run string, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			// One that is not noted is followed by the next; nobody has the run before
			// several are missing.
			if _, err := p.Journal.KeepJoined(ctx, run, ownerOf(run)); err != nil && ctx.Err() == nil {
				p.Log.Debug("a sign of life is not noted", "run", run, "err", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// beatEvery is how often a sign of life is noted.
const beatEvery = journal.HeartbeatEvery
