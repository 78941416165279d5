package backtest

import (
	"encoding/json"
	"fmt"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// A person looks at one of every two phases: what else would have been asked is
// counted by the policy that is tried, and the rule that asked is named.
func TestLooksOfPastRuns(t *testing.T) {
	full, _ := gates.Preset(gates.PresetFull)
	with := func(l gates.Looks) gates.Policy {
		p := full
		p.Preset, p.Looks = "", l
		return p
	}
	spec := orchestrator.Spec{Policy: with(gates.Looks{Every: 2})}
	for n := range 3 {
		spec.Plan.Phases = append(spec.Plan.Phases, work.Phase{Number: fmt.Sprintf("0%d", n+1), Name: fmt.Sprintf("design-%d", n+1)})
	}
	var evs []work.Event
	add := func(kind work.EventKind, phase string, data any) {
		body, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		evs = append(evs, work.Event{Run: "r", Seq: int64(len(evs) + 1), Kind: kind, Phase: phase, Data: body})
	}
	sure := 0.8
	goes := func(phase, by string) {
		add(work.GateDecided, phase, work.GateDecidedData{Gate: "ckpt.phase_transition", Decision: "go", By: by})
		add(work.PhaseFinished, phase, work.PhaseFinishedData{Outcome: work.PhaseDone})
	}
	add(work.RunStarted, "", orchestrator.RunStartedData{Spec: &spec})
	goes("01", "rule:ckpt.phase_transition")
	add(work.CheckpointOpened, "02", work.Checkpoint{ID: "r.1", Kind: "ckpt.phase_transition", Points: []string{"ckpt.phase_transition"}})
	add(work.CheckpointAnswered, "02", work.Answer{Checkpoint: "r.1", Status: work.CheckpointApproved})
	goes("02", "person:ann")
	add(work.ReviewFinished, "03", orchestrator.ReviewFinishedData{Specialist: "security", Verdict: work.VerdictPass, Confidence: &sure})
	goes("03", "rule:ckpt.phase_transition")

	story, err := Read(inline, each(evs))
	if err != nil || len(story.Boundaries) != 3 {
		t.Fatalf("%v: %+v", err, story.Boundaries)
	}
	for name, c := range map[string]struct {
		policy        gates.Policy
		would, passed int
	}{
		"as it was":         {spec.Policy, 1, 0},
		"without":           {full, 0, 1},
		"each":              {with(gates.Looks{Every: 1}), 3, 0},
		"the third":         {with(gates.Looks{Every: 3}), 1, 1},
		"by name":           {with(gates.Looks{Milestones: []string{"*-3"}}), 1, 1},
		"unless it is sure": {with(gates.Looks{ConfidenceBelow: 0.8}), 2, 0},
		"never sure enough": {with(gates.Looks{ConfidenceBelow: 0.81}), 3, 0},
	} {
		if r := Replay(story, c.policy); r.Asked != 1 || r.WouldAsk != c.would || len(r.Passed) != c.passed {
			t.Errorf("%s: %+v", name, r)
		}
	}
	asked := story.Boundaries[1]
	if changes, ok := asked.Policy.Least(asked.Moment); !ok || len(changes) != 1 || changes[0].String() != "every = 0" {
		t.Errorf("the least change is %v, %v", changes, ok)
	}
}
