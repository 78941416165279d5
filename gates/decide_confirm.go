package gates

import (
	"encoding/json"
	"slices"
	"strings"

	"forge/internal/text"
)

// AdvanceAnswer is the answer of DecideAdvance. Neither list is nil.
type AdvanceAnswer struct {
	Decision ConfirmVerdict `json:"decision"`
	Passed   []string       `json:"passed"`
	Failed   []string       `json:"failed"`
}

// DecideAdvance asks whether a proposal needs a person:
// {"preset","override","target","proposal"} → AdvanceAnswer. A value of the
// proposal that cannot be used counts against it; preset, axes and target that
// cannot be used are refused, and so are fields that a proposal does not have.
func DecideAdvance(in []byte) (any, error) {
	o, err := parseObject(in, "", "preset", "override", "target", "proposal")
	if err != nil {
		return nil, err
	}
	p, err := o.preset("preset")
	if err != nil {
		return nil, err
	}
	if p, err = o.override("override", p); err != nil {
		return nil, err
	}
	target, err := o.text("target")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(Targets(), Point(target)) {
		return nil, decideError(CodeBadValue, "target is %q: want %s", text.Clip(target, mostQuoted), strings.Join(words(Targets()), ", "))
	}
	raw, err := o.need("proposal")
	if err != nil {
		return nil, err
	}
	pr, err := parseProposal(raw)
	if err != nil {
		return nil, err
	}
	c := p.Confirm(Point(target), pr)
	return AdvanceAnswer{Decision: c.Verdict, Passed: c.Passed.Names(), Failed: c.Failed.Names()}, nil
}

// noWord is what a rating of the wrong type reads as: a word that is none.
const noWord Risk = "?"

func parseProposal(raw []byte) (Proposal, error) {
	o, err := parseObject(raw, "proposal", "confidence", "kind", "name", "irreversibility", "regret_potential",
		"risk_amplifier", "intrinsic", "thread_risk", "requires_post_review")
	if err != nil {
		return Proposal{}, err
	}
	pr := Proposal{Irreversibility: o.rating("irreversibility"), Regret: o.rating("regret_potential")}
	if f, err := o.number("confidence"); err == nil {
		pr.Confidence = &f
	}
	if b, err := o.boolean("risk_amplifier"); err == nil {
		pr.RiskAmplifier = &b
	}
	for name, into := range map[string]*string{"kind": &pr.Kind, "name": &pr.Name} {
		if s, err := o.text(name); err == nil {
			*into = s
		}
	}
	if b, err := o.boolean("requires_post_review"); err == nil {
		pr.PostReview = b
	}
	if pr.Template, err = o.profile("intrinsic"); err != nil {
		return Proposal{}, err
	}
	pr.Thread, err = o.profile("thread_risk")
	return pr, err
}

// rating is "" where nothing is said.
func (o object) rating(name string) Risk {
	raw, ok := o.fields[name]
	if !ok {
		return ""
	}
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil || *s == "" {
		return noWord
	}
	return Risk(*s)
}

// profile reads the ratings in a field. What is there and is no object says
// something that nobody understands, on every axis.
func (o object) profile(name string) (RiskProfile, error) {
	raw, ok := o.fields[name]
	if !ok {
		return RiskProfile{}, nil
	}
	if raw[0] != '{' {
		return RiskProfile{Irreversibility: noWord, Regret: noWord}, nil
	}
	inner, err := parseObject(raw, o.at(name), "irreversibility", "regret_potential")
	if err != nil {
		return RiskProfile{}, err
	}
	return RiskProfile{Irreversibility: inner.rating("irreversibility"), Regret: inner.rating("regret_potential")}, nil
}
