package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// words are made by a seed, the frequent ones like those of a program.
func madeText(r *rand.Rand, lines int) string {
	var b strings.Builder
	for range lines {
		for range 3 + r.IntN(8) {
			fmt.Fprintf(&b, "w%d ", int(float64(20000)*r.ExpFloat64()/8))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// BenchmarkIndex prints how fast files are taken in and how large the index is
// beside them, and how long questions take at most in 99 of 100 cases. The floor is
// reading the same text and asking each question of every file of it.
func BenchmarkIndex(b *testing.B) {
	const files, lines = 2000, 200
	r := rand.New(rand.NewPCG(1, 2))
	dir := b.TempDir()
	bodies, size := make([]string, files), 0
	for n := range bodies {
		bodies[n] = madeText(r, lines)
		size += len(bodies[n])
	}
	for b.Loop() {
		path := filepath.Join(dir, fmt.Sprint(time.Now().UnixNano()))
		i, err := Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		err = i.Write(b.Context(), func(w *Batch) error {
			for n, body := range bodies {
				source := fmt.Sprintf("blob/%d", n)
				if err := w.AddFile(source, fmt.Sprintf("f%d.txt", n), body); err != nil {
					return err
				}
				if err := w.Put(Place{Source: source, Path: fmt.Sprintf("f%d.txt", n), Held: "c"}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		var asked, floor []time.Duration
		for range 100 {
			said := fmt.Sprintf("w%d w%d", r.IntN(4000), r.IntN(4000))
			q, _ := Parse(said, noon)
			began := time.Now()
			if _, err := i.Ask(b.Context(), q, func(_ context.Context, _, path string) (string, error) { return "", os.ErrNotExist }); err != nil {
				b.Fatal(err)
			}
			asked = append(asked, time.Since(began))
			began = time.Now()
			for _, body := range bodies {
				_ = strings.Contains(body, q.Terms[0].Words+" ") && strings.Contains(body, q.Terms[1].Words+" ")
			}
			floor = append(floor, time.Since(began))
		}
		slices.Sort(asked)
		slices.Sort(floor)
		if err := i.Close(); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size)/took.Seconds()/1e6, "MB/s")
		b.ReportMetric(float64(info.Size())/float64(size), "index/text")
		b.ReportMetric(float64(asked[98].Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(asked[98])/float64(floor[98]), "p99/scan")
	}
}
