package triage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"forge/gates"
	"forge/internal/engine"
	"forge/internal/work"
)

// Inferrer asks a model or an agent. That there is no usable answer is in the
// answer's Problem; an error means that Forge could not do its own part, such
// as keeping what was said.
type Inferrer interface {
	Infer(ctx context.Context, q Question, mark string) (Answer, error)
}

// Board is what a thread reads and changes of the issue's board. Spawn may be
// asked for the same key again, and then returns the issue that it made before.
type Board interface {
	// Accounts are those of the issue and of all its parents, the issue's own
	// first, without what the thread itself consumed.
	Accounts(ctx context.Context, s *State) ([]gates.InferenceAccount, error)
	// Levels are the policies of these names; one that is none is left out.
	Levels(ctx context.Context, names []string) (map[string]gates.Policy, error)
	// Spawn makes a part an issue. problem says why the board does not take it.
	Spawn(ctx context.Context, s *State, c Command) (issue int64, problem string, err error)
	// Cleanup cancels the parts that nobody works on yet.
	Cleanup(ctx context.Context, s *State) (cancelled []int64, problem string, err error)
}

// Driver carries out what is pending in one thread, one command at a time.
type Driver struct {
	Journal   engine.Journal
	Inferrer  Inferrer // nil where nobody is asked
	Board     Board
	Processes engine.Processes
	Now       func() time.Time
	NewMark   func() string
	Watch     func([]work.Event, *State) // nil = nobody
}

const heartbeatEvery = 5 * time.Second

// Run drives s from first (Opened or Resumed) until it is over, waits for a
// person, or ctx ends, and says how it stands. An error means that the journal
// could not be written; what it holds is whole.
func (d *Driver) Run(ctx context.Context, s *State, first Fact) (Result, error) {
	r := &session{Driver: d, s: s, seen: map[int64]bool{}}
	if err := r.run(ctx, first); err != nil {
		return s.Result(), fmt.Errorf("drive %s: %w", s.Thread, err)
	}
	return s.Result(), nil
}

// Dismiss ends s, which nobody wants to go on with, whatever it waits for; what
// it left on the board is cleaned up.
func (d *Driver) Dismiss(ctx context.Context, s *State, by, why string) (Result, error) {
	r := &session{Driver: d, s: s, seen: map[int64]bool{}}
	err := r.feed(ctx, Resumed{By: by})
	if err == nil {
		err = r.feed(ctx, Dismissed{By: by, Why: why})
	}
	if err == nil && s.Live {
		err = r.run(ctx, Resumed{By: by})
	}
	if err == nil {
		err = r.takeAnswers(ctx)
	}
	if err != nil {
		err = fmt.Errorf("dismiss %s: %w", s.Thread, err)
	}
	return s.Result(), err
}

// session is one process's part in a thread.
type session struct {
	*Driver
	s     *State
	batch engine.Batch
	seen  map[int64]bool
}

func (r *session) run(ctx context.Context, first Fact) error {
	safe := context.WithoutCancel(ctx)
	if err := r.endLeftovers(safe); err != nil {
		return err
	}
	if err := r.feed(safe, first); err != nil {
		return err
	}
	for r.s.Live {
		if err := r.takeAnswers(safe); err != nil {
			return err
		}
		c, due := Pending(r.s)
		switch {
		case !r.s.Live:
		case ctx.Err() != nil:
			if err := r.feed(safe, Drained{Outcome: work.RunInterrupted, Reason: "interrupted"}); err != nil {
				return err
			}
		case due:
			if err := r.carryOut(ctx, c); err != nil {
				return err
			}
		case r.s.Open == nil:
			return errors.New("nothing is left to do, and it has not ended")
		case r.expired():
			if err := r.expire(safe); err != nil {
				return err
			}
		default:
			if err := r.rest(safe); err != nil {
				return err
			}
		}
	}
	if r.s.Outcome.Final() {
		// What came too late is recorded, so that nobody waits for it.
		return r.takeAnswers(safe)
	}
	return nil
}

// expired says that nobody answered what is open in time.
func (r *session) expired() bool {
	end := r.s.Open.ExpiresAt
	return end != nil && !r.Now().Before(*end)
}

// expire closes the record of what is open and puts the question again. The
// record is closed first: an answer that a door accepted before is then in the
// inbox, and none is accepted afterwards, so that none is lost.
func (r *session) expire(ctx context.Context) error {
	id := r.s.Open.ID
	closed, err := r.Journal.Expire(ctx, []string{id}, r.Now())
	if err != nil {
		return fmt.Errorf("close the question whose time is over: %w", err)
	}
	if len(closed) > 0 {
		return r.feed(ctx, Overdue{Checkpoint: id})
	}
	if err := r.takeAnswers(ctx); err != nil {
		return err
	}
	if r.s.Live && r.s.Open != nil && r.s.Open.ID == id {
		return r.rest(ctx) // answered through a door whose row is still to come
	}
	return nil
}

// rest leaves a thread that waits, unless an answer came in meanwhile: whoever
// gave it saw a live owner.
func (r *session) rest(ctx context.Context) error {
	if err := r.feed(ctx, Drained{Outcome: work.RunFrozen, Reason: "waits for a person"}); err != nil {
		return err
	}
	rows, err := r.Journal.Inbox(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	return r.feed(ctx, Resumed{By: "an answer"})
}

// endLeftovers ends what a dead process of this thread left running.
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

// takeAnswers feeds what the doors wrote. The rows are gone in the transaction
// that holds their events.
func (r *session) takeAnswers(ctx context.Context) error {
	rows, err := r.Journal.Inbox(ctx)
	if err != nil {
		return fmt.Errorf("read the inbox: %w", err)
	}
	for _, row := range rows {
		if r.seen[row.ID] {
			continue
		}
		levels, err := r.Board.Levels(ctx, levelsIn(row.Answer.Comment))
		if err != nil {
			return err
		}
		r.seen[row.ID] = true
		r.batch.Consumed = append(r.batch.Consumed, row.ID)
		if err := r.feed(ctx, Answered{Answer: row.Answer, Levels: levels}); err != nil {
			return err
		}
	}
	return nil
}

// feed puts one fact through the core and writes what follows. Only then may
// any of it be acted upon.
func (r *session) feed(ctx context.Context, fact Fact) error {
	evs, err := Feed(r.s, Input{Now: r.Now(), Fact: fact})
	if err != nil {
		return err
	}
	b := &r.batch
	b.Events = evs
	for _, e := range evs {
		switch e.Kind {
		case work.CheckpointOpened:
			if err := with(e, func(cp work.Checkpoint) { b.Opened = append(b.Opened, cp) }); err != nil {
				return err
			}
		case InferenceFinished:
			if err := with(e, func(d InferenceFinishedData) { b.Usage = append(b.Usage, r.usage(d)) }); err != nil {
				return err
			}
		case work.RunFinished:
			b.Expire = r.s.Outcome.Final()
		}
	}
	if len(b.Events) == 0 && len(b.Consumed) == 0 && len(b.Over) == 0 {
		return nil
	}
	if err := r.Journal.Append(ctx, *b); err != nil {
		return fmt.Errorf("append to the journal: %w", err)
	}
	r.batch = engine.Batch{}
	if r.Watch != nil {
		r.Watch(evs, r.s)
	}
	return nil
}

// usage is what a call consumed, for the caps of the day: silence leaves what
// was set aside.
func (r *session) usage(d InferenceFinishedData) engine.UsageEntry {
	u := engine.UsageEntry{Command: d.Command, USD: d.Usage.CostUSD}
	if u.USD == nil {
		usd := r.s.Spec.CallUSD
		u.USD = &usd
	}
	if n, ok := d.Usage.Tokens(); ok {
		u.Tokens = &n
	}
	return u
}

// carryOut does one command between its two events. One that was cancelled has
// no second one: whoever goes on does it again.
func (r *session) carryOut(ctx context.Context, c Command) error {
	safe := context.WithoutCancel(ctx)
	began := Began{Command: c}
	attempt := engine.Attempt{Command: c.ID}
	if c.Step == StepInfer {
		var err error
		if began.Accounts, err = r.Board.Accounts(safe, r.s); err != nil {
			return fmt.Errorf("read what inference may cost: %w", err)
		}
		attempt.Mark = r.NewMark()
		r.batch.Began = append(r.batch.Began, attempt)
	}
	if err := r.feed(safe, began); err != nil {
		return err
	}
	stop := r.heartbeats(safe)
	fact, err := r.do(ctx, c, attempt.Mark)
	stop()
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if attempt.Mark != "" {
		r.batch.Over = append(r.batch.Over, attempt)
	}
	if fact == nil {
		return nil
	}
	return r.feed(safe, fact)
}

// do carries a command out, unless the core refused to let it begin.
func (r *session) do(ctx context.Context, c Command, mark string) (Fact, error) {
	switch {
	case c.Step == StepInfer && r.s.Call != nil && r.s.Call.Command == c.ID:
		if r.Inferrer == nil {
			return Answer{Command: c, Problem: "nobody can be asked"}, nil
		}
		a, err := r.Inferrer.Infer(ctx, r.s.Ask(c), mark)
		if err != nil {
			return nil, fmt.Errorf("infer the %s: %w", c.Target, err)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err() // what came back of a call that was cancelled is no answer
		}
		a.Command = c
		if a.Levels, err = r.Board.Levels(ctx, levelsIn(string(a.JSON))); err != nil {
			return nil, err
		}
		return a, nil
	case c.Step == StepSpawn && r.s.Spawning == c.Part:
		issue, problem, err := r.Board.Spawn(ctx, r.s, c)
		if err != nil {
			return nil, fmt.Errorf("create part %d: %w", c.Part, err)
		}
		return Spawned{Command: c, Issue: issue, Problem: problem}, nil
	case c.Step == StepCleanup && r.s.Cleanup.Under:
		cancelled, problem, err := r.Board.Cleanup(ctx, r.s)
		if err != nil {
			return nil, fmt.Errorf("clean up: %w", err)
		}
		return Cleaned{Command: c, Cancelled: cancelled, Problem: problem}, nil
	}
	return nil, nil
}

// heartbeats keeps the lease while a command takes its time.
func (r *session) heartbeats(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// A lease that is lost shows at the next append.
				_ = r.Journal.Heartbeat(ctx)
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// levelsIn are the names of policies that an answer's parts name.
func levelsIn(answer string) []string {
	if !strings.Contains(answer, `"level"`) {
		return nil
	}
	var names []string
	for _, read := range []func([]byte) ([]Value, error){ReadCombined, func(b []byte) ([]Value, error) {
		v, err := Read(b)
		return []Value{v}, err
	}} {
		values, err := read([]byte(answer))
		if err != nil {
			continue
		}
		for _, v := range values {
			for _, sub := range v.SubIssues {
				if sub.Level != "" {
					names = append(names, line(sub.Level, 64))
				}
			}
		}
	}
	return names
}
