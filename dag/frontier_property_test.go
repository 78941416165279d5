package dag

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowFrontier is the obvious twin: it looks at every node whenever it is asked.
type slowFrontier struct {
	nodes []Node[int]
	state map[int]State // only what was decided; the rest follows from the needs
	cause map[int]int
}

func (f *slowFrontier) needs(k int) []int {
	i := slices.IndexFunc(f.nodes, func(n Node[int]) bool { return n.Key == k })
	return f.nodes[i].Needs
}

func (f *slowFrontier) at(k int) State {
	if s := f.state[k]; s != "" {
		return s
	}
	for _, need := range f.needs(k) {
		if f.state[need] != Done {
			return Waiting
		}
	}
	return Ready
}

func (f *slowFrontier) fail(k int) (skipped []Skip[int]) {
	f.state[k] = Failed
	for changed := true; changed; {
		changed = false
		for _, n := range f.nodes {
			for _, need := range n.Needs {
				if f.at(n.Key) == Waiting && (f.state[need] == Failed || f.state[need] == Skipped) {
					f.state[n.Key], f.cause[n.Key] = Skipped, k
					skipped = append(skipped, Skip[int]{n.Key, k})
					changed = true
				}
			}
		}
	}
	return skipped
}

func (f *slowFrontier) mayReopen(set []int) bool {
	for _, k := range set {
		if s := f.at(k); s != Failed && s != Skipped {
			return false
		}
		for _, need := range f.needs(k) {
			if s := f.at(need); (s == Failed || s == Skipped) && !slices.Contains(set, need) {
				return false
			}
		}
	}
	return true
}

// TestFrontierIsThatOfTheSlowTwin takes any steps in any order, illegal ones too.
func TestFrontierIsThatOfTheSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := goodNodes(t)
		g, err := New(in)
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		if g.Len() == 0 {
			return
		}
		fast := g.Frontier()
		slow := &slowFrontier{nodes: in, state: map[int]State{}, cause: map[int]int{}}
		node := rapid.IntRange(0, g.Len()-1)
		agree := func(what string, err error, allowed bool) bool {
			if (err == nil) != allowed {
				t.Fatalf("%s: %v, want allowed = %v", what, err, allowed)
			}
			return allowed
		}
		t.Repeat(map[string]func(*rapid.T){
			// Whatever follows, follows from what was written down as well.
			"restore": func(t *rapid.T) {
				again, err := g.Restore(fast.Standings())
				if err != nil {
					t.Fatal(err)
				}
				fast = again
			},
			"start": func(t *rapid.T) {
				k := node.Draw(t, "k")
				if agree("start", fast.Start(k), slow.at(k) == Ready) {
					slow.state[k] = Running
				}
			},
			"done": func(t *rapid.T) {
				k := node.Draw(t, "k")
				before := slow.at(k)
				released, err := fast.Done(k)
				if !agree("done", err, before == Ready || before == Running) {
					return
				}
				var want []int
				waited := slow.inState(Waiting)
				slow.state[k] = Done
				for _, key := range g.Order() {
					if slices.Contains(waited, key) && slow.at(key) == Ready {
						want = append(want, key)
					}
				}
				slices.SortStableFunc(want, byUrgency(in))
				if !slices.Equal(released, want) {
					t.Fatalf("done %d released %v, want %v", k, released, want)
				}
			},
			"fail": func(t *rapid.T) {
				k := node.Draw(t, "k")
				before := slow.at(k)
				skipped, err := fast.Fail(k)
				if !agree("fail", err, before == Ready || before == Running) {
					return
				}
				want := slow.fail(k)
				order := g.Order()
				slices.SortFunc(want, func(a, b Skip[int]) int { return slices.Index(order, a.Key) - slices.Index(order, b.Key) })
				if !slices.Equal(skipped, want) {
					t.Fatalf("fail %d skipped %v, want %v", k, skipped, want)
				}
			},
			"reopen": func(t *rapid.T) {
				set := rapid.SliceOfN(node, 0, 4).Draw(t, "set")
				if rapid.Bool().Draw(t, "all") {
					set = append(slow.inState(Failed), slow.inState(Skipped)...)
				}
				if agree("reopen", fast.Reopen(set...), slow.mayReopen(set)) {
					for _, k := range set {
						delete(slow.state, k)
						delete(slow.cause, k)
					}
				}
			},
			"leave out": func(t *rapid.T) {
				set := rapid.SliceOfN(node, 0, 3).Draw(t, "set")
				allowed := !slices.ContainsFunc(set, func(k int) bool { return slow.at(k) != Waiting && slow.at(k) != Ready })
				if agree("leave out", fast.LeaveOut(set...), allowed) {
					for _, k := range set {
						slow.state[k] = Done
					}
				}
			},
			"": func(t *rapid.T) { compareFrontiers(t, g, fast, slow) },
		})
	})
}

func (f *slowFrontier) inState(s State) (keys []int) {
	for _, n := range f.nodes {
		if f.at(n.Key) == s {
			keys = append(keys, n.Key)
		}
	}
	return keys
}

func byUrgency(in []Node[int]) func(a, b int) int {
	place := func(k int) int { return slices.IndexFunc(in, func(n Node[int]) bool { return n.Key == k }) }
	return func(a, b int) int {
		if x, y := slowCritical(in, a), slowCritical(in, b); x != y {
			return int(y - x)
		}
		return place(a) - place(b)
	}
}

func compareFrontiers(t *rapid.T, g *Graph[int], fast *Frontier[int], slow *slowFrontier) {
	for _, k := range g.Keys() {
		if got, want := fast.State(k), slow.at(k); got != want {
			t.Fatalf("%d is %s, want %s", k, got, want)
		}
		got, gotOK := fast.Cause(k)
		want, wantOK := slow.cause[k]
		if got != want || gotOK != wantOK {
			t.Fatalf("cause of %d = %d, %v, want %d, %v", k, got, gotOK, want, wantOK)
		}
		if fast.State(k) == Waiting && slices.ContainsFunc(g.Needs(k), func(need int) bool {
			return fast.State(need) == Failed || fast.State(need) == Skipped
		}) {
			t.Fatalf("%d waits for ever", k)
		}
	}
	ready := slow.inState(Ready)
	slices.SortFunc(ready, byUrgency(slow.nodes))
	if got := fast.Ready(); !slices.Equal(got, ready) {
		t.Fatalf("Ready = %v, want %v", got, ready)
	}
	if k, ok := fast.Next(); ok != (len(ready) > 0) || ok && k != ready[0] {
		t.Fatalf("Next = %d, %v, want the first of %v", k, ok, ready)
	}
	n := func(s State) int { return len(slow.inState(s)) }
	want := Counts{n(Waiting), n(Ready), n(Running), n(Done), n(Failed), n(Skipped)}
	if got := fast.Counts(); got != want {
		t.Fatalf("Counts = %+v, want %+v", got, want)
	}
	if got, want := fast.Finished(), want.Waiting+want.Ready+want.Running == 0; got != want {
		t.Fatalf("Finished = %v, want %v", got, want)
	}
}
