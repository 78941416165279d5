package orchestrator

import (
	"slices"
	"testing"

	"forge/internal/work"
)

// What a sub-phase was proven with, and what a resolution of conflicts begins
// with, bind what follows in the same phase.
func TestProvenPartsOfAPhase(t *testing.T) {
	s := &State{Phases: map[string]*Phase{"01.1": {View: View{Number: "01.1", Workspace: Workspace{Base: "b1"}}}}}
	p := &Phase{View: View{Number: "01", Workspace: Workspace{Base: "b0", Last: "b1"}, Awaiting: Awaiting{Child: "01.1"}}}
	applyFolded(s, p, work.Event{}, SubPhaseFoldedData{Number: "01.1", Outcome: work.PhaseDone, Commit: "c1"})
	p.Stage = StageTurn
	applyMergeFinished(s, p, work.Event{}, MergeFinishedData{Conflicts: []string{"a"}})
	p.Stage = StageTurn
	applyMergeFinished(s, p, work.Event{}, MergeFinishedData{Conflicts: []string{"a"}})
	want := []work.ProvenPart{{Base: "b1", Commit: "c1"}, {Base: "b0", Commit: "c1"}}
	if !slices.Equal(p.Parts, want) {
		t.Errorf("parts %+v, want %+v", p.Parts, want)
	}

	other := &Phase{View: View{Number: "02", Workspace: Workspace{Base: "b0", Last: "b0"}, Awaiting: Awaiting{Child: "01.1"}}}
	applyFolded(s, other, work.Event{}, SubPhaseFoldedData{Number: "01.1", Outcome: work.PhaseFailed, Commit: "c1"})
	other.Stage = StageTurn
	applyMergeFinished(s, other, work.Event{}, MergeFinishedData{})
	if len(other.Parts) > 0 {
		t.Errorf("a sub-phase that failed and a clean merge leave %+v", other.Parts)
	}
}
