package gates

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyPolicy draws policies with every kind of value, also those that Validate
// refuses: what is stored somewhere may be anything.
func anyPolicy() *rapid.Generator[Policy] {
	points := slices.Concat(Points(), DoubtPoints(), []Point{PointDeliverable, "ckpt.design", "made.up"})
	list := func(of []string) *rapid.Generator[[]string] {
		return rapid.SliceOfN(rapid.SampledFrom(append(of, "made up")), 0, 4)
	}
	number := rapid.SampledFrom([]float64{0, 0.2, 0.3, 0.5, 0.6, 1, 1.5, -1, math.NaN(), math.Inf(1), math.Inf(-1)})
	return rapid.Custom(func(t *rapid.T) Policy {
		return Policy{
			Preset:       rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "preset"),
			Gates:        rapid.MapOf(rapid.SampledFrom(points), rapid.SampledFrom([]Mode{Auto, Auto, Auto, Human, "maybe"})).Draw(t, "gates"),
			StartUnasked: rapid.SampledFrom([]StartUnasked{StartNone, StartLowRisk, "all"}).Draw(t, "start"),
			Looks: Looks{
				Every:           rapid.SampledFrom([]int{0, 1, 2, 3, -1, 100_000}).Draw(t, "every"),
				Milestones:      list([]string{"design-*", "a?", "{"}).Draw(t, "milestones"),
				ConfidenceBelow: number.Draw(t, "below"),
			},
			Limits: Limits{
				Consent:              list(ConsentKinds()).Draw(t, "consent"),
				ConfidenceFloor:      number.Draw(t, "floor"),
				IrreversibilityMax:   rapid.SampledFrom(append(Risks(), "", "x")).Draw(t, "irreversibility"),
				RegretMax:            rapid.SampledFrom(append(Risks(), "", "x")).Draw(t, "regret"),
				PauseOnRiskAmplifier: rapid.Bool().Draw(t, "amplifier"),
				ActionKinds:          list(ActionKinds()).Draw(t, "kinds"),
				Contexts:             list(Contexts()).Draw(t, "contexts"),
				TierFloor:            rapid.SampledFrom(append(Tiers(), "", "x")).Draw(t, "tier floor"),
				TierCeiling:          rapid.SampledFrom(append(Tiers(), "", "x")).Draw(t, "tier ceiling"),
				BudgetUSD:            number.Draw(t, "budget"),
				CombinedInference:    rapid.Bool().Draw(t, "combined"),
			},
			OnStale:     rapid.SampledFrom([]OnStale{PivotThenFail, AskOnStale, "x"}).Draw(t, "on stale"),
			FailVerdict: rapid.SampledFrom([]FailVerdict{FailPhase, AskOnFail, "x"}).Draw(t, "fail verdict"),
			Promote:     rapid.SampledFrom([]Promote{PromoteOnClean, AlwaysReview, "x"}).Draw(t, "promote"),
		}
	})
}

// freer is the order of the specification written a second time, from the
// side of what a policy lets happen: the axes on which a lets something happen
// that b does not.
func freer(a, b Policy) []string {
	var out []string
	lets := func(axis string, a, b bool) {
		if a && !b && !slices.Contains(out, axis) {
			out = append(out, axis)
		}
	}
	for _, pt := range slices.Concat(Points(), DoubtPoints(), []Point{PointDeliverable, PointFinalOutput, "ckpt.design", "ckpt.other", "made.up"}) {
		lets(string(pt), a.At(pt) == Auto, b.At(pt) == Auto)
	}
	unasked := func(p Policy) bool { return p.StartUnasked == StartLowRisk || p.At(PointPhaseStart) == Auto }
	lets("phase.start", unasked(a), unasked(b))
	for _, w := range append(ConsentKinds(), "made up") {
		lets("consent", !slices.Contains(a.Consent, w), !slices.Contains(b.Consent, w))
	}
	for unseen := range 4 {
		passes := func(p Policy) bool {
			return p.Every == 0 || unseen+1 < p.Every && p.Every < 100_000
		}
		lets("every", passes(a), passes(b))
	}
	for _, w := range []string{"design-*", "a?", "{", "made up"} {
		lets("milestones", !slices.Contains(a.Milestones, w), !slices.Contains(b.Milestones, w))
	}
	for _, c := range []float64{-1, 0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.6, 0.9, 1} {
		unasked := func(p Policy) bool { // -1 = unknown
			return p.ConfidenceBelow == 0 || p.ConfidenceBelow > 0 && p.ConfidenceBelow <= 1 && c >= p.ConfidenceBelow
		}
		lets("confidence_below", unasked(a), unasked(b))
	}
	for _, c := range []float64{0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.6, 0.9, 1, 1.5} {
		passes := func(p Policy) bool { return p.ConfidenceFloor >= 0 && p.ConfidenceFloor <= 1 && c >= p.ConfidenceFloor }
		lets("confidence_floor", passes(a), passes(b))
		affords := func(p Policy) bool {
			return p.BudgetUSD >= 0 && !math.IsInf(p.BudgetUSD, 0) && c <= p.BudgetUSD && c > 0
		}
		lets("budget_usd", affords(a), affords(b))
	}
	for i := range Risks() {
		lets("irreversibility_max", i <= slices.Index(Risks(), a.IrreversibilityMax), i <= slices.Index(Risks(), b.IrreversibilityMax))
		lets("regret_max", i <= slices.Index(Risks(), a.RegretMax), i <= slices.Index(Risks(), b.RegretMax))
	}
	lets("pause_on_risk_amplifier", !a.PauseOnRiskAmplifier, !b.PauseOnRiskAmplifier)
	for _, w := range append(ActionKinds(), "made up") {
		real := w != "made up" // an unknown word allows nothing
		lets("action_kinds", real && slices.Contains(a.ActionKinds, w), real && slices.Contains(b.ActionKinds, w))
	}
	for _, w := range append(Contexts(), "made up") {
		real := w != "made up"
		lets("contexts", real && slices.Contains(a.Contexts, w), real && slices.Contains(b.Contexts, w))
	}
	for i := range Tiers() {
		floor := func(p Policy) bool { f := slices.Index(Tiers(), p.TierFloor); return f >= 0 && i >= f }
		lets("tier_floor", floor(a), floor(b))
		lets("tier_ceiling", i <= slices.Index(Tiers(), a.TierCeiling), i <= slices.Index(Tiers(), b.TierCeiling))
	}
	lets("on_stale", a.OnStale == PivotThenFail, b.OnStale == PivotThenFail)
	lets("fail_verdict", a.FailVerdict == FailPhase, b.FailVerdict == FailPhase)
	lets("promote", a.Promote == PromoteOnClean, b.Promote == PromoteOnClean)
	return out
}

func TestMeetLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyPolicy().Draw(t, "a"), anyPolicy().Draw(t, "b"), anyPolicy().Draw(t, "c")
		// Policies that are comparable, or the same under another name, are
		// too rare by chance.
		rename := func(p Policy, label string) Policy {
			p.Preset = rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, label)
			return p
		}
		switch rapid.IntRange(0, 3).Draw(t, "kin") {
		case 0:
			b = rename(a, "b's name")
		case 1:
			b, c = rename(Meet(a, b), "b's name"), rename(b, "c's name")
		case 2:
			c = rename(Meet(Meet(a, b), c), "c's name")
		}
		m := Meet(a, b)
		if again := Meet(m, m); !reflect.DeepEqual(again, m) {
			t.Fatalf("not idempotent: %+v, then %+v", m, again)
		}
		if other := Meet(b, a); !reflect.DeepEqual(other, m) {
			t.Fatalf("not commutative: %+v and %+v", m, other)
		}
		if left, right := Meet(m, c), Meet(a, Meet(b, c)); !reflect.DeepEqual(left, right) {
			t.Fatalf("not associative: %+v and %+v", left, right)
		}
		if again := Meet(m, b); !reflect.DeepEqual(again, m) {
			t.Fatalf("bounded twice by the same: %+v, then %+v", m, again)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Fatalf("the meet is no JSON: %v", err)
		}
	})
}

func TestMeetIsNeverFreer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyPolicy().Draw(t, "a"), anyPolicy().Draw(t, "b")
		m := Meet(a, b)
		if axes := append(freer(m, a), freer(m, b)...); len(axes) > 0 {
			t.Fatalf("the meet is freer on %v", axes)
		}
		// Nor stricter than both: what both let happen, it lets happen.
		for _, axis := range freer(a, m) {
			if !slices.Contains(freer(a, b), axis) {
				t.Fatalf("the meet took %s, which both allow", axis)
			}
		}
	})
}

func TestExceedsNamesEveryFreerAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		child, parent := anyPolicy().Draw(t, "child"), anyPolicy().Draw(t, "parent")
		got, want := Exceeds(child, parent), freer(child, parent)
		for _, axis := range want {
			if slices.Contains([]string{"made.up", "ckpt.other", "ckpt.design", "ckpt.deliverable", "ckpt.final_output"}, axis) {
				continue // named by its own point or by ckpt.*, whichever the policies name
			}
			if Point(axis).isDoubt() {
				continue // likewise, or by evidence
			}
			if !slices.Contains(got, axis) {
				t.Fatalf("Exceeds = %v, which misses %s", got, axis)
			}
		}
		for _, axis := range got {
			if !slices.Contains(want, axis) {
				t.Fatalf("Exceeds = %v, but %s is not freer", got, axis)
			}
		}
		if again := Exceeds(Meet(child, parent), parent); again != nil {
			t.Fatalf("the meet exceeds its parent on %v", again)
		}
	})
}

func TestMeetOfPresets(t *testing.T) {
	interactive, autonomous := preset(t, PresetInteractive), preset(t, PresetFull)
	if got := Meet(autonomous, interactive); !reflect.DeepEqual(got, interactive) {
		t.Errorf("autonomous under interactive: %+v", got)
	}
	if got := Meet(autonomous, autonomous); !reflect.DeepEqual(got, autonomous) {
		t.Errorf("autonomous under itself: %+v", got)
	}
	want := []string{"action", "blocker", "ckpt.question", "decompose", "final", "findings", "phase.start", "promote", "stale", "subphase", "tries", "consent", "on_stale", "fail_verdict"}
	if got := Exceeds(autonomous, interactive); !slices.Equal(got, want) {
		t.Errorf("autonomous exceeds interactive on %v, want %v", got, want)
	}
	if got := Exceeds(interactive, autonomous); got != nil {
		t.Errorf("interactive exceeds autonomous on %v", got)
	}
}

// A parent that asks about every phase is not loosened by a child that has
// the rule for low-risk starts.
func TestMeetOfStarts(t *testing.T) {
	auto := Policy{Gates: map[Point]Mode{PointPhaseStart: Auto}}
	some := Policy{StartUnasked: StartLowRisk}
	none := Policy{}
	for _, tt := range []struct {
		a, b Policy
		want int
	}{{auto, auto, 2}, {auto, some, 1}, {some, some, 1}, {auto, none, 0}, {some, none, 0}, {none, none, 0}} {
		if got := Meet(tt.a, tt.b).starts(); got != tt.want {
			t.Errorf("Meet(%+v, %+v) starts %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestMeetKeepsTheNameOfWhatItEquals(t *testing.T) {
	interactive, autonomous := preset(t, PresetInteractive), preset(t, PresetFull)
	cheap := preset(t, PresetFull)
	cheap.Preset, cheap.BudgetUSD = "cheap", 0.1
	alias := preset(t, PresetFull)
	alias.Preset = "zz"
	for _, tt := range []struct {
		a, b Policy
		want string
	}{
		{interactive, autonomous, "interactive"}, {autonomous, cheap, "cheap"},
		{interactive, cheap, ""}, {alias, autonomous, "full"},
	} {
		if got := Meet(tt.a, tt.b).Preset; got != tt.want {
			t.Errorf("Meet(%s, %s) is called %q, want %q", tt.a.Preset, tt.b.Preset, got, tt.want)
		}
	}
}
