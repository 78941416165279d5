package dag

import (
	"cmp"
	"fmt"
)

// Standing is where one node of an execution stands, to be written down.
type Standing[K cmp.Ordered] struct {
	Key   K     `json:"key"`
	State State `json:"state"`
	// Cause is the node whose failure skipped this one, nil when none did.
	Cause *K `json:"cause,omitempty"`
}

// Standings says where every node stands, in the order in which the graph was
// given them. Restore makes the same execution of it.
func (f *Frontier[K]) Standings() []Standing[K] {
	out := make([]Standing[K], len(f.state))
	for v, s := range f.state {
		f.work++
		out[v] = Standing[K]{Key: f.g.keys[v], State: s}
		if c := f.cause[v]; c >= 0 {
			out[v].Cause = &f.g.keys[c]
		}
	}
	return out
}

// Restore is the execution of g in which the nodes stand as given. It refuses
// what no execution of g comes to: a node that is missing, unknown or named
// twice, one that waits for nothing, or may start although something it needs
// is not done, or is skipped and does not say why.
func (g *Graph[K]) Restore(at []Standing[K]) (*Frontier[K], error) {
	if len(at) != g.Len() {
		return nil, fmt.Errorf("restore an execution: %d nodes are said to stand somewhere, the graph has %d", len(at), g.Len())
	}
	f := g.Frontier()
	seen := make([]bool, g.Len())
	for _, s := range at {
		f.work++
		v, ok := g.index[s.Key]
		if !ok {
			return nil, fmt.Errorf("restore %v: %w", s.Key, ErrUnknownNode)
		}
		if seen[v] {
			return nil, fmt.Errorf("restore %v: it stands in two places", s.Key)
		}
		seen[v] = true
		if (s.Cause != nil) != (s.State == Skipped) {
			return nil, fmt.Errorf("restore %v: a node has a cause if and only if it is skipped", s.Key)
		}
		if s.Cause != nil {
			if f.cause[v], ok = g.index[*s.Cause]; !ok {
				return nil, fmt.Errorf("restore %v: its cause %v: %w", s.Key, *s.Cause, ErrUnknownNode)
			}
		}
		f.set(v, s.State)
	}
	for v, s := range f.state {
		f.unmet[v] = 0
		for _, need := range g.needs[v] {
			f.work++
			if f.state[need] != Done {
				f.unmet[v]++
			}
		}
		switch s {
		case Done, Skipped:
			continue
		case Waiting:
			if f.unmet[v] > 0 {
				continue
			}
		case Ready, Running, Failed:
			if f.unmet[v] == 0 {
				continue
			}
		}
		return nil, fmt.Errorf("restore %v: %q with %d needs that are not done: %w", g.keys[v], s, f.unmet[v], ErrTransition)
	}
	return f, nil
}
