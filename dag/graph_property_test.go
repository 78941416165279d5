package dag

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// count draws how many nodes there are. A plain range would be mostly small.
func count(t *rapid.T) int {
	return rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).Draw(t, "count")
}

func upTo3(t *rapid.T, keys []int) []int {
	n := rapid.SampledFrom([]int{0, 1, 1, 2, 3}).Draw(t, "how many")
	return rapid.SliceOfN(rapid.SampledFrom(keys), n, n).Draw(t, "needs")
}

// anyNodes draws nodes with any needs, wrong ones included.
func anyNodes(t *rapid.T) []Node[int] {
	out := make([]Node[int], count(t))
	keys := upTo(len(out) + 1) // the last one is often unknown
	if rapid.Bool().Draw(t, "shuffle") {
		keys = rapid.Permutation(keys).Draw(t, "keys")
	}
	for i := range out {
		out[i].Key = keys[i]
		if rapid.IntRange(0, 9).Draw(t, "duplicate") == 9 {
			out[i].Key = rapid.SampledFrom(keys).Draw(t, "key")
		}
		out[i].Needs = upTo3(t, keys)
	}
	return out
}

// goodNodes draws nodes without cycles, in an order of no meaning.
func goodNodes(t *rapid.T) []Node[int] {
	out := make([]Node[int], count(t))
	for i := range out {
		out[i] = Node[int]{Key: i, Weight: rapid.Int64Range(-1, 5).Draw(t, "weight")}
		if i > 0 {
			out[i].Needs = upTo3(t, upTo(i))
		}
	}
	return rapid.Permutation(out).Draw(t, "order")
}

// slowProblems is everything but Cycles, by looking at every pair.
func slowProblems(nodes []Node[int]) (p Problems[int]) {
	keys := map[int]int{}
	for _, n := range nodes {
		if keys[n.Key]++; keys[n.Key] == 2 {
			p.Duplicates = append(p.Duplicates, n.Key)
		}
	}
	for _, n := range nodes {
		for _, need := range n.Needs {
			m := Missing[int]{n.Key, need}
			if need == n.Key {
				if !slices.Contains(p.Self, need) {
					p.Self = append(p.Self, need)
				}
			} else if keys[need] == 0 && !slices.Contains(p.Unknown, m) {
				p.Unknown = append(p.Unknown, m)
			}
		}
	}
	return p
}

// firstNeeds maps each key to the needs of its first node, itself and unknown
// ones left out.
func firstNeeds(nodes []Node[int]) map[int][]int {
	out := map[int][]int{}
	for _, n := range slices.Backward(nodes) {
		out[n.Key] = n.Needs
	}
	for k, needs := range out {
		out[k] = slices.DeleteFunc(slices.Clone(needs), func(need int) bool {
			_, known := out[need]
			return need == k || !known
		})
	}
	return out
}

// distances is the number of edges between any two nodes that are connected,
// by trying every node as a stop between every two others.
func distances(needs map[int][]int) map[[2]int]int {
	d := map[[2]int]int{}
	for k, list := range needs {
		for _, need := range list {
			d[[2]int{k, need}] = 1
		}
	}
	for via := range needs {
		for a := range needs {
			for b := range needs {
				x, ok1 := d[[2]int{a, via}]
				y, ok2 := d[[2]int{via, b}]
				if old, ok := d[[2]int{a, b}]; ok1 && ok2 && (!ok || x+y < old) {
					d[[2]int{a, b}] = x + y
				}
			}
		}
	}
	return d
}

func TestProblemsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyNodes(t)
		want := slowProblems(in)
		needs := firstNeeds(in)
		far := distances(needs)
		length := map[int]int{} // smallest key of each knot of nodes → its shortest cycle
		for k := range needs {
			smallest := true
			for other := range needs {
				_, to := far[[2]int{k, other}]
				_, back := far[[2]int{other, k}]
				smallest = smallest && (!to || !back || other >= k)
			}
			if n, ok := far[[2]int{k, k}]; ok && smallest {
				length[k] = n
			}
		}

		_, err := New(in)
		got := &Problems[int]{}
		if err != nil && !errors.As(err, &got) {
			t.Fatalf("New: %v is not Problems", err)
		}
		if err != nil && err.Error() == "" {
			t.Errorf("an error without words")
		}
		cycles := got.Cycles
		got.Cycles = nil
		if !reflect.DeepEqual(*got, want) {
			t.Fatalf("got %+v, want %+v", *got, want)
		}
		if len(cycles) != len(length) || !slices.IsSortedFunc(cycles, func(a, b []int) int { return a[0] - b[0] }) {
			t.Fatalf("got cycles %v, want one for each of %v, sorted", cycles, length)
		}
		for _, c := range cycles {
			if len(c) != length[c[0]] {
				t.Errorf("cycle %v, want %d nodes for this start", c, length[c[0]])
			}
			for i, k := range c {
				if !slices.Contains(needs[k], c[(i+1)%len(c)]) {
					t.Errorf("cycle %v: %d does not need the next one", c, k)
				}
			}
		}
	})
}

// slowCritical walks every path.
func slowCritical(nodes []Node[int], k int) int64 {
	var own, after int64
	for _, n := range nodes {
		if n.Key == k {
			own = max(n.Weight, 0)
		}
		if slices.Contains(n.Needs, k) {
			after = max(after, slowCritical(nodes, n.Key))
		}
	}
	return own + after
}

// slowOrder looks at all nodes before each step.
func slowOrder(nodes []Node[int]) []int {
	out := []int{}
	for len(out) < len(nodes) {
		best, bestLength := -1, int64(-1)
		for _, n := range nodes {
			placed := slices.Contains(out, n.Key)
			open := slices.ContainsFunc(n.Needs, func(need int) bool { return !slices.Contains(out, need) })
			if length := slowCritical(nodes, n.Key); !placed && !open && length > bestLength {
				best, bestLength = n.Key, length
			}
		}
		out = append(out, best)
	}
	return out
}

func TestOrderIsThatOfTheSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := goodNodes(t)
		g, err := New(in)
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		if got, want := g.Order(), slowOrder(in); !slices.Equal(got, want) {
			t.Errorf("Order = %v, want %v", got, want)
		}
		level := map[int]int{}
		for i, keys := range g.Levels() {
			for _, k := range keys {
				level[k] = i
			}
		}
		for _, n := range in {
			if got, want := g.Critical(n.Key), slowCritical(in, n.Key); got != want {
				t.Errorf("Critical(%d) = %d, want %d", n.Key, got, want)
			}
			want := 0
			for _, need := range n.Needs {
				want = max(want, level[need]+1)
				if !slices.Contains(g.Needs(n.Key), need) || !slices.Contains(g.Dependents(need), n.Key) {
					t.Errorf("the edge %d → %d is not in Needs and Dependents", n.Key, need)
				}
			}
			if level[n.Key] != want {
				t.Errorf("level of %d = %d, want %d", n.Key, level[n.Key], want)
			}
		}
	})
}
