package gates

import (
	"fmt"
	"slices"
	"strings"
)

// Moment is one boundary of a run at which a policy decides: what fell on it,
// and the facts that its gates look at.
type Moment struct {
	Points []Point // what one answer answers; at least one
	// Start is what the start of a phase is judged on. A sub-phase is judged
	// by the gate at subphase instead.
	Start    PhaseFacts
	SubPhase bool
	Marked   bool // the phase is to be asked about per iteration
	// End is what looks go by, at the end of a phase; nil elsewhere.
	End *PhaseEnd
}

// Stops says whether a person is asked at m. A moment without points stops.
func (p Policy) Stops(m Moment) bool {
	for _, pt := range m.Points {
		if p.stopsAt(pt, m) {
			return true
		}
	}
	return len(m.Points) == 0 || m.End != nil && p.Looks.Due(*m.End) != ""
}

func (p Policy) stopsAt(pt Point, m Moment) bool {
	switch pt {
	case PointPhaseStart:
		if m.SubPhase {
			return For(p).MayRunSubPhase(SubPhaseFacts{}).Verdict == Ask
		}
		return For(p).MayStart(m.Start).Verdict == Ask
	case PointIteration:
		return For(p).MayIterate(IterationFacts{AskIteration: m.Marked}).Verdict == Ask
	case PointStale:
		return p.StaleResponse() == AskOnStale
	case PointFindings:
		return p.At(pt) == Human || p.FailVerdict != FailPhase
	}
	return p.At(pt) == Human
}

// Change is one axis of a policy that is set to another value.
type Change struct {
	Axis Axis `json:"axis"`
	To   any  `json:"to"`
	step int  // how far it is, against other changes of the same number of axes
}

// MarshalText writes an axis as a policy file addresses it.
func (a Axis) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// String is the axis as a policy file addresses it: gates."ckpt.deliverable".
func (a Axis) String() string {
	switch {
	case !a.Gate:
		return a.Name
	case strings.ContainsAny(a.Name, ".*"):
		return fmt.Sprintf("gates.%q", a.Name)
	}
	return "gates." + a.Name
}

// String is the change as a line of a policy file.
func (c Change) String() string {
	switch to := c.To.(type) {
	case string:
		return fmt.Sprintf("%s = %q", c.Axis, to)
	case []string:
		quoted := make([]string, len(to))
		for i, w := range to {
			quoted[i] = fmt.Sprintf("%q", w)
		}
		return fmt.Sprintf("%s = [%s]", c.Axis, strings.Join(quoted, ", "))
	}
	return fmt.Sprintf("%s = %v", c.Axis, c.To)
}

// Least is the smallest change of p under which nobody is asked at m: the
// fewest axes, and on each the least step. ok is false when there is none; no
// changes and true when nobody is asked as it is. At stale and findings that
// nobody is asked means that Forge decides against the phase (see
// DecidesAgainst).
func (p Policy) Least(m Moment) (changes []Change, ok bool) {
	if len(m.Points) == 0 {
		return nil, false
	}
	var ways []Change
	gate := func(pt Point) {
		c := Change{Axis{Name: string(pt), Gate: true}, string(Auto), 2}
		if p.At(pt) != Auto && !slices.ContainsFunc(ways, func(w Change) bool { return w.Axis == c.Axis }) {
			ways = append(ways, c)
		}
	}
	for _, pt := range m.Points {
		switch {
		case pt == PointPhaseStart && m.SubPhase:
			gate(PointSubPhase)
		case pt == PointPhaseStart:
			ways = append(ways, Change{Axis{Name: "start_unasked"}, string(StartLowRisk), 1})
			gate(pt)
		case pt == PointIteration && m.Marked:
			gate(PointPhaseStart)
			gate(pt)
		default:
			gate(pt)
		}
	}
	ways = append(ways, p.Looks.ways(m.End)...)
	return least(ways, func(some []Change) bool {
		q, usable := p.changed(some)
		return usable && !q.Stops(m)
	})
}

// DecidesAgainst says that, where nobody is asked at pt, it is not passed:
// Forge then pivots and fails a stale phase, and fails one with findings that
// nothing resolves.
func DecidesAgainst(pt Point) bool { return pt == PointStale || pt == PointFindings }

// Changed is p with the changes of Least or LeastConfirm; changes that make no
// policy change nothing.
func (p Policy) Changed(changes []Change) Policy {
	if q, usable := p.changed(changes); usable {
		return q
	}
	return p
}

// changed is p with the changes; usable is false when they make no policy.
func (p Policy) changed(changes []Change) (q Policy, usable bool) {
	axes, gates := map[string]any{}, map[string]any{}
	for _, c := range changes {
		to := c.To
		if list, ok := to.([]string); ok {
			plain := make([]any, len(list))
			for i, w := range list {
				plain[i] = w
			}
			to = plain
		}
		if c.Axis.Gate {
			gates[c.Axis.Name] = to
		} else {
			axes[c.Axis.Name] = to
		}
	}
	if len(gates) > 0 {
		axes["gates"] = gates
	}
	q, problems := p.With(axes)
	return q, len(problems) == 0
}

// least is, of the smallest sets of ways that are enough, the one with the
// fewest steps. There are few ways: the points of one boundary, the axes of
// one confirmation.
func least(ways []Change, enough func([]Change) bool) (best []Change, ok bool) {
	for size := 0; size <= len(ways) && !ok; size++ {
		fewest := 0
		subsets(ways, size, nil, func(some []Change) {
			steps := 0
			for _, c := range some {
				steps += c.step
			}
			if (!ok || steps < fewest) && enough(some) {
				best, fewest, ok = some, steps, true
			}
		})
	}
	return best, ok
}

// subsets visits every set of size ways that has no axis twice.
func subsets(ways []Change, size int, taken []Change, visit func([]Change)) {
	if size == 0 {
		visit(taken)
		return
	}
	for i := 0; i+size <= len(ways); i++ {
		if !slices.ContainsFunc(taken, func(t Change) bool { return t.Axis == ways[i].Axis }) {
			subsets(ways[i+1:], size-1, append(slices.Clip(taken), ways[i]), visit)
		}
	}
}

// LeastConfirm is Least for a confirmation: the smallest change of p under
// which Confirm advances. ok is false when no policy would: a clarification, a
// confidence that is none, an action of no known kind.
func (p Policy) LeastConfirm(target Point, pr Proposal) (changes []Change, ok bool) {
	consent := consentFor(target)
	if consent == "" || pr.Kind == KindClarification {
		return nil, false
	}
	var ways []Change
	limit := func(name string, to any, step int) { ways = append(ways, Change{Axis{Name: name}, to, step}) }
	if p.At(target) != Auto {
		ways = append(ways, Change{Axis{Name: string(target), Gate: true}, string(Auto), 1})
	}
	if c := pr.Confidence; c != nil && *c >= 0 && *c <= 1 && *c < usableFloor(p.ConfidenceFloor) {
		limit("confidence_floor", *c, 1)
	}
	if p.reserves(consent) {
		limit("consent", slices.DeleteFunc(slices.Clone(p.Consent), func(w string) bool { return w == consent }), 1)
	}
	if target == PointAction {
		for _, r := range Risks() {
			if further := most(r) - most(p.IrreversibilityMax); further > 0 {
				limit("irreversibility_max", string(r), further)
			}
			if further := most(r) - most(p.RegretMax); further > 0 {
				limit("regret_max", string(r), further)
			}
		}
		if p.PauseOnRiskAmplifier {
			limit("pause_on_risk_amplifier", false, 2) // as far as a maximum can go
		}
		if slices.Contains(ActionKinds(), pr.Kind) && !p.allowsKind(pr.Kind) {
			limit("action_kinds", append(slices.Clone(p.ActionKinds), pr.Kind), 1)
		}
	}
	return least(ways, func(some []Change) bool {
		q, usable := p.changed(some)
		return usable && q.Confirm(target, pr).Verdict == Advance
	})
}
