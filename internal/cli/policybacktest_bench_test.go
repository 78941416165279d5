package cli

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/journal"
	"forge/internal/work"
)

// longRun are n events of a recorded run, its middle over and over.
func longRun(tb testing.TB, n int) []work.Event {
	tb.Helper()
	f, err := os.Open(filepath.Join("..", "..", "orchestrator", "testdata", "journals", "v1-with-a-person.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var evs []work.Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e work.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			tb.Fatal(err)
		}
		evs = append(evs, e)
	}
	for i := 1; len(evs) < n; i++ {
		evs = append(evs, evs[i])
	}
	for i := range evs {
		evs[i].Seq = int64(i + 1)
	}
	return evs[:n]
}

// BenchmarkBacktest is forge policy backtest over 1,000 runs of 500 events
// beside a bare scan of their rows.
func BenchmarkBacktest(b *testing.B) {
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "BenchmarkBacktest", F: func(t *testing.T) {
		ctx := t.Context()
		w := newWorld(t, "", "true")
		app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: w.env, Dir: w.root, Now: time.Now}
		app.logTo(0)
		p, err := app.openProject(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.OpenStore(ctx, true); err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		evs := longRun(t, 500)
		for run := range 1000 {
			id := fmt.Sprintf("260101-r%05d", run)
			lease, err := p.Journal.CreateRun(ctx, id, journal.Self())
			if err != nil {
				t.Fatal(err)
			}
			for i := range evs {
				evs[i].Run = id
			}
			if err := p.Journal.Append(ctx, lease, journal.Append{Events: evs}); err != nil {
				t.Fatal(err)
			}
			if err := lease.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
		db, err := sql.Open("sqlite", filepath.Join(p.State, "journal.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		policy, _ := gates.Preset("full")
		var ours, floor []time.Duration
		for b.Loop() {
			start := time.Now()
			if n := scanned(t, db); n != 500_000 {
				t.Fatalf("scanned %d events", n)
			}
			floor = append(floor, time.Since(start))
			start = time.Now()
			reports, err := p.replayAll(ctx, policy, nil)
			if err != nil || len(reports) != 1000 {
				t.Fatalf("%d reports, %v", len(reports), err)
			}
			ours = append(ours, time.Since(start))
		}
		slices.Sort(ours)
		slices.Sort(floor)
		m, n := ours[len(ours)/2], floor[len(floor)/2]
		b.ReportMetric(m.Seconds()*1e3, "ms/backtest")
		b.ReportMetric(n.Seconds()*1e3, "ms/scan")
		b.ReportMetric(float64(m)/float64(n), "ratio")
	}}})
	if !ok {
		b.Fail()
	}
}

func scanned(tb testing.TB, db *sql.DB) (n int) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), `SELECT id, time, kind, v, phase, iteration, attempt, data, hash FROM events`)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, at, v, iteration, attempt int64
		var kind, phase, data, hash string
		if err := rows.Scan(&id, &at, &kind, &v, &phase, &iteration, &attempt, &data, &hash); err != nil {
			tb.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return n
}
