package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"forge/internal/approval"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// View shows a run on a terminal and is the terminal's door. The driver's
// calls only leave behind what is to be shown; goroutines of the view draw it.
type View struct {
	p     *project.Checkout
	on    Terminal
	plain *narrate.LogWatcher
	patch func(ctx context.Context, from, to string) (string, error)

	tty     *TTY
	screen  *screen
	program *tea.Program
	// stop ends the view; what is logged later is written as it comes.
	stop   context.CancelFunc
	work   sync.WaitGroup // the view's goroutines
	errand sync.WaitGroup // answers and patches under way

	mu       sync.Mutex
	closed   bool // no errand begins any more
	board    board
	signs    map[string]*lifeSign // by the number of a row
	answered []orchestrator.CheckpointAnsweredData
	news     chan struct{} // holds one when there is something to look at
}

// lifeSign is what is known of a row beside the run's state.
type lifeSign struct {
	began time.Time
	step  string // for which the rest holds
	doing string
	usage work.Usage // of the current iteration so far
}

// Terminal is where a live view is shown.
type Terminal struct {
	In      io.Reader
	Out     io.Writer
	Quiet   bool            // only questions are shown
	LogInto func(io.Writer) // lets the log of the run write elsewhere
}

// Open takes the terminal for a live view of s, which answers questions
// too, until its End is called. Ctrl-C ends it at once, so that a second one
// meets a terminal as it was. It is nil where the terminal cannot be had: then
// plain log lines show the run, and what it asks waits for another door.
func Open(ctx context.Context, p *project.Checkout, e *project.Machine, s *orchestrator.State, plain *narrate.LogWatcher, on Terminal) *View {
	in, ok1 := on.In.(*os.File)
	out, ok2 := on.Out.(*os.File)
	t := &TTY{in: in, Out: out}
	if !ok1 || !ok2 || p.Getenv("TERM") == "" || !t.foreground() {
		return nil
	}
	patch := e.Repo.Diff
	if len(s.Spec.Repositories) > 0 {
		patch = patchOf(p)
	}
	v := &View{
		p: p, on: on, plain: plain, patch: patch, tty: t,
		screen: &screen{out: out, colour: colorprofile.Detect(out, p.Environ)},
		board:  BoardOf(s), signs: map[string]*lifeSign{}, news: make(chan struct{}, 1),
	}
	v.board.began = p.Now()
	if err := v.begin(ctx); err != nil {
		p.Log.Warn("there is no live view", "err", err)
		return nil
	}
	return v
}

// Events leaves a copy of what is to be seen behind.
func (v *View) Events(evs []work.Event, s *orchestrator.State) {
	v.mu.Lock()
	closed := v.closed
	v.mu.Unlock()
	if closed {
		v.plain.Events(evs, s)
		return
	}
	v.plain.Events(lasting(evs), s)
	b := BoardOf(s)
	v.mu.Lock()
	defer v.mu.Unlock()
	b.began = v.board.began
	v.board = b
	v.match()
	for _, e := range evs {
		var a orchestrator.CheckpointAnsweredData
		if e.Kind == work.CheckpointAnswered && work.Decode(e, &a) == nil {
			v.answered = append(v.answered, a)
		}
	}
	v.tell()
}

// lasting are the events that are worth a line for good: the block and the
// questions below it show the others while they matter.
func lasting(evs []work.Event) []work.Event {
	return slices.DeleteFunc(slices.Clone(evs), func(e work.Event) bool {
		var d work.GateDecidedData
		switch e.Kind {
		case work.IterationStarted, work.CheckpointOpened:
			return true
		case work.GateDecided:
			return work.Decode(e, &d) == nil && d.Decision == "ask"
		}
		return false
	})
}

// match keeps the signs of the rows that are there, for as long as their step
// lasts. v.mu is held.
func (v *View) match() {
	signs := map[string]*lifeSign{}
	for _, r := range v.board.rows {
		sign, step := v.signs[r.number], r.name+"\x00"+r.doing+"\x00"+r.iteration
		if sign == nil {
			sign = &lifeSign{began: v.p.Now()}
		}
		if sign.step != step {
			*sign = lifeSign{began: sign.began, step: step}
		}
		signs[r.number] = sign
	}
	v.signs = signs
}

// Activity notes what an agent, setup or verify is doing.
func (v *View) Activity(a work.Activity) {
	v.plain.Activity(a)
	text := act(a)
	v.mu.Lock()
	defer v.mu.Unlock()
	sign := v.signs[a.Phase]
	if sign == nil {
		return
	}
	if a.Kind == "usage" {
		sign.usage = a.Usage
	} else if text != "" {
		sign.doing = text
	}
	v.tell()
}

func (v *View) tell() {
	select {
	case v.news <- struct{}{}:
	default:
	}
}

// look is the board with the life signs of its rows, and the answers since the
// last look.
func (v *View) look() glimpse {
	v.mu.Lock()
	defer v.mu.Unlock()
	g := glimpse{board: v.board, answered: v.answered}
	v.answered = nil
	g.board.rows = slices.Clone(g.board.rows)
	for i := range g.board.rows {
		r := &g.board.rows[i]
		sign := v.signs[r.number]
		if sign == nil {
			continue
		}
		r.began = sign.began
		if sign.doing != "" {
			r.doing = sign.doing
		}
		r.spent = r.spent.with(sign.usage)
		g.board.spent = g.board.spent.with(sign.usage)
	}
	return g
}

// answer writes an answer as any door does.
func (v *View) answer(ctx context.Context, a work.Answer) (work.Checkpoint, error) {
	if !v.enter() {
		return work.Checkpoint{}, errOver
	}
	defer v.errand.Done()
	if err := v.p.CheckKey(); err != nil {
		return work.Checkpoint{}, err
	}
	// An answer that was begun is written, whatever ends meanwhile.
	cp, _, err := approval.Give(context.WithoutCancel(ctx), v.p, a, approval.Options{})
	return cp, err
}

func (v *View) diff(ctx context.Context, q question) (string, error) {
	if !v.enter() {
		return "", errOver
	}
	defer v.errand.Done()
	return v.patch(ctx, q.from, q.to)
}

var errOver = errors.New("the view is over")

// enter begins an errand, which the end of the view waits for; false when it is
// over.
func (v *View) enter() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return false
	}
	v.errand.Add(1)
	return true
}

// patchOf shows changes of a run, in whichever of its repositories they are.
func patchOf(p *project.Checkout) func(context.Context, string, string) (string, error) {
	return func(ctx context.Context, from, to string) (string, error) {
		repo, err := p.Repo(ctx)
		if err != nil {
			return "", err
		}
		return repo.Diff(ctx, from, to)
	}
}
