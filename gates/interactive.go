package gates

import (
	"fmt"
	"strconv"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Interactive leaves the questions of a run to a person.
type Interactive struct{ Policy }

const byInteractive = "strategy:interactive"

func ask(pt Point, reason, facts string) Decision {
	return Decision{Verdict: Ask, By: byInteractive, Failed: []string{string(pt)}, Reason: reason, Facts: facts}
}

// MayStart asks. Where the policy says StartLowRisk these phases start
// unasked: readonly ones, those in permission mode autonomous, and those that
// have direct dependencies which each changed at least one and at most
// Threshold files. A sensitive phase is always asked about, and so is one with
// a dependency that changed nothing or an unknown number of files.
func (s Interactive) MayStart(f PhaseFacts) Decision {
	facts := f.text()
	switch {
	case s.StartUnasked != StartLowRisk:
		return ask(PointPhaseStart, "the policy asks before every phase", facts)
	case f.Sensitive:
		return ask(PointPhaseStart, "a sensitive phase never starts unasked", facts)
	case f.Permission == work.PermissionReadonly:
		return unasked("rule:start_readonly", "a readonly phase starts unasked", facts)
	case f.Permission == work.PermissionAutonomous:
		return unasked("rule:start_autonomous", "a phase in permission mode autonomous starts unasked", facts)
	case len(f.DependencyFiles) == 0:
		return ask(PointPhaseStart, "a phase without dependencies is asked about", facts)
	}
	for _, n := range f.DependencyFiles {
		if n < 1 || n > f.Threshold {
			return ask(PointPhaseStart, "not every dependency is known to have changed a few files", facts)
		}
	}
	return unasked("rule:start_small_dependencies", "every dependency changed a few files only", facts)
}

func unasked(rule, reason, facts string) Decision {
	return Decision{Verdict: Go, By: rule, Passed: []string{"start_unasked"}, Reason: reason, Facts: facts}
}

// MayIterate lets an iteration run, save where the gate at iteration is human
// or the phase is marked to be asked per iteration.
func (s Interactive) MayIterate(f IterationFacts) Decision {
	if s.At(PointIteration) == Auto && !f.AskIteration {
		return Decision{Verdict: Go, By: byInteractive, Passed: passedIteration, Reason: reasonIteration}
	}
	reason := "the policy asks before every iteration"
	if f.AskIteration {
		reason = "the phase is marked to be asked per iteration"
	}
	return ask(PointIteration, reason, fmt.Sprintf("phase %s: iteration %d of %d", f.Phase, f.Iteration, f.Budget))
}

// OnNoProgress asks once the threshold is reached, every time, and when a blocker
// is named again.
func (s Interactive) OnNoProgress(f StaleFacts) Decision {
	switch {
	case f.Blocker != "":
		return ask(PointStale, reasonBlocked, f.text())
	case !f.due():
		return staleNotDue(byInteractive, f)
	}
	return ask(PointStale, f.what(), f.text())
}

// MaySpawn asks, showing the budget against the remainder. A request that no
// answer could make possible is rejected without a question.
func (s Interactive) MaySpawn(f SubPhaseFacts) Decision {
	if d, impossible := f.impossible(); impossible {
		return d
	}
	return ask(PointSubPhase, "the agent asks for a sub-phase", f.text())
}

// MayRunSubPhase asks.
func (s Interactive) MayRunSubPhase(f SubPhaseFacts) Decision {
	return ask(PointSubPhase, "the policy asks before every sub-phase", f.text())
}

func (f PhaseFacts) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "phase %s %s: permission %s", f.Phase, f.Name, f.Permission)
	if f.Sensitive {
		b.WriteString(", sensitive")
	}
	if len(f.DependencyFiles) == 0 {
		b.WriteString(", no dependencies")
		return b.String()
	}
	b.WriteString(", files changed by its dependencies: ")
	for i, n := range f.DependencyFiles {
		if i > 0 {
			b.WriteString(", ")
		}
		if n < 0 {
			b.WriteString("unknown")
		} else {
			b.WriteString(strconv.Itoa(n))
		}
	}
	fmt.Fprintf(&b, " (few is 1 to %d)", f.Threshold)
	return b.String()
}

const reasonBlocked = "the same blocker was named in two iterations in a row without progress"

func (f StaleFacts) due() bool {
	return f.Threshold > 0 && (f.Evidence != "" || f.Count >= f.Threshold)
}

// what is why the check is due, in short.
func (f StaleFacts) what() string {
	if f.Evidence != "" {
		return "stuck (" + strings.ReplaceAll(f.Pattern, "_", " ") + ")"
	}
	return fmt.Sprintf("%d iterations without progress", f.Count)
}

func (f StaleFacts) text() string {
	s := fmt.Sprintf("phase %s: %d iterations in a row without progress, threshold %d", f.Phase, f.Count, f.Threshold)
	if f.Evidence != "" {
		s = fmt.Sprintf("phase %s: %s Threshold %d", f.Phase, f.Evidence, f.Threshold)
	}
	if f.Pivoted {
		s += ", pivoted before"
	}
	if f.Blocker != "" {
		s += "; named again as what stops it: " + text.Clip(f.Blocker, mostQuoted)
	}
	return s
}

func staleNotDue(by string, f StaleFacts) Decision {
	return Decision{Verdict: Go, By: by, Passed: []string{string(PointStale)}, Reason: "the stale check is off or not due", Facts: f.text()}
}

func (f SubPhaseFacts) text() string {
	return fmt.Sprintf("sub-phase %q of phase %s: budget %d of %d iterations that remain, %d of at most %d sub-phases so far",
		text.Clip(f.Name, mostQuoted), f.Parent, f.Requested, f.Remaining, f.Spawned, MaxSubPhases)
}

// impossible finds what makes a sub-phase impossible under every strategy.
func (f SubPhaseFacts) impossible() (Decision, bool) {
	reject := func(rule, failed, reason string) (Decision, bool) {
		return Decision{Verdict: Reject, By: rule, Failed: []string{failed}, Reason: reason, Facts: f.text()}, true
	}
	switch {
	case f.Requested < 1:
		return reject("rule:subphase_budget", "requested", fmt.Sprintf("a budget of %d iterations is none", f.Requested))
	case f.Spawned >= MaxSubPhases:
		return reject("rule:subphase_limit", "spawned", fmt.Sprintf("a phase has at most %d sub-phases", MaxSubPhases))
	}
	return Decision{}, false
}
