package temporal

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Worker serves the queues of a factory on this host.
type Worker struct {
	Client client.Client
	Queues Queues
	Places Places
	Core   string   // version of the core; "" = CoreVersion
	Host   string   // id of this host, the same each time
	Has    []string // what effects may require
	Slots  int      // effects at once; at least one
	// Drain is how long effects may go on when it stops.
	Drain time.Duration
}

// Start serves until stop is called, which waits until what is under way has
// ended: by itself within Drain, or else ended then, to be done again elsewhere.
func (w *Worker) Start() (stop func(), err error) {
	core := cmp.Or(w.Core, CoreVersion)
	acts := &Activities{Places: w.Places, Host: w.Host, Core: core, Causes: w.Client, Beats: w.Client, Slots: make(chan struct{}, max(w.Slots, 1))}
	var started []worker.Worker
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	stop = func() {
		until := time.Now().Add(w.Drain)
		if len(started) > 0 {
			stopAll(started[1:])
			// What is read, written and decided goes on until no effect is left, and for
			// as long as runs may move to a newer core.
			w.letGo(core, until)
			stopAll(started[:1])
		}
		cancel()
		<-over
	}
	go func() {
		defer close(over)
		w.calling(ctx, core)
	}()
	queues := append([]string{w.Queues.Core(core)}, w.Queues.Served(w.Host, w.Has)...)
	for i, queue := range queues {
		one := worker.New(w.Client, queue, w.options(i > 0))
		if i == 0 {
			drive := func(ctx workflow.Context, in Input) (Ended, error) { return driveAs(ctx, core, in) }
			one.RegisterWorkflowWithOptions(drive, workflow.RegisterOptions{Name: WorkflowName})
		}
		one.RegisterActivity(acts)
		if err := one.Start(); err != nil {
			stop()
			return nil, fmt.Errorf("serve queue %s: %w", queue, err)
		}
		started = append(started, one)
	}
	return stop, nil
}

func stopAll(all []worker.Worker) {
	var each sync.WaitGroup
	for _, one := range all {
		each.Go(one.Stop)
	}
	each.Wait()
}

func (w *Worker) options(effects bool) worker.Options {
	o := worker.Options{
		DisableWorkflowWorker: effects, WorkerStopTimeout: w.Drain,
		// A wish to end reaches an effect by its heartbeat.
		MaxHeartbeatThrottleInterval: time.Second,
		StickyScheduleToStartTimeout: time.Second,
		DeadlockDetectionTimeout:     10 * time.Second,
	}
	if effects {
		// Those that tell need no slot, nor does who waits for what outlived an outage.
		o.MaxConcurrentActivityExecutionSize = 2*max(w.Slots, 1) + 2
	}
	return o
}

// Run serves until ctx ends.
func (w *Worker) Run(ctx context.Context) error {
	stop, err := w.Start()
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	return nil
}
