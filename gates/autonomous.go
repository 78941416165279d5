package gates

import "fmt"

// Autonomous decides the questions of a run by itself. It decides for gates
// that are auto only: asked about another one it leaves it to a person.
type Autonomous struct{ Policy }

const byAutonomous = "strategy:autonomous"

// The axes that every approval of a kind passes, shared so that a decision in
// the loop allocates nothing. Nobody writes to them.
var (
	passedStart     = []string{string(PointPhaseStart)}
	passedIteration = []string{string(PointIteration)}
	passedSubPhase  = []string{string(PointSubPhase)}
)

const reasonIteration = "nothing asks before an iteration"

// MayStart approves.
func (s Autonomous) MayStart(f PhaseFacts) Decision {
	if s.At(PointPhaseStart) != Auto {
		return Interactive(s).MayStart(f)
	}
	return Decision{Verdict: Go, By: byAutonomous, Passed: passedStart, Reason: "the policy starts phases by itself", Facts: f.text()}
}

// MayIterate approves, also where the phase is marked to be asked per
// iteration: nobody is there to answer.
func (s Autonomous) MayIterate(f IterationFacts) Decision {
	if s.At(PointIteration) != Auto {
		return Interactive(s).MayIterate(f)
	}
	return Decision{Verdict: Go, By: byAutonomous, Passed: passedIteration, Reason: reasonIteration}
}

// OnNoProgress answers as StaleHandler does: the first time in a phase it
// pivots, the second time it stops the phase. A blocker that is named again stops
// it at once: what the agent lacks, another strategy does not bring either.
func (s Autonomous) OnNoProgress(f StaleFacts) Decision {
	switch {
	case f.Blocker != "" && s.StaleResponse() == PivotThenFail:
		return Decision{Verdict: Stop, By: byAutonomous, Failed: []string{"blocker"}, Reason: reasonBlocked, Facts: f.text()}
	case f.Blocker != "":
		return Interactive(s).OnNoProgress(f)
	case !f.due():
		return staleNotDue(byAutonomous, f)
	}
	d := Decision{By: byAutonomous, Failed: []string{string(PointStale)}, Facts: f.text()}
	switch staleVerdict(s.StaleResponse(), f.Pivoted) {
	case StalePivot:
		d.Verdict, d.Reason = Pivot, f.what()+": the next one gets the pivot prompt"
	case StaleStop:
		d.Verdict, d.Reason = Stop, f.what()+" after a pivot"
	default:
		return Interactive(s).OnNoProgress(f)
	}
	return d
}

// MaySpawn approves when the budget asked for fits into what remains to the
// parent, and else rejects.
func (s Autonomous) MaySpawn(f SubPhaseFacts) Decision {
	if s.At(PointSubPhase) != Auto {
		return Interactive(s).MaySpawn(f)
	}
	if d, impossible := f.impossible(); impossible {
		return d
	}
	if f.Requested > f.Remaining {
		return Decision{
			Verdict: Reject, By: byAutonomous, Failed: []string{"remaining"}, Facts: f.text(),
			Reason: fmt.Sprintf("%d iterations are more than the %d that remain", f.Requested, f.Remaining),
		}
	}
	return Decision{
		Verdict: Go, By: byAutonomous, Passed: passedSubPhase, Facts: f.text(),
		Reason: fmt.Sprintf("%d iterations fit into the %d that remain", f.Requested, f.Remaining),
	}
}

// MayRunSubPhase approves.
func (s Autonomous) MayRunSubPhase(f SubPhaseFacts) Decision {
	if s.At(PointSubPhase) != Auto {
		return Interactive(s).MayRunSubPhase(f)
	}
	return Decision{Verdict: Go, By: byAutonomous, Passed: passedSubPhase, Reason: "the policy runs sub-phases by itself", Facts: f.text()}
}
