package orchestrator

import (
	"slices"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// Review is where the reviews of a phase stand.
type Review struct {
	Commit string          // under review: proven, and the one that goes on when they end well
	Tree   string          // of Commit
	Check  *work.TodoCheck // of Commit, in a job
	// Of are the specialists' opinions by name, the last of each.
	Of map[string]*Opinion
	// Evidence is what is wrong with the evidence that the proof rests on, a
	// critical finding of Forge's own; "" = nothing.
	Evidence string
	Answer   *work.ArbiterAnswer // of the arbiter's model on Commit
	Cleared  bool                // the arbiter's model may be asked: there is money for it
	Asking   work.CommandID      // likewise, once it has begun
	Attempts int                 // fixes that the arbiter asked for
	Let      string              // who let findings pass, and why
	LetFiles []string            // protected files whose change a person accepted
}

// Opinion is what one specialist says.
type Opinion struct {
	Due       bool
	Cleared   bool           // it may be asked for: there is money for it
	Begun     work.CommandID // of the review that is under way
	Asks      int            // unknown answers in a row
	NotBefore time.Time      // of the next one
	Commit    string         // that the verdict is about
	Verdict   work.Verdict
	Why       string
	Findings  []work.Finding
	// Confidence is how sure the specialist is, of its least sure part; nil = unknown.
	Confidence *float64               `json:",omitempty"`
	Criteria   []work.CriterionAnswer `json:",omitempty"` // of the issue, about Commit
}

// A gating reviewer without a usable answer is asked this often in all,
// unless no ask could change it.
const mostAsks = 3

// reviews says that p's work is reviewed. That of a sub-phase is, as part of
// its parent's; that of a try is, so that it can be held against the others.
func (s *State) reviews(p *Phase) bool { return p.Set.Reviewed && (p.Parent == "" || p.Try > 0) }

// toReview says that p holds content that its reviewers have not seen.
func (s *State) toReview(p *Phase) bool {
	switch {
	case !s.reviews(p):
		return false
	case p.Review.Evidence != "":
		return true
	case p.Merge != nil:
		return len(p.Merge.Differs) > 0 || p.Merge.Resolved
	}
	return p.Last != p.Base
}

// accepted says that what is wrong with p's evidence is what a person accepted
// before the merge, and that the merge left those files alone.
func (s *State) accepted(p *Phase) bool {
	if !s.reviews(p) || p.Merge == nil || p.Merge.Resolved || len(p.Merge.Differs) > 0 || len(p.Review.LetFiles) == 0 {
		return false
	}
	for _, f := range p.evidenceOf() {
		if !slices.Contains(p.Review.LetFiles, f) {
			return false
		}
	}
	return true
}

// due counts the opinions that are missing, those of them that may be asked for
// once there is money, and those that are asked for.
func (r *Review) due() (missing, ready, going int) {
	for _, o := range r.Of {
		switch {
		case !o.Due:
			continue
		case o.Cleared || o.Begun != "":
			going++
		case o.NotBefore.IsZero():
			ready++
		}
		missing++
	}
	return missing, ready, going
}

// rested are those whose wait is over.
func (p *Phase) rested(now time.Time) []*Opinion {
	var out []*Opinion
	for _, sp := range p.Set.Reviewers {
		if o := p.Review.Of[sp.Name]; o != nil && o.Due && !o.NotBefore.IsZero() && !now.Before(o.NotBefore) {
			out = append(out, o)
		}
	}
	return out
}

// clear lets the first most of those that are ready be asked for.
func (p *Phase) clear(most int) {
	for _, sp := range p.Set.Reviewers {
		if o := p.Review.Of[sp.Name]; o != nil && o.Due && o.Begun == "" && !o.Cleared && o.NotBefore.IsZero() && most > 0 {
			o.Cleared = true
			most--
		}
	}
}

// begun are the commands that are under way.
func (r *Review) begun() []work.CommandID {
	var out []work.CommandID
	for _, o := range r.Of {
		if o.Begun != "" {
			out = append(out, o.Begun)
		}
	}
	if r.Asking != "" {
		out = append(out, r.Asking)
	}
	slices.Sort(out)
	return out
}

// takeBack forgets what has begun and not finished: it is asked again, when
// there is money for it.
func (r *Review) takeBack() {
	for _, o := range r.Of {
		o.Begun, o.Cleared = "", false
	}
	r.Asking, r.Cleared = "", false
}

// objections are the findings that something has to follow from, Forge's own
// first: those of gating reviewers who say fail, and every critical one.
func (p *Phase) objections() []work.Finding {
	var out []work.Finding
	if p.Review.Evidence != "" {
		out = append(out, p.evidenceFinding())
	}
	for _, sp := range p.Set.Reviewers {
		o := p.Review.Of[sp.Name]
		if o == nil {
			continue
		}
		for _, f := range o.Findings {
			if sp.Gating && o.Verdict == work.VerdictFail || f.Severity == work.SeverityCritical {
				out = append(out, f)
			}
		}
	}
	return out
}

// evidenceFinding is Forge's own objection to a proof.
func (p *Phase) evidenceFinding() work.Finding {
	f := work.Finding{Specialist: evidenceReviewer, Severity: work.SeverityCritical, Issue: p.Review.Evidence}
	if p.Proving.Disturbed {
		f.Specialist = string(work.ReasonProofDisturbed)
		f.Suggestion = "the work must leave alone what judges it: its tests, their runner, and the tree while it is judged"
		return f
	}
	f.Suggestion = "make it green with the evidence as it was: " + p.tellEvidence()
	return f
}

// evidenceReviewer is the name under which Forge itself objects.
const evidenceReviewer = "evidence_changed"

// unanswered are the gating reviewers without a usable answer.
func (p *Phase) unanswered() []string {
	var out []string
	for _, sp := range p.Set.Reviewers {
		if o := p.Review.Of[sp.Name]; sp.Gating && (o == nil || o.Due || !o.Verdict.Known() || o.Verdict == work.VerdictUnknown) {
			out = append(out, sp.Name)
		}
	}
	if len(p.Set.Reviewers) == 0 {
		out = append(out, "nobody is configured to review")
	}
	return out
}

// critical says that a critical finding stands.
func (p *Phase) critical() bool {
	return slices.ContainsFunc(p.objections(), func(f work.Finding) bool { return f.Severity == work.SeverityCritical })
}

// reviewReason is why a phase fails over its reviews.
func (p *Phase) reviewReason() work.Reason {
	switch all := p.objections(); {
	case len(p.unanswered()) > 0:
		return work.ReasonReviewUnknown
	case p.Review.Evidence != "" && len(all) == 1 && p.Proving.Disturbed:
		return work.ReasonProofDisturbed
	case p.Review.Evidence != "" && len(all) == 1:
		return work.ReasonEvidenceChanged
	}
	return work.ReasonReviewFailed
}

// asksModel says that the arbiter's model has a say that is not yet heard.
func (s *State) asksModel(p *Phase) bool {
	return s.Spec.Settings.Reviews.Arbiter != "" && p.Review.Answer == nil && len(p.unanswered()) == 0
}

func (s *State) pendingReviews(p *Phase) []Command {
	var out []Command
	for _, sp := range p.Set.Reviewers {
		o := p.Review.Of[sp.Name]
		if o == nil || !o.Due || (p.Rewind != nil || p.Stopped != "") && o.Begun == "" {
			continue
		}
		c := Command{
			Phase: p.Number, Iteration: p.Iteration, Attempt: max(p.Tries[p.Iteration], 1), Step: StepReview,
			Commit: p.Review.Commit, Specialist: sp.Name,
		}
		if !o.Cleared && o.Begun == "" {
			if o.NotBefore.IsZero() {
				continue
			}
			c.Step, c.Until = StepWait, o.NotBefore
		}
		c.ID = s.id(p.Number, p.turnOf(o.Asks+1), p.Iteration, string(c.Step)+"-"+sp.Name+"-"+text.Short(p.Review.Commit))
		out = append(out, c)
	}
	return out
}

// turnOf tells a question about a commit from the same one before p was set back to
// it, whose answer may still come.
func (p *Phase) turnOf(n int) int { return n + 1000*len(p.Rewinds) }

func (s *State) pendingArbiter(p *Phase) []Command {
	if !p.Review.Cleared || !s.asksModel(p) || p.Rewind != nil && p.Review.Asking == "" {
		return nil
	}
	c := Command{Phase: p.Number, Iteration: p.Iteration, Attempt: max(p.Tries[p.Iteration], 1), Step: StepArbiter, Commit: p.Review.Commit}
	c.ID = s.id(p.Number, p.turnOf(c.Attempt), p.Iteration, string(StepArbiter)+"-"+text.Short(p.Review.Commit))
	return []Command{c}
}
