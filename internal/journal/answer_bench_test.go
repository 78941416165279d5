package journal

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"forge/internal/work"
)

// BenchmarkAnswerToWork is how long it takes from an answer that is written to
// the work row that its run claims, at 100 answers a second: another process
// answers, the owner looks every 200 ms whether anything changed, as a driver
// does, and takes all that has come in.
func BenchmarkAnswerToWork(b *testing.B) {
	const pace, look = 10 * time.Millisecond, 200 * time.Millisecond
	ctx := b.Context()
	dir := b.TempDir()
	owner, door := openIn(b, dir), openIn(b, dir)
	l := create(b, owner, "run")
	n := max(b.N, 100)
	for done := 0; done < n; done += 500 {
		var a Append
		for i := done; i < min(done+500, n); i++ {
			a.Open = append(a.Open, checkpoint("run", fmt.Sprintf("c%06d", i), testTime.Add(time.Duration(i))))
		}
		appendTo(b, owner, l, a)
	}
	answered, claimed := make([]time.Time, n), make([]time.Time, n)
	b.ResetTimer()
	var answering sync.WaitGroup
	answering.Go(func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for i := range n {
			<-tick.C
			answered[i] = time.Now()
			if _, err := door.Answer(context.WithoutCancel(ctx), work.Answer{Checkpoint: fmt.Sprintf("c%06d", i), Status: work.CheckpointApproved, By: "x", At: testTime}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	seq, taken := int64(0), 0
	tick := time.NewTicker(look)
	defer tick.Stop()
	for taken < n && !b.Failed() {
		<-tick.C
		changed, err := owner.Changed(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if !changed {
			continue
		}
		rows, err := owner.Inbox(ctx, "run")
		if err != nil {
			b.Fatal(err)
		}
		for _, row := range rows {
			seq++
			a := Append{
				Events: []work.Event{benchEvent("run", seq)}, Consume: []int64{row.ID},
				Begin: []AttemptRow{{Run: "run", Command: work.CommandID(row.Answer.Checkpoint), Mark: "m", Started: time.Now()}},
			}
			if err := owner.Append(ctx, l, a); err != nil {
				b.Fatal(err)
			}
			claimed[taken] = time.Now()
			taken++
		}
	}
	b.StopTimer()
	answering.Wait()
	var waits []time.Duration
	for i := range n {
		waits = append(waits, claimed[i].Sub(answered[i]))
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[n/2])/1e6, "ms-p50")
	b.ReportMetric(float64(waits[n*99/100])/1e6, "ms-p99")
}
