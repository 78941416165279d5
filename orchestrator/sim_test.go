package orchestrator

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/text"
	"forge/internal/work"
)

var _ = pace.OnlyBeside("the core begins nothing")

// coverage is what the schedules of a test reached.
type coverage struct {
	kinds, faults, outcomes, gates map[string]int
	reasons                        map[work.Reason]int
	stages                         map[Stage]bool
	edges                          edges
	events                         int
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
	for o, n := range w.ends {
		c.outcomes[string(o)] += n
	}
	c.events += len(w.journal)
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
		fmt.Fprintf(&b, "%d %s %s %d/%d %s\n", e.Seq, e.Kind, e.Phase, e.Iteration, e.Attempt, text.ClipJSON(string(e.Data), 300))
	}
	return b.String()
}

// fewSchedules reach everything that TestSimulation wants to see.
const fewSchedules = 6600

// manySchedules go every way that docs/states.md draws.
const manySchedules = 10 * fewSchedules

// schedules is how many a test plays: FORGE_SCHEDULES where that is a number,
// else few.
func schedules(few int) int {
	if n, err := strconv.Atoi(os.Getenv("FORGE_SCHEDULES")); err == nil && n > 0 {
		return n
	}
	return few
}

// simulate plays n schedules and fails at the first that breaks an invariant.
func simulate(t testing.TB, l *lab, n int) *coverage {
	t.Helper()
	// Worlds are short-lived; collecting them often costs a fifth of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	c := newCoverage()
	for seed := range uint64(n) {
		c.plays(t, l, seed+1)
	}
	return c
}

// The first schedules of each kind, of which TestSimulation and those beside it play
// thousands.
func TestFirstSchedules(t *testing.T) {
	for _, l := range []*lab{newLab(t), councilLab(t), pagesLab(t)} {
		if c := simulate(t, l, 50); c.events == 0 {
			t.Error("nothing happened in any schedule")
		}
	}
}

func TestSimulation(t *testing.T) {
	pace.Slow(t, "thousands of schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	begin := time.Now()
	c := reach(t, newLab(t), fewSchedules, (*coverage).missing)
	t.Logf("%.0f events a second, %d events\nkinds %v\nfaults %v\nended %v\nreasons %v\ngates %v",
		float64(c.events)/time.Since(begin).Seconds(), c.events, c.kinds, c.faults, c.outcomes, c.reasons, c.gates)
	n := schedules(0)
	if n > 0 && n < fewSchedules {
		checkStates(t, c.edges, false)
		return
	}
	owing, trains, tries := newLab(t), newLab(t), newLab(t)
	owing.owing, trains.trains, tries.tries = true, true, true
	for _, l := range []*lab{owing, trains, tries, councilLab(t)} {
		also := func() *coverage { return reach(t, l, fewSchedules/10, nil) }
		if n > 0 {
			also = func() *coverage { return simulate(t, l, n/10) }
		}
		c.edges.merge(also().edges)
	}
	checkStates(t, c.edges, n >= manySchedules)
}

// FuzzSchedule lets the bytes steer what a schedule begins with.
func FuzzSchedule(f *testing.F) {
	l := newLab(f)
	f.Add(uint64(1), []byte{})
	f.Add(uint64(2), []byte("\x00\x00\x00\x00\xff\xff\xff\xff\x80\x80\x80\x80"))
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		w, err := play(l, seed, data[:min(len(data), 4000)], bug{})
		if errors.Is(err, errLong) {
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, tail(append(w.journal, w.batch...), 25))
		}
	})
}

// BenchmarkSimulation counts the schedules that one core plays in a second of
// its own time, whatever else the machine does.
func BenchmarkSimulation(b *testing.B) {
	l := newLab(b)
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	events, seed := 0, uint64(0)
	begin := cpuTime(b)
	for b.Loop() {
		seed++
		w, err := play(l, seed, nil, bug{})
		if err != nil {
			b.Fatalf("seed %d: %v", seed, err)
		}
		events += len(w.journal)
	}
	spent := (cpuTime(b) - begin).Seconds()
	b.ReportMetric(float64(seed)/spent, "schedules/core-s")
	b.ReportMetric(float64(events)/spent, "events/core-s")
}

// cpuTime is the processor time that this process has used.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
