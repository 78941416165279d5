package review

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	godiff "github.com/sourcegraph/go-diff/diff"

	"forge/internal/work"
)

// twoThousand is a repository with a change whose patch has 2,000 lines: in 14
// files 40 lines each are replaced in 5 places, and 4 files of 100 lines are
// new.
func twoThousand(t testing.TB) (r repository, from, to string) {
	r = newRepository(t)
	old, now := map[string]string{}, map[string]string{}
	for i := range 14 {
		name, was, is := fmt.Sprintf("internal/pkg%d/file.go", i), "", ""
		for n := range 400 {
			line := fmt.Sprintf("\tresult[%d] = compute(ctx, input, %d) // as it was\n", n, n*i)
			was += line
			if n%80 < 8 {
				line = fmt.Sprintf("\tresult[%d], err = computeOther(ctx, input, %d)\n", n, n*i)
			}
			is += line
		}
		old[name], now[name] = was, is
	}
	for i := range 4 {
		now[fmt.Sprintf("new%d.go", i)] = lines(1, 100)
	}
	return r, r.commit(old), r.commit(now)
}

// instant answers at once: what is measured is Forge's own work.
type instant []byte

func (a instant) Ask(_ context.Context, q Question) (Reply, error) {
	return Reply{JSON: a, Answer: a}, q.Check(a)
}

// BenchmarkReview compares what Forge does with a change of 2,000 lines, from
// git's text to the report of one specialist, with the floor: git diff, and
// go-diff reading it ten times. percent is the share of that, of medians.
func BenchmarkReview(b *testing.B) {
	r, from, to := twoThousand(b)
	text := r.diff(from, to)
	patch := r.git("diff", from, to)
	model := instant(says("fail", at("major", "new1.go", 5, "one two three"), at("minor", "internal/pkg3/file.go", 2, "four five six"), at("minor", "nowhere", 1, "x")))
	if n := bytes.Count(patch, []byte("\n")); n < 1900 || n > 2200 {
		b.Fatalf("the patch has %d lines", n)
	}
	var floor, own []time.Duration
	for b.Loop() {
		start := time.Now()
		r.git("diff", from, to)
		for range 10 {
			if _, err := godiff.ParseMultiFileDiff(patch); err != nil {
				b.Fatal(err)
			}
		}
		floor = append(floor, time.Since(start))

		start = time.Now()
		c, err := ParseChange(text, false)
		if err != nil {
			b.Fatal(err)
		}
		in := Input{Specialist: work.Specialist{Name: Security, Gating: true}, PhaseName: "one", Summary: "s", Change: c}
		rep := Review(b.Context(), model, in)
		own = append(own, time.Since(start))
		if rep.Verdict != work.VerdictFail || len(rep.Findings) != 2 || rep.Hallucinated == 0 {
			b.Fatalf("%+v", rep)
		}
	}
	slices.Sort(floor)
	slices.Sort(own)
	f, o := floor[len(floor)/2], own[len(own)/2]
	b.ReportMetric(float64(o.Nanoseconds()), "own-ns")
	b.ReportMetric(float64(f.Nanoseconds()), "floor-ns")
	b.ReportMetric(100*float64(o)/float64(f), "percent")
}
