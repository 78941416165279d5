package eval

import (
	"math"
	"slices"

	"forge/internal/work"
	"forge/review"
)

const (
	// LineTolerance is how many lines a finding may be away from the lines
	// that are expected: reviewers name the call or the line above it.
	LineTolerance = 2
	// SeverityTolerance is how many steps its severity may differ.
	SeverityTolerance = 1
)

// Status says what came of an expectation.
type Status string

// What must be found is found or missed; what must not be flagged is quiet or
// flagged. Unknown stands where nobody knows: no usable answer, or a finding
// at the place of which nobody has said whether it means the same.
const (
	Found   Status = "found"
	Missed  Status = "missed"
	Flagged Status = "flagged"
	Quiet   Status = "quiet"
	Unknown Status = "unknown"
)

// Kind says what a finding is worth.
type Kind string

const (
	Hit       Kind = "hit"       // it is what had to be found
	False     Kind = "false"     // it flags what must not be flagged
	Duplicate Kind = "duplicate" // another finding has said the same
	Other     Kind = "other"     // nothing of the kind is expected
	Unclear   Kind = "unclear"   // nobody has said whether it means the same
)

// Match is what came of the expectations and findings of one case, in their
// order.
type Match struct {
	Expected []Status
	Findings []Kind
}

// Near says that a finding may be meant by an expectation as far as rules can
// tell: the same file, lines at most LineTolerance apart, and, where something
// must be found, a severity at most SeverityTolerance steps away. A false alarm
// is one at any severity.
func Near(e Expectation, f work.Finding) bool {
	if apart(e, f) > LineTolerance {
		return false
	}
	return e.Must == NotFlag || steps(e.Severity, f.Severity) <= SeverityTolerance
}

// apart is how many lines lie from the finding to the nearest place of the
// expectation, 0 where they overlap.
func apart(e Expectation, f work.Finding) int {
	if e.anywhere() {
		return LineTolerance // no closer than what has a place
	}
	least := math.MaxInt
	for _, at := range append([]Place{e.Place}, e.Also...) {
		if f.File == review.Name(at.File) {
			least = min(least, max(0, f.Line-max(at.Line, at.EndLine), at.Line-max(f.Line, f.EndLine)))
		}
	}
	return least
}

func steps(a, b work.Severity) int {
	all := work.Severities()
	i, j := slices.Index(all, a), slices.Index(all, b)
	if i < 0 || j < 0 {
		return len(all)
	}
	return max(i-j, j-i)
}

// MatchAll holds findings against expectations. same says whether two that are
// Near mean the same, nil = nobody knows; a nil function takes all that are
// Near for the same, where a place says so. A finding counts for one expectation at most, and the
// other way round; of all ways to pair them it is one with the most faults
// found, then the most false alarms, then the closest places and severities.
func MatchAll(expected []Expectation, findings []work.Finding, same func(e Expectation, f work.Finding) *bool) Match {
	m := Match{Expected: make([]Status, len(expected)), Findings: make([]Kind, len(findings))}
	weights := make([][]int, len(findings))
	open := make([][]bool, len(findings)) // pairs of which nobody knows
	for i, f := range findings {
		weights[i], open[i] = make([]int, len(expected)), make([]bool, len(expected))
		for j, e := range expected {
			if !Near(e, f) {
				continue
			}
			yes := true
			switch {
			case same == nil && e.anywhere():
				open[i][j], yes = true, false // a place is all that would tell
			case same != nil:
				said := same(e, f)
				open[i][j], yes = said == nil, said != nil && *said
			}
			if yes {
				weights[i][j] = worth(e, f, len(findings)+1)
			}
		}
	}
	of := assign(weights)
	for j, e := range expected {
		m.Expected[j] = Missed
		if e.Must == NotFlag {
			m.Expected[j] = Quiet
		}
	}
	for i, j := range of {
		if j < 0 {
			continue
		}
		m.Expected[j], m.Findings[i] = Found, Hit
		if expected[j].Must == NotFlag {
			m.Expected[j], m.Findings[i] = Flagged, False
		}
	}
	for i := range findings {
		if m.Findings[i] != "" {
			continue
		}
		m.Findings[i] = Other
		for j := range expected {
			if weights[i][j] > 0 { // the expectation has another finding
				m.Findings[i] = Duplicate
			}
		}
		for j := range expected {
			if !open[i][j] {
				continue
			}
			// What has no place must not be flagged: the finding is none that had to be
			// found, whether or not it means that.
			if m.Findings[i] == Other && !expected[j].anywhere() {
				m.Findings[i] = Unclear
			}
			if m.Expected[j] == Missed || m.Expected[j] == Quiet {
				m.Expected[j] = Unknown
			}
		}
	}
	return m
}

// worth orders pairings: one more fault found outweighs all false alarms, and
// one more of those all closeness. pairs is more than there can be.
func worth(e Expectation, f work.Finding, pairs int) int {
	const mostClose = 10
	close := 1 + 2*(LineTolerance-apart(e, f)) + 4*max(0, SeverityTolerance-steps(e.Severity, f.Severity))
	alarm := mostClose * pairs
	if e.Must == NotFlag {
		return alarm + close
	}
	return (alarm+mostClose)*pairs + close
}
