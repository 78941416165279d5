package temporal

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// Types of errors that end a workflow; they say that trying again is of no use.
const (
	errRecord   = "record"   // could not be written
	errConflict = "conflict" // somebody else wrote to the record
	errOver     = "over"
)

// feed puts one fact through the core and writes what follows.
func (d *drive) feed(ctx workflow.Context, fact orchestrator.Fact) error {
	if err := d.think(ctx, fact); err != nil {
		return err
	}
	return d.flush(ctx)
}

// think puts one fact through the core without writing yet.
func (d *drive) think(ctx workflow.Context, fact orchestrator.Fact) error {
	day, err := d.day(ctx)
	if err != nil {
		return err
	}
	before := d.s.Stopping
	evs, err := orchestrator.Feed(d.s, orchestrator.Input{Now: workflow.Now(ctx), Day: day, Fact: fact})
	if err != nil {
		return err
	}
	if err := d.batch.Collect(d.s, evs); err != nil {
		return err
	}
	return d.under.Follow(d.s, before, evs)
}

// flush writes what the core decided; only then may any of it be acted upon.
func (d *drive) flush(ctx workflow.Context) error {
	if d.batch.Empty() {
		return nil
	}
	in := AppendInput{At: d.at(), Base: d.s.Spec.Base.Commit, After: d.head, Batch: d.batch}
	if err := workflow.ExecuteActivity(d.reading(ctx), (*Activities).Append, in).Get(ctx, &d.head); err != nil {
		return fmt.Errorf("append to the journal: %w", err)
	}
	d.batch = engine.Batch{}
	return nil
}

// day is what was consumed today, where a cap of the day is set.
func (d *drive) day(ctx workflow.Context) (day orchestrator.Day, err error) {
	if c := d.s.Spec.Settings.Cost; c.DayUSD == nil && c.DayTokens == nil {
		return day, nil
	}
	if err := workflow.ExecuteActivity(d.reading(ctx), (*Activities).Day, d.at()).Get(ctx, &day); err != nil {
		return day, fmt.Errorf("read the day's usage: %w", err)
	}
	return day, nil
}

func (d *drive) inbox(ctx workflow.Context) (rows []engine.Inbox, err error) {
	if err := workflow.ExecuteActivity(d.reading(ctx), (*Activities).Inbox, d.at()).Get(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read the inbox: %w", err)
	}
	return rows, nil
}

// reading is for activities at the record. They are tried again for as long as it
// is out of reach, and when a worker dies over one: each may be carried out twice.
func (d *drive) reading(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: d.in.Queues.Core(d.core), StartToCloseTimeout: 30 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, MaximumInterval: 5 * time.Second,
			NonRetryableErrorTypes: []string{errRecord, errConflict, errOver},
		},
	})
}

// listen takes what comes from outside: answers, the wish to stop, questions about
// where it stands.
func (d *drive) listen(ctx workflow.Context) error {
	take := func(_ workflow.Context, row engine.Inbox) error {
		d.answers = append(d.answers, row)
		return nil
	}
	// What is not taken leaves no trace here, and stays in the inbox for the next part.
	valid := func(_ workflow.Context, row engine.Inbox) error {
		if d.over || d.s != nil && (!d.s.Live && d.s.Seq > 0 || d.s.Stopping != nil) {
			return fmt.Errorf("the run takes no answer now")
		}
		return nil
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, answerUpdate, take, workflow.UpdateHandlerOptions{Validator: valid}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(ctx, causeQuery, func(id work.CommandID) (string, error) { return d.causes[id], nil }); err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(ctx, standQuery, func() (Standing, error) {
		return Standing{Part: d.part(), Effects: d.started, Unserved: d.waiting, Move: d.move}, nil
	}); err != nil {
		return err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var why orchestrator.Stop
			if more := workflow.GetSignalChannel(ctx, stopSignal).Receive(ctx, &why); !more || ctx.Err() != nil {
				return
			}
			d.asked(why)
		}
	})
	workflow.Go(ctx, d.newest)
	return nil
}

// newest notes that workers of a newer core are there, as they say by signal. What is
// no newer core than this one is passed over: a run never goes back.
func (d *drive) newest(ctx workflow.Context) {
	for {
		var core string
		if more := workflow.GetSignalChannel(ctx, moveSignal).Receive(ctx, &core); !more || ctx.Err() != nil {
			return
		}
		if newer(core, d.core) && (d.move == "" || newer(core, d.move)) {
			d.move = core
		}
	}
}

// asked is the first wish to stop.
func (d *drive) asked(why orchestrator.Stop) {
	if d.stop == nil {
		d.stop = &why
	}
}
