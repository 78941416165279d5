package temporal

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// drive is one part of a run's workflow: the state, what is under way, and what
// came in that was not fed yet.
type drive struct {
	in    Input
	core  string // version of this worker's
	s     *orchestrator.State
	batch engine.Batch
	head  orchestrator.Head
	under engine.Underway

	came    []result       // effects that ended
	answers []engine.Inbox // of people
	stop    *orchestrator.Stop
	heard   []int64
	hosts   map[string]string
	waiting string // what no worker took so far
	move    string // version of the core that it is to go on with; "" = this one

	seed    string // of marks, drawn once for each part
	marks   int
	started []EffectStanding
	causes  map[work.CommandID]string
	over    bool // no answer is taken any more
}

// result is how an effect ended.
type result struct {
	id   work.CommandID
	mark string
	fact orchestrator.Fact // nil = it has to be done again
	done Done
	left bool // its processes may run still
}

// Drive is the workflow of a run with the core of this program.
func Drive(ctx workflow.Context, in Input) (Ended, error) { return driveAs(ctx, CoreVersion, in) }

// driveAs is the workflow of a run. It decides nothing by itself: it feeds the core
// with what activities and people say, and has done what the core asks for.
func driveAs(ctx workflow.Context, core string, in Input) (Ended, error) {
	d := &drive{in: in, core: core, hosts: map[string]string{}, causes: map[work.CommandID]string{}}
	if err := d.listen(ctx); err != nil {
		return Ended{}, err
	}
	// A run that is asked to end comes to an end of its own, so that it is on record.
	own, _ := workflow.NewDisconnectedContext(ctx)
	workflow.Go(own, func(own workflow.Context) {
		ctx.Done().Receive(own, nil)
		d.asked(orchestrator.Stop{Outcome: work.RunInterrupted, Reason: "interrupted"})
	})
	err := d.run(own)
	if workflow.IsContinueAsNewError(err) {
		return Ended{}, err
	}
	d.over = true
	d.abandon(own)
	if err != nil {
		var app *temporal.ApplicationError
		if !errors.As(err, &app) {
			err = temporal.NewNonRetryableApplicationError(err.Error(), "", err)
		}
		return Ended{}, err
	}
	if err := workflow.Await(own, func() bool { return workflow.AllHandlersFinished(own) }); err != nil {
		return Ended{}, err
	}
	return Ended{Outcome: d.s.Outcome, Reason: d.s.Reason, CostUSD: d.s.Ledger.Cost()}, nil
}

func (d *drive) run(ctx workflow.Context) error {
	if err := d.restore(ctx); err != nil {
		return err
	}
	random := workflow.SideEffect(ctx, func(workflow.Context) any { return newSeed() })
	if err := random.Get(&d.seed); err != nil {
		return fmt.Errorf("draw the marks of processes: %w", err)
	}
	if d.in.Carried == nil {
		if err := d.begin(ctx); err != nil {
			return err
		}
	}
	return d.goOn(ctx)
}

// restore is the state that the client folded, or, where another core folded it,
// what this worker makes of the journal.
func (d *drive) restore(ctx workflow.Context) (err error) {
	state := d.in.State
	if d.in.Core != d.core {
		err = workflow.ExecuteActivity(d.reading(ctx), (*Activities).Load, LoadInput{At: d.at(), Core: d.core}).Get(ctx, &state)
		if err != nil {
			return fmt.Errorf("fold run %s anew: %w", d.in.Run, err)
		}
	}
	if d.s, err = orchestrator.Restore(state); err != nil {
		return err
	}
	if c := d.in.Carried; c != nil {
		d.head, d.heard, d.stop, d.waiting = c.Head, c.Heard, c.Reason, c.Waiting
		for _, phase := range workflow.DeterministicKeys(c.Hosts) {
			d.hosts[phase] = c.Hosts[phase]
		}
	}
	return nil
}

// begin takes the run up: what a process that died left is ended before any of it
// is done again.
func (d *drive) begin(ctx workflow.Context) error {
	var found Begun
	if err := workflow.ExecuteActivity(d.reading(ctx), (*Activities).Begin, d.at()).Get(ctx, &found); err != nil {
		return fmt.Errorf("take run %s up: %w", d.in.Run, err)
	}
	if found.Head.Count != d.s.Seq {
		return temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("run %s has %d events, and %d were known when it was taken up: another process drives it", d.in.Run, found.Head.Count, d.s.Seq), errConflict, nil)
	}
	d.head = found.Head
	d.batch.Over = append(d.batch.Over, found.Left...)
	first, err := orchestrator.DecodeFact(d.in.First)
	if err != nil {
		return err
	}
	before := d.s.Seq
	if err := d.feed(ctx, first); err != nil {
		return err
	}
	// One that had nothing left but its end has come to it already.
	if !d.s.Live && d.s.Seq == before {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("run %s cannot go on from here: it ended %s", d.s.Run, d.s.Outcome), errOver, nil)
	}
	d.answers = append(d.answers, found.Inbox...)
	return nil
}

func (d *drive) at() At { return At{Project: d.in.Project, Run: d.in.Run} }

// goOn is the loop: start what is pending, wait for what comes, feed it.
func (d *drive) goOn(ctx workflow.Context) error {
	for d.s.Live {
		if err := d.takeAnswers(ctx); err != nil {
			return err
		}
		if err := d.expire(ctx); err != nil {
			return err
		}
		tired := d.tired(ctx) || d.move != ""
		if !tired {
			if err := d.startPending(ctx); err != nil {
				return err
			}
		}
		if tired {
			if len(d.under) == 0 {
				return d.continueAsNew(ctx)
			}
			if err := d.flush(ctx); err != nil {
				return err
			}
		}
		if len(d.under) == 0 && (d.s.Stopping != nil || !d.waits()) && !tired {
			if err := d.rest(ctx); err != nil {
				return err
			}
			continue
		}
		if err := d.wait(ctx); err != nil {
			return err
		}
	}
	if err := d.flush(ctx); err != nil {
		return err
	}
	return d.answeredLast(ctx)
}

// wait is until something came in, or the next moment that something waits for.
func (d *drive) wait(ctx workflow.Context) error {
	news := func() bool {
		return len(d.came) > 0 || d.moves() || d.stop != nil && d.s.Stopping == nil || len(d.answers) > 0 && d.s.Stopping == nil
	}
	next := d.next()
	woken := true
	if next.IsZero() {
		if err := workflow.Await(ctx, news); err != nil {
			return err
		}
	} else if !news() {
		var err error
		if woken, err = workflow.AwaitWithTimeout(ctx, max(next.Sub(workflow.Now(ctx)), 0), news); err != nil {
			return err
		}
	}
	if d.stop != nil && d.s.Stopping == nil {
		if err := d.feed(ctx, *d.stop); err != nil {
			return err
		}
		d.under.EndAll()
		return nil
	}
	if !woken {
		return d.tick(ctx)
	}
	if len(d.came) == 0 {
		return nil
	}
	// One at a time, though several may have come: what follows from the first begins
	// before the second is looked at, as with every engine.
	res := d.came[0]
	d.came = d.came[1:]
	return d.ended(ctx, res)
}

// next is the next moment that the core or the run's deadline waits for.
func (d *drive) next() (next time.Time) {
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, c := range orchestrator.Pending(d.s) {
		if c.Step == orchestrator.StepWait {
			sooner(c.Until)
		}
	}
	if d.s.Stopping == nil {
		sooner(d.in.Deadline)
		for _, id := range workflow.DeterministicKeys(d.s.Open) {
			if end := d.s.Open[id].ExpiresAt; end != nil {
				sooner(*end)
			}
		}
	}
	return next
}

func (d *drive) tick(ctx workflow.Context) error {
	if end := d.in.Deadline; !end.IsZero() && !workflow.Now(ctx).Before(end) && d.s.Stopping == nil {
		if err := d.feed(ctx, orchestrator.Stop{Outcome: work.RunLimit, Reason: "the deadline has come"}); err != nil {
			return err
		}
		d.under.EndAll()
		return nil
	}
	return d.feed(ctx, orchestrator.Tick{})
}

// waits says that the run waits for a time, or for an answer that may come.
func (d *drive) waits() bool {
	return len(orchestrator.Pending(d.s)) > 0 || d.in.Answers && len(d.s.Open) > 0
}

// rest ends the run's part when nothing is under way, unless an answer has come in
// meanwhile.
func (d *drive) rest(ctx workflow.Context) error {
	before := d.s.Seq
	if d.s.Stopping == nil {
		rows, err := d.inbox(ctx)
		if err != nil {
			return err
		}
		d.answers = append(d.answers, rows...)
		if err := d.takeAnswers(ctx); err != nil || d.s.Seq != before {
			return err
		}
	}
	if err := d.feed(ctx, orchestrator.Drained{}); err != nil {
		return err
	}
	if d.s.Live && len(orchestrator.Pending(d.s)) == 0 {
		return errors.New("nothing is left to do, and the run has not ended")
	}
	return nil
}

// answeredLast goes on with a run that froze while an answer was on its way:
// whoever gave it was told that the run hears it.
func (d *drive) answeredLast(ctx workflow.Context) error {
	if d.s.Outcome != work.RunFrozen || d.stop != nil {
		return nil
	}
	rows, err := d.inbox(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	if err := d.feed(ctx, orchestrator.Resumed{RunResumedData: orchestrator.RunResumedData{By: "an answer"}}); err != nil {
		return err
	}
	d.answers = append(d.answers, rows...)
	return d.goOn(ctx)
}

// expire closes the checkpoints whose time is over and asks again; the record is
// closed first, see the embedded engine.
func (d *drive) expire(ctx workflow.Context) error {
	if !d.s.Live || d.s.Stopping != nil {
		return nil
	}
	now := workflow.Now(ctx)
	due := d.s.Overdue(now)
	if len(due) == 0 {
		return nil
	}
	var closed []string
	in := ExpireInput{At: d.at(), Checkpoints: due, Now: now}
	if err := workflow.ExecuteActivity(d.reading(ctx), (*Activities).Expire, in).Get(ctx, &closed); err != nil {
		return fmt.Errorf("close checkpoints whose time is over: %w", err)
	}
	if len(closed) > 0 {
		if err := d.feed(ctx, orchestrator.Overdue{Checkpoints: closed}); err != nil {
			return err
		}
	}
	if len(closed) < len(due) {
		rows, err := d.inbox(ctx)
		if err != nil {
			return err
		}
		d.answers = append(d.answers, rows...)
		return d.takeAnswers(ctx)
	}
	return nil
}

// takeAnswers feeds what people said. The rows are gone in the transaction that
// holds their events.
func (d *drive) takeAnswers(ctx workflow.Context) error {
	for len(d.answers) > 0 && d.s.Stopping == nil && d.s.Live {
		row := d.answers[0]
		d.answers = d.answers[1:]
		if slices.Contains(d.heard, row.ID) {
			continue
		}
		d.heard = append(d.heard, row.ID)
		d.batch.Consumed = append(d.batch.Consumed, row.ID)
		if err := d.feed(ctx, orchestrator.Answered{Answer: row.Answer}); err != nil {
			return err
		}
	}
	return nil
}

// tired says that the history is so long that the run goes on in another one. It
// does when nothing is under way: an effect belongs to the part that began it.
func (d *drive) tired(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistorySize() > maxBytes ||
		d.in.Times.MaxEvents > 0 && info.GetCurrentHistoryLength() > d.in.Times.MaxEvents
}

// moves says that the run goes on with a newer core now. Until nothing is under way any
// more, nothing new begins: workers of this core are on their way out.
func (d *drive) moves() bool { return d.move != "" && len(d.under) == 0 }

// heardAtMost is how many rows of the inbox a part tells the next one: those that
// were fed are gone from the inbox, and only one that is on its way may come again.
const heardAtMost = 500

func (d *drive) continueAsNew(ctx workflow.Context) error {
	if err := d.flush(ctx); err != nil {
		return err
	}
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	// Taken meanwhile. What a run that stops does not hear stays in the inbox.
	if len(d.answers) > 0 && d.s.Stopping == nil {
		return d.goOn(ctx)
	}
	state, err := d.s.Snapshot()
	if err != nil {
		return err
	}
	next := d.in
	next.State, next.Core, next.First = state, d.core, nil
	if n := len(d.heard); n > heardAtMost {
		d.heard = d.heard[n-heardAtMost:]
	}
	next.Carried = &Carried{Head: d.head, Heard: d.heard, Hosts: d.hosts, Reason: d.stop, Part: d.part() + 1, Waiting: d.waiting}
	if d.move != "" {
		ctx = workflow.WithWorkflowTaskQueue(ctx, d.in.Queues.Core(d.move))
	}
	return workflow.NewContinueAsNewError(ctx, WorkflowName, next)
}

func (d *drive) part() int {
	if d.in.Carried == nil {
		return 0
	}
	return d.in.Carried.Part
}
