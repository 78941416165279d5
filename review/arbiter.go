package review

import (
	"math"

	"forge/internal/work"
)

// Ruling is the arbiter's verdict.
type Ruling string

const (
	Proceed   Ruling = "Proceed"
	Fix       Ruling = "Fix"
	FailPhase Ruling = "FailPhase"
	AskHuman  Ruling = "AskHuman" // instead of FailPhase where fail_verdict is ask
)

// RulingReason is the rule that a ruling follows from.
type RulingReason string

const (
	ReasonUnknown     RulingReason = "review_unknown"
	ReasonNoFindings  RulingReason = "no_findings"
	ReasonMinor       RulingReason = "minor_confident"
	ReasonNoFixPath   RulingReason = "no_fix_path"
	ReasonFixBudget   RulingReason = "fix_budget"
	ReasonExhausted   RulingReason = "attempts_exhausted"
	ReasonMajorStands RulingReason = "major_allowed" // fail_phase_on_unresolved = false
)

// Case is what the arbiter decides on.
type Case struct {
	Unknown    bool // a gating reviewer gave no usable answer
	Severities []work.Severity
	Confidence *float64 // that the findings may stand; nil = unknown, which is never enough
	Threshold  float64
	FixPath    bool
	Attempts   int // fixes so far
	Most       int // fixes that are allowed, see MostFixes
	Ask        bool
	KeepMajor  bool // unresolved major findings may go on
}

// Hear is the case with what the arbiter's model said of it. The model's
// confidence is of its own verdict, so only that of a Proceed says that findings
// may stand: who is sure that it has to be fixed does not say that it may go on.
// Another word, or none, says nothing.
func (c Case) Hear(a work.ArbiterAnswer) Case {
	c.Confidence = nil
	if a.Verdict == string(Proceed) {
		c.Confidence = a.Confidence
	}
	c.FixPath = c.FixPath && (a.FixPath == nil || *a.FixPath)
	return c
}

// Rule decides by rules alone, in this order: a gating unknown fails; without
// findings the work goes on; so does it with minor ones and enough confidence that
// they may stand;
// without a way to fix it fails; with attempts left it is fixed; else it
// fails. A finding of critical or unknown severity never goes on.
func Rule(c Case) (Ruling, RulingReason) {
	last := FailPhase
	if c.Ask {
		last = AskHuman
	}
	worst := worst(c.Severities)
	switch {
	case c.Unknown:
		return last, ReasonUnknown
	case len(c.Severities) == 0:
		return Proceed, ReasonNoFindings
	case worst == work.SeverityMinor && confident(c.Confidence, c.Threshold):
		return Proceed, ReasonMinor
	}
	reason := ReasonExhausted
	switch {
	case !c.FixPath:
		reason = ReasonNoFixPath
	case c.Attempts < c.Most:
		return Fix, ReasonFixBudget
	}
	if c.KeepMajor && worst != work.SeverityCritical {
		return Proceed, ReasonMajorStands
	}
	return last, reason
}

// worst is the highest severity; an unknown one counts as critical.
func worst(all []work.Severity) work.Severity {
	out := work.SeverityMinor
	for _, s := range all {
		switch s {
		case work.SeverityMinor:
		case work.SeverityMajor:
			if out == work.SeverityMinor {
				out = s
			}
		default:
			return work.SeverityCritical
		}
	}
	return out
}

// confident says that c is a number in [0,1] and reaches threshold.
func confident(c *float64, threshold float64) bool {
	return c != nil && !math.IsNaN(*c) && *c >= 0 && *c <= 1 && *c >= threshold
}

// MostFixes is how many fixes a phase may have: base, doubled where it is
// sensitive, unless extra says how many are added there instead.
func MostFixes(base int, sensitive bool, extra *int) int {
	base = max(base, 0)
	switch {
	case !sensitive:
		return base
	case extra != nil:
		return base + max(*extra, 0)
	}
	return 2 * base
}
