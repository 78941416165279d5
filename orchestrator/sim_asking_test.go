package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// wonders lets an agent ask, lack and assume, mostly the same again.
func (w *world) wonders(s *work.Signals) {
	if w.aside(12) {
		w.fault("a question")
		for range 1 + w.side.IntN(3) {
			q := work.Question{Text: []string{"Which port?", "which PORT", "Which host?", "Which colour?", "Which name?", "Which day?", "Which year?"}[w.side.IntN(7)]}
			if w.aside(50) {
				q.Choices = []string{"80", "8080"}
			}
			s.Questions = append(s.Questions, q)
		}
	}
	if w.aside(6) {
		w.fault("a lack")
		l := work.Lack{Text: []string{"No API key", "no api key!", "No account"}[w.side.IntN(3)], Needs: work.NeedWords()[w.side.IntN(4)]}
		s.Blockers, s.Lacks = append(s.Blockers, l.Text), append(s.Lacks, l)
	}
	if w.aside(4) {
		w.fault("an assumption")
		s.Assumptions = append(s.Assumptions, "it is port 80")
	}
}

// askBook is what the agent of a phase asked and was told, as the events tell it.
type askBook struct {
	now    []string // asked in the last iteration
	asked  []string // put to a person, or answered by nobody, since the phase was opened
	lacked []string // in the last iteration
	told   string   // of an answer, as the next prompt has to say it
	waits  bool
	again  bool // what waits expired
}

// asking: an agent's question is put to a person once, where the policy wants
// one; its phase does nothing meanwhile; and the agent is told the answer.
func (c *invariants) asking(s *State, p *Phase, e work.Event) error {
	if p == nil {
		return nil
	}
	book := c.asks[e.Phase]
	switch e.Kind {
	case work.IterationFinished:
		return c.wondered(e, book)
	case work.IterationStarted, work.VerifyStarted, work.ReviewStarted, work.ArbiterStarted, work.MergeStarted:
		if book.waits {
			return fmt.Errorf("%s of phase %s, while a person is asked", e.Kind, e.Phase)
		}
		if e.Kind == work.IterationStarted && !strings.Contains(Prompt(s, p, s.sessionOf(p)), inert(book.told)) {
			return fmt.Errorf("phase %s goes on, and its agent was not told %q", e.Phase, text.ClipJSON(book.told, 100))
		}
		return nil
	case work.CheckpointOverdue:
		book.again = book.waits
	case work.CheckpointOpened:
		var cp work.Checkpoint
		if err := read(c, e, &cp); err != nil || !isAsk(cp.Kind) {
			return err
		}
		if book.again {
			book.again = false
			break
		}
		key := c.key(cp)
		switch {
		case !slices.Contains(book.now, key):
			return fmt.Errorf("phase %s is said to ask %q, and asked %q", e.Phase, key, book.now)
		case slices.Contains(book.asked, key):
			return fmt.Errorf("a person is asked twice: %s", key)
		case len(book.asked) >= maxAsks:
			return fmt.Errorf("phase %s asks more than %d times", e.Phase, maxAsks)
		case c.policyAt(s, e.Phase).At(gates.Point(cp.Kind)) != gates.Human:
			return fmt.Errorf("a person is asked at %s, which the policy does not want", cp.Kind)
		}
		book.waits, book.asked = true, append(slices.Clip(book.asked), key)
	case work.CheckpointAnswered:
		var d CheckpointAnsweredData
		if err := read(c, e, &d); err != nil || d.Refused != "" {
			return err
		}
		book.waits = false
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err != nil || !isAsk(d.Gate) {
			return err
		}
		return c.decidedAsk(s, p, e, d, book)
	case work.PhaseReopened, work.PhaseRewound:
		book = askBook{}
	case work.PhaseFinished:
		var d work.PhaseFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Reason == work.ReasonBlocked && strings.HasPrefix(d.Detail, "it needs ") && !slices.ContainsFunc(book.lacked, func(l string) bool { return strings.Contains(letters(d.Detail), letters(l)) }) {
			return fmt.Errorf("phase %s fails for want of what it does not lack: %s", e.Phase, d.Detail)
		}
		book.waits, book.told = false, ""
	}
	note(c, c.asks, e.Phase, book)
	return nil
}

// key tells what is asked apart, in another way than the core does.
func (c *invariants) key(cp work.Checkpoint) string {
	said, _, _ := strings.Cut(cp.Facts, "\n")
	return cp.Kind + " " + letters(said)
}

func (c *invariants) wondered(e work.Event, book askBook) error {
	var d work.IterationFinishedData
	if err := read(c, e, &d); err != nil || d.Outcome == work.OutcomeInterrupted || d.Outcome == work.OutcomeRateLimited {
		return err
	}
	book.told, book.now, book.lacked = "", nil, nil
	for _, q := range d.Signals.Questions {
		book.now = append(book.now, string(gates.PointQuestion)+" "+letters(q.Text))
	}
	for _, l := range d.Signals.Lacks {
		book.now, book.lacked = append(book.now, string(gates.PointBlocker)+" "+letters(l.Text)), append(book.lacked, l.Text)
	}
	if len(d.Signals.Assumptions) > 0 {
		note(c, c.doubts, "an assumption of phase "+e.Phase, true)
	}
	note(c, c.asks, e.Phase, book)
	return nil
}

func (c *invariants) decidedAsk(s *State, p *Phase, e work.Event, d work.GateDecidedData, book askBook) error {
	person := strings.HasPrefix(d.By, "person:")
	switch {
	case d.Decision == decideAlone && !person:
		if c.policyAt(s, e.Phase).At(gates.Point(d.Gate)) == gates.Human {
			return fmt.Errorf("gate %s is human, and %s decides %s", d.Gate, d.By, d.Decision)
		}
		if len(book.asked) >= maxAsks {
			return fmt.Errorf("phase %s asks more than %d times", e.Phase, maxAsks)
		}
		book.asked = append(slices.Clip(book.asked), "")
		book.told = tellAround
		if d.Gate == string(gates.PointQuestion) {
			book.told = tellAlone
		}
	case d.Decision == decideAnswer:
		if !person {
			return fmt.Errorf("%s answers what phase %s asks", d.By, e.Phase)
		}
		book.told = strings.TrimSpace(d.Comment)
	case d.Decision == decideAsk:
	}
	if d.Decision == decideAlone && d.Gate == string(gates.PointQuestion) {
		note(c, c.doubts, "a question of phase "+e.Phase+" that nobody answered", true)
	}
	if d.Decision == decideAsk || d.Decision == decideAlone && d.Gate == string(gates.PointQuestion) {
		// It is not what the agent says again and again.
		note(c, c.blockers, e.Phase, blockedBook{best: c.blockers[e.Phase].best})
	}
	note(c, c.asks, e.Phase, book)
	return nil
}
