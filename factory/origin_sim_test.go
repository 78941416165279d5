package factory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forge/internal/journal/journaltest"
	"forge/internal/work"
)

// simWindow is how long what a tracker said may be old when it counts: an answer
// takes up to two seconds, and the look that follows begins at once.
const simWindow = 5 * time.Second

// originSim is a board with issues of a tracker that changes its mind, is away
// now and then and answers slowly, loops that stop and start, people who drag
// cards, and whoever reads the tracker from time to time.
type originSim struct {
	*hall
	rand *rand.Rand // of the schedule

	mu      sync.Mutex
	times   *rand.Rand // how long things take
	wanted  map[int64]bool
	away    bool
	last    map[int64]time.Time // when it was last wanted, and the tracker within reach
	driving map[int64]int
	claims  int
	broken  []string
}

func (s *originSim) fail(format string, args ...any) {
	s.broken = append(s.broken, fmt.Sprintf(format, args...))
}

// recent says that the tracker would have said yes a moment ago; the caller
// holds the lock.
func (s *originSim) recent(id int64) bool {
	return s.wanted[id] && !s.away || time.Since(s.last[id]) <= simWindow
}

// change changes what the tracker says.
func (s *originSim) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.wanted {
		if s.wanted[id] && !s.away {
			s.last[id] = time.Now()
		}
	}
	do()
}

func (s *originSim) From(context.Context, work.Issue) (string, error) { return "there", nil }

func (s *originSim) Ask(ctx context.Context, i work.Issue) Asked {
	s.mu.Lock()
	takes := time.Duration(s.times.IntN(2000)) * time.Millisecond
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return Asked{}
	case <-time.After(takes):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.away:
		return Asked{Says: WantedUnknown, Why: "no answer", Until: time.Now().Add(10 * time.Second)}
	case !s.wanted[i.ID]:
		return closed
	}
	return Asked{Says: WantedYes}
}

// watched are claims that are held against what the tracker says.
type watched struct {
	*journaltest.Claimer
	s *originSim
}

func (w watched) Claim(ctx context.Context, seen work.IssueClaim, c work.BoardChange) (work.IssueClaim, work.Issue, error) {
	claim, i, err := w.Claimer.Claim(ctx, seen, c)
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if err == nil {
		w.s.claims++
		if !w.s.recent(i.ID) {
			w.s.fail("issue %d was claimed at %s, and the tracker did not want it", i.ID, time.Now().Format(time.TimeOnly))
		}
	}
	return claim, i, err
}

func (s *originSim) drive(ctx context.Context, o Order) (Ended, error) {
	s.mu.Lock()
	s.driving[o.Issue.ID]++
	if s.driving[o.Issue.ID] > 1 {
		s.fail("issue %d is driven twice", o.Issue.ID)
	}
	takes := time.Duration(s.times.IntN(40)) * time.Second
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.driving[o.Issue.ID]--
		s.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return Ended{Outcome: work.RunInterrupted}, nil
	case <-time.After(takes):
		return Ended{Outcome: work.RunCompleted, Promoted: true}, nil
	}
}

func (s *originSim) land(i work.Issue) (Landed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.recent(i.ID) {
		s.fail("the result of issue %d landed, and the tracker did not want it", i.ID)
	}
	return Landed{Commit: "c"}, nil
}

// read is what a round of reading the tracker does to the board.
func (s *originSim) read(id int64) {
	s.mu.Lock()
	wanted, away := s.wanted[id], s.away
	s.mu.Unlock()
	i := s.issue(id)
	if away || i.Column == work.ColumnDone {
		return
	}
	now := i
	switch {
	case !wanted && NextOfOrigin(WantedNo, i, AtLook) == OriginBack:
		now = PutBack(i, closed.Why)
	case wanted && i.Column == work.ColumnBacklog:
		now.Column, now.State, now.Reason = work.ColumnReady, "", ""
	case wanted && i.Column == work.ColumnInReview:
		now = moved(i, work.ColumnInProgress)
	}
	if now.Column == i.Column {
		return
	}
	c, err := s.b.PlanEdit(s.Context(), i, now, By{Name: "tracker", Door: "tracker"})
	if err == nil {
		_, _ = s.m.ChangeBoard(s.Context(), c) // stale: the next round comes
	}
}

const simIssues = 6

// run plays one schedule, and says what was broken.
func (s *originSim) run(origins Origins) []string {
	s.w.terms.MaxRunning = 2
	s.w.drive, s.w.land, s.origins = s.drive, s.land, origins
	for range simIssues {
		s.wanted[s.add("theirs")] = true
	}
	stops := map[string]func() string{}
	start := func(owner string) {
		l := s.loop(owner)
		l.Claims = watched{l.Claims.(*journaltest.Claimer), s}
		stops[owner] = s.start(l)
	}
	start("one")
	start("two")
	for n := range 120 {
		time.Sleep(time.Duration(s.rand.IntN(3000)) * time.Millisecond)
		id := 1 + s.rand.Int64N(simIssues)
		switch s.rand.IntN(6) {
		case 0:
			s.change(func() { s.wanted[id] = !s.wanted[id] })
		case 1:
			s.change(func() { s.away = s.rand.IntN(3) == 0 })
		case 2:
			_, _ = s.b.Move(s.Context(), id, work.ColumnReady, Place{At: Top}, ada) // refused where it is worked on
		case 3:
			owner := []string{"one", "two"}[s.rand.IntN(2)]
			stops[owner]()
			start(fmt.Sprintf("%s-%d", owner, n))
			stops[owner] = stops[fmt.Sprintf("%s-%d", owner, n)]
		default:
			s.read(id)
		}
	}
	// In the end everything is wanted and within reach: all of it is done.
	s.change(func() {
		s.away = false
		for id := range s.wanted {
			s.wanted[id] = true
		}
	})
	for range 40 {
		for id := range int64(simIssues) {
			s.read(id + 1)
		}
		time.Sleep(10 * time.Second)
	}
	for id := range int64(simIssues) {
		if i := s.issue(id + 1); i.Column != work.ColumnDone {
			s.mu.Lock()
			s.fail("issue %d ended in %s: %s", i.ID, standing(i), i.Reason)
			s.mu.Unlock()
		}
	}
	for _, stop := range stops {
		stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims < simIssues {
		s.fail("%d claims for %d issues", s.claims, simIssues)
	}
	return s.broken
}

// simulate plays a seed with origins that bug makes of the right ones.
func simulate(t *testing.T, seed uint64, bug func(Origins) Origins) (broken []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, m := newBoard(t)
		m.Clock, b.Now = time.Now, time.Now
		h := &hall{T: t, m: m, b: b, w: &works{terms: Admission{Agents: []string{"a"}}}}
		defer func() {
			for _, stop := range h.stops {
				stop()
			}
		}()
		s := &originSim{hall: h, rand: rand.New(rand.NewPCG(seed, 1)), times: rand.New(rand.NewPCG(seed, 2)), wanted: map[int64]bool{}, last: map[int64]time.Time{}, driving: map[int64]int{}}
		broken = s.run(bug(s))
	})
	return broken
}

const simSeeds = 40

func TestSimulatedTracker(t *testing.T) {
	for seed := range uint64(simSeeds) {
		for _, what := range simulate(t, seed, func(o Origins) Origins { return o }) {
			t.Errorf("seed %d: %s", seed, what)
		}
	}
}

// hopeful takes what nobody can tell for a yes.
type hopeful struct{ Origins }

func (h hopeful) Ask(ctx context.Context, i work.Issue) Asked {
	a := h.Origins.Ask(ctx, i)
	if a.Says != WantedNo {
		a.Says = WantedYes
	}
	return a
}

// mindful remembers what was wanted once.
type mindful struct {
	Origins
	mu   *sync.Mutex
	once map[int64]bool
}

func (m mindful) Ask(ctx context.Context, i work.Issue) Asked {
	m.mu.Lock()
	known := m.once[i.ID]
	m.mu.Unlock()
	if known {
		return Asked{Says: WantedYes}
	}
	a := m.Origins.Ask(ctx, i)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.once[i.ID] = a.Says == WantedYes
	return a
}

// Each of these bugs is found by some seed.
func TestSimulatedTrackerFindsBugs(t *testing.T) {
	for name, bug := range map[string]func(Origins) Origins{
		"nobody asks":              func(Origins) Origins { return NoOrigins() },
		"unknown is a yes":         func(o Origins) Origins { return hopeful{o} },
		"an old answer is as good": func(o Origins) Origins { return mindful{o, &sync.Mutex{}, map[int64]bool{}} },
	} {
		found := false
		for seed := uint64(0); seed < simSeeds && !found; seed++ {
			found = len(simulate(t, seed, bug)) > 0
		}
		if !found {
			t.Errorf("%s, and no seed of %d finds it", name, simSeeds)
		}
	}
}
