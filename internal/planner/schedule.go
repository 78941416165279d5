package planner

import (
	"slices"

	"forge/dag"
)

// Timing is how a plan runs on the clock where each phase takes as long as
// foreseen, in the unit that its phases were given in.
type Timing struct {
	Takes  float64  // from the first start to the last end
	Work   float64  // of all phases together
	Chain  []string // the phases that follow each other without which it would not be faster
	Least  float64  // what the chain takes: no number of places makes it less
	Places int
}

// Schedule plays a plan with so many phases at once. As in a run, of those that
// could begin the one with the heaviest path ahead of it does.
func Schedule(g *dag.Graph[string], takes map[string]float64, places int) Timing {
	t := Timing{Places: max(places, 1)}
	t.Chain, t.Least = g.Heaviest(func(n string) float64 { return takes[n] })
	f := g.Frontier()
	type running struct {
		phase string
		ends  float64
	}
	var now []running
	for !f.Finished() {
		for len(now) < t.Places {
			n, ok := f.Next()
			if !ok || f.Start(n) != nil {
				break
			}
			now = append(now, running{n, t.Takes + takes[n]})
			t.Work += takes[n]
		}
		if len(now) == 0 {
			break
		}
		at := 0
		for i := range now {
			if now[i].ends < now[at].ends {
				at = i
			}
		}
		t.Takes = now[at].ends
		if _, err := f.Done(now[at].phase); err != nil {
			break
		}
		now = slices.Delete(now, at, at+1)
	}
	return t
}
