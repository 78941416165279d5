package dag

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the weights, the heaviest path is one of the graph, weighs what is said,
// and none is heavier.
func TestHeaviestPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := goodNodes(t)
		g, err := New(in)
		if err != nil {
			t.Fatal(err)
		}
		weight := map[int]float64{}
		for i := range in {
			weight[in[i].Key] = float64(rapid.IntRange(0, 9).Draw(t, "weight"))
			in[i].Weight = int64(weight[in[i].Key])
		}
		path, total := g.Heaviest(func(k int) float64 { return weight[k] })
		sum, most := 0.0, int64(0)
		for i, k := range path {
			sum += weight[k]
			if i > 0 && !slices.Contains(g.Needs(k), path[i-1]) {
				t.Errorf("%d does not follow %d", k, path[i-1])
			}
		}
		for _, n := range in {
			most = max(most, slowCritical(in, n.Key))
		}
		if sum != total || total != float64(most) || (len(path) == 0) != (len(in) == 0) {
			t.Errorf("%v weighs %v, said to be %v; the heaviest weighs %d", path, sum, total, most)
		}
	})
}
