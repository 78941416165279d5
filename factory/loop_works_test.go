package factory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forge/internal/journal/journaltest"
	"forge/internal/work"
)

// works drives issues as a test says.
type works struct {
	mu     sync.Mutex
	terms  Admission
	broken error // of Admission
	news   map[int64]News
	drive  func(ctx context.Context, o Order) (Ended, error)
	land   func(i work.Issue) (Landed, error)
	show   func() (Landed, work.IssuePull)
	shown  work.IssuePull // by land, none without a number
	merged bool           // people merged the results already

	now, most int
	driven    []string
}

func (w *works) Admission(context.Context) (Admission, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.terms, w.broken
}

func (w *works) News(context.Context) (map[int64]News, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[int64]News{}
	for id, n := range w.news {
		out[id] = n
	}
	return out, nil
}

func (w *works) tell(id int64, n News) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.news == nil {
		w.news = map[int64]News{}
	}
	w.news[id] = n
}

func (w *works) Drive(ctx context.Context, o Order) (Ended, error) {
	w.mu.Lock()
	w.now++
	w.most = max(w.most, w.now)
	how := "opened"
	if o.Issue.Run != "" {
		how = "resumed"
	}
	if o.Again && o.Issue.Run != "" {
		how = "again"
	}
	w.driven = append(w.driven, fmt.Sprintf("%d %s", o.Issue.ID, how))
	delete(w.news, o.Issue.ID)
	drive := w.drive
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.now--
		w.mu.Unlock()
	}()
	if o.Issue.Run == "" {
		if err := o.Named(fmt.Sprintf("r%d", o.Issue.ID), "", nil); err != nil {
			return Ended{}, err
		}
	}
	return drive(ctx, o)
}

// drives replaces what driving an issue comes to while loops are at work.
func (w *works) drives(how func(context.Context, Order) (Ended, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drive = how
}

// driving is how many are being driven.
func (w *works) driving() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *works) Show(_ context.Context, _ work.Issue, shown func(work.IssuePull) error) (Landed, error) {
	if w.show == nil {
		return Landed{}, nil
	}
	l, pull := w.show()
	if pull.Number == 0 {
		return l, nil
	}
	return l, shown(pull)
}

func (w *works) Land(_ context.Context, i work.Issue, unwanted string, shown func(work.IssuePull) error) (Landed, error) {
	if unwanted != "" && !w.merged {
		return Landed{Hold: HoldUnwanted, Reason: unwanted, Waits: true}, nil
	}
	if w.shown.Number != 0 {
		if err := shown(w.shown); err != nil {
			return Landed{}, err
		}
	}
	if w.land != nil {
		return w.land(i)
	}
	return Landed{Commit: "c"}, nil
}

func (w *works) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.driven)
}

func finished(context.Context, Order) (Ended, error) {
	return Ended{Outcome: work.RunCompleted, Promoted: true}, nil
}

// asleep takes a minute, or until it is stopped.
func asleep(ctx context.Context, _ Order) (Ended, error) {
	select {
	case <-time.After(time.Minute):
		return Ended{Outcome: work.RunCompleted, Promoted: true}, nil
	case <-ctx.Done():
		return Ended{Outcome: work.RunInterrupted}, nil
	}
}

// hall is a board with loops on it, in a bubble of its own time.
type hall struct {
	*testing.T
	m *journaltest.MemoryBoard
	b Board
	w *works
	// origins are where issues come from.
	origins Origins
	// stops end what a test that failed left running.
	stops []func() string
}

func inHall(t *testing.T, test func(h *hall)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, m := newBoard(t)
		m.Clock, b.Now = time.Now, time.Now
		h := &hall{T: t, m: m, b: b, origins: NoOrigins(), w: &works{terms: Admission{MaxRunning: 2, Agents: []string{"a"}}, drive: finished}}
		defer func() {
			for _, stop := range h.stops {
				stop()
			}
		}()
		test(h)
	})
}

func (h *hall) loop(owner string) *Loop {
	c := &journaltest.Claimer{Board: h.m, Owner: owner}
	return &Loop{
		Board: h.b, Cards: h.m, Claims: c, Standings: c, Triage: NoTriage(), Works: h.w, Origins: h.origins, Concurrency: NewConcurrency(10), Now: time.Now,
		Say: func(int64, string) {},
	}
}

// start runs a loop until the test, or stop, ends it.
func (h *hall) start(l *Loop) (stop func() string) {
	ctx, cancel := context.WithCancel(h.Context())
	out := make(chan string, 1)
	go func() {
		note, err := l.Run(ctx)
		if err != nil {
			h.Error(err)
		}
		out <- note
	}()
	var once sync.Once
	var note string
	stop = func() string {
		once.Do(func() {
			cancel()
			note = <-out
		})
		return note
	}
	h.stops = append(h.stops, stop)
	return stop
}

func (h *hall) once(l *Loop) string {
	h.Helper()
	l.Once = true
	note, err := l.Run(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return note
}

func (h *hall) add(title string, needs ...int64) int64 {
	h.Helper()
	i := ready(title)
	i.Needs = needs
	stored, err := h.b.Add(h.Context(), i, Place{At: Bottom}, ada)
	if err != nil {
		h.Fatal(err)
	}
	return stored.ID
}

func (h *hall) issue(id int64) work.Issue {
	h.Helper()
	i, err := h.m.Issue(h.Context(), "p", id)
	if err != nil {
		h.Fatal(err)
	}
	return i
}

// stands checks where an issue is, as column, state and reason.
func (h *hall) stands(id int64, want string) {
	h.Helper()
	i := h.issue(id)
	if got := strings.Trim(fmt.Sprintf("%s %s %s", i.Column, i.State, i.Reason), " "); got != want {
		h.Errorf("issue %d: %q, want %q", id, got, want)
	}
	if claims, err := h.m.Claims(h.Context(), "p"); err != nil || claims[id].Owner != "" {
		h.Errorf("issue %d: claim %+v, %v", id, claims[id], err)
	}
}

func (h *hall) drove(want ...string) {
	h.Helper()
	if got := h.w.said(); !slices.Equal(got, want) {
		h.Errorf("driven: %q, want %q", got, want)
	}
}
