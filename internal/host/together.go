package host

import (
	"sync"
	"sync/atomic"
)

// mostAtOnce is how many requests are on their way to a host at a time.
const mostAtOnce = 4

// Together does several things side by side, a few at a time. It returns when
// all have ended, with the first error in their order. After an error nothing
// more is begun.
func Together(all ...func() error) error {
	errs := make([]error, len(all))
	slots := make(chan struct{}, mostAtOnce)
	var failed atomic.Bool
	var wait sync.WaitGroup
	for i, do := range all {
		if slots <- struct{}{}; failed.Load() {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			if errs[i] = do(); errs[i] != nil {
				failed.Store(true)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
