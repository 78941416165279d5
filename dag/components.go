package dag

// components returns the strongly connected components of the graph with these
// edges, needs before dependents (R. Tarjan, "Depth-first search and linear
// graph algorithms", 1972). Without cycles each component is one node and the
// whole is a topological order. The search keeps its own stack, since a chain of
// 100,000 nodes would otherwise be as many nested calls. Every visit to a node
// or an edge adds one to work.
func components(needs [][]int, work *int) [][]int {
	var (
		n      = len(needs)
		number = make([]int, n) // order of discovery from 1, 0 = not seen
		low    = make([]int, n) // smallest number known to be reachable
		next   = make([]int, n) // position of the next edge to follow
		closed = make([]bool, n)
		path   = make([]int, 0, n) // from the root of the search to here
		open   = make([]int, 0, n) // seen, component not yet known
		flat   = make([]int, 0, n) // backs the result
		out    = make([][]int, 0, n)
		count  int
	)
	enter := func(v int) {
		*work++
		count++
		number[v], low[v] = count, count
		path = append(path, v)
		open = append(open, v)
	}
	leave := func(v int) {
		path = path[:len(path)-1]
		if len(path) > 0 {
			parent := path[len(path)-1]
			low[parent] = min(low[parent], low[v])
		}
		if low[v] != number[v] {
			return
		}
		begin := len(flat)
		for {
			w := open[len(open)-1]
			open = open[:len(open)-1]
			closed[w] = true
			flat = append(flat, w)
			if w == v {
				break
			}
		}
		out = append(out, flat[begin:len(flat):len(flat)])
	}
	for root := range n {
		if number[root] != 0 {
			continue
		}
		for enter(root); len(path) > 0; {
			v := path[len(path)-1]
			if next[v] == len(needs[v]) {
				leave(v)
				continue
			}
			w := needs[v][next[v]]
			next[v]++
			*work++
			switch {
			case number[w] == 0:
				enter(w)
			case !closed[w]:
				low[v] = min(low[v], number[w])
			}
		}
	}
	return out
}
