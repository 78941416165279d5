package orchestrator

import (
	"strings"

	"forge/gates"
	"forge/internal/work"
)

// A level may want a person to look at one of every few phases, at those of some
// names, and at those that nobody is sure of. What it goes by is said here: for the
// gate before a merge, and for that at the end of a job's phase.

// endOf is what the looks of a level go by at the end of p.
func (s *State) endOf(p *Phase) gates.PhaseEnd {
	e := gates.PhaseEnd{Name: p.Plan.Name, Confidence: p.confidence()}
	for _, q := range s.Phases {
		if q != p && q.Unseen && q.Outcome != work.PhaseFailed && q.Outcome != work.PhaseSkipped {
			e.Unseen++
		}
	}
	return e
}

// confidence is how sure p's work is to be right: the least that its reviewers said
// of it, and the arbiter where it was asked. The agent's own word can only lower it.
// nil = unknown: nobody reviewed it, or one of them did not say.
func (p *Phase) confidence() *float64 {
	var said []*float64
	for _, o := range p.Review.Of {
		said = append(said, o.Confidence)
	}
	if len(said) == 0 {
		return nil
	}
	if a := p.Review.Answer; a != nil {
		said = append(said, a.Confidence)
	}
	if c := p.Complete; c != nil {
		said = append(said, c.Confidence)
	}
	least := 1.0
	for _, c := range said {
		if c = share(c); c == nil {
			return nil
		}
		least = min(least, *c)
	}
	return &least
}

// tellLook says which look is due, "" = none is.
func tellLook(why string) string {
	if why == "" {
		return ""
	}
	return "You are asked here since " + why + ".\n\n"
}

// ended notes that what p did goes on, or back, by somebody's word: the phases before
// it count as seen when a person looked at this one.
func (s *State) ended(p *Phase, by string) {
	if !strings.HasPrefix(by, "person:") {
		p.Unseen = true
		return
	}
	for _, q := range s.Phases {
		q.Unseen = false
	}
}
