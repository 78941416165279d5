package gates

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

func preset(t testing.TB, name string) Policy {
	t.Helper()
	p, ok := Preset(name)
	if !ok {
		t.Fatalf("Preset(%q): none", name)
	}
	return p
}

func TestAt(t *testing.T) {
	p := Policy{Gates: map[Point]Mode{
		PointFinal: Auto, PointTactical: Human, PointIntent: "atuo", "made.up": Auto, "ckpt.": Auto, "": Auto,
		AnyCheckpoint: Auto, PointDeliverable: Human, "ckpt.design": "atuo", "ckpt.report": Auto,
	}}
	none := Policy{Gates: map[Point]Mode{"ckpt.report": Auto}}
	tests := []struct {
		name string
		p    Policy
		at   Point
		want Mode
	}{
		{"auto", p, PointFinal, Auto},
		{"human", p, PointTactical, Human},
		{"missing", p, PointPhaseStart, Human},
		{"mistyped mode", p, PointIntent, Human},
		{"unknown point that says auto", p, "made.up", Human},
		{"empty point that says auto", p, "", Human},
		{"checkpoint without a type", p, "ckpt.", Human},
		{"checkpoint named auto", p, CheckpointPoint("report"), Auto},
		{"checkpoint named human beside a free fallback", p, PointDeliverable, Human},
		{"checkpoint not named", p, PointFinalOutput, Auto},
		{"mistyped mode does not fall back", p, "ckpt.design", Human},
		{"the fallback itself", p, AnyCheckpoint, Auto},
		{"no fallback", none, PointFinalOutput, Human},
		{"named without fallback", none, "ckpt.report", Auto},
		{"case counts", p, "FINAL", Human},
		{"zero policy", Policy{}, PointIteration, Human},
	}
	for _, tt := range tests {
		if got := tt.p.At(tt.at); got != tt.want {
			t.Errorf("%s: At(%q) = %s, want %s", tt.name, tt.at, got, tt.want)
		}
	}
}

// A kind of doubt takes the mode of the point evidence, unless the policy names
// it; it never makes another kind pass.
func TestAtAKindOfDoubt(t *testing.T) {
	unproven, flaky := DoubtPoint(work.DoubtUnproven), DoubtPoint(work.DoubtFlaky)
	one := Policy{Gates: map[Point]Mode{PointEvidence: Human, unproven: Auto}}
	all := Policy{Gates: map[Point]Mode{PointEvidence: Auto, flaky: Human}}
	for _, tt := range []struct {
		p    Policy
		at   Point
		want Mode
	}{
		{Policy{}, unproven, Human},
		{one, unproven, Auto}, {one, flaky, Human}, {one, PointEvidence, Human}, {one, "evidence.evidence_changed", Human}, {one, "evidence.", Human},
		{all, unproven, Auto}, {all, flaky, Human}, {all, "evidence.proof_disturbed", Human},
		{Meet(one, all), unproven, Auto}, {Meet(one, all), flaky, Human}, {Meet(one, all), DoubtPoint(work.DoubtTestAware), Human},
		{Meet(one, Policy{}), unproven, Human},
	} {
		if got := tt.p.At(tt.at); got != tt.want {
			t.Errorf("%v at %s: %s, want %s", tt.p.Gates, tt.at, got, tt.want)
		}
	}
	for _, name := range []string{"evidence.evidence_changed", "evidence.proof_disturbed", "evidence.x"} {
		if _, problems := one.With(map[string]any{"gates": map[string]any{name: "auto"}}); len(problems) != 1 {
			t.Errorf("gates.%s: %v, want a problem", name, problems)
		}
	}
	said := Explain(one).Stops
	if i := slices.IndexFunc(said, func(h Halt) bool { return h.Point == PointEvidence }); i < 0 || !strings.HasSuffix(said[i].When, "; unproven alone is said and passes") {
		t.Errorf("said is %+v", said)
	}
	if slices.ContainsFunc(said, func(h Halt) bool { return h.Point == flaky || h.Point == unproven }) {
		t.Errorf("a kind is said twice: %+v", said)
	}
	if said := Explain(all).Stops; !slices.ContainsFunc(said, func(h Halt) bool { return h.Point == flaky }) {
		t.Errorf("what stops is not said: %+v", said)
	}
}

func TestStaleResponseAsksUnlessGateAndResponseAgree(t *testing.T) {
	for _, tt := range []struct {
		gate     Mode
		response OnStale
		want     OnStale
	}{
		{Auto, PivotThenFail, PivotThenFail},
		{Auto, AskOnStale, AskOnStale},
		{Human, PivotThenFail, AskOnStale},
		{Auto, "", AskOnStale},
		{Auto, "pivot", AskOnStale},
	} {
		p := Policy{Gates: map[Point]Mode{PointStale: tt.gate}, OnStale: tt.response}
		if got := p.StaleResponse(); got != tt.want {
			t.Errorf("gate %s, on_stale %q: %s, want %s", tt.gate, tt.response, got, tt.want)
		}
	}
}

func TestPolicyAsJSON(t *testing.T) {
	for _, info := range Presets() {
		p := preset(t, info.Name)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back Policy
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, p) {
			t.Errorf("%s read back: %+v, want %+v", info.Name, back, p)
		}
		if again, _ := json.Marshal(back); string(again) != string(text) {
			t.Errorf("%s written again: %s, want %s", info.Name, again, text)
		}
		if strings.Contains(string(text), "null") {
			t.Errorf("%s has null in it: %s", info.Name, text)
		}
	}
	const start = `{"preset":"full","gates":{"action":"auto","blocker":"auto","ckpt.*":"auto","ckpt.deliverable":"auto",`
	if text, _ := json.Marshal(preset(t, PresetFull)); !strings.HasPrefix(string(text), start) {
		t.Errorf("full as JSON: %s, want it to start %s", text, start)
	}
}

// Every field that can change a decision changes the version.
func TestVersion(t *testing.T) {
	p := preset(t, PresetInteractive)
	if p.Version() != preset(t, PresetInteractive).Version() || len(p.Version()) != 12 {
		t.Errorf("version %q, then %q", p.Version(), preset(t, PresetInteractive).Version())
	}
	named := p
	named.Preset = "another name"
	if named.Version() != p.Version() {
		t.Error("the name of a preset changed the version")
	}
	seen := map[string]string{p.Version(): "unchanged"}
	changes := map[string]func(*Policy){
		"gate":               func(p *Policy) { p.Gates[PointFinal] = Auto },
		"start_unasked":      func(p *Policy) { p.StartUnasked = StartNone },
		"every":              func(p *Policy) { p.Every = 2 },
		"milestones":         func(p *Policy) { p.Milestones = []string{"a"} },
		"confidence_below":   func(p *Policy) { p.ConfidenceBelow = 0.5 },
		"consent":            func(p *Policy) { p.Consent = []string{} },
		"confidence_floor":   func(p *Policy) { p.ConfidenceFloor = 0.3 },
		"irreversibility":    func(p *Policy) { p.IrreversibilityMax = RiskLow },
		"regret":             func(p *Policy) { p.RegretMax = RiskLow },
		"amplifier":          func(p *Policy) { p.PauseOnRiskAmplifier = false },
		"action_kinds":       func(p *Policy) { p.ActionKinds = nil },
		"contexts":           func(p *Policy) { p.Contexts = nil },
		"tier_floor":         func(p *Policy) { p.TierFloor = TierUser },
		"tier_ceiling":       func(p *Policy) { p.TierCeiling = TierUser },
		"budget_usd":         func(p *Policy) { p.BudgetUSD = 0.2 },
		"combined_inference": func(p *Policy) { p.CombinedInference = true },
		"on_stale":           func(p *Policy) { p.OnStale = PivotThenFail },
		"fail_verdict":       func(p *Policy) { p.FailVerdict = FailPhase },
		"promote":            func(p *Policy) { p.Promote = PromoteOnClean },
	}
	for name, change := range changes {
		q := preset(t, PresetInteractive)
		change(&q)
		if other, ok := seen[q.Version()]; ok {
			t.Errorf("%s has the version of %s", name, other)
		}
		seen[q.Version()] = name
	}
	// Preset and Gates aside, every field of Policy, of Looks and of Limits is above.
	if fields := reflect.TypeFor[Policy]().NumField() - 4 + reflect.TypeFor[Looks]().NumField() + reflect.TypeFor[Limits]().NumField(); fields != len(changes)-1 {
		t.Errorf("%d axes beside the gates, %d of them tried", fields, len(changes)-1)
	}
}

func TestValidate(t *testing.T) {
	for _, info := range Presets() {
		if problems := preset(t, info.Name).Validate(); problems != nil {
			t.Errorf("%s: %v", info.Name, problems)
		}
	}
	tests := []struct {
		path, says string
		change     func(*Policy)
	}{
		{"gates.finale", `did you mean "final"`, func(p *Policy) { p.Gates["finale"] = Auto }},
		{"gates.ckpt.", "unknown gate", func(p *Policy) { p.Gates["ckpt."] = Auto }},
		{"gates.ckpt.a b", "unusable form", func(p *Policy) { p.Gates["ckpt.a b"] = Auto }},
		{"gates.final", "unknown mode", func(p *Policy) { p.Gates[PointFinal] = "yes" }},
		{"gates.stale", "on_stale contradicts", func(p *Policy) { p.Gates[PointStale] = Auto }},
		{"gates.findings", "fail_verdict contradicts", func(p *Policy) { p.FailVerdict = FailPhase }},
		{"gates.promote", "promote contradicts", func(p *Policy) { p.Promote = PromoteOnClean }},
		{"start_unasked", "unknown word", func(p *Policy) { p.StartUnasked = "all" }},
		{"on_stale", `did you mean "pivot_then_fail"`, func(p *Policy) { p.OnStale = "pivot" }},
		{"fail_verdict", "unknown word", func(p *Policy) { p.FailVerdict = "" }},
		{"promote", "unknown word", func(p *Policy) { p.Promote = "never" }},
		{"consent[1]", "unknown word", func(p *Policy) { p.Consent = []string{"action_picked", "x"} }},
		{"confidence_floor", "from 0 to 1", func(p *Policy) { p.ConfidenceFloor = 1.01 }},
		{"confidence_floor", "from 0 to 1", func(p *Policy) { p.ConfidenceFloor = math.NaN() }},
		{"irreversibility_max", "unknown word", func(p *Policy) { p.IrreversibilityMax = "Medium?" }},
		{"regret_max", "unknown word", func(p *Policy) { p.RegretMax = "" }},
		{"action_kinds[0]", "unknown word", func(p *Policy) { p.ActionKinds = []string{"any"} }},
		{"contexts[0]", "unknown word", func(p *Policy) { p.Contexts = []string{"*"} }},
		{"tier_floor", "above the ceiling", func(p *Policy) { p.TierFloor = TierUser }},
		{"tier_ceiling", "unknown word", func(p *Policy) { p.TierCeiling = "best" }},
		{"budget_usd", "0 or more", func(p *Policy) { p.BudgetUSD = -1 }},
		{"budget_usd", "0 or more", func(p *Policy) { p.BudgetUSD = math.Inf(1) }},
	}
	for _, tt := range tests {
		p := preset(t, PresetInteractive)
		tt.change(&p)
		found := false
		for _, problem := range p.Validate() {
			found = found || problem.Path == tt.path && strings.Contains(problem.String(), tt.says)
		}
		if !found {
			t.Errorf("%s: %v, want a problem that says %q", tt.path, p.Validate(), tt.says)
		}
	}
}
