package gates

import "forge/internal/work"

// Verdict is the answer to one of the five questions.
type Verdict string

// The verdicts.
const (
	Go     Verdict = "go"
	Ask    Verdict = "ask"    // open a checkpoint
	Pivot  Verdict = "pivot"  // put the pivot prompt into the next iteration only
	Stop   Verdict = "stop"   // fail the phase as stale or blocked
	Reject Verdict = "reject" // do not spawn; warn, and tell the agent
)

// Decision is a verdict that explains itself.
type Decision struct {
	Verdict Verdict
	// By is what decided: "strategy:interactive", "strategy:autonomous", or
	// "rule:…" for a rule that holds whatever the strategy.
	By string
	// Passed and Failed are the axes that were looked at: gates by their
	// point, and facts. They may be shared between decisions: read only.
	Passed, Failed []string
	Reason         string // one line for a person
	// Facts is what was judged, as text; "" where the iteration's own number
	// and budget are all there is.
	Facts string
}

// Record is a decision in the form in which the journal keeps it.
func (d Decision) Record(pt Point, policyVersion string) work.GateDecidedData {
	return work.GateDecidedData{
		Gate: string(pt), Decision: string(d.Verdict), By: d.By, Policy: policyVersion,
		Passed: d.Passed, Failed: d.Failed, Facts: d.Facts, Reason: d.Reason,
	}
}

// GateStrategy answers the five questions of a run. Answers depend on the
// policy and the facts alone, so that asking again answers the same; it is
// safe for concurrent use.
type GateStrategy interface {
	MayStart(PhaseFacts) Decision          // Go or Ask
	MayIterate(IterationFacts) Decision    // Go or Ask
	OnNoProgress(StaleFacts) Decision      // Go (neither stale nor blocked), Ask, Pivot or Stop
	MaySpawn(SubPhaseFacts) Decision       // Go, Ask or Reject
	MayRunSubPhase(SubPhaseFacts) Decision // Go or Ask
}

// PhaseFacts is what the start of a phase is judged on.
type PhaseFacts struct {
	Phase, Name string
	Permission  work.PermissionMode
	Sensitive   bool
	// DependencyFiles are the files changed by each direct dependency, in any
	// order; a negative number is unknown.
	DependencyFiles []int
	Threshold       int // auto_approve_threshold; below 1 no number of files is small
}

// IterationFacts is what an iteration is judged on.
type IterationFacts struct {
	Phase             string
	Iteration, Budget int  // Iteration from 1
	AskIteration      bool // the phase is marked to be asked per iteration
}

// StaleFacts is what a phase without progress is judged on.
type StaleFacts struct {
	Phase     string
	Threshold int  // iterations without progress before anything happens; below 1 = off
	Count     int  // iterations without progress in a row, the last one included
	Pivoted   bool // the pivot prompt was already given in this phase
	// Blocker is what the agent named again as what stops it, see
	// BlockerTracker; "" = nothing.
	Blocker string
	// Pattern and Evidence say how the phase is stuck, where its iterations tell;
	// then they count, and not Count.
	Pattern, Evidence string
}

// SubPhaseFacts is what a sub-phase is judged on.
type SubPhaseFacts struct {
	Parent, Name string
	Requested    int // iterations asked for
	Remaining    int // iterations left to the parent
	Spawned      int // sub-phases that the parent has had so far
}

// MaxSubPhases is how many sub-phases one phase may have.
const MaxSubPhases = 10

// For is the strategy of a policy: each question is answered by the gate at
// its point, Interactive where that is human and Autonomous where it is auto.
// A mixed policy is therefore answered by both, question by question. This is
// the only branch on autonomy.
//
// An iteration of a phase that is marked to be asked per iteration goes to
// Interactive as soon as the gate at phase.start is human: where a person
// starts the phases, the mark counts; where nobody does, it cannot.
func For(p Policy) GateStrategy {
	answering := func(m Mode) GateStrategy {
		if m == Auto {
			return Autonomous{p}
		}
		return Interactive{p}
	}
	return &byPoint{
		start:    answering(p.At(PointPhaseStart)),
		iterate:  answering(p.At(PointIteration)),
		marked:   answering(meetMode(p.At(PointIteration), p.At(PointPhaseStart))),
		stale:    answering(p.At(PointStale)),
		subphase: answering(p.At(PointSubPhase)),
	}
}

// byPoint sends each question to the strategy of its point.
type byPoint struct{ start, iterate, marked, stale, subphase GateStrategy }

func (s *byPoint) MayStart(f PhaseFacts) Decision { return s.start.MayStart(f) }

func (s *byPoint) MayIterate(f IterationFacts) Decision {
	if f.AskIteration {
		return s.marked.MayIterate(f)
	}
	return s.iterate.MayIterate(f)
}

func (s *byPoint) OnNoProgress(f StaleFacts) Decision { return s.stale.OnNoProgress(f) }

func (s *byPoint) MaySpawn(f SubPhaseFacts) Decision { return s.subphase.MaySpawn(f) }

func (s *byPoint) MayRunSubPhase(f SubPhaseFacts) Decision { return s.subphase.MayRunSubPhase(f) }
