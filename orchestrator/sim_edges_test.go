package orchestrator

import (
	"maps"
	"slices"
	"strings"

	"forge/internal/work"
)

// edge is one transition of one of the state machines that docs/states.md
// draws.
type edge struct{ machine, from, to string }

// edges are the transitions that were seen, with the events that made them.
type edges map[edge]map[string]bool

// The machines.
const (
	ofPhases      = "phase"
	ofRuns        = "run"
	ofCheckpoints = "checkpoint"
)

func (es edges) add(e edge, label string) {
	if e.from == e.to {
		return
	}
	if es[e] == nil {
		es[e] = map[string]bool{}
	}
	es[e][label] = true
}

func (es edges) merge(other edges) {
	for e, labels := range other {
		for l := range labels {
			es.add(e, l)
		}
	}
}

func (es edges) labels(e edge) []string { return slices.Sorted(maps.Keys(es[e])) }

// backWhereItWas stands for whatever a resumed run was at.
const backWhereItWas = "resumed"

// runStage is where a run stands as a whole.
func runStage(s *State) string {
	switch {
	case s.Seq == 0:
		return "[*]"
	case !s.Live:
		return string(s.Outcome)
	case s.Stopping != nil:
		return "stopping"
	case s.Baseline.Stage != BaselinePassed:
		return "baseline_" + string(s.Baseline.Stage)
	case s.Final.Stage == FinalNone:
		return "phases"
	}
	return "final_" + string(s.Final.Stage)
}

// watch notes what e does to s: call the result once e is applied.
func (es edges) watch(s *State, e work.Event) func(*State) {
	run, open := runStage(s), len(s.Open)
	stages := map[string]Stage{}
	if e.Kind == work.RunResumed || e.Kind == work.TrainFinished || e.Kind == work.TrainDecided {
		for n, p := range s.Phases {
			stages[n] = p.Stage
		}
	} else if p := s.Phases[e.Phase]; p != nil {
		stages[e.Phase] = p.Stage
	}
	phases := len(s.Phases)
	return func(s *State) {
		label := ""
		name := func() string {
			if label == "" {
				label = labelOf(e)
			}
			return label
		}
		if now := runStage(s); now != run {
			if e.Kind == work.RunResumed {
				now = backWhereItWas
			}
			es.add(edge{ofRuns, run, now}, name())
		}
		for n, was := range stages {
			if now := s.Phases[n].Stage; now != was {
				es.add(edge{ofPhases, string(was), string(now)}, name())
			}
		}
		if len(s.Phases) > phases {
			es.add(edge{ofPhases, "[*]", string(s.Phases[s.Order[len(s.Order)-1]].Stage)}, name())
		}
		switch {
		case e.Kind == work.RunStarted:
			for _, p := range s.Phases {
				es.add(edge{ofPhases, "[*]", string(p.Stage)}, name())
			}
		case len(s.Open) > open:
			es.add(edge{ofCheckpoints, "[*]", string(work.CheckpointPending)}, name())
		case len(s.Open) < open && e.Kind == work.CheckpointAnswered:
			var d CheckpointAnsweredData
			if decode(e, &d) == nil {
				es.add(edge{ofCheckpoints, string(work.CheckpointPending), string(d.Status)}, name())
			}
		case len(s.Open) < open:
			es.add(edge{ofCheckpoints, string(work.CheckpointPending), string(work.CheckpointExpired)}, name())
		}
	}
}

// labelOf names what an event does, as briefly as the diagrams can.
func labelOf(e work.Event) string {
	switch e.Kind {
	case work.GateDecided:
		var d work.GateDecidedData
		if decode(e, &d) == nil {
			return strings.TrimPrefix(d.Gate, "ckpt.") + " " + d.Decision
		}
	case work.PullDecided:
		var d PullDecidedData
		if decode(e, &d) == nil {
			return "pull " + d.Decision
		}
	case work.VerifyFinished:
		var d work.VerifyFinishedData
		if decode(e, &d) == nil {
			return map[bool]string{true: "green on ", false: "red on "}[d.OK] + string(d.On)
		}
	case work.IterationFinished:
		var d work.IterationFinishedData
		if decode(e, &d) == nil && (d.Outcome == work.OutcomeInterrupted || d.Outcome == work.OutcomeRateLimited) {
			return "iteration " + string(d.Outcome)
		}
	}
	return string(e.Kind)
}
