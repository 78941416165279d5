package temporal

import (
	"context"
	"errors"
	"maps"
	"slices"
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
	queues := map[string]enums.TaskQueueType{e.Queues.Core(): enums.TASK_QUEUE_TYPE_WORKFLOW}
	for _, needs := range e.Requires {
		queues[e.Queues.Able(needs)] = enums.TASK_QUEUE_TYPE_ACTIVITY
	}
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		is, err := e.Client.DescribeTaskQueue(ctx, queue, queues[queue])
		if err == nil && !served(is, time.Now()) {
			return noWorker(queue)
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
	short, cancel := context.WithTimeout(ctx, answersIn)
	defer cancel()
	_, err := e.Client.QueryWorkflow(short, name, "", standQuery)
	if err == nil || errors.As(err, new(*serviceerror.NotFound)) || ctx.Err() != nil {
		return ""
	}
	return noWorker(e.Queues.Core())
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

func noWorker(queue string) string {
	return "no worker takes from queue " + queue + ": start one that serves it, or look at what the phase requires"
}

// watchUnserved tells Unserved, until ctx ends.
func (e *Engine) watchUnserved(ctx context.Context, name string) {
	told := ""
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if what := e.unserved(ctx, name); what != told && ctx.Err() == nil {
			told = what
			e.Unserved(what)
		}
	}
}
