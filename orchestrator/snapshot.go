package orchestrator

import (
	"encoding/json"
	"fmt"

	"forge/dag"
)

// snapshot is a State as it is written down: its exported fields as they are,
// and what stands for the others. The graph is not in it; the plan gives it.
type snapshot struct {
	State   *State
	Version string
	Nodes   []dag.Standing[string]
	Skips   []dag.Skip[string]
	Working []string
}

// Snapshot writes s down, so that a reader need not fold the run from its
// first event. It is for this very program: what another one wrote may mean
// something else, and the caller has to keep them apart.
func (s *State) Snapshot() ([]byte, error) {
	data, err := json.Marshal(snapshot{State: s, Version: s.version, Nodes: s.frontier.Standings(), Skips: s.skips, Working: s.working})
	if err != nil {
		return nil, fmt.Errorf("write down run %s: %w", s.Run, err)
	}
	return data, nil
}

// Restore is the state that Snapshot wrote down. Folding goes on from there as
// from the one that was written.
func Restore(data []byte) (*State, error) {
	var w snapshot
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("restore a run: %w", err)
	}
	if w.State == nil {
		return nil, fmt.Errorf("restore a run: it holds none")
	}
	s := w.State
	graph, err := dag.New(Nodes(s.Spec.Plan, s.Spec.Settings))
	if err != nil {
		return nil, fmt.Errorf("restore run %s: %w", s.Run, err)
	}
	if s.frontier, err = graph.Restore(w.Nodes); err != nil {
		return nil, fmt.Errorf("restore run %s: %w", s.Run, err)
	}
	s.topo, s.version, s.skips, s.working = graph.Order(), w.Version, w.Skips, w.Working
	return s, nil
}
