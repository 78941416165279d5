package orchestrator

import (
	"fmt"
	"maps"
	"slices"

	"forge/internal/work"
)

// books are the caps, kept by another hand: what was spent, and what attempts
// that have begun may still spend, for the run ("") and for each phase.
type books struct {
	set     work.Settings
	caps    map[string]work.Cost // one entry, so that it can be taken back
	usd     map[string]float64
	tokens  map[string]int64
	unknown map[string]int // iterations whose cost nobody knows
	silent  map[string]int // iterations whose tokens nobody knows
	running map[work.CommandID]string
}

func newBooks(set work.Settings) books {
	return books{
		set: set, caps: map[string]work.Cost{"": set.Cost}, usd: map[string]float64{}, tokens: map[string]int64{},
		unknown: map[string]int{}, silent: map[string]int{}, running: map[work.CommandID]string{},
	}
}

// before notes what dead processes and failed phases leave behind.
func (b *books) before(c *invariants, s *State, e work.Event) error {
	switch e.Kind {
	case work.PhaseFinished:
		// What it may have begun has come to nothing that anybody knows of.
		p := s.Phases[e.Phase]
		for _, id := range append(p.Review.begun(), p.Contest.begun()...) {
			if err := b.ends(c, id, work.Usage{}); err != nil {
				return err
			}
		}
		if p.Begun {
			return b.ends(c, p.Command, work.Usage{})
		}
	case work.RunResumed:
		var d RunResumedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		for id, top := range b.running {
			if top != "" {
				b.forfeit(c, id)
			}
		}
		if d.Cost != nil {
			note(c, b.caps, "", *d.Cost)
		}
		if d.AcceptUnknown {
			for _, n := range append(slices.Collect(maps.Keys(s.Phases)), "") {
				note(c, b.unknown, n, 0)
				note(c, b.silent, n, 0)
			}
		}
	}
	return nil
}

// forfeit counts what a dead process had reserved as spent.
func (b *books) forfeit(c *invariants, id work.CommandID) {
	top := b.running[id]
	note(c, b.running, id, "")
	if per := b.caps[""].IterationUSD; per != nil {
		note(c, b.usd, "", b.usd[""]+*per)
		note(c, b.usd, top, b.usd[top]+*per)
	}
}

func (b *books) ends(c *invariants, id work.CommandID, u work.Usage) error {
	top := b.running[id]
	if top == "" {
		return fmt.Errorf("%s ends in the books without having begun", id)
	}
	note(c, b.running, id, "")
	n, known := u.Tokens()
	for _, who := range []string{"", top} {
		switch per := b.caps[""].IterationUSD; {
		case u.CostUSD != nil:
			note(c, b.usd, who, b.usd[who]+*u.CostUSD)
		case per != nil:
			note(c, b.usd, who, b.usd[who]+*per)
		default:
			note(c, b.unknown, who, b.unknown[who]+1)
		}
		if known {
			note(c, b.tokens, who, b.tokens[who]+n)
		} else {
			note(c, b.silent, who, b.silent[who]+1)
		}
	}
	return nil
}

func (b *books) begins(c *invariants, id work.CommandID, top string) error {
	note(c, b.running, id, top)
	return b.starts(c.w.today(), top)
}

// starts: with everything that runs, the one that starts included, no cap can
// be passed; and nothing starts under a cap whose use is unknown.
func (b *books) starts(today Day, top string) error {
	cost := b.caps[""]
	runs := func(who string) (n int) {
		for _, t := range b.running {
			if t != "" && (who == "" || t == who) {
				n++
			}
		}
		return n
	}
	for _, x := range []struct {
		name, who string
		most      *float64
		spent     float64
		unknown   int
	}{
		{"run_usd", "", cost.RunUSD, b.usd[""], b.unknown[""]},
		{"phase_usd", top, cost.PhaseUSD, b.usd[top], b.unknown[top]},
		{"day_usd", "", cost.DayUSD, today.USD, today.UnknownUSD},
	} {
		switch per := cost.IterationUSD; {
		case x.most == nil:
		case x.unknown > 0 && per == nil:
			return fmt.Errorf("cap %s: an iteration starts though the cost of %d is unknown", x.name, x.unknown)
		case x.spent >= *x.most:
			return fmt.Errorf("cap %s: an iteration starts with %.4f of %.4f spent", x.name, x.spent, *x.most)
		case per != nil && x.spent+*per*float64(runs(x.who)) > *x.most+1e-9:
			return fmt.Errorf("cap %s: %d iterations run with %.4f of %.4f spent", x.name, runs(x.who), x.spent, *x.most)
		}
	}
	for _, x := range []struct {
		name, who string
		most      *int64
		spent     int64
		unknown   int
	}{
		{"run_tokens", "", cost.RunTokens, b.tokens[""], b.silent[""]},
		{"phase_tokens", top, cost.PhaseTokens, b.tokens[top], b.silent[top]},
		{"day_tokens", "", cost.DayTokens, today.Tokens, today.UnknownTokens},
	} {
		switch per := cost.IterationTokens; {
		case x.most == nil:
		case x.unknown > 0:
			return fmt.Errorf("cap %s: an iteration starts though the tokens of %d are unknown", x.name, x.unknown)
		case x.spent >= *x.most:
			return fmt.Errorf("cap %s: an iteration starts with %d of %d spent", x.name, x.spent, *x.most)
		case per != nil && x.spent+*per*int64(runs(x.who)) > *x.most:
			return fmt.Errorf("cap %s: %d iterations run with %d of %d spent", x.name, runs(x.who), x.spent, *x.most)
		}
	}
	return nil
}
