package orchestrator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// says lets a person say something to the agent of a phase, whatever it does.
func (w *world) says() {
	w.fault("a message")
	w.told++
	m := work.Message{ID: fmt.Sprintf("m%d", w.told), Text: fmt.Sprintf("mind this, number %d", w.told), Now: w.aside(40), Anew: w.told%2 == 0}
	m.Phase = w.s.Order[w.side.IntN(len(w.s.Order))]
	switch {
	case w.aside(5):
		w.fault("a message to no phase")
		m.Phase = "99"
	case w.aside(5):
		w.fault("a message without a word")
		m.Text = " \n"
	case w.aside(5):
		w.fault("a huge message")
		m.Text = strings.Repeat("<b>&\x00", work.MaxMessage)
	}
	// It throws no die: one throw more would make another schedule of every seed.
	if w.told%3 == 1 {
		w.fault("a message with lines")
		m.Attached = []work.Attached{{Path: "main.go", From: w.told, To: w.told + 1, Commit: "c0", Text: fmt.Sprintf("lines, number %d", w.told)}}
	}
	rows := 1
	if w.aside(10) {
		w.fault("a message twice")
		rows = 2
	}
	for range rows {
		w.rows++
		w.inbox = append(w.inbox, inboxRow{ID: w.rows, Answer: work.Answer{By: "test", Door: "cli", At: w.now, Message: &m}})
	}
}

// listening makes the agents of every other run such that listen. It throws no
// die: one throw more would make another schedule of every seed.
func (w *world) listening() {
	for name, a := range w.spec.Settings.Agents {
		a.Listens = w.spec.Settings.OutageWaitSecs%2 == 0
		w.spec.Settings.Agents[name] = a
	}
}

func try(c Command) string { return fmt.Sprintf("%s/%d/%d", c.Phase, c.Iteration, c.Attempt) }

// hands gives a message to an agent that works.
func (w *world) hands(c Command) Fact {
	rep := work.TellReport{Taken: w.rest.IntN(100) < 50, Why: w.text("its agent is not reached")}
	switch {
	case rep.Taken:
		w.handed[try(c)] = append(w.handed[try(c)], c.Message)
	case w.rest.IntN(100) < 50:
		w.fault("a message taken, and nobody knows")
		w.handed[try(c)] = append(w.handed[try(c)], c.Message)
	case w.rest.IntN(100) < 50:
		w.fault("a message that broke on its way")
		return Broke{Command: c, Problem: "no such pipe"}
	}
	return TellDone{Command: c, Report: rep}
}

// hears is what the model of an iteration was given midway: what its program took,
// but for what came too late.
func (w *world) hears(c Command) []string {
	for _, id := range slices.Sorted(maps.Keys(w.under)) {
		e := w.under[id]
		if e.Step == StepTell && try(e.Command) == try(c) && w.rest.IntN(100) < 50 {
			w.handed[try(c)] = append(w.handed[try(c)], e.Message)
		}
	}
	heard := w.handed[try(c)]
	if len(heard) > 0 && w.rest.IntN(100) < 30 {
		w.fault("a message taken and never given")
		heard = heard[:len(heard)-1]
	}
	return slices.Clone(heard)
}

// urgent says that p's iteration is ended by what a person said meanwhile.
func (w *world) urgent(p *Phase) bool {
	late := slices.ContainsFunc(p.Messages, func(m Message) bool { return m.With == 0 && (m.Now || !w.s.Listens(p.Number)) })
	return late && w.aside(60)
}

// heardBook is what people said to the agent of a phase, as the events tell it.
type heardBook struct {
	said  [][]string // which it was not given yet, each with what goes with it
	due   []string   // their ids
	given int        // how many of them the prompt of the iteration under way holds
	ids   []string   // of all
	heard []string   // ids of those that an iteration on record was given
	anew  bool       // the next iteration begins with a new session
}

// telling: what a person says to an agent stands in its next prompt, unless it was
// given it midway, and nothing of its phase lands before. No try that goes on
// record is given again what an earlier one was.
func (c *invariants) telling(s *State, p *Phase, e work.Event) error {
	if p == nil {
		return c.toldAll(s, e)
	}
	book := c.words[e.Phase]
	switch e.Kind {
	case work.PhaseTold:
		var d ToldData
		if err := read(c, e, &d); err != nil {
			return err
		}
		again := slices.Contains(book.ids, d.ID)
		switch {
		case d.Refused == "" && again:
			return fmt.Errorf("phase %s is told %s twice", e.Phase, d.ID)
		case d.Refused != "" && p.Stage == StageIterate && p.Merge == nil && !again && d.Text != "" && len(book.ids) < maxMessages:
			return fmt.Errorf("the agent of phase %s works, and a message to it is refused: %s", e.Phase, d.Refused)
		case d.Refused != "":
			return nil
		}
		book.ids, book.anew = append(slices.Clip(book.ids), d.ID), book.anew || d.Anew
		if d.Anew {
			c.w.fault("a new session asked for")
		}
		if text.Blank(d.Text) {
			break
		}
		said := []string{d.Text}
		for _, a := range d.Attached {
			said = append(said, a.Text)
		}
		book.said = append(slices.Clip(book.said), said)
		book.due = append(slices.Clip(book.due), d.ID)
	case work.TellStarted:
		var d TellStartedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if at := slices.Index(book.due, d.ID); at < book.given {
			return fmt.Errorf("the agent of phase %s is given %s midway, which it was given before", e.Phase, d.ID)
		}
		return nil
	case work.IterationStarted:
		var d work.IterationStartedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if book.anew && d.Session != "" {
			return fmt.Errorf("phase %s goes on in its session, and a person asked for a new one", e.Phase)
		}
		book.anew = false
		for _, id := range d.Told {
			if slices.Contains(book.heard, id) {
				return fmt.Errorf("the agent of phase %s is given %s again", e.Phase, id)
			}
		}
		prompt := Prompt(s, p, s.sessionOf(p))
		for _, said := range slices.Concat(book.said...) {
			if !strings.Contains(prompt, strings.TrimSpace(inert(said))) {
				return fmt.Errorf("phase %s goes on, and its agent is not told %q", e.Phase, text.ClipJSON(said, 60))
			}
		}
		book.given = len(book.said)
	case work.IterationFinished:
		var d work.IterationFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Outcome == work.OutcomeInterrupted || d.Outcome == work.OutcomeRateLimited {
			return nil // the next attempt is told the same
		}
		given := append(slices.Clone(book.due[:book.given]), d.Heard...)
		var said [][]string
		var due []string
		for i, id := range book.due {
			if !slices.Contains(given, id) {
				said, due = append(said, book.said[i]), append(due, id)
			}
		}
		book.said, book.due, book.given = said, due, 0
		book.heard = append(slices.Clip(book.heard), given...)
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err == nil && d.Gate == gateMessage {
			// What a person says may remove what stops it.
			note(c, c.blockers, e.Phase, blockedBook{best: c.blockers[e.Phase].best})
		}
		return nil
	case work.PhaseFinished, work.PhaseMerged:
		var d work.PhaseFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if c.w.spec.Job != nil && p.Parent == "" {
			return nil // the next phase is told
		}
		// What people merged themselves, and what was done before a rework that came
		// to nothing.
		byHand := p.Pull != nil && p.Pull.Merged != "" || p.Reworking
		if (e.Kind == work.PhaseMerged || d.Outcome == work.PhaseDone) && len(book.said) > 0 && !byHand {
			return fmt.Errorf("%s of phase %s, and its agent never read %q", e.Kind, e.Phase, text.ClipJSON(book.said[0][0], 60))
		}
		return nil
	default:
		return nil
	}
	note(c, c.words, e.Phase, book)
	return nil
}

// toldAll: what was said to a phase of a job goes to the phase that follows, and
// no job completes with something unread.
func (c *invariants) toldAll(s *State, e work.Event) error {
	if c.w.spec.Job == nil {
		return nil
	}
	last := s.lastOfJob()
	switch e.Kind {
	case work.PhaseAdded:
		if last != nil {
			book := c.words[last.Number]
			note(c, c.words, e.Phase, heardBook{said: book.said, due: book.due, ids: book.ids, heard: book.heard})
		}
	case work.RunFinished:
		var d work.RunFinishedData
		if err := read(c, e, &d); err != nil || d.Outcome != work.RunCompleted || last == nil {
			return err
		}
		if said := c.words[last.Number].said; len(said) > 0 && (last.Pull == nil || last.Pull.Merged == "") {
			return fmt.Errorf("the job completes, and nobody read %q", text.ClipJSON(said[0][0], 60))
		}
	}
	return nil
}
