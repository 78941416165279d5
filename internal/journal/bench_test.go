package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"forge/internal/work"
)

// benchEvent is an event of some 400 bytes.
func benchEvent(run string, seq int64) work.Event {
	data, err := json.Marshal(work.IterationFinishedData{
		Command: work.CommandID(fmt.Sprintf("%s/05/1/%d/iterate", run, seq)), Outcome: work.OutcomeOK, Changed: true, Files: 3,
		Snapshot: "0123456789abcdef0123456789abcdef01234567", Tree: "76543210fedcba9876543210fedcba9876543210", Session: "b2c1",
	})
	if err != nil {
		panic(err)
	}
	return work.Event{
		V: work.EventVersion, Seq: seq, Time: time.Unix(1700000000+seq, 42), Run: run, Kind: work.IterationFinished,
		Phase: "05", Iteration: int(seq), Attempt: 1, Data: data,
	}
}

// BenchmarkAppend compares an append with a raw write and fsync of the bytes
// of its event, alternating, so that both meet the same disk.
func BenchmarkAppend(b *testing.B) {
	ctx := context.Background()
	s, l := openWithRun(b, "run")
	raw, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer raw.Close()
	var ours, floor []time.Duration
	seq := int64(0)
	for b.Loop() {
		seq++
		e := benchEvent("run", seq)
		start := time.Now()
		if err := s.Append(ctx, l, Append{Events: []work.Event{e}}); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(start))

		line, err := json.Marshal(e)
		if err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		if _, err := raw.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := raw.Sync(); err != nil {
			b.Fatal(err)
		}
		floor = append(floor, time.Since(start))
	}
	b.ReportMetric(float64(median(ours))/1e3, "µs/append")
	b.ReportMetric(float64(median(floor))/1e3, "µs/raw")
	b.ReportMetric(float64(median(ours))/float64(median(floor)), "ratio")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkRebuild compares reading, verifying and decoding a run with a bare
// scan of its rows.
func BenchmarkRebuild(b *testing.B) {
	for _, n := range []int64{1500, 50000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchRebuild(b, n) })
	}
}

func benchRebuild(b *testing.B, n int64) {
	ctx := context.Background()
	s, l := openWithRun(b, "run")
	for seq := int64(1); seq <= n; {
		var a Append
		for ; seq <= n && len(a.Events) < 500; seq++ {
			a.Events = append(a.Events, benchEvent("run", seq))
		}
		if err := s.Append(ctx, l, a); err != nil {
			b.Fatal(err)
		}
	}
	var ours, floor []time.Duration
	for b.Loop() {
		start := time.Now()
		rows, err := s.readers.QueryContext(ctx, selectEvents, eventID(l.number, 0), eventID(l.number+1, 0), n)
		if err != nil {
			b.Fatal(err)
		}
		scanned := int64(0)
		for rows.Next() {
			var id, at, v, iteration, attempt int64
			var kind, phase, data, hash string
			if err := rows.Scan(&id, &at, &kind, &v, &phase, &iteration, &attempt, &data, &hash); err != nil {
				b.Fatal(err)
			}
			scanned++
		}
		if err := rows.Err(); err != nil || scanned != n {
			b.Fatalf("scanned %d rows, %v", scanned, err)
		}
		floor = append(floor, time.Since(start))

		start = time.Now()
		read := int64(0)
		for e, err := range s.Replay(ctx, "run", 0) {
			if err != nil {
				b.Fatal(err)
			}
			var data work.IterationFinishedData
			if err := json.Unmarshal(e.Data, &data); err != nil {
				b.Fatal(err)
			}
			read++
		}
		if read != n {
			b.Fatalf("read %d events", read)
		}
		ours = append(ours, time.Since(start))
	}
	b.ReportMetric(float64(median(ours))/1e6, "ms/rebuild")
	b.ReportMetric(float64(median(floor))/1e6, "ms/scan")
	b.ReportMetric(float64(median(ours))/float64(median(floor)), "ratio")
}

// BenchmarkOpen is what a command pays that only looks.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	if err := openIn(b, dir).Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(context.Background(), dir)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Runs(context.Background()); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
