package orchestrator

import (
	"strings"

	"forge/internal/work"
)

const gateEvidence = "evidence"

func evidenceGate() gate {
	return gate{
		names: []string{gateEvidence}, stages: []Stage{StageJudge, StageEvidence}, decide: (*decision).evidenceOf, fold: foldEvidence,
		moves: map[string][]Stage{decideChanged: {StageReview}},
		leads: func(s *State, p *Phase, _ work.GateDecidedData) Stage {
			if s.reviews(p) && p.Stage == StageEvidence {
				return StageReview
			}
			return ""
		},
	}
}

// evidenceOf decides on a proof whose evidence was changed, or that was
// interfered with while it ran.
func (d *decision) evidenceOf(p *Phase) bool {
	changed := "test files of the base are gone: " + strings.Join(p.Gone, ", ")
	switch {
	case p.Stage == StageEvidence && len(p.Gone) == 0:
	case p.Stage == StageEvidence:
		d.rule(p.Number, gateEvidence, decideChanged, changed)
		if !d.s.reviews(p) {
			d.finish(p, work.PhaseFailed, work.ReasonEvidenceChanged, changed)
		}
		return true
	case p.Judged.Outcome == outcomeEvidence:
		changed = tellFloor(p.floor()) + ": " + p.tellEvidence()
		d.rule(p.Number, gateEvidence, decideChanged, changed)
		d.finish(p, work.PhaseFailed, work.ReasonEvidenceChanged, changed)
		return true
	case p.Judged.Outcome == outcomeDisturbed:
		d.rule(p.Number, gateEvidence, decideDisturbed, p.Judged.Detail)
		d.finish(p, work.PhaseFailed, work.ReasonProofDisturbed, p.Judged.Detail)
		return true
	}
	return false
}

func foldEvidence(_ *State, p *Phase, d folded) {
	if d.to == StageReview {
		p.Review.Evidence = d.Reason
	}
}
