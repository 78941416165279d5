package gates

import (
	"slices"
	"strings"

	"forge/internal/text"
)

// RiskProfile rates a template, or the piece of work so far. "" says nothing;
// a word that is none counts as high.
type RiskProfile struct {
	Irreversibility Risk `json:"irreversibility,omitempty"`
	Regret          Risk `json:"regret_potential,omitempty"`
}

// With is the profile after an action with these claims: per axis the worse
// word, where a claim that is missing or unknown is high. A piece of work
// passes it on from action to action, and to what it spawns.
func (r RiskProfile) With(irreversibility, regret Risk) RiskProfile {
	worse := func(so, claim int) Risk { return Risks()[max(so, claim, 1)-1] }
	return RiskProfile{
		Irreversibility: worse(said(r.Irreversibility), claimed(irreversibility)),
		Regret:          worse(said(r.Regret), claimed(regret)),
	}
}

// said ranks a rating: 0 says nothing, 1 to 3 are low to high, and so is every
// unknown word, high. Case does not count.
func said(r Risk) int {
	switch {
	case r == "":
		return 0
	case strings.EqualFold(string(r), string(RiskLow)):
		return 1
	case strings.EqualFold(string(r), string(RiskMedium)):
		return 2
	}
	return 3
}

// claimed ranks the claim of an action, which has to say something.
func claimed(r Risk) int {
	if r == "" {
		return 3
	}
	return said(r)
}

// amplified is true for an action whose risk is more than it claims: it says
// so or does not say, its template rates itself medium or higher, or the piece
// of work has gathered more than the policy's maximum.
func (pr Proposal) amplified(l Limits) bool {
	return pr.RiskAmplifier == nil || *pr.RiskAmplifier ||
		max(said(pr.Template.Irreversibility), said(pr.Template.Regret)) >= 2 ||
		said(pr.Thread.Irreversibility) > most(l.IrreversibilityMax) || said(pr.Thread.Regret) > most(l.RegretMax)
}

// most ranks a policy's maximum; a word that is none lets nothing pass.
func most(r Risk) int {
	switch r {
	case RiskLow:
		return 1
	case RiskMedium:
		return 2
	case RiskHigh:
		return 3
	}
	return 0
}

// reserves says that the policy keeps a kind of confirmation for a person.
func (l Limits) reserves(consent string) bool { return slices.Contains(l.Consent, consent) }

// allowsKind is false for a kind that is none, whatever the list says.
func (l Limits) allowsKind(kind string) bool {
	switch kind {
	case "standard", "improvised", "suggestion":
		return slices.Contains(l.ActionKinds, kind)
	}
	return false
}

// MayAct says whether a piece of work may begin an action on an occasion, one
// of Contexts. An occasion that is none, and an empty list, allow nothing.
func (p Policy) MayAct(context string) Decision {
	known := slices.Contains(Contexts(), context)
	d := Decision{Verdict: Go, By: "rule:contexts", Passed: []string{"contexts"}, Reason: "the policy allows " + text.Clip(context, mostQuoted), Facts: "occasion " + text.Clip(context, mostQuoted)}
	if !known || !slices.Contains(p.Contexts, context) {
		d.Verdict, d.Passed, d.Failed = Ask, nil, d.Passed
		d.Reason = "the policy does not allow " + text.Clip(context, mostQuoted)
	}
	return d
}
