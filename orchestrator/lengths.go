package orchestrator

import (
	"slices"
	"time"

	"forge/dag"
	"forge/internal/work"
)

// Nodes are the plan's phases as nodes of a graph. They weigh how long phases like
// them took, where that is known of each: only then the unit is the same for all.
// Else they weigh their budgets.
func Nodes(plan work.Plan, set work.Settings) []dag.Node[string] {
	known := expects(plan, set)
	nodes := make([]dag.Node[string], 0, len(plan.Phases))
	for _, ph := range plan.Phases {
		weight := int64(set.Phases[ph.Number].Budget)
		if known {
			weight = set.Phases[ph.Number].ExpectSecs
		}
		nodes = append(nodes, dag.Node[string]{Key: ph.Number, Needs: ph.DependsOn, Weight: max(weight, 1)})
	}
	return nodes
}

// expects says that it is known of each phase how long those like it took.
func expects(plan work.Plan, set work.Settings) bool {
	return !slices.ContainsFunc(plan.Phases, func(ph work.Phase) bool { return set.Phases[ph.Number].ExpectSecs < 1 })
}

// Chain is what a run waits for last.
type Chain struct {
	Phases []string // that are not over, each after the one before it
	// Left is how long they take together, if they take what those like them took; 0 =
	// nobody knows.
	Left time.Duration
}

// Chain is the longest one that is left at now: its first phase holds the run up. A
// job has none, since its phases come up as it goes.
func (s *State) Chain(now time.Time) Chain {
	graph, err := dag.New(Nodes(s.Spec.Plan, s.Spec.Settings))
	if err != nil || s.Job != nil {
		return Chain{}
	}
	known := expects(s.Spec.Plan, s.Spec.Settings)
	path, total := graph.Heaviest(func(n string) float64 {
		p := s.Phases[n]
		switch {
		case p == nil || p.Stage == StageFinished:
			return 0
		case known:
			// What takes longer than expected may end at any time, and is not over.
			return max((time.Duration(p.Set.ExpectSecs)*time.Second - p.Time.At(now)).Seconds(), 1)
		}
		return float64(max(p.Budget-p.Spent, 1))
	})
	out := Chain{Phases: slices.DeleteFunc(path, func(n string) bool { return s.Phases[n] == nil || s.Phases[n].Stage == StageFinished })}
	if known {
		out.Left = time.Duration(total * float64(time.Second))
	}
	return out
}
