//go:build real

package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/journal"
	"forge/internal/work"
)

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkRealPostgresAppend holds an append against a bare prepared insert of
// the same row in a transaction of its own, one after the other, so that both
// meet the same disk.
func BenchmarkRealPostgresAppend(b *testing.B) {
	cluster := pgtest.Start(b)
	s := open(b, cluster.Schema(b))
	ctx := context.Background()
	l, err := s.CreateRun(ctx, "run", journal.Self())
	if err != nil {
		b.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, cluster.URL("postgres", ""))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `CREATE TABLE bare (LIKE s1.events INCLUDING INDEXES)`); err != nil {
		b.Fatal(err)
	}
	insert := `INSERT INTO bare (id, time, kind, v, phase, iteration, attempt, data, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	if _, err := conn.Prepare(ctx, "bare", insert); err != nil {
		b.Fatal(err)
	}
	var ours, floor []time.Duration
	seq := int64(0)
	for b.Loop() {
		seq++
		e := event(seq, fmt.Sprintf("%0400d", seq))
		start := time.Now()
		if err := s.Append(ctx, l, journal.Append{Events: []work.Event{e}}); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(start))

		start = time.Now()
		tx, err := conn.Begin(ctx)
		if err == nil {
			_, err = tx.Exec(ctx, "bare", seq, e.Time.UnixNano(), string(e.Kind), e.V, e.Phase, e.Iteration, e.Attempt, string(e.Data), make([]byte, 32))
		}
		if err == nil {
			err = tx.Commit(ctx)
		}
		if err != nil {
			b.Fatal(err)
		}
		floor = append(floor, time.Since(start))
	}
	b.ReportMetric(float64(median(ours))/1e3, "µs/append")
	b.ReportMetric(float64(median(floor))/1e3, "µs/bare")
	b.ReportMetric(float64(median(ours))/float64(median(floor)), "ratio")
}

// BenchmarkRealPostgresBoard holds a page of a column and a claim on a board of
// 100,000 issues against the same on one of 1,000.
func BenchmarkRealPostgresBoard(b *testing.B) {
	cluster := pgtest.Start(b)
	ctx := context.Background()
	type board struct {
		*journal.Store
		n     int
		claim int64
		pages []time.Duration
		takes []time.Duration
	}
	var boards []*board
	for i, n := range []int{1000, 100000} {
		s := open(b, cluster.Schema(b))
		now := time.Now().UTC()
		if err := s.PutProject(ctx, work.BoardProject{ID: "p", Root: "/p", Created: now}); err != nil {
			b.Fatal(err)
		}
		// By rows, since what is measured is not how they came there.
		schema := fmt.Sprint("s", i+1)
		cluster.Exec(b, fmt.Sprintf(`
			INSERT INTO %[1]s.issues SELECT 1, i, 1, 'ready', lpad(i::text, 8, '0') || '5', 'issue ' || i,
				'{"id":' || i || ',"version":1,"title":"issue ' || i || '","criteria":[],"criteria_given":0,"priority":"normal","labels":[],"needs":[],"column":"ready","hold":[],"author":"a","created":"2026-01-02T03:04:05Z","changed":"2026-01-02T03:04:05Z"}', 'text'
				FROM generate_series(1, %[2]d) i;
			INSERT INTO %[1]s.issue_history (project, issue, at, entry) SELECT 1, i, 1, '{}' FROM generate_series(1, %[2]d) i;
			UPDATE %[1]s.projects SET issues = %[2]d;
			ANALYZE`, schema, n))
		boards = append(boards, &board{Store: s, n: n, claim: int64(n / 2)})
	}
	owner := journal.Self()
	round := func(t *board) {
		start := time.Now()
		page, err := t.Issues(ctx, work.IssueFilter{Project: "p", Column: work.ColumnReady}, 50, fmt.Sprintf("%08d5", t.n/2))
		if err != nil || len(page) != 50 {
			b.Fatalf("%d issues, %v", len(page), err)
		}
		t.pages = append(t.pages, time.Since(start))
		i := page[len(t.takes)%50]
		if i, err = t.Issue(ctx, "p", i.ID); err != nil {
			b.Fatal(err)
		}
		i.Rank = ""
		change := work.BoardChange{Project: "p", Issues: []work.IssueChange{{Issue: i, Entry: work.IssueEntry{At: time.Now(), By: "a", Action: work.IssueMoved}}}}
		start = time.Now()
		claim, _, err := t.ClaimIssue(ctx, owner, work.IssueClaim{Project: "p", Issue: i.ID}, change)
		if err != nil {
			b.Fatal(err)
		}
		t.takes = append(t.takes, time.Since(start))
		if _, err := t.EndClaim(ctx, claim, nil, time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for _, t := range boards {
			round(t)
		}
	}
	small, large := boards[0], boards[1]
	b.ReportMetric(float64(median(small.pages))/1e3, "µs/page-1000")
	b.ReportMetric(float64(median(large.pages))/1e3, "µs/page-100000")
	b.ReportMetric(float64(median(large.pages))/float64(median(small.pages)), "page-ratio")
	b.ReportMetric(float64(median(small.takes))/1e3, "µs/claim-1000")
	b.ReportMetric(float64(median(large.takes))/1e3, "µs/claim-100000")
	b.ReportMetric(float64(median(large.takes))/float64(median(small.takes)), "claim-ratio")
}
