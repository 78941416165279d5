package gates

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWith(t *testing.T) {
	base := preset(t, "guided")
	p, problems := base.With(map[string]any{
		"gates":         map[string]any{"final": "auto", "ckpt.report": "human"},
		"start_unasked": "low_risk", "consent": []any{}, "confidence_floor": int64(1), "irreversibility_max": "HIGH", "regret_max": "low",
		"pause_on_risk_amplifier": false, "action_kinds": []any{"standard"}, "contexts": []any{}, "tier_floor": "local_fast",
		"tier_ceiling": "user", "budget_usd": 0.25, "combined_inference": true, "on_stale": "ask", "fail_verdict": "ask", "promote": "on_clean",
	})
	if problems != nil {
		t.Fatal(problems)
	}
	want := Limits{
		Consent: []string{}, ConfidenceFloor: 1, IrreversibilityMax: RiskHigh, RegretMax: RiskLow, ActionKinds: []string{"standard"},
		Contexts: []string{}, TierFloor: TierLocalFast, TierCeiling: TierUser, BudgetUSD: 0.25, CombinedInference: true,
	}
	if !reflect.DeepEqual(p.Limits, want) || p.Preset != "" || p.StartUnasked != StartLowRisk {
		t.Errorf("got %+v", p)
	}
	for pt, mode := range map[Point]Mode{PointFinal: Auto, "ckpt.report": Human, PointStale: Human, PointFindings: Human, PointPromote: Auto, PointPlanInitial: Human} {
		if p.At(pt) != mode {
			t.Errorf("%s is %s, want %s", pt, p.At(pt), mode)
		}
	}
	if base.At(PointFinal) != Human || base.Preset != "guided" {
		t.Error("the policy below changed")
	}
	if same, _ := base.With(nil); !reflect.DeepEqual(same, base) {
		t.Errorf("with nothing: %+v", same)
	}
}

// A response and its gate move together, whichever is said.
func TestWithPairs(t *testing.T) {
	for _, tt := range []struct {
		base string
		axes map[string]any
		at   Point
		want Mode
		ask  bool
	}{
		{"full", map[string]any{"gates": map[string]any{"stale": "human"}}, PointStale, Human, true},
		{"dependent", map[string]any{"gates": map[string]any{"stale": "auto"}}, PointStale, Auto, false},
		{"dependent", map[string]any{"on_stale": "pivot_then_fail"}, PointStale, Auto, false},
		{"full", map[string]any{"on_stale": "ask", "gates": map[string]any{"stale": "human"}}, PointStale, Human, true},
	} {
		p, problems := preset(t, tt.base).With(tt.axes)
		if problems != nil || p.At(tt.at) != tt.want || (p.OnStale == AskOnStale) != tt.ask || p.Validate() != nil {
			t.Errorf("%s with %v: %s, %s, %v", tt.base, tt.axes, p.At(tt.at), p.OnStale, problems)
		}
	}
	for _, tt := range []struct {
		axes map[string]any
		want StartUnasked
	}{
		{map[string]any{"gates": map[string]any{"phase.start": "human"}}, StartNone},
		{map[string]any{"gates": map[string]any{"phase.start": "human"}, "start_unasked": "low_risk"}, StartLowRisk},
		{map[string]any{"gates": map[string]any{"final": "auto"}}, StartLowRisk},
	} {
		if p, problems := preset(t, "interactive").With(tt.axes); problems != nil || p.StartUnasked != tt.want {
			t.Errorf("interactive with %v: %q, %v", tt.axes, p.StartUnasked, problems)
		}
	}
	p, problems := preset(t, "hands_off").With(map[string]any{"auto_advance": []any{"intent", "action"}})
	if problems != nil || p.At(PointIntent) != Auto || p.At(PointContext) != Human || p.At(PointAction) != Auto {
		t.Errorf("auto_advance: %v, %v", p.Gates, problems)
	}
	if p, _ = preset(t, "full").With(map[string]any{"auto_advance": []any{}}); p.At(PointIntent) != Human {
		t.Error("an empty auto_advance advances")
	}
}

func TestWithRefuses(t *testing.T) {
	for _, tt := range []struct {
		axis string
		v    any
		path string
		says string
	}{
		{"consnet", []any{}, "consnet", `did you mean "consent"`},
		{"preset", "full", "preset", "unknown axis"},
		{"consent", "action_approved", "consent", `is "action_approved"`},
		{"consent", []any{"action_approved", "action_aproved"}, "consent[1]", `did you mean "action_approved"`},
		{"consent", []any{nil}, "consent[0]", "is null"},
		{"consent", nil, "consent", "is null"},
		{"confidence_floor", 1.7, "confidence_floor", "is 1.7"},
		{"confidence_floor", "high", "confidence_floor", `is "high"`},
		{"confidence_floor", true, "confidence_floor", "is true"},
		{"confidence_floor", nil, "confidence_floor", "is null"},
		{"confidence_floor", -0.1, "confidence_floor", "from 0 to 1"},
		{"budget_usd", -1.0, "budget_usd", "0 or more"},
		{"budget_usd", "0.5", "budget_usd", `is "0.5"`},
		{"irreversibility_max", "hihg", "irreversibility_max", `did you mean "high"`},
		{"regret_max", int64(2), "regret_max", "is 2"},
		{"pause_on_risk_amplifier", "yes", "pause_on_risk_amplifier", "true or false"},
		{"combined_inference", int64(1), "combined_inference", "is 1"},
		{"action_kinds", []any{"Standard"}, "action_kinds[0]", `did you mean "standard"`},
		{"contexts", map[string]any{}, "contexts", "is a table"},
		{"tier_floor", "best", "tier_floor", "unknown word"},
		{"tier_ceiling", []any{}, "tier_ceiling", "is a list"},
		{"start_unasked", "all", "start_unasked", "use one of low_risk"},
		{"auto_advance", []any{"final"}, "auto_advance[0]", "intent, context, action"},
		{"auto_advance", true, "auto_advance", "is true"},
		{"gates", []any{}, "gates", "is a list"},
		{"gates", map[string]any{"fnial": "human"}, "gates.fnial", `did you mean "final"`},
		{"gates", map[string]any{"final": "Human"}, "gates.final", `did you mean "human"`},
		{"gates", map[string]any{"final": true}, "gates.final", "is true"},
		{"gates", map[string]any{"ckpt.a\nb": "auto"}, "gates.ckpt.a\nb", "unusable form"},
		{"on_stale", "pivot", "on_stale", `did you mean "pivot_then_fail"`},
		{"fail_verdict", nil, "fail_verdict", "is null"},
		{"promote", "never", "promote", "unknown word"},
	} {
		base := preset(t, "guided")
		p, problems := base.With(map[string]any{tt.axis: tt.v})
		if len(problems) == 0 || problems[0].Path != tt.path || !strings.Contains(problems[0].String(), tt.says) {
			t.Errorf("%s = %v: %v, want %s saying %q", tt.axis, tt.v, problems, tt.path, tt.says)
		}
		if axes := Exceeds(p, base); tt.axis != "on_stale" && tt.axis != "fail_verdict" && tt.axis != "promote" && axes != nil {
			t.Errorf("%s = %v: what cannot be used freed %v", tt.axis, tt.v, axes)
		}
	}
	_, problems := preset(t, "full").With(map[string]any{"on_stale": "ask", "gates": map[string]any{"stale": "auto"}})
	if len(problems) != 1 || problems[0].Path != "gates.stale" || !strings.Contains(problems[0].What, "contradicts") {
		t.Errorf("a gate against its response: %v", problems)
	}
	_, problems = preset(t, "full").With(map[string]any{"auto_advance": []any{}, "gates": map[string]any{"intent": "auto"}})
	if len(problems) != 1 || problems[0].Path != "auto_advance" {
		t.Errorf("auto_advance against a gate: %v", problems)
	}
}

// Written down axis by axis, a policy reads back as itself.
func TestValuesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := Catalogue{}.Names()
		p, _ := Preset(rapid.SampledFrom(names).Draw(t, "a"))
		q, _ := Preset(rapid.SampledFrom(names).Draw(t, "b"))
		p = Meet(p, q)
		gates, axes := map[string]any{}, map[string]any{"gates": map[string]any{}}
		for _, v := range p.Values() {
			switch x := v.Value.(type) {
			case []string:
				list := []any{}
				for _, w := range x {
					list = append(list, w)
				}
				axes[v.Name] = list
			default:
				if v.Gate {
					gates[v.Name] = x
				} else {
					axes[v.Name] = x
				}
			}
		}
		axes["gates"] = gates
		back, problems := Policy{}.With(axes)
		if problems != nil || len(Compare(back, p)) > 0 || back.Version() != p.Version() {
			t.Fatalf("read back %+v, %v", Compare(back, p), problems)
		}
	})
}

func TestCompare(t *testing.T) {
	a, _ := preset(t, "full").With(map[string]any{"consent": []any{"action_picked"}, "combined_inference": true, "gates": map[string]any{"ckpt.report": "human"}})
	b, _ := preset(t, "full").With(map[string]any{"consent": []any{"action_approved"}, "budget_usd": 0.1})
	var got []string
	for _, d := range Compare(a, b) {
		got = append(got, d.Name+" "+d.Freer)
	}
	if want := "ckpt.report b|consent |budget_usd a|combined_inference "; strings.Join(got, "|") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "|"), want)
	}
	d := Compare(preset(t, "interactive"), preset(t, "manual"))
	if last := d[len(d)-3]; last.Name != "start_unasked" || last.Freer != "a" || last.A != "low_risk" || last.B != "" {
		t.Errorf("%+v", d)
	}
}

// Compare names an axis as freer exactly where the second writing of the order
// says so.
func TestCompareAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyPolicy().Draw(t, "a"), anyPolicy().Draw(t, "b")
		for _, d := range Compare(a, b) {
			name := d.Name
			if strings.HasPrefix(name, checkpointPrefix) || name == "start_unasked" || name == "phase.start" || name == "promote" {
				continue // by another name there
			}
			inA := contains(freer(a, b), name)
			inB := contains(freer(b, a), name)
			if want := map[bool]string{true: "a"}[inA && !inB] + map[bool]string{true: "b"}[inB && !inA]; d.Freer != want {
				t.Fatalf("%s: %q is freer, want %q", name, d.Freer, want)
			}
		}
	})
}

func contains(list []string, w string) bool {
	for _, v := range list {
		if v == w {
			return true
		}
	}
	return false
}
