package gates

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
)

// MeetAll bounds a chain of policies, parents first, in time linear in its
// length: what binds every decision of the last. A chain of none allows
// nothing.
func MeetAll(chain ...Policy) Policy {
	if len(chain) == 0 {
		return Meet(Policy{}, Policy{})
	}
	out := Meet(chain[0], chain[0])
	for _, p := range chain[1:] {
		out = Meet(out, p)
	}
	return out
}

// Spawn says whether a child may have a policy under its parents'.
type Spawn struct {
	// Violations are the axes of the confirmations on which it is freer, in
	// the order auto_advance, then the limits; Others the other gates by their
	// point, then the responses. Neither is nil.
	Violations, Others []string
}

// Allowed is true when the child is freer on no axis.
func (s Spawn) Allowed() bool { return len(s.Violations)+len(s.Others) == 0 }

// Decision is the spawn check for the record, child and parent by what they are
// called.
func (s Spawn) Decision(child, parent string) Decision {
	d := Decision{
		Verdict: Go, By: "rule:inheritance", Passed: []string{"inheritance"}, Reason: "the child is freer than its parents on no axis",
		Facts: fmt.Sprintf("%s below %s", text.Clip(child, mostQuoted), text.Clip(parent, mostQuoted)),
	}
	if !s.Allowed() {
		d.Verdict, d.Passed, d.Failed = Reject, nil, slices.Concat(s.Violations, s.Others)
		d.Reason = "the child is freer on " + strings.Join(d.Failed, ", ")
	}
	return d
}

// CheckSpawn holds a child against the meet of all its parents. A child without
// a parent violates what the zero policy does not allow: everything.
func CheckSpawn(child Policy, parents ...Policy) Spawn {
	exceeded := Exceeds(child, MeetAll(parents...))
	s := Spawn{Violations: []string{}, Others: []string{}}
	if slices.ContainsFunc(Targets(), func(t Point) bool { return slices.Contains(exceeded, string(t)) }) {
		s.Violations = append(s.Violations, axisAutoAdvance)
	}
	for _, axis := range limitNames() {
		if slices.Contains(exceeded, axis) {
			s.Violations = append(s.Violations, axis)
		}
	}
	var gates []Point
	for _, axis := range exceeded {
		if pt := Point(axis); pt.known() && !slices.Contains(Targets(), pt) {
			gates = append(gates, pt)
		}
	}
	sortPoints(gates)
	for _, axis := range slices.Concat(words(gates), looksNames(), responseNames()) {
		if slices.Contains(exceeded, axis) && !slices.Contains(s.Others, axis) {
			s.Others = append(s.Others, axis)
		}
	}
	return s
}

// sortPoints puts points into the order of Points, checkpoint types before
// AnyCheckpoint: those of Forge itself, then others by name. Kinds of doubt come
// after PointEvidence.
func sortPoints(points []Point) {
	order := slices.Concat([]Point{PointPhaseTransition, PointDeliverable, PointFinalOutput}, Points())
	rank := func(pt Point) int {
		switch at := slices.Index(order, pt); {
		case pt.isDoubt():
			return 100*slices.Index(order, PointEvidence) + 1 + slices.Index(DoubtPoints(), pt)
		case at < 0:
			return 100*slices.Index(order, AnyCheckpoint) - 1
		case at < 3:
			return 100*slices.Index(order, AnyCheckpoint) - 10 + at
		default:
			return 100 * at
		}
	}
	slices.SortFunc(points, func(a, b Point) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(string(a), string(b)))
	})
}

// ErrCycle is the error of Lineage for work that is its own parent, at any
// distance.
var ErrCycle = errors.New("cycle of parents")

// Lineage is the chain that binds a piece of work: all its parents, the
// outermost first, and itself. parents names the parent of each; what is not
// in it has none. The length of a chain has no limit.
func Lineage(work string, parents map[string]string) ([]string, error) {
	chain := []string{work}
	seen := map[string]bool{work: true}
	for at := work; ; {
		up, ok := parents[at]
		if !ok {
			slices.Reverse(chain)
			return chain, nil
		}
		chain = append(chain, up)
		if seen[up] {
			return nil, fmt.Errorf("find the parents of %s: %w: %s", text.Clip(work, mostQuoted), ErrCycle, cycleText(chain))
		}
		seen[up], at = true, up
	}
}

// cycleText shows the cycle alone, and of a long one its ends.
func cycleText(way []string) string {
	way = way[slices.Index(way, way[len(way)-1]):]
	const most = 10
	if len(way) > most {
		way = slices.Concat(way[:most/2], []string{"…"}, way[len(way)-most/2:])
	}
	return strings.Join(way, " → ")
}
