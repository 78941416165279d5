package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// Engine drives runs on a Temporal server: it begins a run's workflow, or takes
// part in one that goes on, hands it what people say, and waits for its end.
// Workers do the rest, also when this process dies. Client, Queues, Times and Record
// are required.
type Engine struct {
	Client  client.Client
	Queues  Queues
	Core    string // version of the core; "" = CoreVersion
	Times   Times
	Project string
	Record  Record // of the run
	// Name is the workflow's id for a run; nil = the run's own.
	Name     func(run string) string
	Watch    engine.Watcher
	Requires map[string][]string
	Answers  bool
	Deadline time.Time
	// Tagged gives workflows the search attributes that setup makes.
	Tagged bool
	// Unserved is told, in a sentence, that nobody takes what is to be done, and ""
	// when somebody does; nil = nobody asks.
	Unserved func(what string)
	// Leave, closed, ends the watch: ErrLeft, and the run goes on. nil = never.
	Leave <-chan struct{}
}

var _ engine.Engine = (*Engine)(nil)

// lookEvery is how often the record is looked at for news.
const lookEvery = 200 * time.Millisecond

// Run begins or joins the run's workflow and returns how it ended; s is then where
// the record ends.
func (e *Engine) Run(ctx context.Context, s *orchestrator.State, first orchestrator.Fact) (work.RunFinishedData, error) {
	ended, err := e.drive(ctx, s, first)
	if err != nil {
		return work.RunFinishedData{}, fmt.Errorf("drive run %s: %w", s.Run, err)
	}
	return work.RunFinishedData{Outcome: ended.Outcome, Reason: ended.Reason, CostUSD: ended.CostUSD}, nil
}

func (e *Engine) drive(ctx context.Context, s *orchestrator.State, first orchestrator.Fact) (Ended, error) {
	in, err := e.input(s, first)
	if err != nil {
		return Ended{}, err
	}
	name := s.Run
	if e.Name != nil {
		name = e.Name(s.Run)
	}
	handle, err := e.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		TypedSearchAttributes: e.tags(s.Run),

		ID: name, TaskQueue: e.Queues.Core(e.core()), WorkflowTaskTimeout: 10 * time.Second,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, WorkflowName, in)
	if err != nil {
		return Ended{}, fmt.Errorf("begin its workflow: %w", err)
	}
	over := make(chan outcome, 1)
	stay := context.WithoutCancel(ctx)
	wctx, leave := context.WithCancel(stay)
	defer leave()
	go func() {
		var o outcome
		o.err = awaited(wctx, handle, &o.ended)
		over <- o
	}()
	if e.Unserved != nil {
		go e.watchUnserved(wctx, name)
	}
	l := &look{Engine: e, name: name, state: s, carried: map[int64]bool{}}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	asked := ctx.Done()
	for {
		select {
		case o := <-over:
			if err := l.follow(stay); err != nil && o.err == nil {
				o.err = err
			}
			return o.ended, o.err
		case <-tick.C:
			// What cannot be read now is read at the next look, or at the end.
			_ = l.follow(stay)
			l.carry(stay)
		case <-e.Leave:
			return Ended{}, ErrLeft
		case <-asked:
			asked = nil
			stop := orchestrator.Stop{Outcome: work.RunInterrupted, Reason: "interrupted"}
			if err := e.Client.SignalWorkflow(stay, name, "", stopSignal, stop); err != nil && !errors.As(err, new(*serviceerror.NotFound)) {
				return Ended{}, fmt.Errorf("ask its workflow to stop: %w", err)
			}
		}
	}
}

// ErrLeft says that a run goes on without who watched it.
var ErrLeft = errors.New("the run goes on without its watcher")

// Search attributes by which operators find runs.
const (
	AttributeProject = "ForgeProject"
	AttributeRun     = "ForgeRun"
)

func (e *Engine) tags(run string) temporal.SearchAttributes {
	if !e.Tagged {
		return temporal.NewSearchAttributes()
	}
	return temporal.NewSearchAttributes(
		temporal.NewSearchAttributeKeyKeyword(AttributeProject).ValueSet(e.Project),
		temporal.NewSearchAttributeKeyKeyword(AttributeRun).ValueSet(run),
	)
}

type outcome struct {
	ended Ended
	err   error
}

func (e *Engine) core() string { return cmp.Or(e.Core, CoreVersion) }

func (e *Engine) input(s *orchestrator.State, first orchestrator.Fact) (Input, error) {
	in := Input{
		Project: e.Project, Run: s.Run, Core: e.core(), Queues: e.Queues, Times: e.Times,
		Requires: e.Requires, Answers: e.Answers, Deadline: e.Deadline,
	}
	var err error
	if in.State, err = s.Snapshot(); err != nil {
		return in, err
	}
	in.First, err = orchestrator.EncodeFact(first)
	return in, err
}

// awaited waits for the end of a workflow, also while the server is away.
func awaited(ctx context.Context, handle client.WorkflowRun, ended *Ended) error {
	for {
		err := handle.Get(ctx, ended)
		var failed *temporal.WorkflowExecutionError
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.As(err, &failed):
			return explain(failed)
		case errors.As(err, new(*serviceerror.NotFound)):
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// explain is why a workflow failed, in its own words.
func explain(failed *temporal.WorkflowExecutionError) error {
	var app *temporal.ApplicationError
	if errors.As(failed, &app) {
		return errors.New(app.Message())
	}
	return failed
}

// look follows a run from outside.
type look struct {
	*Engine
	name    string
	state   *orchestrator.State
	carried map[int64]bool
}

// follow brings the state to where the record ends, and tells who watches.
func (l *look) follow(ctx context.Context) error {
	evs, err := l.Record.Events(ctx, l.state.Seq)
	if err != nil || len(evs) == 0 {
		return err
	}
	for _, e := range evs {
		if err := orchestrator.Apply(l.state, e); err != nil {
			return err
		}
	}
	if l.Watch != nil {
		l.Watch.Events(evs, l.state)
	}
	return nil
}

// carry hands what doors wrote to the workflow. What it does not take now stays in
// the inbox.
func (l *look) carry(ctx context.Context) {
	rows, err := l.Record.Inbox(ctx)
	if err != nil {
		return
	}
	for _, row := range rows {
		if l.carried[row.ID] {
			continue
		}
		l.carried[row.ID] = Carry(ctx, l.Client, l.name, row) == nil
	}
}

// Carry hands an answer that a door wrote to a run's workflow, once: whoever does
// so again is told the same.
func Carry(ctx context.Context, c client.Client, workflow string, row engine.Inbox) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflow, UpdateName: answerUpdate, UpdateID: fmt.Sprintf("inbox-%d", row.ID),
		Args: []any{row}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	return err
}
