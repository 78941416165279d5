package tracker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"forge/factory"
	"forge/internal/journal/journaltest"
	"forge/internal/work"
)

const (
	simBoard  = "p"
	simIssues = 4
)

// simWorld is one tracker with issues, people who change them there and on the
// board, and a factory that follows and works on them, all in one goroutine.
type simWorld struct {
	ctx    context.Context
	rand   *rand.Rand
	tick   int // counts what happens
	now    time.Time
	calm   bool // nobody does anything and nothing breaks any more
	issues map[int64]*simIssue
	hooks  []string // webhooks that are under way
	away   bool     // the tracker
	store  *simStore
	people factory.Board
	took   map[int64]taken // by the board's issue
	bug    simBug
	wrong  []string

	// The factory's process.
	sync    *Sync
	pid     int
	inside  bool // it is at work: what writes now may die
	poked   bool
	jobs    map[int64]*simJob // by the board's issue
	read    map[int64]truth   // by the tracker's, when it was last read
	whole   int               // when the last round began that was read whole
	between int               // how deep what happens meanwhile is
	ran     map[string]int    // what was reached
}

// simJob is an issue that is worked on.
type simJob struct {
	claim work.IssueClaim
	left  int // iterations
}

// truth is what was so of an issue when it was read.
type truth struct {
	tick   int
	wanted bool
	held   bool // it waits for a person or another issue
	given  bool // nobody but writers reopened it
}

// killed is the end of the factory's process.
type killed struct{}

func (w *simWorld) complain(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf("%d: ", w.tick)+fmt.Sprintf(format, args...))
}

func (w *simWorld) at(tick int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(tick) * 7 * time.Second)
}

// happens counts one more thing, later than all before.
func (w *simWorld) happens() {
	w.tick++
	w.now = w.at(w.tick)
}

func newSimWorld(seed uint64, bug simBug) *simWorld {
	w := &simWorld{
		ctx: context.Background(), rand: rand.New(rand.NewPCG(seed, 3)), issues: map[int64]*simIssue{}, took: map[int64]taken{}, bug: bug,
		jobs: map[int64]*simJob{}, read: map[int64]truth{}, ran: map[string]int{},
	}
	w.happens()
	clock := func() time.Time { return w.now }
	w.store = &simStore{MemoryBoard: &journaltest.MemoryBoard{Clock: clock, Dead: map[string]bool{}}, rows: map[int64]work.TrackerIssue{}, hooks: map[string]bool{}}
	w.store.dies = func() {
		if w.inside && !w.calm && w.between == 0 && w.rand.IntN(40) == 0 {
			panic(killed{})
		}
	}
	if err := w.store.PutProject(w.ctx, work.BoardProject{ID: simBoard, Root: "/p", Created: w.now}); err != nil {
		panic(err)
	}
	w.people = factory.Board{Store: w.store.MemoryBoard, Project: simBoard, Now: clock}
	w.begin()
	return w
}

// begin is a new process of the factory: all it knows is what is stored.
func (w *simWorld) begin() {
	w.pid++
	board := factory.Board{Store: w.store, Project: simBoard, Now: func() time.Time { return w.now }}
	w.sync = &Sync{Host: w, Store: w.store, Board: board, Rules: Rules{Name: "sim", Label: "forge", Column: work.ColumnReady, Called: "forge", Level: func(string) error { return nil }}}
	if w.bug.sync != nil {
		w.bug.sync(w, w.sync)
	}
	w.jobs, w.poked = map[int64]*simJob{}, false
}

// claims are those of the process.
func (w *simWorld) claims() *journaltest.Claimer {
	return &journaltest.Claimer{Board: w.store.MemoryBoard, Owner: fmt.Sprint("factory ", w.pid)}
}

func (w *simWorld) card(id int64) work.Issue {
	i, err := w.store.Issue(w.ctx, simBoard, id)
	if err != nil {
		w.complain("read card %d: %v", id, err)
	}
	return i
}

// process lets the factory do something, which may be its end.
func (w *simWorld) process(do func()) {
	defer func() {
		w.inside = false
		if end := recover(); end != nil {
			if _, ok := end.(killed); !ok {
				panic(end)
			}
			w.ran["killed"]++
			w.store.Dead[w.claims().Owner] = true
			w.begin()
		}
	}()
	w.inside = true
	do()
}

// meanwhile is what others do while the factory waits for something.
func (w *simWorld) meanwhile() {
	if w.calm || w.between > 0 || w.rand.IntN(6) > 0 {
		return
	}
	w.between++
	w.others()
	w.between--
}

// others are people, and what is under way from the tracker.
func (w *simWorld) others() {
	w.happens()
	switch w.rand.IntN(8) {
	case 0, 1, 2, 3:
		w.onTracker()
	case 4:
		w.onBoard()
	case 5:
		w.away = w.rand.IntN(4) == 0
	default:
		w.deliver()
	}
}

// deliver brings one of the webhooks, in whichever order.
func (w *simWorld) deliver() {
	if len(w.hooks) == 0 {
		return
	}
	at := w.rand.IntN(len(w.hooks))
	id := w.hooks[at]
	w.hooks = append(w.hooks[:at], w.hooks[at+1:]...)
	poked := false
	h := &Hooks{Name: w.Name(), Store: w.store, Most: 1000, Poke: func() { poked = true }, Check: func(http.Header, []byte) ([]string, error) { return []string{id}, nil }}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader("{}")))
	w.poked = w.poked || poked
}

// round reads the tracker and tells it.
func (w *simWorld) round() {
	w.happens()
	began := w.tick
	w.poked = false
	err := w.once()
	if err == nil {
		w.whole = began
		w.ran["round"]++
	}
}

func (w *simWorld) once() error {
	if w.bug.once != nil {
		return w.bug.once(w)
	}
	return w.sync.Once(w.ctx)
}

// ask is what the loop asks before it claims and before it lands.
func (w *simWorld) ask(i work.Issue) factory.Asked {
	if w.bug.ask != nil {
		return w.bug.ask(w, i, w.asks)
	}
	return w.asks(i)
}

func (w *simWorld) asks(i work.Issue) factory.Asked {
	row, ok, _ := w.store.TrackerIssueOf(w.ctx, simBoard, i.ID)
	if !ok {
		return factory.Asked{}
	}
	wanted, why, err := w.sync.Ask(w.ctx, row)
	switch {
	case err != nil:
		return factory.Asked{Says: factory.WantedUnknown, Why: "no answer", Until: w.now.Add(time.Minute)}
	case wanted:
		return factory.Asked{Says: factory.WantedYes}
	}
	return factory.Asked{Says: factory.WantedNo, Why: why}
}

// remote is the tracker's issue of a card.
func (w *simWorld) remote(id int64) *simIssue {
	row, _, _ := w.store.TrackerIssueOf(w.ctx, simBoard, id)
	return w.issues[row.Remote]
}

// truth is what is so of an issue now.
func (w *simWorld) truth(i *simIssue) truth {
	t := truth{tick: w.tick, wanted: i.wanted(), given: i.reopened == 0}
	id := w.store.rows[i.Number].Issue
	since := w.took[id].tick
	t.held = i.reopened > since
	for _, b := range i.Blockers {
		on := w.store.rows[b.Number].Issue
		t.held = t.held || b.Open && i.blocked > since && (b.Repo != "" || on == 0 || w.card(on).Column != work.ColumnDone)
	}
	return t
}

// restand is how the loop puts a card that is not claimed.
func (w *simWorld) restand(was, now work.Issue) {
	if len(factory.Changes(was, now)) == 0 {
		return
	}
	c, err := w.sync.Board.PlanEdit(w.ctx, was, now, byMachine)
	if err == nil {
		_, err = w.store.ChangeBoard(w.ctx, c)
	}
	if err != nil && !errors.Is(err, work.ErrStale) {
		w.complain("restand card %d: %v", was.ID, err)
	}
}

var byMachine = factory.By{Name: "factory", Door: "factory"}
