package planner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// history is so many runs of three phases, whose iterations lie around a share of
// their budgets with a spread (of the logarithm). Nothing of it was measured.
func history(r *rand.Rand, runs int, share, spread float64) []Sample {
	var past []Sample
	for n := range runs {
		for range 3 {
			budget := 4 + r.IntN(12)
			took := math.Round(share * float64(budget) * math.Exp(spread*r.NormFloat64()))
			past = append(past, Sample{Run: fmt.Sprint(n), Budget: budget, Iterations: int(min(max(took, 1), float64(budget)))})
		}
	}
	return past
}

func TestForecastsAreHeldAgainstThePast(t *testing.T) {
	even := func(runs int) []Sample { return history(rand.New(rand.NewPCG(1, 2)), runs, 0.5, 0) }
	if c := Backtest(even(6)); c != nil {
		t.Errorf("of 6 runs, of which 4 had five samples before them: %+v", c)
	}
	c := Backtest(even(12))
	if c == nil || c.Runs != 10 || c.Within < 8 || c.Off > 1.1 {
		t.Errorf("where every phase takes half of its budget: %+v", c)
	}
	wild := Backtest(history(rand.New(rand.NewPCG(1, 2)), 40, 0.4, 1))
	if wild == nil || wild.Off <= c.Off {
		t.Errorf("where phases differ much: %+v", wild)
	}
	// What comes later tells nothing of what was before.
	past := even(12)
	for i := range past[30:] {
		past[30+i].Iterations = past[30+i].Budget
	}
	if late := Backtest(past); late.Within >= c.Within {
		t.Errorf("the last two runs took all of their budgets: %+v", late)
	}
	f := Predict([]int{4}, even(12))
	f.Checked = c
	if said := f.String(); !strings.Contains(said, "of the last 10 runs") || !strings.Contains(said, "lay in their range") {
		t.Errorf("said: %s", said)
	}
	if strings.Contains(Predict([]int{4}, even(12)).String(), "such forecasts") {
		t.Error("what was not checked is said to be")
	}
}

func TestBacktestsStayInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		past := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sample {
			return Sample{Run: rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "run"), Budget: rapid.IntRange(0, 20).Draw(t, "budget"), Iterations: rapid.IntRange(0, 40).Draw(t, "iterations")}
		}), 0, 60).Draw(t, "past")
		if c := Backtest(past); c != nil && (c.Within > c.Runs || c.Off < 1 || math.IsInf(c.Off, 0) || math.IsNaN(c.Off)) {
			t.Fatalf("%+v", c)
		}
	})
}

// Runs whose budgets are unknown are no forecast that was off without bounds.
func TestBacktestOfUnknownBudgets(t *testing.T) {
	var past []Sample
	for range 5 {
		past = append(past, Sample{Run: "a", Budget: 1, Iterations: 1})
	}
	for _, run := range []string{"b", "c", "b", "c", "b", "c"} {
		past = append(past, Sample{Run: run, Iterations: 1})
	}
	if c := Backtest(past); c != nil {
		t.Errorf("they are concluded from: %+v", c)
	}
}

// BenchmarkForecastError: how far forecasts of made histories of 30 runs are off,
// each from the runs before it, beside always saying half of the budget.
func BenchmarkForecastError(b *testing.B) {
	for _, spread := range []float64{0.2, 0.5, 1} {
		b.Run(fmt.Sprintf("spread %.1f", spread), func(b *testing.B) {
			var off, floor, within, n float64
			for i := 0; b.Loop(); i++ {
				past := history(rand.New(rand.NewPCG(uint64(i), 7)), 30, 0.35, spread)
				c := Backtest(past)
				off, within, n = off+c.Off, within+float64(c.Within)/float64(c.Runs), n+1
				floor += halfOff(past)
			}
			b.ReportMetric(off/n, "off-factor")
			b.ReportMetric(floor/n, "half-of-budget-off-factor")
			b.ReportMetric(within/n, "share-in-range")
		})
	}
}

// halfOff is the factor by which half of the budget is off, in the middle of all runs.
func halfOff(past []Sample) float64 {
	took, budget := map[string]float64{}, map[string]float64{}
	for _, s := range past {
		took[s.Run] += float64(s.Iterations)
		budget[s.Run] += float64(s.Budget)
	}
	var off []float64
	for run, n := range took {
		f := budget[run] / 2 / n
		off = append(off, max(f, 1/f))
	}
	return quartiles(off).Likely
}
