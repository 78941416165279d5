package factory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forge/internal/work"
)

// Concurrency bounds the runs of all loops of a process together.
type Concurrency struct{ taken chan struct{} }

// NewConcurrency lets n runs be driven at a time; at least one.
func NewConcurrency(n int) *Concurrency { return &Concurrency{taken: make(chan struct{}, max(n, 1))} }

// Most is how many runs are driven at a time.
func (p *Concurrency) Most() int { return cap(p.taken) }

func (p *Concurrency) take() bool {
	select {
	case p.taken <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p *Concurrency) give() { <-p.taken }

// Loop claims the issues of one project and works them to done or in review.
// All fields but Poke, Only, Once, Order and Room are required. It holds nothing that is not in
// rows: another loop goes on where it was killed.
type Loop struct {
	Board       Board
	Cards       Cards
	Claims      Claims
	Standings   Standings
	Triage      Triage
	Works       Works
	Origins     Origins
	Concurrency *Concurrency
	Now         func() time.Time
	// Say tells people what happens, in a line; issue 0 = the loop itself. It
	// may be called by several goroutines.
	Say func(issue int64, what string)
	// Poke has the loop look at the board at once; nil = never.
	Poke <-chan struct{}
	// Once ends the loop when nothing is left that it could do.
	Once bool
	// Only is the one issue that is worked on; 0 = all.
	Only int64
	// Order puts ready issues into the order in which they are claimed; nil = as they
	// stand on the board.
	Order func(ready []work.Issue)
	// Room says whether one more issue may be worked on beside those that this loop
	// works on or asks about; nil = the limits of Admission are all.
	Room func(ctx context.Context, running []int64, i work.Issue) (bool, error)
}

// NoteBeside begins the note of a loop that goes on, and whose WORKFLOW.md is wrong.
const NoteBeside = "the last good workflow holds: "

const (
	lookEvery = 500 * time.Millisecond // asks whether anything was stored
	keepEvery = 8 * time.Second        // three of them within LeaseTimeout
)

// job is one issue that this loop works on.
type job struct {
	claim  work.IssueClaim
	cancel context.CancelCauseFunc
}

// start is how an issue is begun with.
type start struct {
	afresh bool // it stood in ready
	finish bool // see Order.Finish
}

// Why the work on an issue is stopped before its run has ended. A run that others
// drive may go on without this process where the process alone is the reason.
var (
	ErrStop = errors.New("the factory stops")
	errGone = errors.New("the issue was taken away")
	ErrLost = errors.New("another process has taken the issue over")
)

// loopRun is one call of Run.
type loopRun struct {
	*Loop
	jobs  map[int64]*job
	over  chan ending
	since time.Time
	note  string // why nothing is claimed
	// refused is why the one issue that is wanted is not claimed.
	refused string
	wanted  bool // that one was begun with
	// asking are the issues of which is being asked whether they are wanted where
	// they come from; heard is where the answers arrive, and answers are those
	// that the next look goes by. They count for that one look alone.
	asking  map[int64]question
	heard   chan heard
	answers map[int64]Asked
	silent  map[int64]time.Time // until when an issue is not asked about again
	again   bool                // something could not be begun for lack of a place
	idle    bool                // the last look found nothing to begin
}

type ending struct {
	issue int64
	err   error
}

// Run works on the board until ctx is cancelled, a drain is done or, with Once,
// nothing is left to do, and returns why nothing more is claimed, in words.
// Every run it began has stopped then, and can be resumed. An error means that
// the board could not be read or written.
func (l *Loop) Run(ctx context.Context) (note string, err error) {
	m := &loopRun{Loop: l, jobs: map[int64]*job{}, over: make(chan ending), since: l.Now(), asking: map[int64]question{}, heard: make(chan heard), silent: map[int64]time.Time{}}
	asked, cancel := context.WithCancel(ctx)
	err = m.serve(asked)
	cancel()
	for range len(m.asking) {
		<-m.heard
	}
	for _, j := range m.jobs {
		j.cancel(ErrStop)
	}
	for len(m.jobs) > 0 {
		e := <-m.over
		delete(m.jobs, e.issue)
		err = errors.Join(err, e.err)
	}
	if leaveErr := l.Standings.Leave(context.WithoutCancel(ctx), l.Board.Project); err == nil {
		err = leaveErr
	}
	if m.Only != 0 && m.refused != "" {
		m.note = m.refused
	}
	return m.note, err
}

func (m *loopRun) serve(ctx context.Context) error {
	if err := m.Standings.Serve(ctx, m.Board.Project, ""); err != nil {
		return unlessOver(ctx, err)
	}
	look, keep := time.NewTicker(lookEvery), time.NewTicker(keepEvery)
	defer look.Stop()
	defer keep.Stop()
	due := true
	for {
		if due {
			done, err := m.look(ctx)
			if err != nil || done {
				return unlessOver(ctx, err)
			}
			due = false
		}
		select {
		case <-ctx.Done():
			return nil
		case e := <-m.over:
			if err := m.ended(e); err != nil {
				return err
			}
			due = true
		case h := <-m.heard:
			m.hear(h)
			due = true
		case <-m.Poke:
			due = true
		case <-look.C:
			changed, err := m.Standings.Changed(ctx)
			if err != nil {
				return unlessOver(ctx, err)
			}
			due = changed || m.again
		case <-keep.C:
			if err := m.keep(ctx); err != nil {
				return unlessOver(ctx, err)
			}
			// What was silent too long, and what was put off, changes no row.
			due = true
		}
		more, err := m.catchUp()
		if err != nil {
			return err
		}
		due = due || more
	}
}

// ended takes note that the work on an issue is over.
func (m *loopRun) ended(e ending) error {
	delete(m.jobs, e.issue)
	return e.err
}

// catchUp takes all that came meanwhile, if anything did: one look goes by all of it.
func (m *loopRun) catchUp() (more bool, err error) {
	for ; ; more = true {
		select {
		case e := <-m.over:
			if err := m.ended(e); err != nil {
				return true, err
			}
		case h := <-m.heard:
			m.hear(h)
		default:
			return more, nil
		}
	}
}

// unlessOver leaves out errors that come of ctx's end alone.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// keep says that this process lives, and stops what it lost.
func (m *loopRun) keep(ctx context.Context) error {
	if err := m.Standings.Serve(ctx, m.Board.Project, m.note); err != nil {
		return err
	}
	var claims []work.IssueClaim
	for _, j := range m.jobs {
		claims = append(claims, j.claim)
	}
	if len(claims) == 0 {
		return nil
	}
	lost, err := m.Claims.Keep(ctx, claims)
	for _, c := range lost {
		m.jobs[c.Issue].cancel(ErrLost)
	}
	return err
}

// begin works on a claimed issue in a goroutine of its own, which Run waits for.
func (m *loopRun) begin(ctx context.Context, claim work.IssueClaim, i work.Issue, begun start) {
	// Only its owner ends it: at a stop, so that what it leaves is written.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	m.jobs[i.ID] = &job{claim: claim, cancel: cancel}
	go func() {
		defer cancel(nil)
		err := m.work(ctx, claim, i, begun)
		m.Concurrency.give()
		if err != nil {
			err = fmt.Errorf("work on issue %d: %w", i.ID, err)
		}
		m.over <- ending{issue: i.ID, err: err}
	}()
}
