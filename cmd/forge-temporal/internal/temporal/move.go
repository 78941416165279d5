package temporal

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
)

// callEvery is how often a worker tells the runs of older cores that it is there.
const callEvery = 5 * time.Second

// standsOn is a run that is under way, and the version of the core that it is on.
type standsOn struct{ id, run, core string }

// underWay are the runs of the factory that go on, as the server lists them: one that
// began, or moved, a moment ago may be missing.
func (w *Worker) underWay(ctx context.Context) ([]standsOn, error) {
	ask := &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", WorkflowName),
	}
	var all []standsOn
	for {
		page, err := w.Client.ListWorkflow(ctx, ask)
		if err != nil {
			return nil, fmt.Errorf("list the runs that are under way: %w", err)
		}
		for _, one := range page.GetExecutions() {
			if core, is := w.Queues.versionOf(one.GetTaskQueue()); is {
				all = append(all, standsOn{one.GetExecution().GetWorkflowId(), one.GetExecution().GetRunId(), core})
			}
		}
		if ask.NextPageToken = page.GetNextPageToken(); len(ask.NextPageToken) == 0 {
			return all, nil
		}
	}
}

// calling tells each run of an older core, once, that it may move to this one. It does
// when the run has nothing under way; a run whose core has no worker any more hears
// nothing, and is let go of by a person.
func (w *Worker) calling(ctx context.Context, core string) {
	told := map[string]bool{}
	for ctx.Err() == nil {
		// What cannot be listed now is at the next time.
		all, _ := w.underWay(ctx)
		for _, one := range all {
			if newer(core, one.core) && !told[one.run] {
				told[one.run] = w.Client.SignalWorkflow(ctx, one.id, one.run, moveSignal, core) == nil
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(callEvery):
		}
	}
}

// letGoEvery is how often a worker that stops looks whether runs have moved.
const letGoEvery = 300 * time.Millisecond

// letGo waits, until that time at most, for the runs of this core to move to a newer
// one, once any of them was told of a worker that has it. Else they stay, and nothing
// is waited for: a worker of this version goes on with them.
func (w *Worker) letGo(core string, until time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	for called := false; ; {
		all, err := w.underWay(ctx)
		if err != nil {
			return
		}
		here := 0
		for _, one := range all {
			if one.core != core {
				continue
			}
			here++
			var s Standing
			if value, err := w.Client.QueryWorkflow(ctx, one.id, one.run, standQuery); err == nil && value.Get(&s) == nil {
				called = called || s.Move != ""
			}
		}
		if here == 0 || !called {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(letGoEvery):
		}
	}
}
