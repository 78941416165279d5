package gates

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func ptr[T any](v T) *T { return &v }

// sound is a proposal with nothing against it.
func sound() Proposal {
	return Proposal{Confidence: ptr(0.9), Kind: "standard", Name: "tidy", Irreversibility: RiskLow, Regret: RiskLow, RiskAmplifier: ptr(false)}
}

func TestConfirm(t *testing.T) {
	const all = "state confidence consent irreversibility regret risk_amplifier action_kind"
	with := func(change func(*Proposal)) Proposal {
		pr := sound()
		change(&pr)
		return pr
	}
	policy := func(change func(*Policy)) Policy {
		p := preset(t, "full")
		change(&p)
		return p
	}
	full := preset(t, "full")
	tests := []struct {
		name   string
		p      Policy
		target Point
		pr     Proposal
		failed string // "" advances
	}{
		{"sound", full, PointAction, sound(), ""},
		{"sound intent", full, PointIntent, sound(), ""},
		{"an intent needs no claims", full, PointIntent, Proposal{Confidence: ptr(0.6)}, ""},
		{"a review afterwards never blocks", full, PointAction, with(func(pr *Proposal) { pr.PostReview = true }), ""},
		{"at the floor", full, PointAction, with(func(pr *Proposal) { pr.Confidence = ptr(0.6) }), ""},
		{"at the maximum", full, PointAction, with(func(pr *Proposal) { pr.Irreversibility, pr.Regret = "MEDIUM", "Medium" }), ""},
		{"a low template", full, PointAction, with(func(pr *Proposal) { pr.Template = RiskProfile{RiskLow, RiskLow} }), ""},
		{"a thread at the maximum", full, PointAction, with(func(pr *Proposal) { pr.Thread = RiskProfile{RiskMedium, RiskMedium} }), ""},

		{"nothing said", full, PointAction, Proposal{}, "confidence irreversibility regret risk_amplifier action_kind"},
		{"below the floor", full, PointAction, with(func(pr *Proposal) { pr.Confidence = ptr(0.59) }), "confidence"},
		{"above one", full, PointAction, with(func(pr *Proposal) { pr.Confidence = ptr(1.7) }), "confidence"},
		{"no number", full, PointAction, with(func(pr *Proposal) { pr.Confidence = ptr(math.NaN()) }), "confidence"},
		{"endless", full, PointAction, with(func(pr *Proposal) { pr.Confidence = ptr(math.Inf(1)) }), "confidence"},
		{"misspelt risk", full, PointAction, with(func(pr *Proposal) { pr.Irreversibility = "lwo" }), "irreversibility"},
		{"high regret", full, PointAction, with(func(pr *Proposal) { pr.Regret = RiskHigh }), "regret"},
		{"the template rates worse", full, PointAction, with(func(pr *Proposal) { pr.Template.Regret = RiskHigh }), "regret risk_amplifier"},
		{"a medium template amplifies", full, PointAction, with(func(pr *Proposal) { pr.Template.Irreversibility = RiskMedium }), "risk_amplifier"},
		{"an unknown word of the template", full, PointAction, with(func(pr *Proposal) { pr.Template.Irreversibility = "none" }), "irreversibility risk_amplifier"},
		{"a thread above the maximum", full, PointAction, with(func(pr *Proposal) { pr.Thread.Regret = RiskHigh }), "risk_amplifier"},
		{"an unknown word of the thread", full, PointAction, with(func(pr *Proposal) { pr.Thread.Irreversibility = "x" }), "risk_amplifier"},
		{"amplified", full, PointAction, with(func(pr *Proposal) { pr.RiskAmplifier = ptr(true) }), "risk_amplifier"},
		{"amplifier not said", full, PointAction, with(func(pr *Proposal) { pr.RiskAmplifier = nil }), "risk_amplifier"},
		{"not pausing on amplifiers", policy(func(p *Policy) { p.PauseOnRiskAmplifier = false }), PointAction, with(func(pr *Proposal) { pr.RiskAmplifier = nil }), ""},
		{"a kind that is none", full, PointAction, with(func(pr *Proposal) { pr.Kind = "Standard" }), "action_kind"},
		{"a kind that is none and is listed", policy(func(p *Policy) { p.ActionKinds = []string{"odd"} }), PointAction, with(func(pr *Proposal) { pr.Kind = "odd" }), "action_kind"},
		{"an empty list of kinds", policy(func(p *Policy) { p.ActionKinds = nil }), PointAction, sound(), "action_kind"},
		{"consent kept", policy(func(p *Policy) { p.Consent = []string{"action_approved"} }), PointAction, sound(), "consent"},
		{"consent to something else", policy(func(p *Policy) { p.Consent = []string{"intent_confirmed", "action_picked"} }), PointAction, sound(), ""},
		{"consent to the context", policy(func(p *Policy) { p.Consent = []string{"context_confirmed"} }), PointContext, sound(), "consent"},
		{"a human gate", policy(func(p *Policy) { p.Gates[PointIntent] = Human }), PointIntent, sound(), "state"},
		{"a maximum that is none", policy(func(p *Policy) { p.IrreversibilityMax = "" }), PointAction, sound(), "irreversibility"},
		{"a floor that is none", policy(func(p *Policy) { p.ConfidenceFloor = math.NaN() }), PointIntent, sound(), "confidence"},
		{"all at once", Policy{Limits: Limits{Consent: []string{"action_approved"}, PauseOnRiskAmplifier: true}}, PointAction, Proposal{}, all},
		{"no target", full, PointFinal, sound(), "state consent"},
		{"no point at all", full, "intnet", sound(), "state consent"},
	}
	for _, tt := range tests {
		c := tt.p.Confirm(tt.target, tt.pr)
		want := Advance
		if tt.failed != "" {
			want = Surface
		}
		if got := strings.Join(c.Failed.Names(), " "); got != tt.failed || c.Verdict != want {
			t.Errorf("%s: %s, failed %s, want %s, %s", tt.name, c.Verdict, got, want, tt.failed)
		}
		if c.Passed&c.Failed != 0 {
			t.Errorf("%s: an axis passed and failed: %v, %v", tt.name, c.Passed.Names(), c.Failed.Names())
		}
		looked := 3
		if tt.target == PointAction {
			looked = 7
		}
		if n := len(c.Passed.Names()) + len(c.Failed.Names()); n != looked {
			t.Errorf("%s: %d axes, want %d", tt.name, n, looked)
		}
	}
	for _, target := range Targets() {
		pr := sound()
		pr.Kind = KindClarification
		if c := full.Confirm(target, pr); c.Verdict != Clarify || c.Passed != 0 || c.Failed != 0 {
			t.Errorf("a question at %s: %+v", target, c)
		}
	}
}

func anyProposal() *rapid.Generator[Proposal] {
	risk := rapid.SampledFrom([]Risk{"", "low", "LOW", "medium", "Medium", "high", "hihg"})
	return rapid.Custom(func(t *rapid.T) Proposal {
		return Proposal{
			Confidence:      rapid.SampledFrom([]*float64{nil, ptr(0.0), ptr(0.3), ptr(0.6), ptr(0.9), ptr(1.0), ptr(1.7), ptr(-1.0), ptr(math.NaN())}).Draw(t, "confidence"),
			Kind:            rapid.SampledFrom([]string{"", "standard", "standard", "improvised", "suggestion", "clarification", "made up"}).Draw(t, "kind"),
			Irreversibility: risk.Draw(t, "irreversibility"), Regret: risk.Draw(t, "regret"),
			RiskAmplifier: rapid.SampledFrom([]*bool{nil, ptr(true), ptr(false), ptr(false)}).Draw(t, "amplifier"),
			Template:      RiskProfile{risk.Draw(t, "template"), risk.Draw(t, "template regret")},
			Thread:        RiskProfile{risk.Draw(t, "thread"), risk.Draw(t, "thread regret")},
			PostReview:    rapid.Bool().Draw(t, "post review"),
		}
	})
}

// confirmOracle is the rule of the specification written a second time, with
// words and lists instead of ranks and sets.
func confirmOracle(p Policy, target Point, pr Proposal) (verdict ConfirmVerdict, failed []string) {
	if pr.Kind == "clarification" {
		return Clarify, nil
	}
	words := []string{"", "low", "medium", "high"}
	rank := func(r Risk, silent string) int {
		s := strings.ToLower(string(r))
		if s == "" {
			s = silent
		} else if !slices.Contains(words[1:], s) {
			s = "high"
		}
		return slices.Index(words, s)
	}
	limit := func(r Risk) int { return max(slices.Index(words, string(r)), 0) }
	fail := func(axis string, fails bool) {
		if fails {
			failed = append(failed, axis)
		}
	}
	kind := map[Point]string{PointIntent: "intent_confirmed", PointContext: "context_confirmed", PointAction: "action_approved"}[target]
	fail("state", p.Gates[target] != Auto)
	fail("confidence", pr.Confidence == nil || !(*pr.Confidence >= 0) || !(*pr.Confidence <= 1) || !(p.ConfidenceFloor >= 0) || !(p.ConfidenceFloor <= 1) || !(*pr.Confidence >= p.ConfidenceFloor))
	fail("consent", slices.Contains(p.Consent, kind))
	if target == PointAction {
		fail("irreversibility", max(rank(pr.Irreversibility, "high"), rank(pr.Template.Irreversibility, "")) > limit(p.IrreversibilityMax))
		fail("regret", max(rank(pr.Regret, "high"), rank(pr.Template.Regret, "")) > limit(p.RegretMax))
		amplified := pr.RiskAmplifier == nil || *pr.RiskAmplifier ||
			rank(pr.Template.Irreversibility, "") > 1 || rank(pr.Template.Regret, "") > 1 ||
			rank(pr.Thread.Irreversibility, "") > limit(p.IrreversibilityMax) || rank(pr.Thread.Regret, "") > limit(p.RegretMax)
		fail("risk_amplifier", p.PauseOnRiskAmplifier && amplified)
		fail("action_kind", !slices.Contains(p.ActionKinds, pr.Kind) || !slices.Contains(ActionKinds(), pr.Kind))
	}
	if len(failed) > 0 {
		return Surface, failed
	}
	return Advance, nil
}

func TestConfirmAgainstOracle(t *testing.T) {
	seen := map[ConfirmVerdict]int{}
	rapid.Check(t, func(t *rapid.T) {
		p, pr := anyPolicy().Draw(t, "policy"), anyProposal().Draw(t, "proposal")
		if rapid.Bool().Draw(t, "usual") { // policies at random rarely let anything pass
			p, _ = Preset(rapid.SampledFrom(Catalogue{}.Names()).Draw(t, "preset"))
		}
		switch rapid.SampledFrom([]string{"any", "sound", "question"}).Draw(t, "proposed") { // nor do proposals
		case "sound":
			pr = sound()
		case "question":
			pr.Kind = KindClarification
		}
		target := rapid.SampledFrom(Targets()).Draw(t, "target")
		c := p.Confirm(target, pr)
		verdict, failed := confirmOracle(p, target, pr)
		if c.Verdict != verdict || !slices.Equal(c.Failed.Names(), append([]string{}, failed...)) {
			t.Fatalf("%s of %+v: %s %v, want %s %v", target, pr, c.Verdict, c.Failed.Names(), verdict, failed)
		}
		seen[verdict]++
	})
	if seen[Advance] == 0 || seen[Surface] == 0 || seen[Clarify] == 0 {
		t.Errorf("verdicts seen: %v", seen)
	}
}

// Whatever axis becomes more conservative, nothing that surfaced advances.
func TestMoreConservativeNeverAdvances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _ := Preset(rapid.SampledFrom(Catalogue{}.Names()).Draw(t, "preset"))
		if rapid.Bool().Draw(t, "odd") {
			p = anyPolicy().Draw(t, "policy")
		}
		stricter := Meet(p, anyPolicy().Draw(t, "bound"))
		pr, target := anyProposal().Draw(t, "proposal"), rapid.SampledFrom(Targets()).Draw(t, "target")
		if free, bound := p.Confirm(target, pr), stricter.Confirm(target, pr); free.Verdict != Advance && bound.Verdict == Advance {
			t.Fatalf("%s became %s", free.Verdict, bound.Verdict)
		} else if free.Failed&^bound.Failed != 0 && bound.Verdict != Clarify {
			t.Fatalf("%v failed, and no longer does", (free.Failed &^ bound.Failed).Names())
		}
	})
}

func TestConfirmAllocatesNothing(t *testing.T) {
	p := preset(t, "plan_then_review")
	pr := sound()
	pr.Template, pr.Thread = RiskProfile{RiskLow, "Medium"}, RiskProfile{RiskMedium, RiskHigh}
	b := Boundary{Kind: "tactical", Number: 4}
	if n := testing.AllocsPerRun(100, func() {
		for _, target := range [...]Point{PointIntent, PointContext, PointAction} {
			p.Confirm(target, pr)
		}
		p.At(PointFinal)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := p.AtBoundary(b); got.Frozen != NotFrozen {
		t.Errorf("%+v", got)
	}
}

func BenchmarkConfirm(b *testing.B) {
	p, pr := preset(b, "full"), sound()
	b.ReportAllocs()
	for b.Loop() {
		p.Confirm(PointAction, pr)
	}
}

func TestConfirmCombined(t *testing.T) {
	verdicts := func(p Policy, prs ...Proposal) string {
		out := ""
		for _, c := range p.ConfirmCombined(prs[0], prs[1], prs[2]) {
			out += fmt.Sprintf("%s %s ", c.Target, c.Verdict)
		}
		return strings.TrimSpace(out)
	}
	ask := sound()
	ask.Kind = KindClarification
	for _, tt := range []struct {
		p    Policy
		prs  []Proposal
		want string
	}{
		{preset(t, "full"), []Proposal{sound(), sound(), sound()}, "intent advance context advance action advance"},
		{preset(t, "review"), []Proposal{sound(), sound(), sound()}, "intent advance context advance action surface"},
		{preset(t, "dependent"), []Proposal{sound(), sound(), sound()}, "intent surface"},
		{preset(t, "full"), []Proposal{sound(), {}, sound()}, "intent advance context surface"},
		{preset(t, "full"), []Proposal{ask, sound(), sound()}, "intent clarify"},
	} {
		if got := verdicts(tt.p, tt.prs...); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.p.Preset, got, tt.want)
		}
	}
}

func TestConfirmRecord(t *testing.T) {
	pr := sound()
	pr.RiskAmplifier, pr.Regret, pr.Thread = nil, "", RiskProfile{Irreversibility: RiskHigh}
	r := preset(t, "review").Confirm(PointAction, pr).Record(pr, "abc")
	want := `action: confidence 0.9, kind standard "tidy", irreversibility low, regret unknown, risk amplifier unknown, so far high and unknown`
	if r.Gate != "action" || r.Decision != "surface" || r.By != "rule:confirmation" || r.Policy != "abc" || r.Facts != want ||
		r.Reason != "blocked by state, consent, regret, risk_amplifier" ||
		!slices.Equal(r.Passed, []string{"confidence", "irreversibility", "action_kind"}) || !slices.Equal(r.Failed, []string{"state", "consent", "regret", "risk_amplifier"}) {
		t.Errorf("%+v", r)
	}
	pr.Kind, pr.Confidence = KindClarification, nil
	if r = preset(t, "full").Confirm(PointAction, pr).Record(pr, "abc"); r.Decision != "clarify" || r.Facts != "action: confidence unknown, kind clarification" {
		t.Errorf("%+v", r)
	}
	r = preset(t, "full").Confirm(PointIntent, sound()).Record(sound(), "abc")
	if r.Decision != "advance" || len(r.Failed) != 0 || len(r.Passed) != 3 || r.Reason != "every axis passes" {
		t.Errorf("%+v", r)
	}
}

func TestRiskProfileGathers(t *testing.T) {
	var r RiskProfile
	for _, step := range []struct {
		irreversibility, regret Risk
		want                    RiskProfile
	}{
		{"low", "LOW", RiskProfile{RiskLow, RiskLow}},
		{"medium", "low", RiskProfile{RiskMedium, RiskLow}},
		{"low", "", RiskProfile{RiskMedium, RiskHigh}},
		{"hgih", "low", RiskProfile{RiskHigh, RiskHigh}},
	} {
		if r = r.With(step.irreversibility, step.regret); r != step.want {
			t.Errorf("after %s and %s: %+v, want %+v", step.irreversibility, step.regret, r, step.want)
		}
	}
}

func TestMayActAndMayAsk(t *testing.T) {
	p := preset(t, "full")
	odd := p
	odd.Contexts = []string{"odd", "user_invocation"}
	for _, tt := range []struct {
		p       Policy
		context string
		want    Verdict
	}{
		{p, "action_proposal", Go}, {p, "user_invocation", Ask}, {p, "", Ask}, {p, "Action_Proposal", Ask},
		{odd, "odd", Ask}, {odd, "user_invocation", Go}, {Policy{}, "action_proposal", Ask},
	} {
		d := tt.p.MayAct(tt.context)
		if d.Verdict != tt.want {
			t.Errorf("%v on %q: %s, want %s", tt.p.Contexts, tt.context, d.Verdict, tt.want)
		}
		explains(t, d)
	}
	upside := p
	upside.TierFloor, upside.TierCeiling = TierUser, TierLocalFast
	for _, tt := range []struct {
		p      Policy
		tier   Tier
		failed []string
	}{
		{p, TierFrontierFast, nil}, {p, TierAgentHeadless, nil}, {p, TierLocalFast, []string{"tier_floor"}}, {p, TierUser, []string{"tier_ceiling"}},
		{p, "", []string{"tier_floor", "tier_ceiling"}}, {p, "best", []string{"tier_floor", "tier_ceiling"}}, {Policy{}, TierUser, []string{"tier_floor", "tier_ceiling"}},
		{upside, TierFrontierFast, []string{"tier_floor", "tier_ceiling"}},
	} {
		d := tt.p.MayAsk(tt.tier)
		if !slices.Equal(d.Failed, tt.failed) || (d.Verdict == Go) != (tt.failed == nil) {
			t.Errorf("%q: %s, %v, want %v", tt.tier, d.Verdict, d.Failed, tt.failed)
		}
		explains(t, d)
	}
	tiers := map[string]string{"small": "local_fast", "odd": "best"}
	if got := []Tier{TierOf("small", tiers), TierOf("other", tiers), TierOf("odd", tiers), TierOf("x", nil)}; !reflect.DeepEqual(got, []Tier{TierLocalFast, TierFrontierFast, "", TierFrontierFast}) {
		t.Errorf("tiers %v", got)
	}
}
