package orchestrator

import (
	"fmt"
	"math"

	"forge/internal/text"
	"forge/internal/work"
)

// Ledger is what has been consumed. An iteration that reports nothing leaves
// its reservation standing; where there is none, it is unknown.
type Ledger struct {
	USD           float64
	Tokens        int64
	UnknownUSD    int // iterations whose cost nobody knows
	UnknownTokens int
	// Accepted are those of the unknown ones that a person saw when the run
	// was resumed, so that they no longer stop it. They stay unknown.
	AcceptedUSD    int
	AcceptedTokens int
	Reserved       map[work.CommandID]float64
}

func (l *Ledger) reserve(id work.CommandID, usd *float64) {
	if usd == nil {
		return
	}
	if l.Reserved == nil {
		l.Reserved = map[work.CommandID]float64{}
	}
	l.Reserved[id] = *usd
}

// spend keeps the sum a number, whatever an agent says that it cost.
func (l *Ledger) spend(usd float64) { l.USD = min(l.USD+usd, math.MaxFloat64) }

// settle replaces the reservation of id by what was reported.
func (l *Ledger) settle(id work.CommandID, u work.Usage) {
	held, reserved := l.Reserved[id]
	delete(l.Reserved, id)
	switch {
	case u.CostUSD != nil:
		l.spend(*u.CostUSD)
	case reserved:
		l.spend(held)
	default:
		l.UnknownUSD++
	}
	if n, ok := u.Tokens(); ok && n >= 0 {
		// A sum that overflows would be room for more.
		l.Tokens += min(n, math.MaxInt64-l.Tokens)
	} else {
		l.UnknownTokens++
	}
}

// forfeit turns the reservations of a dead process into spending: what the
// interrupted attempts cost will never be known.
func (l *Ledger) forfeit() {
	for id, usd := range l.Reserved {
		l.spend(usd)
		delete(l.Reserved, id)
	}
}

// accept lets what is unknown so far no longer stop the run.
func (l *Ledger) accept() { l.AcceptedUSD, l.AcceptedTokens = l.UnknownUSD, l.UnknownTokens }

func (l *Ledger) reservedSum() float64 {
	var sum float64
	for _, usd := range l.Reserved {
		sum += usd
	}
	return sum
}

// Cost is the money spent so far; nil when a part of it is unknown.
func (l Ledger) Cost() *float64 {
	if l.UnknownUSD > 0 {
		return nil
	}
	usd := l.USD
	return &usd
}

// Day is what the whole project consumed today, as the journal knows it.
type Day struct {
	USD           float64
	Tokens        int64
	UnknownUSD    int // iterations whose cost nobody knows
	UnknownTokens int
}

// room says whether n iterations or reviews of p may start under the caps: yes,
// not before others have reported, or not at all (why names the cap).
func (s *State) room(p *Phase, day Day, n int) (start bool, why string) {
	c := s.Spec.Settings.Cost
	var each float64
	if c.IterationUSD != nil {
		each = *c.IterationUSD
	}
	top := s.top(p)
	var eachTokens int64
	if c.IterationTokens != nil {
		eachTokens = *c.IterationTokens
	}
	need, needTokens := float64(n)*each, int64(n)*eachTokens
	held, heldTop := s.Ledger.reservedSum(), top.Usage.reservedSum()
	var heldTokens, heldTopTokens int64
	for _, n := range s.working {
		other := s.Phases[n]
		// What passed this gate and has not begun has reserved nothing yet.
		going, begun := s.underWay(other)
		heldTokens += int64(going) * eachTokens
		held += float64(going-begun) * each
		if s.top(other) == top {
			heldTopTokens += int64(going) * eachTokens
			heldTop += float64(going-begun) * each
		}
	}
	usd := []struct {
		name    string
		most    *float64
		spent   float64
		held    float64
		unknown int
	}{
		{"phase_usd", c.PhaseUSD, top.Usage.USD, heldTop, top.Usage.UnknownUSD - top.Usage.AcceptedUSD},
		{"run_usd", c.RunUSD, s.Ledger.USD, held, s.Ledger.UnknownUSD - s.Ledger.AcceptedUSD},
		{"day_usd", c.DayUSD, day.USD, held, day.UnknownUSD},
	}
	wait := false
	for _, u := range usd {
		switch {
		case u.most == nil:
		case u.unknown > 0 && c.IterationUSD == nil:
			return false, fmt.Sprintf("cost.%s is set, but the cost of %s is unknown", u.name, text.Number(u.unknown, "iteration"))
		case u.spent >= *u.most, u.spent+need > *u.most:
			return false, fmt.Sprintf("cost.%s: %s of %s spent, the next iteration may need %s", u.name, text.USD(u.spent), text.USD(*u.most), text.USD(need))
		case u.held > 0 && u.spent+u.held+need > *u.most:
			wait = true
		}
	}
	tokens := []struct {
		name    string
		most    *int64
		spent   int64
		held    int64
		unknown int
	}{
		{"phase_tokens", c.PhaseTokens, top.Usage.Tokens, heldTopTokens, top.Usage.UnknownTokens - top.Usage.AcceptedTokens},
		{"run_tokens", c.RunTokens, s.Ledger.Tokens, heldTokens, s.Ledger.UnknownTokens - s.Ledger.AcceptedTokens},
		{"day_tokens", c.DayTokens, day.Tokens, heldTokens, day.UnknownTokens},
	}
	for _, t := range tokens {
		switch {
		case t.most == nil:
		case t.unknown > 0:
			return false, fmt.Sprintf("cost.%s is set, but the tokens of %s are unknown", t.name, text.Number(t.unknown, "iteration"))
		case t.spent >= *t.most, t.spent+needTokens > *t.most:
			return false, fmt.Sprintf("cost.%s: %d of %d tokens spent, the next iteration may need %d", t.name, t.spent, *t.most, needTokens)
		case t.held > 0 && t.spent+t.held+needTokens > *t.most:
			wait = true
		}
	}
	return !wait, ""
}

// underWay counts the effects of p that cost money and may be carried out now,
// and those of them that have begun.
func (s *State) underWay(p *Phase) (going, begun int) {
	switch p.Stage {
	case StageIterate:
		going = 1
		if p.Begun {
			begun = 1
		}
	case StageCouncil:
		return p.Contest.underWay()
	case StageReview, StageArbiter:
		begun = len(p.Review.begun())
		_, _, going = p.Review.due()
		if p.Review.Cleared || p.Review.Asking != "" {
			going++
		}
	}
	return going, begun
}

// ceiling is the most that an iteration of p may cost before it is ended.
func (s *State) ceiling(p *Phase, day Day) (usd *float64, tokens *int64) {
	c := s.Spec.Settings.Cost
	top := s.top(p)
	lowest := func(most *float64, spent float64) {
		if most == nil {
			return
		}
		if left := *most - spent; usd == nil || left < *usd {
			usd = &left
		}
	}
	lowest(c.IterationUSD, 0)
	lowest(c.PhaseUSD, top.Usage.USD)
	lowest(c.RunUSD, s.Ledger.USD)
	lowest(c.DayUSD, day.USD)
	least := func(most *int64, spent int64) {
		if most == nil {
			return
		}
		if left := *most - spent; tokens == nil || left < *tokens {
			tokens = &left
		}
	}
	least(c.IterationTokens, 0)
	least(c.PhaseTokens, top.Usage.Tokens)
	least(c.RunTokens, s.Ledger.Tokens)
	least(c.DayTokens, day.Tokens)
	return usd, tokens
}

// top is the node of the graph that p belongs to: sub-phases draw on their
// parent's remainder.
func (s *State) top(p *Phase) *Phase {
	if p.Parent != "" {
		return s.Phases[p.Parent]
	}
	return p
}
