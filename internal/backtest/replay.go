package backtest

import (
	"fmt"
	"slices"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// Report is one run under another policy. What is decided otherwise at a
// boundary would have led elsewhere; what was recorded after it is all that is
// known, and each boundary is asked on its own.
type Report struct {
	Run       string          `json:"run"`
	Level     string          `json:"level"` // preset that it began with
	Outcome   work.RunOutcome `json:"outcome"`
	Decisions int             `json:"decisions"`
	Asked     int             `json:"asked"`     // checkpoints that opened
	WouldAsk  int             `json:"would_ask"` // that would have opened
	// Opened would have been asked about, and were not; Passed were asked
	// about, and would not have been. Never null.
	Opened    []Difference `json:"opened"`
	Passed    []Difference `json:"passed"`
	Promotion Promotion    `json:"promotion"`
}

// Difference is one boundary that the other policy decides otherwise.
type Difference struct {
	Seq        int64         `json:"seq"`
	Kind       string        `json:"kind"`
	Phase      string        `json:"phase,omitempty"`
	Points     []gates.Point `json:"points"`
	Checkpoint string        `json:"checkpoint,omitempty"` // that opened
	// Answer is how a person answered, where one was asked.
	Answer work.CheckpointStatus `json:"answer,omitempty"`
	Ended  string                `json:"ended,omitempty"` // how the phase, or the run, ended afterwards
	// Instead says what would have happened where nobody is asked and the work
	// does not go on either.
	Instead string `json:"instead,omitempty"`
	// Wrong says why it would have been better to ask; "" when nothing is
	// known against it.
	Wrong string `json:"wrong,omitempty"`
}

// Promotion is what would have become of the result.
type Promotion struct {
	// Decision is Done, InReview, Failed, or asked: a person would have been
	// asked about the result. "" for a run whose result was never judged.
	Decision string              `json:"decision"`
	Hold     []review.HoldReason `json:"hold"` // never null
	Wrong    string              `json:"wrong,omitempty"`
}

// AskedFirst is the promotion of a result that a person sees first.
const AskedFirst = "asked"

// Replay asks of every boundary of a run what p would have decided.
func Replay(s Story, p gates.Policy) Report {
	r := Report{Run: s.Run, Level: s.Spec.Policy.Preset, Outcome: s.Outcome, Decisions: len(s.Boundaries), Opened: []Difference{}, Passed: []Difference{}}
	unseen := map[string]bool{} // under p
	for _, b := range s.Boundaries {
		if b.End != nil {
			end := *b.End
			end.Unseen, b.End = others(unseen, b.Phase), &end
		}
		stops := b.Stops(p)
		switch {
		case b.End == nil:
		case stops:
			clear(unseen)
		case !b.Failed:
			unseen[b.Phase] = true
		}
		if b.Asked {
			r.Asked++
		}
		if stops {
			r.WouldAsk++
		}
		if stops == b.Asked {
			continue
		}
		d := Difference{Seq: b.Seq, Kind: b.Kind, Phase: b.Phase, Points: b.Points, Checkpoint: b.ID, Answer: b.Answer, Ended: b.Ended}
		if stops {
			r.Opened = append(r.Opened, d)
			continue
		}
		d.Instead, d.Wrong = Instead(b), wrong(b)
		r.Passed = append(r.Passed, d)
	}
	r.Promotion = promote(s, p)
	if pr := &r.Promotion; pr.Decision == string(review.ToDone) && pr.Wrong == "" {
		// What a person sent back would have been in the result.
		for _, d := range r.Passed {
			if d.Wrong != "" && boundary(d.Points[0]) {
				pr.Wrong = fmt.Sprintf("phase %s: %s", d.Phase, d.Wrong)
				break
			}
		}
	}
	return r
}

// Instead is what happens at a boundary that nobody is asked about and that is not passed,
// "" where the work goes on.
func Instead(b Boundary) string {
	switch {
	case b.Kind == orchestrator.PointBaseline:
		return "the run ends before any work"
	case gates.DecidesAgainst(gates.Point(b.Kind)) && gates.Point(b.Kind) == gates.PointStale:
		return "the strategy is changed once, then the phase fails; at once where the agent says again what stops it"
	case gates.DecidesAgainst(gates.Point(b.Kind)):
		return "the phase fails"
	case b.Kind == string(gates.PointQuestion):
		return "the agent decides by itself, and an issue is held in review"
	case b.Kind == string(gates.PointBlocker):
		return "the agent is told once to work around it, then the phase fails"
	}
	return ""
}

// wrong is what is known against going on at b without asking: a person did
// not say yes, or what followed failed. Where Forge would have decided against
// the phase, nothing went on.
func wrong(b Boundary) string {
	switch {
	case Instead(b) != "":
		return ""
	case b.Answer == work.CheckpointChangesRequested:
		return "it was sent back"
	case b.Answer == work.CheckpointRejected:
		return "it was rejected"
	case b.Failed && b.Phase != "":
		return fmt.Sprintf("phase %s ended %s", b.Phase, b.Ended)
	case b.Failed:
		return "the run ended " + b.Ended
	}
	return ""
}

// promote is what p would have made of the result when it was first judged,
// and what is known against that.
func promote(s Story, p gates.Policy) Promotion {
	out := Promotion{Hold: []review.HoldReason{}}
	if !s.Judged {
		return out
	}
	i := slices.IndexFunc(s.Boundaries, func(b Boundary) bool { return slices.ContainsFunc(b.Points, ofResult) })
	result := s.Result
	if i >= 0 && s.Boundaries[i].bound != nil {
		p = s.Boundaries[i].bound(p)
	}
	result.OnClean = p.At(gates.PointPromote) == gates.Auto && p.Promote == gates.PromoteOnClean
	decision, hold := review.Promote(result)
	out.Decision, out.Hold = string(decision), append(out.Hold, hold...)
	if i < 0 {
		return out
	}
	if decision != review.NotMoved && p.Stops(s.Boundaries[i].Moment) {
		out.Decision = AskedFirst
	}
	if out.Decision == string(review.ToDone) {
		out.Wrong = wrong(s.Boundaries[i])
	}
	return out
}

// Totals adds up what reports say.
type Totals struct {
	Runs          int `json:"runs"`
	Decisions     int `json:"decisions"`
	Asked         int `json:"asked"`
	WouldAsk      int `json:"would_ask"`
	Opened        int `json:"opened"`
	Passed        int `json:"passed"`
	PassedWrong   int `json:"passed_wrong"`
	Promoted      int `json:"promoted"` // would have been Done without a person
	PromotedWrong int `json:"promoted_wrong"`
}

// Add counts one more report.
func (t *Totals) Add(r Report) {
	t.Runs++
	t.Decisions += r.Decisions
	t.Asked += r.Asked
	t.WouldAsk += r.WouldAsk
	t.Opened += len(r.Opened)
	t.Passed += len(r.Passed)
	for _, d := range r.Passed {
		if d.Wrong != "" {
			t.PassedWrong++
		}
	}
	if r.Promotion.Decision == string(review.ToDone) {
		t.Promoted++
		if r.Promotion.Wrong != "" {
			t.PromotedWrong++
		}
	}
}
