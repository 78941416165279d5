package orchestrator

import (
	"cmp"
	"fmt"

	"forge/internal/text"
	"forge/internal/work"
)

const gateCouncil = "council"

// councilGate asks for the votes of a council once there is money for them, and
// begins the chairman's try when all are over. Nobody's missing vote holds it:
// what is taken in the end is proven, whoever thinks what of it.
func councilGate() gate {
	return gate{
		names: []string{gateCouncil}, stages: []Stage{StageCouncil},
		decide: func(d *decision, p *Phase) bool { d.council(p); return true }, fold: foldCouncil,
	}
}

func (d *decision) council(p *Phase) {
	if !d.granted[p.Number] {
		return
	}
	ready, going := p.Contest.due()
	switch {
	case len(ready) > 0:
		if d.afford(p, len(ready)) {
			d.rule(p.Number, gateCouncil, decideReview, fmt.Sprintf("%s asked about the tries that are proven", text.Number(len(ready), "worker")))
		}
	case len(going) == 0:
		d.synthesise(p)
	}
}

func foldCouncil(_ *State, p *Phase, d folded) {
	if d.Decision != decideReview || p.Stage != StageCouncil {
		return
	}
	ready, _ := p.Contest.due()
	for _, v := range ready {
		v.Cleared = true
	}
}

// synthesise begins the try that the chairman makes out of those that are proven.
func (d *decision) synthesise(p *Phase) {
	over, _ := d.s.contestants(p)
	var proven []string
	for _, t := range over {
		if t.Proven {
			proven = append(proven, t.Number)
		}
	}
	by := p.Set.Council.Chairman
	d.phase(p.Number, work.SynthesisBegan, SynthesisBeganData{
		TryStarted: TryStarted{Number: d.s.freeNumbers(p, 1)[0], Agent: cmp.Or(by.Agent, p.Set.Agent), Model: by.Model},
		Of:         d.s.shuffled(p, "chairman", proven), Budget: max(p.Set.Council.Budget, 1),
	})
}

// tellTry is why a try may start.
func tellTry(parent, try *Phase) string {
	if c := parent.Contest.Council; c != nil && c.Synthesis == try.Number {
		return fmt.Sprintf("the synthesis of the council of phase %s, which may start", parent.Number)
	}
	return fmt.Sprintf("try %d of %d of phase %s, which may start", try.Try, len(parent.Contest.Tries), parent.Number)
}
