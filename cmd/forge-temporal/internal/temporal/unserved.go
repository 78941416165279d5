package temporal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

const (
	// askEvery is how often it is asked whether somebody takes what a run needs done.
	askEvery = 10 * time.Second
	// silent is how long after its last call a worker counts: each asks a queue for
	// work at least once a minute.
	silent = 75 * time.Second
)

// unserved is why nobody takes what a run needs done, in a sentence; "" where
// somebody does, or where it cannot be learned.
func (e *Engine) unserved(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	core := e.queueOf(ctx, name)
	queues := map[string]enums.TaskQueueType{core: enums.TASK_QUEUE_TYPE_WORKFLOW}
	for _, needs := range e.Requires {
		queues[e.Queues.Able(needs)] = enums.TASK_QUEUE_TYPE_ACTIVITY
	}
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		is, err := e.Client.DescribeTaskQueue(ctx, queue, queues[queue])
		if err == nil && !served(is, time.Now()) {
			return e.noWorker(queue, name)
		}
	}
	// The workflow knows of one that is there, and does not take it.
	value, err := e.Client.QueryWorkflow(ctx, name, "", standQuery)
	var s Standing
	if err != nil || value.Get(&s) != nil {
		return ""
	}
	return s.Unserved
}

// Stalled is unserved for who looks once: that nobody answers for the run at all is said
// at once then, and not when its workers were silent for long enough to count as gone.
func (e *Engine) Stalled(ctx context.Context, name string) string {
	if what := e.unserved(ctx, name); what != "" || ctx.Err() != nil {
		return what
	}
	if e.answers(ctx, name) {
		return ""
	}
	return e.noWorker(e.queueOf(ctx, name), name)
}

// queueOf is where a run is decided: the queue of the core that it belongs to, which
// may be another one than this program's.
func (e *Engine) queueOf(ctx context.Context, name string) string {
	is, err := e.Client.DescribeWorkflowExecution(ctx, name, "")
	if queue := is.GetExecutionConfig().GetTaskQueue().GetName(); err == nil && queue != "" {
		return queue
	}
	return e.Queues.Core(e.core())
}

// answers says that somebody answers for the run, or that nobody has to.
func (e *Engine) answers(ctx context.Context, name string) bool {
	short, cancel := context.WithTimeout(ctx, answersIn)
	defer cancel()
	_, err := e.Client.QueryWorkflow(short, name, "", standQuery)
	return err == nil || errors.As(err, new(*serviceerror.NotFound)) || ctx.Err() != nil
}

// ErrServed says that a worker answers for a run.
var ErrServed = errors.New("a worker answers for the run")

// Release ends the workflow of a run for which nobody answers; the journal has the
// run. ErrServed where somebody does, NotFound where no workflow is under way.
func (e *Engine) Release(ctx context.Context, name string) error {
	is, err := e.Client.DescribeWorkflowExecution(ctx, name, "")
	if err != nil {
		return err
	}
	if is.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return serviceerror.NewNotFound("its workflow has ended")
	}
	// A busy worker may be late once.
	for range 2 {
		if e.answers(ctx, name) {
			return errors.Join(ErrServed, ctx.Err())
		}
	}
	run := is.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	if err := e.Client.TerminateWorkflow(ctx, name, run, "let go of, so that another version goes on with the run"); err != nil {
		return fmt.Errorf("end the workflow of run %s: %w", name, err)
	}
	return nil
}

// answersIn is how long a worker may take to say where a run stands.
const answersIn = 5 * time.Second

// served says that somebody asked a queue for work lately.
func served(q *workflowservice.DescribeTaskQueueResponse, now time.Time) bool {
	for _, one := range q.GetPollers() {
		if now.Sub(one.GetLastAccessTime().AsTime()) < silent {
			return true
		}
	}
	return false
}

// noWorker names the way out, which for a run of another core is not a worker of this
// program.
func (e *Engine) noWorker(queue, run string) string {
	if version, is := e.Queues.versionOf(queue); strings.HasPrefix(queue, e.Queues.Prefix+"-core") && version != e.core() {
		of := "a core without a version"
		if is {
			of = "version " + version + " of the core"
		}
		return "no worker takes from queue " + queue + ": the run belongs to " + of + ", this is version " + e.core() +
			"; start a worker of that one, or let go of the run by forge-temporal release " + run + ", and forge resume it"
	}
	return noWorker(queue)
}

func noWorker(queue string) string {
	return "no worker takes from queue " + queue + ": start one that serves it, or look at what the phase requires"
}

// watchUnserved tells Unserved, until ctx ends.
func (e *Engine) watchUnserved(ctx context.Context, name string) {
	told, deaf := "", 0
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// Workers that went are listed for a while yet. One question without an answer may
		// be a busy worker's; two are not.
		what := e.unserved(ctx, name)
		if deaf++; what != "" || e.answers(ctx, name) {
			deaf = 0
		}
		if deaf > 1 {
			what = e.noWorker(e.queueOf(ctx, name), name)
		}
		if what != told && ctx.Err() == nil {
			told = what
			e.Unserved(what)
		}
	}
}
