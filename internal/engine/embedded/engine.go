package embedded

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// Engine drives one run in this process. Each effect has a goroutine of its own;
// all that decides, and all that is written, is done by the one that runs it. All
// fields but Deadline, Room and Watch are required.
type Engine struct {
	Journal   engine.Journal
	Effects   engine.Effects
	Processes engine.Processes
	Watch     engine.Watcher
	Now       func() time.Time
	NewMark   func() string
	// Answers says that somebody may answer while the run waits, so that it
	// does not freeze: a person at the terminal.
	Answers bool
	// Deadline ends the run with outcome limit; zero = none.
	Deadline time.Time
	// Room looks for room on the disk that runs are worked on; its error is a
	// shortage. nil = nobody looks.
	Room func() error
}

const (
	heartbeatEvery = 5 * time.Second
	inboxEvery     = 200 * time.Millisecond
)

// session is one process's part in a run: the state, and what is under way.
type session struct {
	*Engine
	s        *orchestrator.State
	batch    engine.Batch
	under    engine.Underway
	results  chan result
	activity chan work.Activity
	seen     map[int64]bool // inbox rows fed already
}

type result struct {
	id   work.CommandID
	mark string
	fact orchestrator.Fact
}

// Run drives s from first (Opened or Resumed) until the run ends, freezes or
// is stopped by ctx, and returns how. Every effect has ended when it returns.
// An error means that the journal could not be written; what it holds is whole.
func (d *Engine) Run(ctx context.Context, s *orchestrator.State, first orchestrator.Fact) (work.RunFinishedData, error) {
	own := *d
	if own.Watch == nil {
		own.Watch = unwatched{}
	}
	r := &session{
		Engine: &own, s: s, seen: map[int64]bool{},
		results: make(chan result), activity: make(chan work.Activity, 256),
	}
	err := r.endLeftovers(context.WithoutCancel(ctx))
	if err == nil {
		err = r.drive(ctx, first)
	}
	r.abandon()
	if err != nil {
		return work.RunFinishedData{}, fmt.Errorf("drive run %s: %w", s.Run, err)
	}
	return work.RunFinishedData{Outcome: s.Outcome, Reason: s.Reason, CostUSD: s.Ledger.Cost()}, nil
}

// unwatched is a run that nobody looks at.
type unwatched struct{}

func (unwatched) Events([]work.Event, *orchestrator.State) {}
func (unwatched) Activity(work.Activity)                   {}

// endLeftovers ends what a dead process of this run left running, before any
// of it is done again.
func (r *session) endLeftovers(ctx context.Context) error {
	left, err := r.Journal.Attempts(ctx)
	if err != nil {
		return fmt.Errorf("read attempts: %w", err)
	}
	for _, a := range left {
		if err := r.Processes.End(ctx, a.Mark); err != nil {
			return fmt.Errorf("end what %s left running: %w", a.Command, err)
		}
		r.batch.Over = append(r.batch.Over, a)
	}
	return nil
}

func (r *session) drive(ctx context.Context, first orchestrator.Fact) error {
	before := r.s.Seq
	if err := r.feed(ctx, first); err != nil {
		return err
	}
	// One that had nothing left but its end has come to it already.
	if !r.s.Live && r.s.Seq == before {
		return fmt.Errorf("run %s cannot go on from here: it ended %s", r.s.Run, r.s.Outcome)
	}
	heartbeat, poll := time.NewTicker(heartbeatEvery), time.NewTicker(inboxEvery)
	defer heartbeat.Stop()
	defer poll.Stop()
	if err := r.takeAnswers(ctx, true); err != nil {
		return err
	}
	if err := r.expire(ctx); err != nil {
		return err
	}
	interrupted := ctx.Done()
	for r.s.Live {
		if err := r.startPending(ctx); err != nil {
			return err
		}
		if len(r.under) == 0 && (r.s.Stopping != nil || !r.waits()) {
			if err := r.rest(ctx); err != nil {
				return err
			}
			continue
		}
		timer, stop := r.timer()
		var err error
		select {
		case res := <-r.results:
			err = r.ended(ctx, res)
		case a := <-r.activity:
			r.Watch.Activity(a)
		case <-timer:
			err = r.tick(ctx)
		case <-heartbeat.C:
			if err = r.Journal.Heartbeat(context.WithoutCancel(ctx)); err == nil {
				err = r.expire(ctx)
			}
		case <-poll.C:
			err = r.takeAnswers(ctx, false)
		case <-interrupted:
			interrupted = nil
			err = r.stop(ctx, orchestrator.Stop{Outcome: work.RunInterrupted, Reason: "interrupted"})
		}
		stop()
		if err != nil {
			return err
		}
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	return r.answeredLast(ctx)
}

// answeredLast goes on with a run that froze while an answer was on its way:
// whoever gave it was told that this process hears it.
func (r *session) answeredLast(ctx context.Context) error {
	if r.s.Outcome != work.RunFrozen || ctx.Err() != nil {
		return nil
	}
	rows, err := r.Journal.Inbox(context.WithoutCancel(ctx))
	if err != nil || len(rows) == 0 {
		return err
	}
	return r.drive(ctx, orchestrator.Resumed{RunResumedData: orchestrator.RunResumedData{By: "an answer"}})
}

// waits says that the run waits for a time, or for an answer that may come
// while the process lives.
func (r *session) waits() bool {
	pending := orchestrator.Pending(r.s)
	return len(pending) > 0 || (r.Answers && len(r.s.Open) > 0)
}

// rest ends the process's part when nothing is under way, unless an answer has
// come in meanwhile: whoever gave it saw a live owner.
func (r *session) rest(ctx context.Context) error {
	before := r.s.Seq
	if err := r.takeAnswers(ctx, true); err != nil || r.s.Seq != before {
		return err
	}
	if err := r.feed(ctx, orchestrator.Drained{}); err != nil {
		return err
	}
	if r.s.Live && len(orchestrator.Pending(r.s)) == 0 {
		return errors.New("nothing is left to do, and the run has not ended")
	}
	return nil
}

// timer fires at the next moment that the core waits for.
func (r *session) timer() (<-chan time.Time, func()) {
	var next time.Time
	for _, c := range orchestrator.Pending(r.s) {
		if c.Step == orchestrator.StepWait && (next.IsZero() || c.Until.Before(next)) {
			next = c.Until
		}
	}
	if !r.Deadline.IsZero() && r.s.Stopping == nil && (next.IsZero() || r.Deadline.Before(next)) {
		next = r.Deadline
	}
	if next.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(max(next.Sub(r.Now()), 0))
	return t.C, func() { t.Stop() }
}

func (r *session) tick(ctx context.Context) error {
	if !r.Deadline.IsZero() && !r.Now().Before(r.Deadline) && r.s.Stopping == nil {
		return r.stop(ctx, orchestrator.Stop{Outcome: work.RunLimit, Reason: "the deadline has come"})
	}
	return r.feed(ctx, orchestrator.Tick{})
}

// stop starts nothing new and ends what is under way.
func (r *session) stop(ctx context.Context, why orchestrator.Stop) error {
	if err := r.feed(ctx, why); err != nil {
		return err
	}
	r.under.EndAll()
	return nil
}

// abandon waits until every effect has ended; their results are lost, as if
// the process had died.
func (r *session) abandon() {
	r.under.EndAll()
	for len(r.under) > 0 {
		select {
		case res := <-r.results:
			r.under.Drop(res.id)
		case <-r.activity:
		}
	}
}

// feed puts one fact through the core and writes what follows.
func (r *session) feed(ctx context.Context, fact orchestrator.Fact) error {
	if err := r.think(ctx, fact); err != nil {
		return err
	}
	return r.flush(ctx)
}

// think puts one fact through the core without writing yet.
func (r *session) think(ctx context.Context, fact orchestrator.Fact) error {
	day, err := r.day(ctx)
	if err != nil {
		return err
	}
	in := orchestrator.Input{Now: r.Now(), Day: day, Fact: fact}
	before := r.s.Stopping
	evs, err := orchestrator.Feed(r.s, in)
	if err != nil {
		return err
	}
	if err := r.batch.Collect(r.s, evs); err != nil {
		return err
	}
	return r.under.Follow(r.s, before, evs)
}

// startPending begins every pending command that is not under way yet. Their
// started events, and those of what went before, are one write.
func (r *session) startPending(ctx context.Context) error {
	if short := r.short(); short != "" && r.s.Stopping == nil && r.due() {
		return r.stop(ctx, orchestrator.Stop{Outcome: work.RunInterrupted, Reason: orchestrator.RanOut(short)})
	}
	var jobs []job
	begun := map[work.CommandID]bool{}
	// One by one: that a command begins may make another one due, or end the run.
	for c, due := r.under.Next(r.s, begun); due; c, due = r.under.Next(r.s, begun) {
		j, err := r.prepare(context.WithoutCancel(ctx), c)
		if err != nil {
			return err
		}
		if err := r.think(ctx, orchestrator.Began{Command: c}); err != nil {
			return err
		}
		begun[c.ID] = true
		r.batch.Began = append(r.batch.Began, engine.Attempt{Command: c.ID, Mark: j.mark})
		jobs = append(jobs, j)
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	for _, j := range jobs {
		jctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		r.under = append(r.under, &engine.Going{Command: j.command, Mark: j.mark, End: cancel})
		go func() {
			defer cancel(nil)
			fact := r.Effects.Do(jctx, j.effect, effect.Attending{Mark: j.mark, Tell: r.tell})
			r.results <- result{id: j.command.ID, mark: j.mark, fact: fact}
		}()
	}
	return nil
}

// job is one command made ready to be carried out.
type job struct {
	command orchestrator.Command
	mark    string
	effect  orchestrator.Effect
}

func (r *session) prepare(ctx context.Context, c orchestrator.Command) (job, error) {
	j := job{command: c, mark: r.NewMark()}
	var known orchestrator.Known
	var err error
	day, head := c.Needs()
	if day {
		if known.Day, err = r.day(ctx); err != nil {
			return j, err
		}
	}
	if head {
		if known.Head.Count, known.Head.Hash, err = r.Journal.Head(ctx); err != nil {
			return j, fmt.Errorf("read the journal's head: %w", err)
		}
	}
	j.effect, err = orchestrator.EffectOf(r.s, c, known)
	return j, err
}

func (r *session) ended(ctx context.Context, res result) error {
	r.under.Drop(res.id)
	r.batch.Over = append(r.batch.Over, engine.Attempt{Command: res.id, Mark: res.mark})
	// One that was cancelled before it came to a result is done again by whoever
	// resumes the run; what says of another command how it ended says nothing.
	if of, is := orchestrator.ResultOf(res.fact); !is || of != res.id {
		return nil
	}
	fact := res.fact
	if short := r.short(); short != "" {
		var changed bool
		if fact, changed = engine.Undone(fact, short); changed && r.s.Stopping == nil {
			if err := r.think(ctx, orchestrator.Stop{Outcome: work.RunInterrupted, Reason: orchestrator.RanOut(short)}); err != nil {
				return err
			}
		}
	}
	// What follows at once is written together with it, see startPending.
	return r.think(ctx, fact)
}

// takeAnswers feeds what the doors wrote. The rows are gone in the transaction
// that holds their events.
func (r *session) takeAnswers(ctx context.Context, now bool) error {
	if r.s.Stopping != nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if !now {
		changed, err := r.Journal.Changed(ctx)
		if err != nil || !changed {
			return err
		}
	}
	rows, err := r.Journal.Inbox(ctx)
	if err != nil {
		return fmt.Errorf("read the inbox: %w", err)
	}
	for _, row := range rows {
		if r.seen[row.ID] || r.s.Stopping != nil || !r.s.Live {
			continue
		}
		r.seen[row.ID] = true
		r.batch.Consumed = append(r.batch.Consumed, row.ID)
		if err := r.feed(ctx, orchestrator.Answered{Answer: row.Answer}); err != nil {
			return err
		}
	}
	return nil
}

// tell passes a sign of life on; when nobody keeps up, it is dropped.
func (r *session) tell(a work.Activity) {
	select {
	case r.activity <- a:
	default:
	}
}
