package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// transitionGate is the gate before the work of a phase is merged.
func transitionGate() gate {
	return gate{
		names: []string{string(gates.PointPhaseTransition)}, stages: []Stage{StageProven},
		decide:   func(d *decision, p *Phase) bool { d.mayMerge(p); return true },
		answered: (*decision).answeredTransition, fold: foldTransition,
		moves: map[string][]Stage{decideGo: {StageTurn}, decideRework: {StageGate}},
	}
}

// mayMerge decides whether a proven phase takes its turn to merge. Its reviews
// are over.
func (d *decision) mayMerge(p *Phase) {
	if d.passStops(p) {
		return
	}
	if who := d.s.asPushed(p); who != "" {
		d.gate(p.Number, string(gates.PointPhaseTransition), decideGo, "person:"+who, tellApproved)
		return
	}
	// What falls on this boundary shares one record.
	points := d.s.stopPoints(p)
	look := d.s.policyOf(p).Looks.Due(d.s.endOf(p))
	if !d.s.passes(p, gates.PointPhaseTransition) || look != "" || len(points) == 0 && p.told() != "" || p.redPush() != nil {
		points = append([]string{string(gates.PointPhaseTransition)}, points...)
	}
	if len(points) == 0 {
		d.rule(p.Number, string(gates.PointPhaseTransition), decideGo, "nobody is asked here at this level")
		return
	}
	question := fmt.Sprintf("Merge phase %s %q?", p.Number, p.Plan.Name)
	if p.redPush() != nil {
		question = fmt.Sprintf("What was pushed to phase %s %q is red. What now?", p.Number, p.Plan.Name)
	}
	d.open(p, points[0], points, question, p.told()+tellLook(look)+p.tellRounds()+p.tellStops()+strings.Join(p.History, "\n"), points[1:]...)
}

// tellRounds says when people sent p back again and again, "" = they did not.
func (p *Phase) tellRounds() string {
	if p.SentBack < roundsBeforeNotice {
		return ""
	}
	return fmt.Sprintf("Changes were asked for %d times, and this does not converge: say in one sentence what is wrong with the plan itself, push commits of your own, or reject it.\n\n", p.SentBack)
}

func (d *decision) answeredTransition(p *Phase, a answer) {
	switch {
	case a.yes:
		d.say(p, a, decideGo)
	case a.comment != "":
		d.say(p, a, decideRework)
	default:
		d.say(p, a, decideReject)
		d.finish(p, work.PhaseFailed, work.ReasonRejected, a.Comment)
	}
}

func foldTransition(s *State, p *Phase, d folded) {
	if d.Decision == decideGo || strings.HasPrefix(d.By, "person:") {
		s.ended(p, d.By)
	}
	switch d.Decision {
	case decideGo:
		p.Stops = nil
	case decideRework:
		p.happened("%s asked for changes: %s", asks(d.By), text.FirstLine(text.Plain(d.Comment), 200))
		p.SentBack++
		p.Stops, p.Kind = nil, IterationRework
	}
}
