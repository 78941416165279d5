package gates

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The table of the specification, row by row.
const presetTable = `
preset           | plan.initial | plan.later | tactical | final | 3 named | ckpt.* | intent, context | action | phase.start | subphase | stale | findings | promote
full             | auto  | auto  | auto  | auto  | auto         | auto  | auto  | auto  | auto  | auto  | pivot | fail | on_clean
review           | auto  | auto  | auto  | human | final_output | auto  | auto  | human | auto  | auto  | pivot | fail | review
partial          | human | auto  | auto  | human | final_output | auto  | auto  | human | auto  | auto  | pivot | fail | review
guided           | human | human | auto  | human | human        | auto  | auto  | human | auto  | auto  | pivot | fail | review
dependent        | human | human | human | human | human        | human | human | human | auto  | auto  | ask   | ask  | review
autonomous       | auto  | auto  | auto  | auto  | auto         | auto  | auto  | auto  | auto  | auto  | pivot | fail | on_clean
semi_supervised  | auto  | auto  | auto  | human | human        | auto  | auto  | human | auto  | auto  | pivot | fail | review
manual           | human | human | human | human | human        | human | human | human | human | human | ask   | ask  | review
interactive      | auto  | auto  | auto  | human | auto         | auto  | auto  | human | human | human | ask   | ask  | review
end_to_end       | auto  | auto  | auto  | auto  | auto         | auto  | auto  | auto  | auto  | auto  | pivot | fail | on_clean
plan_then_review | auto  | auto  | auto  | human | auto         | auto  | auto  | human | auto  | auto  | pivot | fail | review
hands_off        | human | human | human | human | human        | human | human | human | human | human | ask   | ask  | review
default          | human | human | human | human | human        | human | human | human | human | human | ask   | ask  | review
`

// limitsOf are the limits that the specification gives a preset in words.
func limitsOf(name string) Limits {
	l := Limits{
		Consent: []string{"action_approved"}, ConfidenceFloor: 0.6, BudgetUSD: 0.50,
		IrreversibilityMax: RiskMedium, RegretMax: RiskMedium, PauseOnRiskAmplifier: true,
		ActionKinds: []string{"standard", "improvised", "suggestion"},
		Contexts:    []string{"action_proposal", "agent_autonomous"},
		TierFloor:   TierFrontierFast, TierCeiling: TierAgentHeadless,
	}
	switch name {
	case "full", "autonomous", "end_to_end":
		l.Consent = []string{}
	case "dependent", "manual", "hands_off":
		l.Consent, l.BudgetUSD = []string{"intent_confirmed", "context_confirmed", "action_picked", "action_approved"}, 0.20
	case "default":
		l.Consent, l.ConfidenceFloor = []string{}, 0.3
	}
	return l
}

func TestPresetsAreThoseOfTheTable(t *testing.T) {
	var named []string
	for _, info := range Presets() {
		named = append(named, info.Name)
		if OldName(info.Name) != "" || OldNameHint(info.Name) != "" {
			t.Errorf("%s is listed, and an old name", info.Name)
		}
		if !strings.HasSuffix(info.Use, ".") || len(info.Use) < 20 {
			t.Errorf("%s: when to use it: %q", info.Name, info.Use)
		}
	}
	rows := strings.Split(strings.TrimSpace(presetTable), "\n")
	var tabled []string
	for _, row := range rows[1:] {
		cells := strings.Split(row, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		tabled = append(tabled, cells[0])
		p := preset(t, cells[0])

		want := map[Point]Mode{PointIteration: Auto}
		if name := cells[0]; name == "manual" || name == "hands_off" || name == "default" {
			want[PointIteration] = Human
		}
		for i, points := range [][]Point{
			{PointPlanInitial}, {PointPlanLater}, {PointTactical}, {PointFinal},
			{PointPhaseTransition, PointDeliverable, PointFinalOutput}, {AnyCheckpoint},
			{PointIntent, PointContext}, {PointAction}, {PointPhaseStart}, {PointSubPhase},
		} {
			for _, pt := range points {
				want[pt] = Mode(cells[i+1])
				if cells[i+1] == "final_output" {
					want[pt] = map[bool]Mode{true: Human, false: Auto}[pt == PointFinalOutput]
				}
			}
		}
		onStale := map[string]OnStale{"pivot": PivotThenFail, "ask": AskOnStale}[cells[11]]
		failVerdict := map[string]FailVerdict{"fail": FailPhase, "ask": AskOnFail}[cells[12]]
		promote := map[string]Promote{"on_clean": PromoteOnClean, "review": AlwaysReview}[cells[13]]
		asks := map[bool]Mode{true: Human, false: Auto}
		want[PointStale] = asks[onStale == AskOnStale]
		want[PointFindings] = asks[failVerdict == AskOnFail]
		want[PointPromote] = asks[promote == AlwaysReview]
		want[PointEvidence] = Human
		// An agent's questions are answered wherever a person looks at the result.
		nobody := slices.Contains([]string{"full", "autonomous", "end_to_end"}, cells[0])
		want[PointQuestion], want[PointBlocker] = asks[!nobody], asks[!nobody]
		// A phase that is split is another plan, and is done in sub-phases.
		want[PointTries] = asks[want[PointPlanLater] == Human || want[PointSubPhase] == Human]
		want[PointDecompose] = asks[want[PointPlanLater] == Human || want[PointSubPhase] == Human]
		if !maps.Equal(p.Gates, want) {
			t.Errorf("%s: gates %v, want %v", cells[0], p.Gates, want)
		}
		if p.OnStale != onStale || p.FailVerdict != failVerdict || p.Promote != promote {
			t.Errorf("%s: responses %s, %s, %s, want %s, %s, %s", cells[0],
				p.OnStale, p.FailVerdict, p.Promote, onStale, failVerdict, promote)
		}
		if p.Preset != cells[0] {
			t.Errorf("%s calls itself %q", cells[0], p.Preset)
		}
		limits := limitsOf(cells[0])
		if !reflect.DeepEqual(p.Limits, limits) {
			t.Errorf("%s: limits %+v, want %+v", cells[0], p.Limits, limits)
		}
		// In preset interactive alone some phases start unasked.
		if got := p.StartUnasked == StartLowRisk; got != (cells[0] == PresetInteractive) {
			t.Errorf("%s: start_unasked %q", cells[0], p.StartUnasked)
		}
	}
	tabled = slices.DeleteFunc(tabled, func(name string) bool { return OldName(name) != "" })
	if !slices.Equal(named, tabled) { // in this order they are shown
		t.Errorf("presets %v, want %v", named, tabled)
	}
}

func TestPresetUnknown(t *testing.T) {
	for _, name := range []string{"", "Interactive", "auto", "interactive "} {
		if p, ok := Preset(name); ok || p.Gates != nil {
			t.Errorf("Preset(%q) = %v, %v", name, p, ok)
		}
	}
}

// What one caller does to its policy must not reach the next one.
func TestPresetsAreNotShared(t *testing.T) {
	p := preset(t, PresetInteractive)
	p.Gates[PointFinal] = Auto
	p.Contexts[0] = "changed"
	if q := preset(t, PresetInteractive); q.Gates[PointFinal] != Human || q.Contexts[0] == "changed" {
		t.Errorf("the next one got %+v", q)
	}
}

func TestReadPresetsRefuses(t *testing.T) {
	for name, edit := range map[string][2]string{
		"broken TOML":         {`name = "autonomous"`, `name = `},
		"unknown axis":        {`promote = "on_clean"`, "promote = \"on_clean\"\nprmote = 1"},
		"unknown gate":        {`"tactical" = "auto"`, `"tactic" = "auto"`},
		"unknown mode":        {`"tactical" = "auto"`, `"tactical" = "yes"`},
		"unknown response":    {`on_stale = "pivot_then_fail"`, `on_stale = "pivot"`},
		"missing limit":       {`tier_floor = "frontier_fast"`, ``},
		"same name twice":     {`name = "autonomous"`, `name = "interactive"`},
		"no use":              {`use = "Nobody`, `use = "" # "`},
		"no name":             {`name = "autonomous"`, ``},
		"wrong type":          {`confidence_floor = 0.6`, `confidence_floor = "high"`},
		"extends nothing":     {`extends = "guided"`, `extends = "gided"`},
		"extends a number":    {`extends = "guided"`, `extends = 3`},
		"extends in a circle": {`extends = "full"` + "\n" + `use = "You trust`, `extends = "dependent"` + "\n" + `use = "You trust`},
		"old name of nothing": {`now = "full"`, `now = 1`},
		"something else":      {"[[preset]]\nname = \"autonomous\"", "[other]\na = 1\n[[preset]]\nname = \"autonomous\""},
	} {
		data := strings.Replace(presetData, edit[0], edit[1], 1)
		if data == presetData {
			t.Fatalf("%s: the edit changes nothing", name)
		}
		if got, err := readPresets(data); err == nil {
			t.Errorf("%s: read %d presets", name, len(got))
		}
	}
}

func TestIdentical(t *testing.T) {
	for name, want := range map[string][]string{
		"full": nil, "autonomous": {"full"}, "end_to_end": {"full"}, "manual": nil, "hands_off": {"manual"},
		"interactive": nil, "guided": nil, "semi_supervised": nil, "plan_then_review": nil, "default": nil, "nonsense": nil,
	} {
		if got := (Catalogue{}).Identical(name); !slices.Equal(got, want) {
			t.Errorf("%s is the same as %v, want %v", name, got, want)
		}
	}
}

// The presets form chains: each is freer than the next, or as free, on every
// axis.
func TestPresetChains(t *testing.T) {
	for _, chain := range [][]string{
		Levels(), {"autonomous", "semi_supervised", "manual"},
		{"end_to_end", "plan_then_review", "hands_off"}, {"autonomous", "interactive"}, {"default", "hands_off"},
	} {
		for i, freerOne := range chain {
			for _, bound := range chain[i:] {
				if axes := freer(preset(t, bound), preset(t, freerOne)); len(axes) > 0 {
					t.Errorf("%s is freer than %s on %v", bound, freerOne, axes)
				}
				if s := CheckSpawn(preset(t, bound), preset(t, freerOne)); !s.Allowed() {
					t.Errorf("%s may not spawn %s: %+v", freerOne, bound, s)
				}
			}
		}
	}
}

// Old names are read as what they were, and lead to one that is listed.
func TestOldNames(t *testing.T) {
	var listed []string
	for _, info := range Presets() {
		listed = append(listed, info.Name)
	}
	for name, want := range map[string]string{
		"autonomous": "full", "end_to_end": "full", "hands_off": "manual", "default": "interactive", "full": "", "nonsense": "",
	} {
		now := OldName(name)
		if now != want || now != "" && (!slices.Contains(listed, now) || slices.Contains(listed, name)) {
			t.Errorf("OldName(%s) = %q, want %q; listed are %v", name, now, want, listed)
		}
		if hint := OldNameHint(name); strings.Contains(hint, "write "+want+",") != (want != "") {
			t.Errorf("OldNameHint(%s) = %q", name, hint)
		}
		if near := (Catalogue{}).Nearest(name + "x"); now != "" && near != now {
			t.Errorf("Nearest(%sx) = %q, want %q", name, near, now)
		}
		if name != "default" && now != "" && len(Compare(preset(t, name), preset(t, now))) > 0 {
			t.Errorf("%s is not what %s is", name, now)
		}
	}
	if strings.Contains(docsText(), "### `hands_off`") {
		t.Error("the page lists an old name")
	}
}
