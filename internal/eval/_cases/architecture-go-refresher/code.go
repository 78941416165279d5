package rates

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Source fetches all rates at once.
type Source interface {
	Fetch(ctx context.Context) (map[string]float64, error)
}

// Refresher holds the newest rates.
type Refresher struct {
	source Source
	every  time.Duration
	log    *slog.Logger
	now    atomic.Pointer[map[string]float64]
}

// New is a refresher that has no rates until Run has fetched some.
func New(source Source, every time.Duration, log *slog.Logger) *Refresher {
	return &Refresher{source: source, every: every, log: log}
}

// Run fetches until ctx ends, and returns then. It is called once.
func (r *Refresher) Run(ctx context.Context) {
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	for {
		r.fetch(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// fetch keeps the old rates when there are no new ones: readers see their age
// elsewhere.
func (r *Refresher) fetch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.every)
	defer cancel()
	rates, err := r.source.Fetch(ctx)
	if err != nil {
		r.log.Warn("rates were not fetched", "err", err)
		return
	}
	r.now.Store(&rates)
}

// Rate is the newest rate of a currency; ok is false while there is none.
func (r *Refresher) Rate(currency string) (rate float64, ok bool) {
	rates := r.now.Load()
	if rates == nil {
		return 0, false
	}
	rate, ok = (*rates)[currency]
	return rate, ok
}
