package site

import (
	"context"
	"fmt"
	"time"
)

// openedEvery is how often it is looked whether a job's first event is there.
const openedEvery = 10 * time.Millisecond

// opened waits until a job that is driven has its first event: until then
// nobody is shown it, and who began it would be told that there is none. A
// request that ends earlier does not take the job back.
func (j *Jobs) opened(ctx context.Context, id string) error {
	tick := time.NewTicker(openedEvery)
	defer tick.Stop()
	for {
		j.mu.Lock()
		_, driven := j.driven[id]
		j.mu.Unlock()
		r, err := j.p.Journal.RunOf(ctx, id)
		switch {
		case ctx.Err() != nil || err == nil && r.Events > 0:
			return nil
		case !driven:
			return fmt.Errorf("job %s could not be begun: the server's log says why", id)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
