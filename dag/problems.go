package dag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problems is everything that keeps nodes from being a graph. Each list is free
// of repetitions.
type Problems[K cmp.Ordered] struct {
	// Duplicates are keys that more than one node has. The dependencies of
	// the second and later ones are looked up, but make no cycles.
	Duplicates []K
	// Self are keys of nodes that need themselves. They are not in Cycles.
	Self []K
	// Unknown are dependencies on nodes that do not exist.
	Unknown []Missing[K]
	// Cycles holds, for every set of nodes that need each other, the
	// shortest cycle through the smallest key of the set: each key needs the
	// next one and the last needs the first, which is the smallest and
	// stands there once. Sorted by first key.
	Cycles [][]K
}

// Missing is a dependency on a node that does not exist.
type Missing[K cmp.Ordered] struct{ Node, Need K }

// Error gives one line per problem.
func (p *Problems[K]) Error() string {
	var lines []string
	for _, k := range p.Duplicates {
		lines = append(lines, fmt.Sprintf("duplicate: %v", k))
	}
	for _, k := range p.Self {
		lines = append(lines, fmt.Sprintf("self dependency: %v → %v", k, k))
	}
	for _, m := range p.Unknown {
		lines = append(lines, fmt.Sprintf("unknown dependency: %v → %v", m.Node, m.Need))
	}
	for _, c := range p.Cycles {
		var b strings.Builder
		b.WriteString("cycle: ")
		for _, k := range c {
			fmt.Fprintf(&b, "%v → ", k)
		}
		fmt.Fprintf(&b, "%v", c[0])
		lines = append(lines, b.String())
	}
	return strings.Join(lines, "\n")
}

func (p *Problems[K]) none() bool {
	return len(p.Duplicates) == 0 && len(p.Self) == 0 && len(p.Unknown) == 0 && len(p.Cycles) == 0
}

func (p *Problems[K]) sortCycles() {
	slices.SortFunc(p.Cycles, func(a, b []K) int { return cmp.Compare(a[0], b[0]) })
}

// cycle finds the shortest cycle through the smallest key of a strongly
// connected component of at least two nodes. Starting there makes the text the
// same whatever the order of the input. The search stays inside the component:
// many small cycles that need the same large rest would each walk through it.
func (g *Graph[K]) cycle(component []int) []K {
	inside := make(map[int]bool, len(component))
	start := component[0]
	for _, v := range component {
		inside[v] = true
		if g.keys[v] < g.keys[start] {
			start = v
		}
	}
	from := map[int]int{}
	for wave := []int{start}; len(wave) > 0; {
		v := wave[0]
		wave = wave[1:]
		for _, need := range g.needs[v] {
			g.work++
			if need == start {
				return g.walk(from, start, v)
			}
			if _, seen := from[need]; inside[need] && !seen {
				from[need] = v
				wave = append(wave, need)
			}
		}
	}
	// Every node of a component reaches every other one, so that the loop
	// above always returns.
	panic("dag: a strongly connected component without a cycle")
}

// walk returns the way from start to end that the search left in from.
func (g *Graph[K]) walk(from map[int]int, start, end int) []K {
	var path []K
	for v := end; v != start; v = from[v] {
		path = append(path, g.keys[v])
	}
	path = append(path, g.keys[start])
	slices.Reverse(path)
	return path
}
