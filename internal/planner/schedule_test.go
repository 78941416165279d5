package planner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forge/dag"
)

func planned(t *testing.T, nodes []dag.Node[string]) *dag.Graph[string] {
	t.Helper()
	g, err := dag.New(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSchedule(t *testing.T) {
	nodes := []dag.Node[string]{
		{Key: "01", Weight: 1}, {Key: "02", Weight: 5}, {Key: "03", Needs: []string{"02"}, Weight: 5}, {Key: "04", Needs: []string{"01", "03"}, Weight: 1},
	}
	takes := map[string]float64{"01": 1, "02": 5, "03": 5, "04": 1}
	for places, want := range map[int]float64{1: 12, 2: 11, 8: 11, 0: 12} {
		got := Schedule(planned(t, nodes), takes, places)
		if got.Takes != want || got.Work != 12 || got.Least != 11 || !slices.Equal(got.Chain, []string{"02", "03", "04"}) {
			t.Errorf("%d at once: %+v, want %v", places, got, want)
		}
	}
	if got := Schedule(planned(t, nil), nil, 4); got.Takes != 0 || got.Least != 0 || len(got.Chain) != 0 {
		t.Errorf("of no phases: %+v", got)
	}
}

// A plan whose lengths are known takes no longer than its longest chain where there
// is room for it, and never more than any order of starting could need.
func TestScheduleBesideTheLongestChain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	near, all := 0, 0
	for try := range 400 {
		places := []int{4, 8, 16, 32, 64}[try%5]
		var nodes []dag.Node[string]
		takes := map[string]float64{}
		for n := range 20 + r.IntN(180) {
			key := fmt.Sprintf("%03d", n)
			node := dag.Node[string]{Key: key, Weight: 1 + r.Int64N(20)}
			for range r.IntN(3) {
				if n > 0 {
					node.Needs = append(node.Needs, fmt.Sprintf("%03d", r.IntN(n)))
				}
			}
			slices.Sort(node.Needs)
			node.Needs = slices.Compact(node.Needs)
			nodes = append(nodes, node)
			takes[key] = float64(node.Weight)
		}
		got := Schedule(planned(t, nodes), takes, places)
		least := max(got.Least, got.Work/float64(places))
		if got.Takes < least || got.Takes > got.Least+got.Work/float64(places) {
			t.Fatalf("%d at once: %v, which lies outside of %v and %v", places, got.Takes, least, got.Least+got.Work/float64(places))
		}
		// Where the chain decides, so that there is room beside it.
		if got.Work/float64(places) <= 0.7*got.Least {
			if all++; got.Takes <= 1.02*got.Least {
				near++
			}
		}
		if alone := Schedule(planned(t, nodes), takes, 1); math.Abs(alone.Takes-got.Work) > 1e-6 {
			t.Fatalf("one at a time it takes %v, of %v", alone.Takes, got.Work)
		}
	}
	t.Logf("%d of %d within 1.02 of the longest chain", near, all)
	if all < 100 || near != all {
		t.Errorf("%d of %d plans are within 1.02 of their longest chain", near, all)
	}
}
