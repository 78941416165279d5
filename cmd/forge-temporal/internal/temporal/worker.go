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
	// Most is after how many effects it ends; 0 = it does not. One that ends so decides
	// nothing: what the server gave it as it went would be missed until a time-out.
	Most int
	// Decides says that it carries no effect out.
	Decides bool
	// Drain is how long effects may go on when it stops.
	Drain time.Duration
}

// Start serves until stop is called, which waits until what is under way has
// ended: by itself within Drain, or else ended then, to be done again elsewhere.
func (w *Worker) Start() (stop func(), err error) {
	stop, _, err = w.start()
	return stop, err
}

func (w *Worker) start() (stop func(), acts *Activities, err error) {
	core := cmp.Or(w.Core, CoreVersion)
	acts = &Activities{Places: w.Places, Host: w.Host, Core: core, Causes: w.Client, Beats: w.Client, Slots: make(chan struct{}, max(w.Slots, 1)), Most: NewQuota(w.Most)}
	own := w.Queues.Host(w.Host)
	var decides, takes, answers []worker.Worker
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	stop = func() {
		until := time.Now().Add(w.Drain)
		if w.Most == 0 {
			takes, answers = append(takes, answers...), nil
		}
		stopAll(takes)
		stopAll(answers) // whoever asks this host what it has under way is answered until the end
		if len(decides) > 0 {
			// What is read, written and decided goes on until no effect is left, and for
			// as long as runs may move to a newer core.
			w.letGo(core, until)
			stopAll(decides)
		}
		cancel()
		<-over
	}
	go func() {
		defer close(over)
		if w.Most == 0 {
			w.calling(ctx, core)
		}
	}()
	for _, queue := range w.Serves() {
		first := queue == w.Queues.Core(core)
		one := worker.New(w.Client, queue, w.options(first, queue == own))
		if first {
			drive := func(ctx workflow.Context, in Input) (Ended, error) { return driveAs(ctx, core, in) }
			one.RegisterWorkflowWithOptions(drive, workflow.RegisterOptions{Name: WorkflowName})
		}
		one.RegisterActivity(acts)
		if err := one.Start(); err != nil {
			stop()
			return nil, nil, fmt.Errorf("serve queue %s: %w", queue, err)
		}
		switch {
		case first:
			decides = append(decides, one)
		case queue == own:
			answers = append(answers, one)
		default:
			takes = append(takes, one)
		}
	}
	return stop, acts, nil
}

// Serves are the queues that it takes from.
func (w *Worker) Serves() (queues []string) {
	if w.Most == 0 {
		queues = append(queues, w.Queues.Core(cmp.Or(w.Core, CoreVersion)))
	}
	if !w.Decides {
		queues = append(queues, w.Queues.Served(w.Host, w.Has)...)
	}
	return queues
}

func stopAll(all []worker.Worker) {
	var each sync.WaitGroup
	for _, one := range all {
		each.Go(one.Stop)
	}
	each.Wait()
}

func (w *Worker) options(decides, own bool) worker.Options {
	o := worker.Options{
		DisableWorkflowWorker: !decides, WorkerStopTimeout: w.Drain,
		// A wish to end reaches an effect by its heartbeat.
		MaxHeartbeatThrottleInterval: time.Second,
		StickyScheduleToStartTimeout: time.Second,
		DeadlockDetectionTimeout:     10 * time.Second,
	}
	if w.Most > 0 { // what is under way when no more may begin has as long as it takes
		o.WorkerStopTimeout = Usual().Effect
	}
	switch {
	case decides:
	case w.Most > 0 && !own:
		// What it could not begin any more waits at the server, for another worker.
		o.MaxConcurrentActivityExecutionSize = min(max(w.Slots, 1), w.Most)
	default:
		// Those that tell need no slot, nor does who waits for what outlived an outage.
		o.MaxConcurrentActivityExecutionSize = 2*max(w.Slots, 1) + 2
	}
	return o
}

// Run serves until ctx ends, or as many effects as may be have been carried out.
func (w *Worker) Run(ctx context.Context) error {
	stop, acts, err := w.start()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-acts.Most.Full():
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		stop()
	}()
	if acts.Most == nil {
		<-over
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-over:
	case <-time.After(w.Drain):
		acts.under.endAll()
		<-over
	}
	return nil
}
