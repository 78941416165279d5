package web_test

import (
	"context"
	"sync/atomic"

	"forge/factory/web/webtest"
)

// countingWatch counts how often it is asked for the journal's version.
type countingWatch struct {
	webtest.Watch
	count atomic.Int64
}

func (c *countingWatch) Version(ctx context.Context) (int64, error) {
	c.count.Add(1)
	return c.Watch.Version(ctx)
}
