//go:build real

package temporal

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"forge/internal/engine/enginetest"
)

// bareRun is a workflow that does as many activities as it is told, one after the
// other, and nothing else.
func bareRun(ctx workflow.Context, activities int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for range activities {
		if err := workflow.ExecuteActivity(ctx, bareActivity).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func bareActivity(context.Context) error { return nil }

// measured is a server on which runs of no-op effects and bare workflows are held
// against each other.
type measured struct {
	*testing.B
	c     client.Client
	of    enginetest.Candidate
	queue string
	names chan string // of workflows that ended
}

// run drives a run with two phases and returns how long that took, and how many
// activities and events are in its history.
func (m *measured) run() (took time.Duration, activities, events int) {
	w, err := enginetest.NewWorld([]string{"01", "02"})
	if err != nil {
		m.Error(err)
		return 0, 0, 0
	}
	began := time.Now()
	if err := w.Completes(m.Context(), m.of); err != nil {
		m.Error(err)
	}
	took = time.Since(began)
	history := m.c.GetWorkflowHistory(m.Context(), <-m.names, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		e, err := history.Next()
		if err != nil {
			m.Error(err)
			return took, activities, events
		}
		if events++; e.GetEventType() == enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED {
			activities++
		}
	}
	return took, activities, events
}

func (m *measured) bare(activities int) time.Duration {
	began := time.Now()
	run, err := m.c.ExecuteWorkflow(m.Context(), client.StartWorkflowOptions{TaskQueue: m.queue}, bareRun, activities)
	if err == nil {
		err = run.Get(m.Context(), nil)
	}
	if err != nil {
		m.Error(err)
	}
	return time.Since(began)
}

// BenchmarkRealTemporalOverhead holds runs whose effects do nothing against bare
// workflows with as many activities, on the same server: alone, as time for an
// activity, and many at once, as runs in a time.
func BenchmarkRealTemporalOverhead(b *testing.B) {
	s := server(b)
	m := &measured{B: b, c: dial(b, s), queue: "bare-" + newSeed(), names: make(chan string, 1000)}
	m.of = candidates(b, m.c, func(e *Engine) {
		name := e.Name
		e.Name = func(run string) string {
			n := name(run)
			m.names <- n
			return n
		}
	})
	w := worker.New(m.c, m.queue, worker.Options{})
	w.RegisterWorkflow(bareRun)
	w.RegisterActivity(bareActivity)
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	_, activities, events := m.run() // what is made once is made
	m.bare(activities)

	b.Run("alone", func(b *testing.B) {
		var run, bare time.Duration
		for range b.N {
			took, _, _ := m.run()
			run, bare = run+took, bare+m.bare(activities)
		}
		b.ReportMetric(run.Seconds()/bare.Seconds(), "×bare")
		b.ReportMetric(float64(activities), "activities/run")
		b.ReportMetric(float64(events)/2, "events/phase")
	})
	for _, runs := range []int{5, 20} {
		b.Run(fmt.Sprint(runs, " at once"), func(b *testing.B) {
			var run, bare time.Duration
			for range b.N {
				run += atOnce(runs, func() { m.run() })
				bare += atOnce(runs, func() { m.bare(activities) })
			}
			b.ReportMetric(bare.Seconds()/run.Seconds(), "×bare-throughput")
			b.ReportMetric(float64(runs*b.N)/run.Seconds(), "runs/s")
		})
	}
}

func atOnce(n int, do func()) time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for range n {
		all.Go(do)
	}
	all.Wait()
	return time.Since(began)
}
