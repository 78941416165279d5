package picture

import (
	"cmp"
	"slices"
)

// The measures of a graph, in pixels.
const (
	boxWidth    = 208
	boxHeight   = 62
	columnGap   = 64
	rowGap      = 18
	passHeight  = 14 // of a place where an arrow passes a column
	graphMargin = 12
)

// place is a node in a column, or where an arrow passes it.
type place struct {
	node   int // -1 = an arrow passes
	column int
	from   []int // places of the column before
	to     []int // places of the column behind
	order  float64
	x, y   int
}

func (p *place) height() int {
	if p.node < 0 {
		return passHeight
	}
	return boxHeight
}

// drawing is a graph with every node and every bend of an arrow in its place.
type drawing struct {
	places  []place
	columns [][]int // places from above to below
	at      []int   // the place of each node
	arrows  []arrow
	width   int
	height  int
}

// arrow goes from one node to another through places.
type arrow struct {
	from, to int // nodes
	sub      bool
	through  []int // places, both ends among them
}

// layout gives every node a column behind all that it needs, and an order
// within the column that keeps arrows from crossing where a few sweeps can. An
// arrow that passes columns has a place of its own in each, so that it crosses
// no box. What is needed and not there, or would go round in a circle, is left
// out. The same nodes give the same drawing.
func layout(nodes []Node) drawing {
	needs := edges(nodes)
	d := drawing{at: make([]int, len(nodes))}
	column := columnsOf(needs)
	last := 0
	for _, c := range column {
		last = max(last, c)
	}
	d.columns = make([][]int, last+1)
	for i := range nodes {
		d.at[i] = d.put(i, column[i])
	}
	for i, list := range needs {
		for _, e := range list {
			d.link(e, i, nodes[i].Sub)
		}
	}
	d.sort()
	d.measure()
	return d
}

// edges are the nodes that each one needs, as positions, each once.
func edges(nodes []Node) [][]int {
	byID := make(map[string]int, len(nodes))
	for i, n := range nodes {
		if _, twice := byID[n.ID]; !twice {
			byID[n.ID] = i
		}
	}
	out := make([][]int, len(nodes))
	for i, n := range nodes {
		for _, id := range n.Needs {
			if j, ok := byID[id]; ok && j != i && !slices.Contains(out[i], j) {
				out[i] = append(out[i], j)
			}
		}
	}
	return acyclic(out)
}

// acyclic leaves out every edge that closes a circle. Plans have none; a
// picture must not hang on one that does.
func acyclic(needs [][]int) [][]int {
	const fresh, open, closed = 0, 1, 2
	state := make([]byte, len(needs))
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		kept := needs[i][:0]
		for _, j := range needs[i] {
			if state[j] == open {
				continue
			}
			if state[j] == fresh {
				visit(j)
			}
			kept = append(kept, j)
		}
		needs[i], state[i] = kept, closed
	}
	for i := range needs {
		if state[i] == fresh {
			visit(i)
		}
	}
	return needs
}

// columnsOf is the number of steps from a start, the longest way.
func columnsOf(needs [][]int) []int {
	out := make([]int, len(needs))
	for i := range out {
		out[i] = -1
	}
	var depth func(i int) int
	depth = func(i int) int {
		if out[i] < 0 {
			c := 0
			for _, j := range needs[i] {
				c = max(c, depth(j)+1)
			}
			out[i] = c
		}
		return out[i]
	}
	for i := range needs {
		depth(i)
	}
	return out
}

func (d *drawing) put(node, column int) int {
	d.places = append(d.places, place{node: node, column: column})
	d.columns[column] = append(d.columns[column], len(d.places)-1)
	return len(d.places) - 1
}

func (d *drawing) link(from, to int, sub bool) {
	a := arrow{from: from, to: to, sub: sub, through: []int{d.at[from]}}
	at := d.at[from]
	for c := d.places[at].column + 1; c <= d.places[d.at[to]].column; c++ {
		next := d.at[to]
		if c < d.places[next].column {
			next = d.put(-1, c)
		}
		d.places[at].to = append(d.places[at].to, next)
		d.places[next].from = append(d.places[next].from, at)
		a.through, at = append(a.through, next), next
	}
	d.arrows = append(d.arrows, a)
}

// sort orders every column by the middle of its neighbours, there and back.
func (d *drawing) sort() {
	number := func(c int) {
		for i, p := range d.columns[c] {
			d.places[p].order = float64(i)
		}
	}
	for c := range d.columns {
		number(c)
	}
	sweep := func(c int, beside func(*place) []int) {
		middle := make(map[int]float64, len(d.columns[c]))
		for i, p := range d.columns[c] {
			near := beside(&d.places[p])
			middle[p] = float64(i)
			if len(near) > 0 {
				sum := 0.0
				for _, n := range near {
					sum += d.places[n].order
				}
				middle[p] = sum / float64(len(near))
			}
		}
		slices.SortStableFunc(d.columns[c], func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
		number(c)
	}
	for range 4 {
		for c := 1; c < len(d.columns); c++ {
			sweep(c, func(p *place) []int { return p.from })
		}
		for c := len(d.columns) - 2; c >= 0; c-- {
			sweep(c, func(p *place) []int { return p.to })
		}
	}
}

// measure gives places their coordinates; columns are centred.
func (d *drawing) measure() {
	high := make([]int, len(d.columns))
	for c, list := range d.columns {
		for i, p := range list {
			if i > 0 {
				high[c] += rowGap
			}
			high[c] += d.places[p].height()
		}
		d.height = max(d.height, high[c])
	}
	for c, list := range d.columns {
		y := graphMargin + (d.height-high[c])/2
		for _, p := range list {
			d.places[p].x, d.places[p].y = graphMargin+c*(boxWidth+columnGap), y
			y += d.places[p].height() + rowGap
		}
	}
	d.width = 2*graphMargin + len(d.columns)*(boxWidth+columnGap) - columnGap
	d.height += 2 * graphMargin
}
