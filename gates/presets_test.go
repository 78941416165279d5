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
preset      | plan.initial | plan.later | tactical | final | 3 named | ckpt.* | intent, context | action | phase.start | subphase | stale | findings | promote
autonomous  | auto | auto | auto | auto  | auto | auto | auto | auto  | auto  | auto  | pivot | fail | on_clean
interactive | auto | auto | auto | human | auto | auto | auto | human | human | human | ask   | ask  | review
`

func TestPresetsAreThoseOfTheTable(t *testing.T) {
	var named []string
	for _, info := range Presets() {
		named = append(named, info.Name)
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
		for i, points := range [][]Point{
			{PointPlanInitial}, {PointPlanLater}, {PointTactical}, {PointFinal},
			{PointPhaseTransition, PointDeliverable, PointFinalOutput}, {AnyCheckpoint},
			{PointIntent, PointContext}, {PointAction}, {PointPhaseStart}, {PointSubPhase},
		} {
			for _, pt := range points {
				want[pt] = Mode(cells[i+1])
			}
		}
		onStale := map[string]OnStale{"pivot": PivotThenFail, "ask": AskOnStale}[cells[11]]
		failVerdict := map[string]FailVerdict{"fail": FailPhase, "ask": AskOnFail}[cells[12]]
		promote := map[string]Promote{"on_clean": PromoteOnClean, "review": AlwaysReview}[cells[13]]
		asks := map[bool]Mode{true: Human, false: Auto}
		want[PointStale] = asks[onStale == AskOnStale]
		want[PointFindings] = asks[failVerdict == AskOnFail]
		want[PointPromote] = asks[promote == AlwaysReview]
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
		limits := Limits{
			Consent:         map[string][]string{"autonomous": {}, "interactive": {"action_approved"}}[cells[0]],
			ConfidenceFloor: 0.6, BudgetUSD: 0.50,
			IrreversibilityMax: RiskMedium, RegretMax: RiskMedium, PauseOnRiskAmplifier: true,
			ActionKinds: []string{"standard", "improvised", "suggestion"},
			Contexts:    []string{"action_proposal", "agent_autonomous"},
			TierFloor:   TierFrontierFast, TierCeiling: TierAgentHeadless,
		}
		if !reflect.DeepEqual(p.Limits, limits) {
			t.Errorf("%s: limits %+v, want %+v", cells[0], p.Limits, limits)
		}
		// In preset interactive alone some phases start unasked.
		if got := p.StartUnasked == StartLowRisk; got != (cells[0] == PresetInteractive) {
			t.Errorf("%s: start_unasked %q", cells[0], p.StartUnasked)
		}
	}
	slices.Sort(named)
	if !slices.Equal(named, tabled) {
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
		"broken TOML":      {`name = "autonomous"`, `name = `},
		"unknown axis":     {`promote = "on_clean"`, "promote = \"on_clean\"\nprmote = 1"},
		"unknown gate":     {`"tactical" = "auto"`, `"tactic" = "auto"`},
		"unknown mode":     {`"tactical" = "auto"`, `"tactical" = "yes"`},
		"unknown response": {`on_stale = "pivot_then_fail"`, `on_stale = "pivot"`},
		"same name twice":  {`name = "autonomous"`, `name = "interactive"`},
		"no use":           {`use = "Nobody`, `use = "" # "`},
		"wrong type":       {`confidence_floor = 0.6`, `confidence_floor = "high"`},
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
