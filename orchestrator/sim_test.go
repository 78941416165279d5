package orchestrator

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// coverage is what the schedules of a test reached.
type coverage struct {
	kinds, faults, outcomes, gates map[string]int
	reasons                        map[work.Reason]int
	stages                         map[Stage]bool
	edges                          edges
	steps                          int
}

func newCoverage() *coverage {
	return &coverage{
		kinds: map[string]int{}, faults: map[string]int{}, outcomes: map[string]int{}, gates: map[string]int{},
		reasons: map[work.Reason]int{}, stages: map[Stage]bool{}, edges: edges{},
	}
}

func (c *coverage) add(w *world) {
	for _, e := range w.journal {
		c.kinds[string(e.Kind)]++
	}
	for f, n := range w.faults {
		c.faults[f] += n
	}
	for g, n := range w.gates {
		c.gates[g] += n
	}
	for r, n := range w.reasons {
		c.reasons[r] += n
	}
	c.edges.merge(w.edges)
	for e := range w.edges {
		if e.machine == ofPhases {
			c.stages[Stage(e.to)] = true
		}
	}
	c.outcomes[string(w.s.Outcome)]++
	c.steps += len(w.journal)
}

// play plays the schedule of one seed, and what a fuzzer adds to it.
func play(l *lab, seed uint64, data []byte, b bug) (*world, error) {
	w, err := newWorld(l, newDice(seed, data), b)
	if err != nil {
		return nil, err
	}
	return w, w.run()
}

func tail(evs []work.Event, n int) string {
	var b strings.Builder
	for _, e := range evs[max(len(evs)-n, 0):] {
		fmt.Fprintf(&b, "%d %s %s %d/%d %s\n", e.Seq, e.Kind, e.Phase, e.Iteration, e.Attempt, clipText(string(e.Data), 300))
	}
	return b.String()
}

// schedules is how many a test plays: FORGE_SCHEDULES, else few enough for
// every test run.
func schedules(few int) int {
	if n, err := strconv.Atoi(os.Getenv("FORGE_SCHEDULES")); err == nil && n > 0 {
		return n
	}
	return few
}

// simulate plays n schedules and fails at the first that breaks an invariant.
func simulate(t testing.TB, l *lab, n int) *coverage {
	t.Helper()
	c := newCoverage()
	for seed := range uint64(n) {
		w, err := play(l, seed+1, nil, bug{})
		if err != nil {
			events := ""
			if w != nil {
				events = tail(append(w.journal, w.batch...), 25)
			}
			t.Fatalf("seed %d: %v\n%s", seed+1, err, events)
		}
		c.add(w)
	}
	return c
}

func TestSimulation(t *testing.T) {
	n := schedules(4000)
	begin := time.Now()
	c := simulate(t, newLab(t), n)
	t.Logf("%d schedules, %.0f a second, %d events; kinds %v; faults %v; outcomes %v; reasons %v; gates %v",
		n, float64(n)/time.Since(begin).Seconds(), c.steps, c.kinds, c.faults, c.outcomes, c.reasons, c.gates)
}
