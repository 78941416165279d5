package orchestrator

import (
	"maps"
	"slices"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// IssueState is what a run keeps for its issue's sake. What it says of reviews,
// fixes and proofs is about the whole run, attempts that failed included.
type IssueState struct {
	External  bool `json:"Stranger"` // somebody wrote it elsewhere: no protected file is changed without a person
	Reviewed  bool // somebody reviewed what is in the result
	Warned    bool // and did not say pass
	Proceeded bool // the arbiter let findings stand
	Allowed   bool `json:"Excused"` // protected files were changed with leave
	Fixes     int  // of what reviews found

	Green     map[string]string // phase → tree that its verify commands passed on last
	AllowedIn map[string]bool   `json:"Lax"` // phase → that tree holds protected files that the plan lets it change

	Tree     string   // of the run's head
	Passed   []string // verify commands that passed on it
	Prover   string   // phase whose commands those are
	Landings []Landing

	// Decided is the last decision on the result as it is, nil = none yet;
	// Evidence is what is on record for its criteria.
	Decided  *PromotionDecidedData
	Evidence []work.Evidence
}

// Standing says where the issue of a run stands, as far as its run knows.
type Standing string

const (
	StandsWorking  Standing = "working"   // under way, or left and to be resumed
	StandsAtGate   Standing = "gate"      // waits for a person at a gate: it stays in progress
	StandsInReview Standing = "in_review" // finished and held: a person decides, or said no at promote alone
	StandsDone     Standing = "done"      // decided, and delivered
	StandsFailed   Standing = "failed"    // over, and nothing is promoted
)

// Promotion is what a run says of its issue.
type Promotion struct {
	Standing Standing
	// Decision is what was decided last on the result as it is now; "" = not
	// yet. Hold stays what it was when a person approved.
	Decision review.Promotion
	Hold     []review.HoldReason
	By       string // rule:promote, or person:name
	Rejected string // the person's reason, where the result was rejected
	// Checkpoint is the id of the open question about the result as a whole;
	// "" where none is open.
	Checkpoint string
	Criteria   []CriterionState
}

// CriterionState is one criterion with what is on record for it.
type CriterionState struct {
	work.Criterion
	Evidence []work.Evidence // about the result as it is now
	Met      bool            // enough speaks for it
}

// Promotion reads from the state where the run's issue stands. Of a run that
// is no issue's it is the zero value.
func (s *State) Promotion() Promotion {
	i := s.Issue
	if i == nil {
		return Promotion{}
	}
	out := Promotion{Rejected: s.Final.Rejected}
	if d := i.Decided; d != nil {
		out.Decision, out.Hold, out.By = d.Decision, slices.Clone(d.Hold), d.By
	}
	for _, c := range s.Spec.Issue.Criteria {
		e := about(c.ID, i.Evidence)
		out.Criteria = append(out.Criteria, CriterionState{Criterion: c, Evidence: e, Met: met(e)})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Open)) {
		if cp := s.Open[id]; cp.Phase == "" && cp.Kind != PointBaseline {
			out.Checkpoint = id
		}
	}
	out.Standing = s.standing(out)
	return out
}

func (s *State) standing(p Promotion) Standing {
	held := p.Decision == review.ToInReview
	switch {
	case s.Outcome == work.RunCompleted && p.Decision == review.ToDone:
		return StandsDone
	case s.Outcome == work.RunFailed && held && p.Rejected != "":
		return StandsInReview
	case s.Outcome.Final():
		return StandsFailed
	case p.Checkpoint != "" && held:
		return StandsInReview
	case len(s.Open) > 0:
		return StandsAtGate
	}
	return StandsWorking
}

// result is what the promotion of the run's issue is decided on, once all its
// phases are done; evidence is about its criteria.
func (s *State) result(evidence []work.Evidence) review.RunResult {
	i, set, p := s.Issue, s.Spec.Settings.Promote, s.policyOf(nil)
	r := review.RunResult{
		Pipeline: review.RunCompleted, Reviews: review.ReviewsNone, Proceeded: i.Proceeded, Fixes: i.Fixes,
		Autonomy: p.Promote == gates.PromoteOnClean && p.At(gates.PointPromote) == gates.Auto,
		Auto:     set.Enabled, OnClean: set.OnClean,
		Unverified: i.Allowed || s.inDoubt(), Assumed: len(s.Assumed) > 0,
	}
	switch {
	case i.Warned:
		r.Reviews = review.ReviewsWarnings
	case i.Reviewed:
		r.Reviews = review.ReviewsPassed
	}
	for _, n := range s.Order {
		if p := s.Phases[n]; p.Outcome == work.PhaseDone && p.Proof != work.ProofVerified && p.Proof != work.ProofWaived {
			r.Unverified = true
		}
	}
	r.Unverified = r.Unverified || len(s.unmet(evidence)) > 0
	return r
}

// unmet are the ids of the criteria that nothing on record is enough for.
func (s *State) unmet(evidence []work.Evidence) []string {
	var out []string
	for _, c := range s.Spec.Issue.Criteria {
		if !met(about(c.ID, evidence)) {
			out = append(out, c.ID)
		}
	}
	return out
}
