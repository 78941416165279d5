package gates

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// AxisNames lists the axes by which a policy may be written, in the order in
// which they are shown. auto_advance is another way to write three gates: the
// targets of a confirmation whose gate is auto, the others being human.
func AxisNames() []string {
	return slices.Concat([]string{"gates", "start_unasked", axisAutoAdvance}, looksNames(), limitNames(), responseNames())
}

const axisAutoAdvance = "auto_advance"

func limitNames() []string {
	return []string{
		"consent", "confidence_floor", "irreversibility_max", "regret_max", "pause_on_risk_amplifier",
		"action_kinds", "contexts", "tier_floor", "tier_ceiling", "budget_usd", "combined_inference",
	}
}

func responseNames() []string { return []string{"on_stale", "fail_verdict", "promote"} }

// With lays single axes over a policy, as decoded from TOML or JSON: numbers
// are int64 or float64, lists []any, tables map[string]any. Axes that are not
// named stay. What cannot be used is a problem with the axis as its path
// ("gates.final", "consent[1]") and changes nothing.
//
// A response and the gate of the same name move together unless both are said;
// both said and in contradiction is a problem. A gate at phase.start that is
// said without start_unasked means what it says: nothing starts unasked.
func (p Policy) With(axes map[string]any) (Policy, []work.Problem) {
	w := &axisWriter{p: p}
	w.p.Gates = maps.Clone(p.Gates)
	if w.p.Gates == nil {
		w.p.Gates = map[Point]Mode{}
	}
	if len(axes) > 0 {
		w.p.Preset = ""
	}
	for _, axis := range slices.Sorted(maps.Keys(axes)) {
		w.axis(axis, axes[axis])
	}
	gates, _ := axes["gates"].(map[string]any)
	_, startSaid := gates[string(PointPhaseStart)]
	if _, refined := axes["start_unasked"]; startSaid && !refined {
		w.p.StartUnasked = StartNone
	}
	// After the gates, which may contradict it.
	if v, ok := axes[axisAutoAdvance]; ok {
		w.autoAdvance(v, gates)
	}
	w.pair(axes, PointStale, "on_stale", w.p.OnStale != PivotThenFail, func(ask bool) {
		w.p.OnStale = either(ask, AskOnStale, PivotThenFail)
	})
	w.pair(axes, PointFindings, "fail_verdict", w.p.FailVerdict != FailPhase, func(ask bool) {
		w.p.FailVerdict = either(ask, AskOnFail, FailPhase)
	})
	w.pair(axes, PointPromote, "promote", w.p.Promote != PromoteOnClean, func(ask bool) {
		w.p.Promote = either(ask, AlwaysReview, PromoteOnClean)
	})
	return w.p, w.problems
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

type axisWriter struct {
	p        Policy
	problems []work.Problem
}

func (w *axisWriter) bad(path, what, fix string) {
	w.problems = append(w.problems, work.Problem{Path: path, What: what, Fix: fix})
}

func (w *axisWriter) axis(name string, v any) {
	l := &w.p.Limits
	switch name {
	case "gates":
		w.gates(v)
	case axisAutoAdvance: // later
	case "start_unasked":
		w.p.StartUnasked = oneWord(w, name, v, []StartUnasked{StartNone, StartLowRisk}, w.p.StartUnasked)
	case "every":
		w.p.Every = w.whole(name, v, mostEvery, w.p.Every)
	case "milestones":
		w.p.Milestones = w.texts(name, v, "design-*", w.p.Milestones)
	case "confidence_below":
		w.p.ConfidenceBelow = w.number(name, v, 1, "a number from 0 to 1", w.p.ConfidenceBelow)
	case "consent":
		l.Consent = w.wordList(name, v, ConsentKinds(), l.Consent)
	case "confidence_floor":
		l.ConfidenceFloor = w.number(name, v, 1, "a number from 0 to 1", l.ConfidenceFloor)
	case "irreversibility_max":
		l.IrreversibilityMax = oneWord(w, name, lowered(v), Risks(), l.IrreversibilityMax)
	case "regret_max":
		l.RegretMax = oneWord(w, name, lowered(v), Risks(), l.RegretMax)
	case "pause_on_risk_amplifier":
		l.PauseOnRiskAmplifier = w.boolean(name, v, l.PauseOnRiskAmplifier)
	case "action_kinds":
		l.ActionKinds = w.wordList(name, v, ActionKinds(), l.ActionKinds)
	case "contexts":
		l.Contexts = w.wordList(name, v, Contexts(), l.Contexts)
	case "tier_floor":
		l.TierFloor = oneWord(w, name, v, Tiers(), l.TierFloor)
	case "tier_ceiling":
		l.TierCeiling = oneWord(w, name, v, Tiers(), l.TierCeiling)
	case "budget_usd":
		l.BudgetUSD = w.number(name, v, maxBudgetUSD, "dollars, 0 or more", l.BudgetUSD)
	case "combined_inference":
		l.CombinedInference = w.boolean(name, v, l.CombinedInference)
	case "on_stale":
		w.p.OnStale = oneWord(w, name, v, []OnStale{PivotThenFail, AskOnStale}, w.p.OnStale)
	case "fail_verdict":
		w.p.FailVerdict = oneWord(w, name, v, []FailVerdict{FailPhase, AskOnFail}, w.p.FailVerdict)
	case "promote":
		w.p.Promote = oneWord(w, name, v, []Promote{PromoteOnClean, AlwaysReview}, w.p.Promote)
	default:
		w.bad(name, "unknown axis", didYouMean(name, AxisNames()))
	}
}

func (w *axisWriter) gates(v any) {
	table, ok := v.(map[string]any)
	if !ok {
		w.bad("gates", "is "+shown(v), `write a table, such as gates = { "final" = "human" }`)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		path := "gates." + text.Clip(name, mostQuoted)
		if what, fix := Point(name).problem(); what != "" {
			w.bad(path, what, fix)
			continue
		}
		mode := oneWord(w, path, table[name], []Mode{Auto, Human}, "")
		if mode != "" {
			w.p.Gates[Point(name)] = mode
		}
	}
}

func (w *axisWriter) autoAdvance(v any, gates map[string]any) {
	before := len(w.problems)
	auto := w.wordList(axisAutoAdvance, v, words(Targets()), nil)
	if len(w.problems) > before {
		return
	}
	for _, target := range Targets() {
		mode := either(slices.Contains(auto, string(target)), Auto, Human)
		if other, ok := gates[string(target)]; ok && other != string(mode) {
			w.bad(axisAutoAdvance, fmt.Sprintf("makes %s %s, which gates contradicts", target, mode), "say it once")
			continue
		}
		w.p.Gates[target] = mode
	}
}

// pair lets a response and its gate say the same.
func (w *axisWriter) pair(axes map[string]any, pt Point, response string, asks bool, set func(ask bool)) {
	gates, _ := axes["gates"].(map[string]any)
	_, gateSaid := gates[string(pt)]
	_, responseSaid := axes[response]
	switch {
	case gateSaid && responseSaid && (w.p.At(pt) == Human) != asks:
		// Of two words, of which one may be a mistyped one, none frees anything.
		w.bad("gates."+string(pt), fmt.Sprintf("the gate is %s, which %s contradicts", w.p.At(pt), response), "make both ask, or neither")
	case responseSaid && !gateSaid:
		w.p.Gates[pt] = either(asks, Human, Auto)
	case gateSaid && !responseSaid:
		set(w.p.At(pt) == Human)
	}
}

func oneWord[T ~string](w *axisWriter, path string, v any, of []T, old T) T {
	s, ok := v.(string)
	if ok && slices.Contains(of, T(s)) {
		return T(s)
	}
	known := slices.DeleteFunc(words(of), func(s string) bool { return s == "" })
	if !ok {
		w.bad(path, "is "+shown(v), "use one of "+strings.Join(known, ", "))
		return old
	}
	w.bad(path, fmt.Sprintf("unknown word %q", text.Clip(s, mostQuoted)), didYouMean(s, known))
	return old
}

// lowered makes a risk word small: they ignore case.
func lowered(v any) any {
	if s, ok := v.(string); ok {
		return strings.ToLower(s)
	}
	return v
}

// wordList takes an empty list as what it says: nothing.
func (w *axisWriter) wordList(path string, v any, of, old []string) []string {
	list, ok := v.([]any)
	if !ok {
		w.bad(path, "is "+shown(v), `write a list, such as ["`+of[0]+`"]`)
		return old
	}
	out := make([]string, 0, len(list))
	before := len(w.problems)
	for i, item := range list {
		out = append(out, oneWord(w, fmt.Sprintf("%s[%d]", path, i), item, of, ""))
	}
	if len(w.problems) > before {
		return old
	}
	return out
}

// texts takes any words.
func (w *axisWriter) texts(path string, v any, example string, old []string) []string {
	list, ok := v.([]any)
	if !ok {
		w.bad(path, "is "+shown(v), `write a list, such as ["`+example+`"]`)
		return old
	}
	out := make([]string, 0, len(list))
	for i, item := range list {
		word, ok := item.(string)
		if !ok {
			w.bad(fmt.Sprintf("%s[%d]", path, i), "is "+shown(item), `write text, such as "`+example+`"`)
			return old
		}
		out = append(out, word)
	}
	return out
}

// whole is a whole number, which JSON may write as any number.
func (w *axisWriter) whole(path string, v any, most int, old int) int {
	want := fmt.Sprintf("a whole number from 0 to %d", most)
	f := w.number(path, v, float64(most), want, float64(old))
	if f != math.Trunc(f) {
		w.bad(path, fmt.Sprintf("is %v", f), "use "+want)
		return old
	}
	return int(f)
}

func (w *axisWriter) number(path string, v any, most float64, want string, old float64) float64 {
	var f float64
	switch n := v.(type) {
	case float64:
		f = n
	case int64:
		f = float64(n)
	default:
		w.bad(path, "is "+shown(v), "use "+want)
		return old
	}
	if !(f >= 0 && f <= most) { // so that NaN is caught as well
		w.bad(path, fmt.Sprintf("is %v", f), "use "+want)
		return old
	}
	return f
}

func (w *axisWriter) boolean(path string, v any, old bool) bool {
	b, ok := v.(bool)
	if !ok {
		w.bad(path, "is "+shown(v), "use true or false")
		return old
	}
	return b
}

// shown names a value of the wrong type.
func shown(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%q", text.Clip(x, mostQuoted))
	case bool, float64, int64:
		return fmt.Sprint(x)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "of another type"
}
