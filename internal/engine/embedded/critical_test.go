package embedded

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"forge/internal/engine/enginetest"
	"forge/internal/work"
	"forge/orchestrator"
)

// A run of agents that take a known time takes as long as its longest chain: what
// is longest ahead begins first, and nothing waits while it could work.
func TestRunTakesAsLongAsItsLongestChain(t *testing.T) {
	// Two chains of unlike weight, and many small phases that are listed before them.
	var phases []string
	budgets := map[string]int{}
	add := func(number, after string, budget int) {
		line := number
		if after != "" {
			line += " after " + after
		}
		phases, budgets[number] = append(phases, line), budget
	}
	for n := range 12 {
		add(fmt.Sprintf("a%02d", n), "", 2)
	}
	for n := range 5 {
		for chain, budget := range map[string]int{"x": 10, "y": 4} {
			after := ""
			if n > 0 {
				after = fmt.Sprintf("%s%d", chain, n-1)
			}
			add(fmt.Sprintf("%s%d", chain, n), after, budget)
		}
	}
	const longest = 5 * 10 * time.Minute // chain x
	for _, places := range []int{4, 8, 64} {
		synctest.Test(t, func(t *testing.T) {
			w, err := enginetest.NewWorld(phases)
			if err != nil {
				t.Fatal(err)
			}
			w.Spec.Settings.MaxParallel = places
			for number, budget := range budgets {
				set := w.Spec.Settings.Phases[number]
				set.Budget = budget
				w.Spec.Settings.Phases[number] = set
			}
			w.Slow(func(e orchestrator.Effect) time.Duration {
				if e.Of().Step != orchestrator.StepIterate {
					return 0
				}
				return time.Duration(budgets[e.Of().Phase]) * time.Minute
			})
			var marks atomic.Int64
			s, err := orchestrator.NewState(enginetest.Run, w.Spec)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			got, err := in(w, &marks).Run(context.Background(), s, orchestrator.Opened{Inline: &w.Spec})
			if err != nil || got.Outcome != work.RunCompleted {
				t.Fatalf("%+v, %v", got, err)
			}
			if took := time.Since(began); took < longest || took > longest*102/100 {
				t.Errorf("%d at once: %v, the longest chain takes %v", places, took, longest)
			}
		})
	}
}
