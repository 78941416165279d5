package gates

import (
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Targets lists what Forge infers about a piece of work and confirms, in that
// order: the points intent, context and action.
func Targets() []Point { return []Point{PointIntent, PointContext, PointAction} }

// ConfirmVerdict is the answer to a confirmation.
type ConfirmVerdict string

// The verdicts.
const (
	Advance ConfirmVerdict = "advance"
	Surface ConfirmVerdict = "surface" // wait for a person to confirm
	Clarify ConfirmVerdict = "clarify" // wait for a person to answer a question
)

// KindClarification is the kind of a proposal that is a question to the user.
const KindClarification = "clarification"

// Proposal is what a model inferred at one target. What it leaves out counts
// against it; the zero value never advances.
type Proposal struct {
	Confidence *float64 // nil: not said, or no number
	// Kind is one of ActionKinds, or KindClarification. Only an action has to
	// have one.
	Kind, Name string
	// The action's own claims; a missing or unknown word counts as high.
	Irreversibility, Regret Risk
	RiskAmplifier           *bool // nil counts as true
	// Template is how the template of a standard action rates itself, Thread
	// the risk that the piece of work has gathered so far.
	Template, Thread RiskProfile
	// PostReview asks for a review after the action. It never blocks.
	PostReview bool
}

// Confirmation is the decision on one proposal. It holds no slices, so that
// deciding allocates nothing; Passed.Names() is for those who read it.
type Confirmation struct {
	Target         Point
	Verdict        ConfirmVerdict
	Passed, Failed ConfirmAxes
}

// ConfirmAxes is a set of the axes on which a confirmation is decided.
type ConfirmAxes uint8

// The axes, in the order in which they are named.
const (
	AxisState ConfirmAxes = 1 << iota // the gate at the target
	AxisConfidence
	AxisConsent
	AxisIrreversibility
	AxisRegret
	AxisRiskAmplifier
	AxisActionKind
)

// Names lists the axes of the set in their order; empty, not nil, for none.
func (a ConfirmAxes) Names() []string {
	out := []string{}
	for i, name := range [...]string{"state", "confidence", "consent", "irreversibility", "regret", "risk_amplifier", "action_kind"} {
		if a&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// Confirm decides one proposal. It advances when every axis passes:
// the gate at target is auto; the confidence is a number from 0 to 1 and not
// below the floor; the policy reserves no consent to this confirmation; and of
// an action neither claim nor template rates worse than the policy allows,
// nothing amplifies its risk while the policy pauses on that, and its kind is
// allowed. A clarification is a question: no axis is looked at, and it always
// surfaces. A target that is none never advances.
func (p Policy) Confirm(target Point, pr Proposal) Confirmation {
	c := Confirmation{Target: target, Verdict: Clarify}
	if pr.Kind == KindClarification {
		return c
	}
	consent := consentFor(target)
	c.look(AxisState, consent != "" && p.At(target) == Auto)
	floor := usableFloor(p.ConfidenceFloor)
	c.look(AxisConfidence, pr.Confidence != nil && *pr.Confidence >= floor && *pr.Confidence <= 1)
	c.look(AxisConsent, consent != "" && !p.reserves(consent))
	if target == PointAction {
		irreversible := max(claimed(pr.Irreversibility), said(pr.Template.Irreversibility))
		regret := max(claimed(pr.Regret), said(pr.Template.Regret))
		c.look(AxisIrreversibility, irreversible <= most(p.IrreversibilityMax))
		c.look(AxisRegret, regret <= most(p.RegretMax))
		c.look(AxisRiskAmplifier, !p.PauseOnRiskAmplifier || !pr.amplified(p.Limits))
		c.look(AxisActionKind, p.allowsKind(pr.Kind))
	}
	c.Verdict = Advance
	if c.Failed != 0 {
		c.Verdict = Surface
	}
	return c
}

func (c *Confirmation) look(axis ConfirmAxes, passes bool) {
	if passes {
		c.Passed |= axis
	} else {
		c.Failed |= axis
	}
}

// ConfirmCombined decides the three proposals of one combined call, in the
// order of Targets, and stops at the first that does not advance.
func (p Policy) ConfirmCombined(intent, context, action Proposal) []Confirmation {
	var out []Confirmation
	for i, pr := range []Proposal{intent, context, action} {
		c := p.Confirm(Targets()[i], pr)
		out = append(out, c)
		if c.Verdict != Advance {
			break
		}
	}
	return out
}

// Record is the decision in the form in which the journal keeps it, with what
// was judged.
func (c Confirmation) Record(pr Proposal, policyVersion string) work.GateDecidedData {
	reason := "every axis passes"
	switch c.Verdict {
	case Clarify:
		reason = "a question is always put to a person"
	case Surface:
		reason = "blocked by " + strings.Join(c.Failed.Names(), ", ")
	}
	return work.GateDecidedData{
		Gate: string(c.Target), Decision: string(c.Verdict), By: "rule:confirmation", Policy: policyVersion,
		Passed: c.Passed.Names(), Failed: c.Failed.Names(), Facts: pr.text(c.Target), Reason: reason,
	}
}

func (pr Proposal) text(target Point) string {
	confidence := "unknown"
	if pr.Confidence != nil {
		confidence = fmt.Sprint(*pr.Confidence)
	}
	s := fmt.Sprintf("%s: confidence %s", target, confidence)
	if pr.Kind != "" {
		s += ", kind " + text.Clip(pr.Kind, mostQuoted)
	}
	if target != PointAction || pr.Kind == KindClarification {
		return s
	}
	amplifier := "unknown"
	if pr.RiskAmplifier != nil {
		amplifier = fmt.Sprint(*pr.RiskAmplifier)
	}
	s += fmt.Sprintf(" %q, irreversibility %s, regret %s, risk amplifier %s", text.Clip(pr.Name, mostQuoted), riskText(pr.Irreversibility), riskText(pr.Regret), amplifier)
	if pr.Template != (RiskProfile{}) {
		s += fmt.Sprintf(", template %s and %s", riskText(pr.Template.Irreversibility), riskText(pr.Template.Regret))
	}
	if pr.Thread != (RiskProfile{}) {
		s += fmt.Sprintf(", so far %s and %s", riskText(pr.Thread.Irreversibility), riskText(pr.Thread.Regret))
	}
	return s
}

func riskText(r Risk) string {
	if r == "" {
		return "unknown"
	}
	return text.Clip(string(r), mostQuoted)
}

// consentFor is the kind of consent that a person may have kept for a target;
// "" for what is no target.
func consentFor(target Point) string {
	switch target {
	case PointIntent:
		return "intent_confirmed"
	case PointContext:
		return "context_confirmed"
	case PointAction:
		return "action_approved"
	}
	return ""
}
