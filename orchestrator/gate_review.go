package orchestrator

import (
	"fmt"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

const gateReview = "review"

func reviewGate() gate {
	return gate{
		names: []string{gateReview}, stages: []Stage{StageReview, StageJudge}, decide: (*decision).reviewsOf, fold: foldReview,
		moves: map[string][]Stage{decideArbiter: {StageArbiter}, decideGo: {StageProven, StageLand}},
		leads: leadReview,
	}
}

// reviewsOf asks for the reviews of p that are due, or goes back to what they
// said when a fix came to nothing.
func (d *decision) reviewsOf(p *Phase) bool {
	if p.Stage == StageReview {
		d.reviews(p)
		return true
	}
	bad := ""
	if p.Kind == IterationFix {
		bad = p.badFree()
	}
	if bad != "" {
		d.rule(p.Number, gateReview, decideArbiter, "the fix came to nothing: "+bad)
	}
	return bad != ""
}

// reviews asks for what is due, and decides once every answer is there.
func (d *decision) reviews(p *Phase) {
	if !d.granted[p.Number] {
		return
	}
	if p.Try > 0 && p.Review.Evidence != "" {
		// Nothing is spent on what cannot win.
		d.finish(p, work.PhaseFailed, work.ReasonEvidenceChanged, p.Review.Evidence)
		return
	}
	if rested := p.rested(d.now); len(rested) > 0 {
		d.rule(p.Number, gateReview, decideAskAgain, fmt.Sprintf("%s gave no usable answer and may be asked again", text.Number(len(rested), "reviewer")))
		return
	}
	if missing, ready, going := p.Review.due(); missing > 0 {
		if d.s.Spec.Settings.Reviews.OneByOne {
			ready = min(ready, 1-min(going, 1))
		}
		if ready > 0 && d.afford(p, ready) {
			d.rule(p.Number, gateReview, decideReview, fmt.Sprintf("%s asked about %s", text.Number(ready, "reviewer"), text.Short(p.Review.Commit)))
		}
		return
	}
	unknown, objections := p.unanswered(), p.objections()
	switch {
	case p.Try > 0:
		d.tried(p, unknown)
	case len(unknown) > 0:
		d.rule(p.Number, gateReview, decideArbiter, "no usable answer of "+strings.Join(unknown, ", "))
	case len(objections) > 0:
		d.rule(p.Number, gateReview, decideArbiter, fmt.Sprintf("%s against it", text.Number(len(objections), "finding")))
	default:
		d.rule(p.Number, gateReview, decideGo, p.opinions())
	}
}

// opinions says in a line what each reviewer said.
func (p *Phase) opinions() string {
	var out []string
	for _, sp := range p.Set.Reviewers {
		if o := p.Review.Of[sp.Name]; o != nil {
			out = append(out, fmt.Sprintf("%s %s", sp.Name, o.Verdict))
		}
	}
	return strings.Join(out, ", ")
}

func leadReview(s *State, p *Phase, d work.GateDecidedData) Stage {
	if d.Decision == decideArbiter {
		return StageArbiter
	}
	return s.afterReview(p)
}

func foldReview(s *State, p *Phase, d folded) {
	switch d.Decision {
	case decideReview: // there is money for them
		if p.Stage == StageReview {
			most := len(p.Set.Reviewers)
			if s.Spec.Settings.Reviews.OneByOne {
				most = 1
			}
			p.clear(most)
		}
	case decideAskAgain:
		for _, o := range p.rested(d.at) {
			o.NotBefore = time.Time{}
		}
	case decideArbiter:
		s.restoreProof(p)
		if p.Merge != nil {
			// The phase goes on from the merged tree, and holds up nobody's merge.
			p.Base, p.Last, p.Tree, p.Reset = p.Merge.Head, p.Merge.Commit, p.Merge.Tree, true
			s.releaseTurn(p)
			p.Kind = p.ownKind()
		}
		p.Review.Cleared = false
	case decideGo:
		s.passReview(p, "")
	}
}
