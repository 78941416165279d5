//go:build real

package postgres_test

import (
	"sync/atomic"
	"testing"
	"time"

	"forge/cmd/forge-temporal/internal/postgres"
	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/journal"
	"forge/internal/journal/journaltest"
)

// open opens the journal of url.
func open(tb testing.TB, url string, options ...journal.Option) *journal.Store {
	tb.Helper()
	s, err := tryOpen(tb, url, options...)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func tryOpen(tb testing.TB, url string, options ...journal.Option) (*journal.Store, error) {
	tb.Helper()
	server, err := postgres.New("TEST_URL", url, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	s, err := journal.OpenServer(tb.Context(), server, options...)
	if err == nil {
		tb.Cleanup(func() {
			if err := s.Close(); err != nil {
				tb.Error(err)
			}
		})
	}
	return s, err
}

// clock is a clock that a test moves.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(c.offset.Load()))
}

// What every journal passes, Postgres's passes too.
func TestRealPostgresSuites(t *testing.T) {
	cluster := pgtest.Start(t)
	t.Run("journal", func(t *testing.T) {
		journaltest.Run(t, func(t *testing.T) journaltest.Subject[*journal.Lease] {
			var c clock
			s := open(t, cluster.Schema(t), journal.WithClock(c.now))
			return journaltest.Subject[*journal.Lease]{Journal: s, Advance: func(d time.Duration) { c.offset.Add(int64(d)) }}
		})
	})
	t.Run("board", func(t *testing.T) {
		journaltest.RunBoard(t, func(t *testing.T) journaltest.Board { return open(t, cluster.Schema(t)) })
	})
	t.Run("claims", func(t *testing.T) {
		journaltest.RunClaims(t, func(t *testing.T) journaltest.ClaimBoard { return open(t, cluster.Schema(t)) })
	})
	t.Run("leaders", func(t *testing.T) {
		journaltest.RunLeaders(t, func(t *testing.T) journaltest.Leaders { return open(t, cluster.Schema(t)) })
	})
	t.Run("shared files", func(t *testing.T) { journaltest.RunShared(t, open(t, cluster.Schema(t))) })
}
