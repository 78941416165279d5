package factory

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/work"
)

// elsewhere is where the issues of a test come from: those whose title begins
// with "theirs".
type elsewhere struct {
	mu    sync.Mutex
	says  map[int64]Asked // none is yes
	takes map[int64]time.Duration
	asked map[int64]int
	now   int                      // questions that are under way
	most  int                      // at once
	ask   func(i work.Issue) Asked // instead of says, nil = none
}

func (e *elsewhere) From(_ context.Context, i work.Issue) (string, error) {
	if i.Title == "elsewhere" {
		return "another place", nil
	}
	if strings.HasPrefix(i.Title, "theirs") {
		return "there", nil
	}
	return "", nil
}

func (e *elsewhere) Ask(ctx context.Context, i work.Issue) Asked {
	e.mu.Lock()
	e.asked[i.ID]++
	e.now++
	e.most = max(e.most, e.now)
	takes := e.takes[i.ID]
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.now--
		e.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return Asked{Says: WantedUnknown, Why: "no answer"}
	case <-time.After(takes):
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ask != nil {
		return e.ask(i)
	}
	if a, ok := e.says[i.ID]; ok {
		return a
	}
	return Asked{Says: WantedYes}
}

func (e *elsewhere) tell(id int64, a Asked) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.says[id] = a
}

func (e *elsewhere) times(id int64) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked[id]
}

// inElsewhere is inHall with issues that come from elsewhere.
func inElsewhere(t *testing.T, test func(h *hall, e *elsewhere)) {
	t.Helper()
	inHall(t, func(h *hall) {
		e := &elsewhere{says: map[int64]Asked{}, takes: map[int64]time.Duration{}, asked: map[int64]int{}}
		h.origins = e
		test(h, e)
	})
}

var closed = Asked{Says: WantedNo, Why: "closed_on_tracker: it was closed; reopen it there"}

const saysClosed = "waits closed_on_tracker: it was closed; reopen it there"

// Between ready and claimed the tracker is asked: what it does not want goes
// back and is never driven; what it wants runs, and so does what is the board's.
func TestLoopAsksBeforeItClaims(t *testing.T) {
	inElsewhere(t, func(h *hall, e *elsewhere) {
		h.w.terms.MaxRunning = 1
		h.add("theirs, closed")
		h.add("theirs, open")
		h.add("ours")
		e.tell(1, closed)
		h.once(h.loop("one"))
		h.stands(1, "backlog "+saysClosed)
		h.stands(2, "done")
		h.stands(3, "done")
		h.drove("2 opened", "3 opened")
		if e.times(3) != 0 {
			h.Error("an issue of the board was asked about")
		}
		// Dragged back to ready, it is asked about again.
		if _, err := h.b.Move(h.Context(), 1, work.ColumnReady, Place{At: Top}, ada); err != nil {
			h.Fatal(err)
		}
		h.once(h.loop("two"))
		h.stands(1, "backlog "+saysClosed)
	})
}

// A tracker that cannot say anything holds its own issues, with a word, and
// nobody else's, however long it takes; once it answers they go on.
func TestLoopHoldsWhatNobodyCanTell(t *testing.T) {
	for name, a := range map[string]Asked{
		"unreachable": {Says: WantedUnknown, Why: "there#1 cannot be asked (unreachable)"},
		"no word":     {},
		"an odd word": {Says: "sure"},
	} {
		inElsewhere(t, func(h *hall, e *elsewhere) {
			h.w.terms.MaxRunning = 1
			h.add("theirs")
			h.add("ours")
			e.tell(1, a)
			stop := h.start(h.loop("one"))
			time.Sleep(time.Minute)
			i := h.issue(1)
			if i.Column != work.ColumnReady || i.State != "" || !strings.HasPrefix(i.Reason, HoldOrigin+": ") {
				h.Errorf("%s: %+v", name, i)
			}
			h.stands(2, "done")
			before := i.Version
			time.Sleep(10 * time.Minute)
			if now := h.issue(1).Version; now != before {
				h.Errorf("%s: the card was changed %d times, to say the same", name, now-before)
			}
			h.drove("2 opened")
			e.tell(1, Asked{Says: WantedYes})
			time.Sleep(time.Minute)
			h.stands(1, "done")
			stop()
		})
	}
	inElsewhere(t, func(h *hall, e *elsewhere) {
		h.w.terms.MaxRunning = 1
		for range 20 {
			e.takes[h.add("theirs, hanging")] = time.Hour
		}
		h.add("ours")
		h.add("elsewhere")
		stop := h.start(h.loop("one"))
		time.Sleep(10 * time.Second)
		h.stands(21, "done")
		h.stands(22, "done")
		stop()
		if got := h.w.said(); len(got) != 2 {
			h.Errorf("driven: %v", got)
		}
	})
	// --once ends, and says nothing is done.
	inElsewhere(t, func(h *hall, e *elsewhere) {
		h.add("theirs")
		e.tell(1, Asked{Says: WantedUnknown, Why: "no answer"})
		h.once(h.loop("one"))
		h.stands(1, "ready  "+HoldOrigin+": no answer")
		l := h.loop("one")
		l.Only = 1
		if why := h.once(l); NoClaim(why) != NoClaimOrigin {
			h.Errorf("not worked on since %q", why)
		}
		h.drove()
	})
}

// A place that says when it is worth asking again is asked once in a minute at most,
// however many issues wait for it and whatever else happens on the board. When it is back,
// they go on, although it said that it would take longer.
func TestLoopLeavesAloneWhoSaysUntilWhen(t *testing.T) {
	inElsewhere(t, func(h *hall, e *elsewhere) {
		const many = 50
		h.w.terms.MaxRunning = many
		until := time.Now().Add(time.Hour)
		for range many {
			id := h.add("theirs")
			e.takes[id] = time.Second
			e.tell(id, Asked{Says: WantedUnknown, Why: "no answer", Until: until})
		}
		stop := h.start(h.loop("one"))
		for range 20 {
			time.Sleep(20 * time.Second)
			h.add("ours")
		}
		if e.most != askAtOnce {
			h.Errorf("%d questions were under way at once, want %d", e.most, askAtOnce)
		}
		for id := range int64(many) {
			if n := e.times(id + 1); n < 1 || n > 8 { // in 400 seconds
				h.Errorf("issue %d was asked about %d times", id+1, n)
			}
			e.tell(id+1, Asked{Says: WantedYes})
		}
		time.Sleep(3 * time.Minute)
		for id := range int64(many) {
			h.stands(id+1, "done")
		}
		stop()
	})
}

// While a tracker takes its time to answer, an issue keeps its turn before those
// below it, for as long as is bearable.
func TestLoopKeepsTheTurnOfWhatIsAskedAbout(t *testing.T) {
	inElsewhere(t, func(h *hall, e *elsewhere) {
		h.w.terms.MaxRunning = 1
		e.takes[h.add("theirs")] = askReserve / 2
		h.add("ours")
		h.once(h.loop("one"))
		h.drove("1 opened", "2 opened")
	})
}

// A card that is put back stops who works on it; its run is kept, and goes on
// once the card is ready again, in another process.
func TestLoopStopsWhatIsPutBack(t *testing.T) {
	inElsewhere(t, func(h *hall, e *elsewhere) {
		h.add("theirs")
		h.w.drive = asleep
		stop := h.start(h.loop("one"))
		time.Sleep(10 * time.Second)
		was := h.issue(1)
		back := PutBack(was, closed.Why)
		c, err := h.b.PlanEdit(h.Context(), was, back, By{Name: "tracker", Door: "tracker"})
		if err == nil {
			_, err = h.m.ChangeBoard(h.Context(), c)
		}
		if err != nil {
			h.Fatal(err)
		}
		time.Sleep(time.Second)
		if h.w.driving() != 0 {
			h.Error("its run still goes on")
		}
		h.stands(1, "backlog "+saysClosed)
		if i := h.issue(1); i.Run != "r1" || i.Branch == "" {
			h.Errorf("what was done is lost: %+v", i)
		}
		time.Sleep(10 * time.Minute)
		h.drove("1 opened")
		stop()
		h.w.drives(finished)
		if _, err := h.b.Move(h.Context(), 1, work.ColumnReady, Place{At: Top}, ada); err != nil {
			h.Fatal(err)
		}
		h.once(h.loop("two"))
		h.stands(1, "done")
		h.drove("1 opened", "1 again")
	})
}

// slowTriage takes 9.8 seconds to find that it has to ask a person: it is over
// before the loop looks at the board again.
type slowTriage struct{}

func (slowTriage) Answered(context.Context, work.Issue) (bool, error) { return false, nil }

func (slowTriage) Triage(context.Context, work.Issue) (Triaged, error) {
	time.Sleep(9800 * time.Millisecond)
	return Triaged{Verdict: TriageWaits, Reason: "triage waits for you"}, nil
}

// What triage comes to, once the card was put back, is not written over why.
func TestLoopTriageDoesNotWriteOverAPutBack(t *testing.T) {
	inElsewhere(t, func(h *hall, e *elsewhere) {
		h.add("theirs")
		l := h.loop("one")
		l.Triage = slowTriage{}
		stop := h.start(l)
		time.Sleep(9700 * time.Millisecond)
		c, err := h.b.PlanEdit(h.Context(), h.issue(1), PutBack(h.issue(1), closed.Why), By{Name: "tracker", Door: "tracker"})
		if err == nil {
			_, err = h.m.ChangeBoard(h.Context(), c)
		}
		if err != nil {
			h.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		h.stands(1, "backlog "+saysClosed)
		stop()
	})
}

// What was begun by a process that died is asked about before it goes on.
func TestLoopAsksBeforeItTakesOver(t *testing.T) {
	inElsewhere(t, func(h *hall, e *elsewhere) {
		h.add("theirs")
		h.w.drive = func(context.Context, Order) (Ended, error) {
			return Ended{Outcome: work.RunFrozen, Reason: "asks"}, nil
		}
		h.once(h.loop("one"))
		e.tell(1, closed)
		h.w.tell(1, News{Answers: []work.Answer{{Status: work.CheckpointApproved, By: "ada"}}})
		h.once(h.loop("two"))
		h.stands(1, "backlog "+saysClosed)
		h.drove("1 opened")
	})
}

// A result lands only while its issue is wanted. What people merged themselves
// is done, whatever became of the issue.
func TestLoopAsksBeforeItLands(t *testing.T) {
	approve := News{Answers: []work.Answer{{Status: work.CheckpointApproved, By: "ada"}}}
	rework := News{Answers: []work.Answer{{Status: work.CheckpointChangesRequested, By: "ada"}}}
	for name, c := range map[string]struct {
		says   Asked
		news   News
		merged bool
		want   string
		drives int
	}{
		"approved, and closed":       {closed, approve, false, "in_review " + saysClosed, 2},
		"approved, and unknown":      {Asked{}, approve, false, "in_review  tracker_unreachable: nobody can say whether it is still wanted where it comes from", 1},
		"merged by a person":         {closed, approve, true, "done", 2},
		"changes wanted, yet closed": {closed, rework, false, "in_review  closed_on_tracker: it was closed; reopen it there", 1},
		"no news, and closed":        {closed, News{}, false, "in_review", 1},
		"wanted":                     {Asked{Says: WantedYes}, approve, false, "done", 2},
	} {
		inElsewhere(t, func(h *hall, e *elsewhere) {
			h.add("theirs")
			h.w.merged = c.merged
			h.w.drive = func(context.Context, Order) (Ended, error) { return Ended{Outcome: work.RunFrozen, Promote: true}, nil }
			h.once(h.loop("one"))
			h.stands(1, "in_review")
			h.w.drive = func(_ context.Context, o Order) (Ended, error) {
				if o.Finish != (c.says.Says == WantedNo) {
					h.Errorf("%s: a new run may be opened: %v", name, !o.Finish)
				}
				return Ended{Outcome: work.RunCompleted, Promoted: true}, nil
			}
			e.tell(1, c.says)
			h.w.tell(1, c.news)
			h.once(h.loop("one"))
			h.stands(1, c.want)
			if got := len(h.w.said()); got != c.drives {
				h.Errorf("%s: driven %v", name, h.w.said())
			}
			h.w.tell(1, News{Over: true})
			asked := e.times(1)
			h.once(h.loop("one"))
			if name == "approved, and closed" && e.times(1) != asked {
				t.Errorf("%s: asked about at each look", name)
			}
			if got := len(h.w.said()); got != c.drives && c.says.Says != WantedUnknown {
				h.Errorf("%s: driven again and again: %v", name, h.w.said())
			}
		})
	}
	// Closed while the run was at its end: nothing lands. Nobody can say: later.
	for _, says := range []Asked{closed, {Says: WantedUnknown, Why: "no answer"}} {
		inElsewhere(t, func(h *hall, e *elsewhere) {
			h.add("theirs")
			h.w.drive = func(context.Context, Order) (Ended, error) {
				e.tell(1, says)
				return Ended{Outcome: work.RunCompleted, Promoted: true}, nil
			}
			h.w.land = func(work.Issue) (Landed, error) { return Landed{}, errors.New("landed unasked") }
			h.once(h.loop("one"))
			i := h.issue(1)
			if i.Column != work.ColumnInReview || len(i.Hold) != 1 || i.State == work.IssueFailed || !strings.Contains(i.Reason, says.Why) {
				h.Errorf("%s: %+v", says.Says, i)
			}
			h.w.land, h.w.drive = nil, finished
			e.tell(1, Asked{Says: WantedYes})
			if says.Says == WantedUnknown {
				time.Sleep(2 * askAgain)
				h.once(h.loop("one"))
				h.stands(1, "done")
			}
		})
	}
}
