package orchestrator

import (
	"forge/gates"
	"forge/internal/work"
)

// findingsGate is where people say what becomes of findings that nothing
// resolves. The arbiter asks them.
func findingsGate() gate {
	return gate{
		names: []string{string(gates.PointFindings)}, answered: (*decision).answeredFindings, fold: foldFindings,
		moves: map[string][]Stage{decideGo: {StageProven, StageLand}, decideFix: {StageGate}},
		leads: func(s *State, p *Phase, d work.GateDecidedData) Stage {
			if d.Decision == decideFix {
				return StageGate
			}
			return s.afterReview(p)
		},
	}
}

func (d *decision) answeredFindings(p *Phase, a answer) {
	switch {
	case a.yes:
		d.say(p, a, decideGo)
	case a.comment != "":
		d.say(p, a, decideFix)
	default:
		d.say(p, a, decideReject)
		d.finish(p, work.PhaseFailed, p.reviewReason(), "rejected by "+a.By+": "+a.Comment)
	}
}

func foldFindings(s *State, p *Phase, d folded) {
	switch d.Decision {
	case decideGo:
		s.passReview(p, d.By)
	case decideFix:
		p.Kind = IterationFix
		s.Issue.fixed()
	}
}
