package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// lacks is an agent that says what stops it, mostly in the same words, and then
// changes nothing.
func (w *world) lacks(s *work.Signals) bool {
	if !w.stuck || w.chance(30) {
		return false
	}
	w.fault("a blocker")
	s.Blockers = append(s.Blockers, w.text([]string{"no API key", "Try 2: no API key!", "no network"}[w.IntN(3)]))
	return true
}

// blockedBook is what an agent said stops it, as the events tell it: found again in
// another way than the core does.
type blockedBook struct {
	best  float64  // percentage
	named []string // letters alone, of the last iteration without progress
	due   string   // what was named again
}

// blocked follows one phase's blockers, and holds that nobody goes on past one
// that is named again without having been asked, and that nothing else fails so.
func (c *invariants) blocked(p *Phase, e work.Event) error {
	book := c.blockers[e.Phase]
	switch e.Kind {
	case work.IterationFinished:
		return c.blockersOf(p, e, book)
	case work.IterationStarted:
		if p.Kind == IterationWork && book.due != "" {
			return fmt.Errorf("phase %s goes on, and its agent says again what stops it: %s", e.Phase, text.ClipJSON(book.due, 100))
		}
		return nil
	case work.PhaseFinished:
		var d work.PhaseFinishedData
		if err := read(c, e, &d); err != nil || d.Reason != work.ReasonBlocked || strings.HasPrefix(d.Detail, "it needs ") {
			return err
		}
		if book.due == "" || !strings.Contains(letters(d.Detail), clipRunes(letters(book.due), 40)) || c.policyAt(c.w.s, e.Phase).StaleResponse() != gates.PivotThenFail {
			return fmt.Errorf("phase %s fails as blocked (%s), and named again is %q", e.Phase, text.ClipJSON(d.Detail, 100), text.ClipJSON(book.due, 100))
		}
		return nil
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		switch {
		case d.Gate == string(gates.PointStale) && d.Decision != decideAsk && d.Decision != decideStop:
			note(c, c.blockers, e.Phase, blockedBook{best: book.best})
		case d.Gate == string(gates.PointDecompose) && d.Decision != decideAsk:
			note(c, c.blockers, e.Phase, blockedBook{best: book.best})
		case d.Gate == gateMerge: // it was done all the same
			note(c, c.blockers, e.Phase, blockedBook{best: book.best, named: book.named})
		}
	case work.SubPhaseFolded:
		var d SubPhaseFoldedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Outcome == work.PhaseDone && d.Commit != p.Last {
			note(c, c.blockers, e.Phase, blockedBook{best: book.best})
		}
	case work.PhaseReopened:
		note(c, c.blockers, e.Phase, blockedBook{best: book.best})
	}
	return nil
}

func (c *invariants) blockersOf(p *Phase, e work.Event, book blockedBook) error {
	var d work.IterationFinishedData
	if err := read(c, e, &d); err != nil || d.Outcome == work.OutcomeInterrupted || d.Outcome == work.OutcomeRateLimited {
		return err
	}
	progress := d.Changed
	for _, x := range d.Signals.Progress {
		if x > book.best && x <= 100 {
			book.best, progress = x, true
		}
	}
	if p.Kind == IterationWork && d.Outcome.KeepsClaim() {
		was := book.named
		book.named, book.due = nil, ""
		for _, b := range d.Signals.Blockers {
			if progress || letters(b) == "" || slices.ContainsFunc(d.Signals.Lacks, func(l work.Lack) bool { return l.Text == b }) {
				continue
			}
			if book.named = append(book.named, letters(b)); book.due == "" && slices.Contains(was, letters(b)) {
				book.due = b
			}
		}
	}
	note(c, c.blockers, e.Phase, book)
	return nil
}

// letters are those of a text, in lower case.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return r
	}, strings.ToLower(text))
}

func clipRunes(text string, most int) string {
	return string([]rune(text)[:min(len([]rune(text)), most)])
}
