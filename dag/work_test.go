package dag

import (
	"fmt"
	"testing"
)

// wide makes n nodes that need up to three of the nodes shortly before them, so
// that about as many are ready at a time as the pattern is wide.
func wide(n int) []Node[int] {
	out := make([]Node[int], n)
	for i := range out {
		out[i] = Node[int]{Key: i, Weight: int64(i*7919%13 + 1)}
		for _, back := range []int{8, 13, 31} {
			if i >= back && i%5 != 0 {
				out[i].Needs = append(out[i].Needs, i-back)
			}
		}
	}
	return out
}

// chain makes n nodes in a row, star one node that all others need.
func chain(n int) []Node[int] {
	out := make([]Node[int], n)
	for i := range out {
		out[i] = Node[int]{Key: i, Weight: 1}
		if i > 0 {
			out[i].Needs = []int{i - 1}
		}
	}
	return out
}

func star(n int) []Node[int] {
	out := chain(n)
	for i := range out[1:] {
		out[i+1].Needs = []int{0}
	}
	return out
}

// runAll starts and finishes every node, by Next.
func runAll(tb testing.TB, f *Frontier[int]) {
	tb.Helper()
	for k, ok := f.Next(); ok; k, ok = f.Next() {
		if err := f.Start(k); err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Done(k); err != nil {
			tb.Fatal(err)
		}
	}
	if !f.Finished() {
		tb.Fatalf("not finished: %+v", f.Counts())
	}
}

// workPerNode counts the visits of one whole life of a graph: built, run,
// failed from the front, reopened, run again.
func workPerNode(t *testing.T, nodes []Node[int]) (build, run float64) {
	t.Helper()
	g, err := New(nodes)
	if err != nil {
		t.Fatal(err)
	}
	n := float64(g.Len())
	f := g.Frontier()
	runAll(t, f)

	again := g.Frontier()
	first, _ := again.Next()
	skipped, err := again.Fail(first)
	if err != nil {
		t.Fatal(err)
	}
	set := []int{first}
	for _, s := range skipped {
		set = append(set, s.Key)
	}
	if err := again.Reopen(set...); err != nil {
		t.Fatal(err)
	}
	runAll(t, again)
	return float64(g.Work()) / n, float64(f.Work()+again.Work()) / n
}

func TestWorkPerNodeIsConstant(t *testing.T) {
	for name, shape := range map[string]func(int) []Node[int]{"wide": wide, "chain": chain, "star": star} {
		smallBuild, smallRun := workPerNode(t, shape(1_000))
		largeBuild, largeRun := workPerNode(t, shape(100_000))
		t.Logf("%s: visits per node: build %.2f and %.2f, run %.2f and %.2f", name, smallBuild, largeBuild, smallRun, largeRun)
		if largeBuild > 1.5*smallBuild || largeRun > 1.5*smallRun {
			t.Errorf("%s: work per node grows with the graph", name)
		}
	}
}

// ring is one cycle through everything, pairs many small ones that all need a
// node which needs the other half of the graph.
func ring(n int) []Node[int] {
	out := chain(n)
	out[0].Needs = []int{n - 1}
	return out
}

func pairs(n int) []Node[int] {
	out := make([]Node[int], n)
	hub := n / 2
	for i := range out {
		out[i].Key = i
		switch {
		case i < hub:
			out[hub].Needs = append(out[hub].Needs, i)
		case i == hub || i+1 == n:
		case (i-hub)%2 == 1:
			out[i].Needs = []int{hub, i + 1}
		default:
			out[i].Needs = []int{i - 1}
		}
	}
	return out
}

func TestWorkOfCyclesIsLinear(t *testing.T) {
	perNode := func(nodes []Node[int]) float64 {
		g, _, p := check(nodes)
		if len(p.Cycles) == 0 {
			t.Fatal("no cycle found")
		}
		return float64(g.work) / float64(len(nodes))
	}
	for name, shape := range map[string]func(int) []Node[int]{"ring": ring, "pairs": pairs} {
		small, large := perNode(shape(1_000)), perNode(shape(20_000))
		t.Logf("%s: visits per node: %.2f and %.2f", name, small, large)
		if large > 1.5*small {
			t.Errorf("%s: work per node grows with the graph", name)
		}
	}
	if _, _, p := check(ring(100_000)); len(p.Cycles) != 1 || len(p.Cycles[0]) != 100_000 {
		t.Errorf("the ring is not one cycle of all nodes")
	}
}

func BenchmarkFrontier(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		g, err := New(wide(n))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			var visits int
			for b.Loop() {
				f := g.Frontier()
				runAll(b, f)
				visits = f.Work()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			b.ReportMetric(float64(visits)/float64(n), "visits/node")
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		in := wide(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
		})
	}
}
