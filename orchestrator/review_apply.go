package orchestrator

import (
	"fmt"
	"slices"
	"time"

	"forge/internal/work"
	"forge/review"
)

// openReview makes due whoever has not seen the proven tree.
func (s *State) openReview(p *Phase) {
	r := &p.Review
	commit, tree := p.Last, p.Tree
	if p.Merge != nil {
		commit, tree = p.Merge.Commit, p.Merge.Tree
	}
	if commit != r.Commit {
		r.Answer = nil
	}
	// Its proof is the one to go back to from here on.
	p.Prior = nil
	// What a person accepted was about another tree.
	r.Commit, r.Tree, r.Check, r.LetFiles = commit, tree, p.Check, nil
	if r.Of == nil {
		r.Of = map[string]*Opinion{}
	}
	for _, sp := range p.Set.Reviewers {
		o := r.Of[sp.Name]
		if o == nil {
			o = &Opinion{}
			r.Of[sp.Name] = o
		}
		// The same tree is not asked about until somebody likes it.
		if o.Commit != commit || o.Verdict == work.VerdictUnknown {
			o.Due, o.Asks, o.NotBefore = true, 0, time.Time{}
		}
	}
}

func applyReviewStarted(s *State, p *Phase, _ work.Event, d ReviewStartedData) {
	o := p.Review.Of[d.Specialist]
	if p.Stage != StageReview || o == nil || !o.Due || o.Begun != "" {
		return
	}
	o.Begun = d.Command
	s.reserve(p, d.Command, d.Reserved)
}

func applyReviewFinished(s *State, p *Phase, e work.Event, d ReviewFinishedData) {
	o := p.Review.Of[d.Specialist]
	if p.Stage != StageReview || o == nil || o.Begun != d.Command {
		return
	}
	o.Begun, o.Cleared = "", false
	s.settle(p, d.Command, d.Usage)
	if d.Verdict == work.VerdictUnknown {
		if o.Asks++; d.Gating && !d.Final && o.Asks < mostAsks {
			// It passes the gate of the money once more.
			o.NotBefore, o.Why = e.Time.Add(s.Spec.Settings.Reviews.AskWait(o.Asks)), d.Why
			return
		}
	}
	findings, verdict, sure := d.Findings, d.Verdict, d.Confidence
	if o.since() != "" && verdict != work.VerdictUnknown {
		// Only what changed was looked at: what was said of the rest stands.
		findings = slices.Concat(findings, o.Findings)
		if verdict == work.VerdictPass {
			verdict = o.Verdict
		}
		sure = leastOf(sure, o.Confidence)
	}
	if verdict == work.VerdictUnknown {
		sure = nil // of an answer that cannot be used nobody is sure
	}
	*o = Opinion{Commit: d.Commit, Verdict: verdict, Why: d.Why, Findings: findings, Confidence: sure}
}

// leastOf is the lesser of two, of which an unknown one is the least.
func leastOf(a, b *float64) *float64 {
	if a == nil || b != nil && *a <= *b {
		return a
	}
	return b
}

func applyArbiterStarted(s *State, p *Phase, _ work.Event, d ArbiterStartedData) {
	if p.Stage != StageArbiter || p.Review.Asking != "" {
		return
	}
	p.Review.Asking = d.Command
	s.reserve(p, d.Command, d.Reserved)
}

func applyArbiterFinished(s *State, p *Phase, _ work.Event, d ArbiterFinishedData) {
	if p.Stage != StageArbiter || p.Review.Asking != d.Command {
		return
	}
	s.settle(p, d.Command, d.Answer.Usage)
	p.Review.Asking, p.Review.Cleared, p.Review.Answer = "", false, &d.Answer
}

func applyArbiterDecided(s *State, p *Phase, _ work.Event, d ArbiterDecidedData) {
	if p.Stage != StageArbiter {
		return
	}
	switch d.Verdict {
	case review.Proceed:
		to := s.afterReview(p)
		s.passReview(p, fmt.Sprintf("arbiter: %s", d.Reason))
		s.move(p, to)
		s.Issue.proceeded()
	case review.Fix:
		p.Review.Attempts++
		s.Issue.fixed()
		p.Kind, p.Stage = IterationFix, StageGate
	}
}

// passReview lets the reviewed tree go on, with or without findings; what a
// fix left behind that was not proven is dropped.
func (s *State) passReview(p *Phase, let string) {
	r := &p.Review
	if p.Merge == nil && p.Last != r.Commit {
		p.Last, p.Tree, p.Reset = r.Commit, r.Tree, true
		p.took(r.Check)
	}
	if let != "" {
		r.Let = let
		if r.Evidence != "" {
			r.LetFiles = p.evidenceOf()
		}
	}
	if p.Kind == IterationFix {
		p.Kind = p.ownKind()
	}
}

// afterReview is where the reviewed tree of p goes on.
func (s *State) afterReview(p *Phase) Stage {
	if p.Merge != nil {
		return s.toLand(p)
	}
	return StageProven
}

// ownKind is the kind of p's iterations when nothing else is asked of it.
func (p *Phase) ownKind() IterationKind {
	if p.Reworking {
		return IterationRework
	}
	return IterationWork
}
