//go:build real

package temporal

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
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
	testing.TB
	c     client.Client
	of    enginetest.Candidate
	queue string
	last  atomic.Value // the name of the last workflow that began
}

// run drives a run with two phases and returns how long that took, and how many
// activities and events are in its history.
func (m *measured) run() (took time.Duration, activities, events int) {
	began := time.Now()
	m.drive()
	took = time.Since(began)
	history := m.c.GetWorkflowHistory(m.Context(), m.last.Load().(string), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
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

// drive drives such a run.
func (m *measured) drive() {
	w, err := enginetest.NewWorld([]string{"01", "02"})
	if err == nil {
		err = w.Completes(m.Context(), m.of)
	}
	if err != nil {
		m.Error(err)
	}
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

// measure begins it with a worker of runs on each of the hosts, and as many bare ones.
func measure(t testing.TB, s *testsuite.DevServer, hosts ...string) *measured {
	t.Helper()
	m := &measured{TB: t, c: dial(t, s), queue: "bare-" + newSeed()}
	m.of = candidatesOn(t, m.c, hosts, func(e *Engine) {
		name := e.Name
		e.Times = Usual()
		e.Name = func(run string) string {
			n := name(run)
			m.last.Store(n)
			return n
		}
	})
	for range hosts {
		w := worker.New(m.c, m.queue, worker.Options{})
		w.RegisterWorkflow(bareRun)
		w.RegisterActivity(bareActivity)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
	}
	return m
}

// BenchmarkRealTemporalOverhead holds runs whose effects do nothing against bare
// workflows with as many activities, on the same server: alone, as time for an
// activity, and many at once, as runs in a time.
func BenchmarkRealTemporalOverhead(b *testing.B) {
	m := measure(b, server(b), "here")
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
				run += atOnce(runs, m.drive)
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
