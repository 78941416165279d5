package journal

import (
	"context"
	"fmt"
	"math"
	"time"

	"forge/internal/work"
)

// UsageRow is what one command costs. A second row of the same command
// replaces the first, where it knows more: a reservation is replaced by the
// report, and stays when the report is silent.
type UsageRow struct {
	Run     string
	Command work.CommandID
	Time    time.Time // its UTC day is the day it counts for
	USD     *float64  // nil = unknown
	Tokens  *int64    // nil = unknown
}

func (r UsageRow) check(run string) error {
	switch {
	case r.Run != run || r.Command == "" || !storable(r.Time):
		return fmt.Errorf("usage of %q of run %q: command or time is missing, or it is not of run %q", r.Command, r.Run, run)
	case r.USD != nil && (*r.USD < 0 || math.IsNaN(*r.USD) || math.IsInf(*r.USD, 0)):
		return fmt.Errorf("usage of %q: %v is not an amount", r.Command, *r.USD)
	case r.Tokens != nil && *r.Tokens < 0:
		return fmt.Errorf("usage of %q: %d is not a number of tokens", r.Command, *r.Tokens)
	}
	return nil
}

func (r UsageRow) put(ctx context.Context, w *writer, run int64) error {
	_, err := w.exec(ctx, `INSERT INTO usage (run, command, day, usd, tokens) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (run, command) DO UPDATE SET usd = coalesce(excluded.usd, usage.usd), tokens = coalesce(excluded.tokens, usage.tokens)`,
		run, string(r.Command), dayOf(r.Time), r.USD, r.Tokens)
	return err
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// DayUsage sums up the usage of all runs on day (UTC, 2006-01-02). unknown
// counts the commands whose money or tokens are not known: with any, the sums
// are too low and a cap on them does not hold. See DayUnknown.
func (s *Store) DayUsage(ctx context.Context, day string) (usd float64, tokens int64, unknown int, err error) {
	err = s.readers.QueryRowContext(ctx, `SELECT coalesce(sum(usd), 0.0), coalesce(sum(tokens), 0), count(*) FILTER (WHERE usd IS NULL OR tokens IS NULL) FROM usage WHERE day = ?`, day).
		Scan(&usd, &tokens, &unknown)
	return usd, tokens, unknown, s.explain("read usage", err)
}

// DayUnknown counts the commands of day whose money, and those whose tokens,
// are not known: for a cap on one of the two, the other does not matter.
func (s *Store) DayUnknown(ctx context.Context, day string) (usd, tokens int, err error) {
	err = s.readers.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE usd IS NULL), count(*) FILTER (WHERE tokens IS NULL) FROM usage WHERE day = ?`, day).
		Scan(&usd, &tokens)
	return usd, tokens, s.explain("read usage", err)
}
