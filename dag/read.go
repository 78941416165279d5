package dag

import "slices"

// Len is the number of nodes.
func (g *Graph[K]) Len() int { return len(g.keys) }

// Keys returns the keys in the order of the input.
func (g *Graph[K]) Keys() []K {
	out := make([]K, len(g.keys))
	copy(out, g.keys)
	return out
}

// Order returns all keys, needs before dependents. Of those that could come
// next, the one with the longest path still ahead of it comes first; equal ones
// keep the order of the input.
func (g *Graph[K]) Order() []K { return g.keysOf(g.order) }

// Critical returns the weight of the heaviest path from k to an end of the
// graph, k included. It stays at the largest int64 instead of overflowing, and
// is 0 for an unknown key.
func (g *Graph[K]) Critical(k K) int64 {
	v, ok := g.index[k]
	if !ok {
		return 0
	}
	return g.critical[v]
}

// Heaviest returns the heaviest path through the graph, and its weight, where each
// node weighs what weight says. Of equal ones it follows the order; no nodes at all
// give no path.
func (g *Graph[K]) Heaviest(weight func(K) float64) (path []K, total float64) {
	ahead, next := make([]float64, len(g.keys)), make([]int, len(g.keys))
	first := -1
	for _, v := range slices.Backward(g.order) {
		next[v] = -1
		for _, d := range g.dependents[v] {
			if next[v] < 0 || ahead[d] > ahead[next[v]] {
				next[v] = d
			}
		}
		if ahead[v] = weight(g.keys[v]); next[v] >= 0 {
			ahead[v] += ahead[next[v]]
		}
		if first < 0 || ahead[v] >= ahead[first] {
			first = v
		}
	}
	if first < 0 {
		return nil, 0
	}
	for v := first; v >= 0; v = next[v] {
		path = append(path, g.keys[v])
	}
	return path, ahead[first]
}

// Needs returns what k depends on directly, each once, as k lists it; nil for
// an unknown key.
func (g *Graph[K]) Needs(k K) []K {
	v, ok := g.index[k]
	if !ok {
		return nil
	}
	return g.keysOf(g.needs[v])
}

// Dependents returns what depends on k directly, in the order of the input; nil
// for an unknown key.
func (g *Graph[K]) Dependents(k K) []K {
	v, ok := g.index[k]
	if !ok {
		return nil
	}
	return g.keysOf(g.dependents[v])
}

// Levels groups the keys by the number of steps from a start of the graph, each
// group in the order of the input. It is for display only: nothing waits for a
// level.
func (g *Graph[K]) Levels() [][]K {
	level := make([]int, len(g.keys))
	var out [][]K
	for _, v := range g.order {
		for _, n := range g.needs[v] {
			level[v] = max(level[v], level[n]+1)
		}
		if level[v] == len(out) {
			out = append(out, nil)
		}
	}
	for v, k := range g.keys {
		out[level[v]] = append(out[level[v]], k)
	}
	return out
}

// Work is the number of visits to nodes and edges that New needed. It exists to
// be held against the size of the graph.
func (g *Graph[K]) Work() int { return g.work }

func (g *Graph[K]) keysOf(nodes []int) []K {
	out := make([]K, len(nodes))
	for i, v := range nodes {
		out[i] = g.keys[v]
	}
	return out
}
