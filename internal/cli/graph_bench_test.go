package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/dag"
	"forge/internal/config"
	"forge/internal/work"
	"forge/orchestrator"
)

// layered is a plan of n phases in layers of 100, each of which needs two of
// the layer before: 100,000 of them just fit into the largest file that is read.
func layered(n int) []work.Phase {
	phases := make([]work.Phase, n)
	for i := range phases {
		phases[i] = work.Phase{Number: fmt.Sprintf("%05d", i), Name: "p", Promise: fmt.Sprintf("P%05d", i)}
		if layer := i / 100; layer > 0 {
			for k := range 2 {
				phases[i].DependsOn = append(phases[i].DependsOn, fmt.Sprintf("%05d", (layer-1)*100+(i*7+k*31)%100))
			}
		}
	}
	return phases
}

// BenchmarkGraph: what a plan costs a phase, from the file to its last phase
// done, at 100,000 phases beside 1,000: read and checked, put in order, and
// taken from the frontier one by one. The same for the graph alone. It is the
// processor's time that is counted: other work on the machine meets the long
// one more often than the short one.
func BenchmarkGraph(b *testing.B) {
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "BenchmarkGraph", F: func(t *testing.T) {
		sizes := []int{1_000, 100_000}
		projects := map[int]*checkout{}
		for _, n := range sizes {
			w := newWorld(t, "", "true")
			text, err := json.Marshal(work.Plan{Phases: layered(n)})
			if err != nil {
				t.Fatal(err)
			}
			w.write(".forge/phases.json", string(text))
			app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: w.env, Dir: w.root, Now: time.Now}
			app.logTo(0)
			if projects[n], err = app.openProject(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		whole, graph, phases := map[int]time.Duration{}, map[int]time.Duration{}, map[int]int{}
		for b.Loop() {
			for _, n := range sizes {
				// As many phases of either size, so that neither is
				// measured by a few milliseconds.
				for range sizes[len(sizes)-1] / n {
					p := projects[n]
					begin := cpu(t)
					plan, err := p.Plan()
					if err != nil {
						t.Fatal(err)
					}
					spec, _, err := p.Resolve(plan, config.PolicyFlags{Autonomous: true})
					if err != nil {
						t.Fatal(err)
					}
					middle := cpu(t)
					g, err := dag.New(orchestrator.Nodes(spec.Plan, spec.Settings))
					if err != nil {
						t.Fatal(err)
					}
					runOut(t, g.Frontier())
					end := cpu(t)
					whole[n] += end - begin
					graph[n] += end - middle
					phases[n] += n
				}
			}
		}
		per := func(of map[int]time.Duration, n int) float64 { return float64(of[n]) / float64(phases[n]) }
		b.ReportMetric(per(whole, 100_000)/per(whole, 1_000), "×1000(≤1.5)")
		b.ReportMetric(per(graph, 100_000)/per(graph, 1_000), "×1000-graph(≤1.5)")
		b.ReportMetric(per(whole, 100_000), "ns/phase")
		b.ReportMetric(per(graph, 100_000), "ns/phase-graph")
		b.ReportMetric(0, "ns/op")
	}}})
	if !ok {
		b.Fatal("the plans could not be made")
	}
}

// cpu is the processor time that this process has used.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// runOut starts and finishes everything.
func runOut(t *testing.T, f *dag.Frontier[string]) {
	for k, ok := f.Next(); ok; k, ok = f.Next() {
		if err := f.Start(k); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Done(k); err != nil {
			t.Fatal(err)
		}
	}
	if !f.Finished() {
		t.Fatalf("not finished: %+v", f.Counts())
	}
}
