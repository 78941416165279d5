package orchestrator

import (
	"fmt"
	"slices"

	"forge/internal/work"
)

// rewinding says that people set phases back in this schedule. One throw more would
// make another schedule of every seed.
func (w *world) rewinding() bool { return w.spec.Settings.OutageWaitSecs%8 == 3 }

// setsBack lets a person set a phase back, whatever it does.
func (w *world) setsBack() {
	w.fault("a rewind")
	w.told++
	r := work.Rewind{ID: fmt.Sprintf("b%d", w.told)}
	if len(w.s.Order) == 0 {
		return
	}
	r.Phase = w.s.Order[w.side.IntN(len(w.s.Order))]
	r.Iteration = w.side.IntN(w.s.Phases[r.Phase].Iteration + 1)
	if w.aside(50) {
		r.Text = fmt.Sprintf("back, for the reason %d", w.told)
	}
	switch {
	case w.aside(5):
		w.fault("a rewind of no phase")
		r.Phase = "99"
	case w.aside(5):
		w.fault("a rewind to no iteration")
		r.Iteration = 1 << 20
	}
	rows := 1
	if w.aside(10) {
		w.fault("a rewind twice")
		rows = 2
	}
	for range rows {
		w.rows++
		w.inbox = append(w.inbox, inboxRow{ID: w.rows, Answer: work.Answer{By: "test", Door: "cli", At: w.now, Rewind: &r}})
	}
}

// drops notes what was under way of a phase that was set back.
func (w *world) drops(e work.Event) {
	p := w.s.Phases[e.Phase]
	if e.Kind != work.PhaseRewound && !(e.Kind == work.PhaseFinished && p != nil && p.Stopped != "") {
		return
	}
	for id, u := range w.under {
		if u.Phase == e.Phase && !w.s.expects(u.Command) {
			w.dropped[id] = true
		}
	}
}

// ending says that something of a phase that was set back has not ended yet.
func (w *world) ending(phase string) bool {
	for id := range w.dropped {
		if u, under := w.under[id]; under && u.Phase == phase && phase != "" {
			return true
		}
	}
	return false
}

// rewindBooks is what people wanted set back, as the events tell it.
type rewindBooks struct {
	asked map[string]RewindAskedData // by phase, not met yet
	met   map[string]bool            // by id
	left  map[string]leftBook        // by phase, iteration and attempt
	due   map[string]string          // phase → commit that it goes on from
}

// leftBook is what an iteration truly left.
type leftBook struct {
	commit string
	spent  int
	parts  bool
}

func newRewindBooks() rewindBooks {
	return rewindBooks{asked: map[string]RewindAskedData{}, met: map[string]bool{}, left: map[string]leftBook{}, due: map[string]string{}}
}

func attemptAt(phase string, iteration, attempt int) string {
	return fmt.Sprintf("%s/%d/%d", phase, iteration, attempt)
}

// rewound: what a person wants set back is, once, to what that iteration left, before
// anything else of the phase begins; and it goes on from just that.
func (c *invariants) rewound(s *State, p *Phase, e work.Event) error {
	b := &c.backs
	switch e.Kind {
	case work.RewindAsked:
		var d RewindAskedData
		if err := read(c, e, &d); err != nil || d.Refused != "" {
			return err
		}
		if b.met[d.ID] {
			return fmt.Errorf("phase %s is set back by %s twice", e.Phase, d.ID)
		}
		note(c, b.asked, e.Phase, d)
	case work.PhaseRewound:
		return c.setBack(s, p, e)
	case work.IterationStarted, work.PhaseMerged, work.MergeStarted, work.LandStarted:
		if d, due := b.asked[e.Phase]; due && d.ID != "" {
			return fmt.Errorf("%s of phase %s, which was to be set back to iteration %d", e.Kind, e.Phase, d.Iteration)
		}
		if commit := b.due[e.Phase]; e.Kind == work.IterationStarted && commit != "" {
			if p.Last != commit {
				return fmt.Errorf("phase %s goes on from %s, and was set back to %s", e.Phase, p.Last, commit)
			}
			note(c, b.due, e.Phase, "")
		}
	case work.IterationFinished:
		var d work.IterationFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Outcome == work.OutcomeInterrupted || d.Outcome == work.OutcomeRateLimited {
			return nil
		}
		spent := c.spent[e.Phase]
		if !d.Fix {
			spent++
		}
		note(c, b.left, attemptAt(e.Phase, e.Iteration, e.Attempt), leftBook{commit: d.Snapshot, spent: spent, parts: c.parts[e.Phase]})
	case work.PhaseFinished:
		var d work.PhaseFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if asked := b.asked[e.Phase]; asked.ID != "" && d.Outcome == work.PhaseDone && !p.Reworking {
			return fmt.Errorf("phase %s is done, and was to be set back to iteration %d", e.Phase, asked.Iteration)
		}
		if d.Outcome != work.PhaseFailed || p.Parent != "" {
			note(c, b.asked, e.Phase, RewindAskedData{})
		}
		note(c, b.due, e.Phase, "")
	case work.RunFinished:
		var d work.RunFinishedData
		if err := read(c, e, &d); err != nil || d.Outcome != work.RunCompleted && d.Outcome != work.RunFailed {
			return err
		}
		for phase, asked := range b.asked {
			if asked.ID != "" {
				return fmt.Errorf("the run is over, and phase %s was to be set back to iteration %d", phase, asked.Iteration)
			}
		}
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err == nil && d.Commit != "" && b.due[e.Phase] != "" {
			note(c, b.due, e.Phase, d.Commit) // people's own edits, on top
		}
	}
	return nil
}

// setBack judges that a phase is set back, and sets the books back with it.
func (c *invariants) setBack(s *State, p *Phase, e work.Event) error {
	b := &c.backs
	var d PhaseRewoundData
	if err := read(c, e, &d); err != nil {
		return err
	}
	asked := b.asked[e.Phase]
	if asked.ID == "" || asked.ID != d.ID || asked.Iteration != d.Iteration || asked.Attempt != d.Attempt {
		return fmt.Errorf("phase %s is set back to iteration %d, which nobody asked for", e.Phase, d.Iteration)
	}
	if p.Begun {
		return fmt.Errorf("phase %s is set back while its agent works", e.Phase)
	}
	left, known := b.left[attemptAt(e.Phase, d.Iteration, d.Attempt)]
	if d.Iteration > 0 && known && left.commit != d.Commit && !p.Reworking {
		return fmt.Errorf("phase %s is set back to %s, and iteration %d left %s", e.Phase, d.Commit, d.Iteration, left.commit)
	}
	for _, id := range d.Closed {
		note(c, c.resolved, id, true)
	}
	note(c, b.asked, e.Phase, RewindAskedData{})
	note(c, b.met, d.ID, true)
	note(c, b.due, e.Phase, d.Commit)

	if asked.Text != "" {
		book := c.words[e.Phase]
		book.said, book.ids = append(slices.Clip(book.said), []string{asked.Text}), append(slices.Clip(book.ids), asked.ID)
		book.due = append(slices.Clip(book.due), asked.ID)
		note(c, c.words, e.Phase, book)
	}
	before := c.spent[e.Phase]
	note(c, c.counted, e.Phase, d.Iteration)
	note(c, c.spent, e.Phase, left.spent)
	if p.Parent != "" && p.Try == 0 {
		note(c, c.spent, p.Parent, c.spent[p.Parent]-before+left.spent)
	}
	note(c, c.spent, "fixes of "+e.Phase, 0)
	note(c, c.stops, e.Phase, nil)
	for _, sp := range p.Set.Reviewers {
		note(c, c.doubtful, e.Phase+" "+sp.Name, false) // that was of what is dropped
	}
	note(c, c.parts, e.Phase, left.parts)
	note(c, c.blockers, e.Phase, blockedBook{})
	note(c, c.waiting, e.Phase, waitBook{})
	return nil
}
