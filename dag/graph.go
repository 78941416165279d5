// Package dag is a dependency graph of anything with an ordered key: it checks
// the graph, orders it by critical path, and says at each moment what may start.
package dag

import (
	"cmp"
	"math"
	"slices"
)

// Node is one piece of work as a caller describes it.
type Node[K cmp.Ordered] struct {
	// Key names the node. A floating-point NaN equals nothing, itself
	// included, and is therefore of no use as a key.
	Key K
	// Needs are the keys of the nodes that have to be done first. Repeated
	// entries count once.
	Needs []K
	// Weight is how long the node is expected to take, in any unit, as long
	// as it is the same for all nodes. Negative counts as 0.
	Weight int64
}

// Graph is a checked graph without cycles. It never changes and may be shared
// between goroutines. Inside, nodes are their positions in the input.
type Graph[K cmp.Ordered] struct {
	keys       []K
	index      map[K]int
	needs      [][]int
	dependents [][]int
	critical   []int64
	rank       []int // node → place in the order of urgency, 0 is the most urgent
	byRank     []int // the inverse
	order      []int
	place      []int // node → position in order
	work       int
}

// New checks the nodes and builds their graph. Nodes that do not make a graph
// give a *Problems[K] that names everything wrong with them at once. No nodes
// at all are a graph.
func New[K cmp.Ordered](nodes []Node[K]) (*Graph[K], error) {
	g, comps, p := check(nodes)
	if !p.none() {
		return nil, p
	}
	g.measure(nodes, comps)
	g.arrange()
	return g, nil
}

// check connects the nodes, finds what is wrong with them, and returns their
// components on the way.
func check[K cmp.Ordered](nodes []Node[K]) (g *Graph[K], comps [][]int, p *Problems[K]) {
	g = &Graph[K]{
		keys:  make([]K, len(nodes)),
		index: make(map[K]int, len(nodes)),
	}
	p = &Problems[K]{}
	g.connect(nodes, p)
	comps = components(g.needs, &g.work)
	for _, c := range comps {
		if len(c) > 1 {
			p.Cycles = append(p.Cycles, g.cycle(c))
		}
	}
	p.sortCycles()
	return g, comps, p
}

// connect fills keys, needs and dependents, and reports duplicate, self and
// unknown dependencies. A key that is needed means the first node that has it, so
// that no edge leads to a duplicate.
func (g *Graph[K]) connect(nodes []Node[K], p *Problems[K]) {
	repeated := map[K]bool{}
	for i, n := range nodes {
		g.work++
		g.keys[i] = n.Key
		if _, ok := g.index[n.Key]; !ok {
			g.index[n.Key] = i
		} else if !repeated[n.Key] {
			repeated[n.Key] = true
			p.Duplicates = append(p.Duplicates, n.Key)
		}
	}
	edges := 0
	for _, n := range nodes {
		edges += len(n.Needs)
	}
	g.needs = make([][]int, len(nodes))
	selves := map[K]bool{}
	missing := map[Missing[K]]bool{}
	lastBy := make([]int, len(nodes)) // need → 1 + the node that listed it last
	count := make([]int, len(nodes))  // of dependents
	flat := make([]int, 0, edges)     // backs needs
	for i, n := range nodes {
		begin := len(flat)
		for _, key := range n.Needs {
			g.work++
			need, known := g.index[key]
			switch {
			case key == n.Key:
				if !selves[key] {
					selves[key] = true
					p.Self = append(p.Self, key)
				}
			case !known:
				if m := (Missing[K]{Node: n.Key, Need: key}); !missing[m] {
					missing[m] = true
					p.Unknown = append(p.Unknown, m)
				}
			case lastBy[need] != i+1:
				lastBy[need] = i + 1
				flat = append(flat, need)
				count[need]++
			}
		}
		g.needs[i] = flat[begin:len(flat):len(flat)]
	}
	g.dependents = turned(g.needs, count, len(flat))
}

// turned gives for each node those that need it, in the order of the nodes.
// count says how many those are, edges how many all of them.
func turned(needs [][]int, count []int, edges int) [][]int {
	out := make([][]int, len(needs))
	flat := make([]int, edges)
	for i, n := range count {
		out[i], flat = flat[:0:n], flat[n:]
	}
	for i, list := range needs {
		for _, need := range list {
			out[need] = append(out[need], i)
		}
	}
	return out
}

// measure fills critical. comps holds the nodes with needs before dependents,
// so that its reverse meets every dependent before what it needs.
func (g *Graph[K]) measure(nodes []Node[K], comps [][]int) {
	g.critical = make([]int64, len(nodes))
	for _, c := range slices.Backward(comps) {
		v := c[0]
		var after int64
		for _, d := range g.dependents[v] {
			g.work++
			after = max(after, g.critical[d])
		}
		g.work++
		g.critical[v] = saturatingSum(max(nodes[v].Weight, 0), after)
	}
}

// saturatingSum adds two weights that are not negative. A sum beyond int64
// stays at its top: wrapping round would put the longest path last.
func saturatingSum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// arrange fills rank and order.
func (g *Graph[K]) arrange() {
	n := len(g.keys)
	g.byRank = make([]int, n)
	for i := range g.byRank {
		g.byRank[i] = i
	}
	slices.SortFunc(g.byRank, func(a, b int) int {
		return cmp.Or(cmp.Compare(g.critical[b], g.critical[a]), cmp.Compare(a, b))
	})
	g.rank = make([]int, n)
	for r, v := range g.byRank {
		g.rank[v] = r
	}

	g.order = make([]int, 0, n)
	g.place = make([]int, n)
	unmet := make([]int, n)
	ready := newQueue(n)
	for v := range n {
		if unmet[v] = len(g.needs[v]); unmet[v] == 0 {
			ready.push(g.rank[v])
		}
	}
	for ready.len() > 0 {
		v := g.byRank[ready.pop()]
		g.work++
		g.place[v] = len(g.order)
		g.order = append(g.order, v)
		for _, d := range g.dependents[v] {
			g.work++
			if unmet[d]--; unmet[d] == 0 {
				ready.push(g.rank[d])
			}
		}
	}
}
