package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/journal"
	"forge/internal/report"
	"forge/internal/work"
)

// projectAsking is a project with n open checkpoints in runs of ten each.
func projectAsking(tb testing.TB, w *world, n int) *App {
	tb.Helper()
	ctx := tb.Context()
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: w.env, Dir: w.root, Now: time.Now}
	app.logTo(0)
	p, err := app.openProject(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		tb.Fatal(err)
	}
	defer p.Close()
	for run := range n / 10 {
		id := fmt.Sprintf("260101-r%05d", run)
		lease, err := p.Journal.CreateRun(ctx, id, journal.Self())
		if err != nil {
			tb.Fatal(err)
		}
		var a journal.Append
		for i := range 10 {
			a.Open = append(a.Open, work.Checkpoint{
				ID: fmt.Sprintf("%s.%d", id, i+1), Run: id, Phase: "05", Kind: "final", Points: []string{"final"}, Revision: 1,
				Question: "Land the result of run " + id + "?", Facts: strings.Repeat("a fact\n", 100), Status: work.CheckpointPending,
				OpenedAt: time.Unix(1700000000+int64(run*10+i), 0),
			})
		}
		if err := p.Journal.Append(ctx, lease, a); err != nil {
			tb.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			tb.Fatal(err)
		}
	}
	return app
}

// BenchmarkCheckpoints is one page of forge checkpoints, in a database with
// 10,000 open ones beside one with 100, alternating.
func BenchmarkCheckpoints(b *testing.B) {
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "BenchmarkCheckpoints", F: func(t *testing.T) {
		few, many := projectAsking(t, newWorld(t, "", "true"), 100), projectAsking(t, newWorld(t, "", "true"), 10_000)
		page := report.CheckpointPage{Limit: pageOfCheckpoints}
		var small, large []time.Duration
		for b.Loop() {
			for _, at := range []struct {
				app  *App
				took *[]time.Duration
			}{{few, &small}, {many, &large}} {
				start := time.Now()
				if err := at.app.listCheckpoints(t.Context(), page, "json"); err != nil {
					t.Fatal(err)
				}
				*at.took = append(*at.took, time.Since(start))
			}
		}
		slices.Sort(small)
		slices.Sort(large)
		m, n := small[len(small)/2], large[len(large)/2]
		b.ReportMetric(float64(m)/1e6, "ms/page-of-100")
		b.ReportMetric(float64(n)/1e6, "ms/page-of-10000")
		b.ReportMetric(float64(n)/float64(m), "ratio")
	}}})
	if !ok {
		b.Fail()
	}
}
