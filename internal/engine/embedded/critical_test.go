package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"forge/internal/engine/enginetest"
	"forge/internal/pace"
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

// drawn is a plan of a seed: up to 47 phases, each after at most two earlier ones,
// with lengths that nobody could tell from their budgets.
func drawn(seed uint64) (lines []string, secs map[string]int64, chain, all time.Duration) {
	r := rand.New(rand.NewPCG(seed, 11))
	secs = map[string]int64{}
	ends := map[string]int64{} // at the earliest
	for n := range 24 + r.IntN(24) {
		key := fmt.Sprintf("%02d", n)
		var needs []string
		for range r.IntN(min(n, 2) + 1) {
			need := fmt.Sprintf("%02d", r.IntN(n))
			if !slices.Contains(needs, need) {
				needs = append(needs, need)
			}
			ends[key] = max(ends[key], ends[need])
		}
		line := key
		if len(needs) > 0 {
			line += " after " + strings.Join(needs, ",")
		}
		lines, secs[key] = append(lines, line), 60+r.Int64N(3000)
		ends[key] += secs[key]
		chain = max(chain, time.Duration(ends[key])*time.Second)
		all += time.Duration(secs[key]) * time.Second
	}
	return lines, secs, chain, all
}

// wall is how long a run of that plan takes, with so many phases at once; told says
// that its lengths are known.
func wall(t *testing.T, lines []string, secs map[string]int64, places int, told bool) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, err := enginetest.NewWorld(lines)
		if err != nil {
			t.Fatal(err)
		}
		w.Spec.Settings.MaxParallel = places
		for n, set := range w.Spec.Settings.Phases {
			if set.ExpectSecs = 0; told {
				set.ExpectSecs = secs[n]
			}
			w.Spec.Settings.Phases[n] = set
		}
		w.Slow(func(e orchestrator.Effect) time.Duration {
			if e.Of().Step != orchestrator.StepIterate {
				return 0
			}
			return time.Duration(secs[e.Of().Phase]) * time.Second
		})
		var marks atomic.Int64
		s, err := orchestrator.NewState(enginetest.Run, w.Spec)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if got, err := in(w, &marks).Run(context.Background(), s, orchestrator.Opened{Inline: &w.Spec}); err != nil || got.Outcome != work.RunCompleted {
			t.Fatalf("%+v, %v", got, err)
		}
		took = time.Since(began)
	})
	return took
}

// Plans whose lengths are known take as long as their longest chain, as far as there
// are places for it, and never longer than any order of starting could need. Without
// the lengths they take longer.
func TestDrawnPlansTakeAsLongAsTheirLongestChain(t *testing.T) {
	pace.Slow(t, "real engines on nine plans of up to 47 phases")
	pace.Sequential(t, "the same engine as in the tests beside it, at length")
	const plans = 3
	for _, places := range []int{4, 64} {
		sum, most, roomy, blind := 0.0, 0.0, 0, 0.0
		for seed := range uint64(plans) {
			lines, secs, chain, all := drawn(seed)
			least, took := max(chain, all/time.Duration(places)), wall(t, lines, secs, places, true)
			if took < least || took > chain+(all-chain)/time.Duration(places)+time.Second {
				t.Errorf("seed %d, %d at once: %v; the longest chain takes %v, all of it %v", seed, places, took, chain, all)
			}
			ratio := float64(took) / float64(least)
			sum, most = sum+ratio, max(most, ratio)
			if all/time.Duration(places) <= chain*7/10 {
				if roomy++; took > chain*102/100 {
					t.Errorf("seed %d, %d at once: %v, the longest chain takes %v", seed, places, took, chain)
				}
			}
			if places == 4 {
				blind += float64(wall(t, lines, secs, places, false)) / float64(least)
			}
		}
		t.Logf("%2d at once: %d plans, %d of them with room beside their chain: %.3f × max(chain, work/places) on average, at most %.3f", places, plans, roomy, sum/plans, most)
		if places == 4 {
			t.Logf("             without lengths %.3f on average", blind/plans)
			if blind < 1.01*sum {
				t.Errorf("without lengths %.3f, with them %.3f: nothing is told of them", blind/plans, sum/plans)
			}
		}
	}
}
