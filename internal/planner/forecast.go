package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// Sample is what one finished phase of the past took.
type Sample struct {
	Run        string
	Iterations int
	Budget     int
	Time       time.Duration // of its iterations
	USD        *float64      // nil = unknown
}

// Range is a forecast: half of the past lay between Low and High.
type Range struct{ Low, Likely, High float64 }

// Forecast is what a plan will take, as far as the past tells.
type Forecast struct {
	Phases     int
	Budget     int // iterations, the most it can take
	Iterations *Range
	Time       *Range // seconds of agents' work, not of the clock: phases run in parallel
	USD        *Range
	Samples    int
	Runs       int
	// Clock is how the plan runs with so many phases at once, in seconds; nil =
	// the past does not say how long an iteration takes.
	Clock *Timing
	// Checked is what forecasts made in the same way would have been worth; nil = too
	// few runs to tell.
	Checked *Checked

	share, second float64 // of a budget that is used, and of an iteration: the median
}

// Of is how long a phase with that budget will take, in seconds; 0 = unknown.
func (f Forecast) Of(budget int) float64 {
	if f.Time == nil {
		return 0
	}
	return clampIterations(f.share, budget) * f.second
}

// fewSamples is below which the past says too little to be counted on.
const fewSamples = 5

// Predict forecasts a plan from samples of the project's past runs. Budgets are
// those that the phases would run with. What the past does not know is nil.
func Predict(budgets []int, past []Sample) Forecast {
	f := Forecast{Phases: len(budgets)}
	for _, b := range budgets {
		f.Budget += b
	}
	runs := map[string]bool{}
	var shares, seconds, usd []float64
	for _, s := range past {
		if s.Iterations < 1 || s.Budget < 1 {
			continue
		}
		f.Samples++
		runs[s.Run] = true
		shares = append(shares, float64(s.Iterations)/float64(s.Budget))
		if s.Time > 0 {
			seconds = append(seconds, s.Time.Seconds()/float64(s.Iterations))
		}
		if s.USD != nil {
			usd = append(usd, *s.USD/float64(s.Iterations))
		}
	}
	f.Runs = len(runs)
	if len(shares) == 0 {
		return f
	}
	share := quartiles(shares)
	if len(budgets) > 1 {
		// Medians of what lies askew add up to too little.
		share.Likely = min(max(mean(shares), share.Low), share.High)
	}
	f.Iterations = &Range{}
	for _, b := range budgets {
		f.Iterations.Low += clampIterations(share.Low, b)
		f.Iterations.Likely += clampIterations(share.Likely, b)
		f.Iterations.High += clampIterations(share.High, b)
	}
	f.Time, f.USD = times(f.Iterations, seconds), times(f.Iterations, usd)
	f.share = share.Likely
	if f.Time != nil {
		f.second = quartiles(seconds).Likely
	}
	return f
}

// clampIterations: no phase takes less than one iteration, or more than its budget.
func clampIterations(share float64, budget int) float64 {
	return min(max(math.Round(share*float64(budget)), 1), float64(budget))
}

func times(n *Range, each []float64) *Range {
	if len(each) == 0 {
		return nil
	}
	q := quartiles(each)
	return &Range{Low: n.Low * q.Low, Likely: n.Likely * q.Likely, High: n.High * q.High}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func quartiles(v []float64) Range {
	v = slices.Sorted(slices.Values(v))
	at := func(q float64) float64 { return v[int(math.Round(q*float64(len(v)-1)))] }
	return Range{Low: at(0.25), Likely: at(0.5), High: at(0.75)}
}

// String says the forecast and how sure it is.
func (f Forecast) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, at most %s.\n", text.Number(f.Phases, "phase"), text.Number(f.Budget, "iteration"))
	if f.Iterations == nil {
		b.WriteString("Forecast: none; no phase of this project has finished yet, so the budgets are all there is.\n")
		return b.String()
	}
	fmt.Fprintf(&b, "Forecast: %.0f iterations (%.0f to %.0f)", f.Iterations.Likely, f.Iterations.Low, f.Iterations.High)
	if f.Time != nil {
		fmt.Fprintf(&b, ", %s of agents' work (%s to %s)", span(f.Time.Likely), span(f.Time.Low), span(f.Time.High))
	}
	if f.USD != nil {
		fmt.Fprintf(&b, ", %s (%s to %s)", text.USD(f.USD.Likely), text.USD(f.USD.Low), text.USD(f.USD.High))
	} else {
		b.WriteString(", cost unknown")
	}
	sure := "half of the past lies in these ranges"
	if f.Samples < fewSamples {
		sure = "too few to be sure of"
	}
	if c := f.Clock; c != nil {
		fmt.Fprintf(&b, ".\nOn the clock: %s with up to %d at once; no less than %s, for %s", span(c.Takes), c.Places, span(c.Least), strings.Join(shortened(c.Chain), " → "))
	}
	fmt.Fprintf(&b, ".\nIt rests on %d finished phases of %d runs: %s.\n", f.Samples, f.Runs, sure)
	if f.Checked != nil {
		b.WriteString(f.Checked.String())
	}
	return b.String()
}

// Checked is how forecasts of past runs, each made from the runs before it alone,
// compare with what those took.
type Checked struct {
	Runs   int
	Within int     // runs whose iterations lay in the range
	Off    float64 // half of them were off by this factor of their iterations, or less
}

// Backtest forecasts each run of past, which holds the oldest run first, from those
// before it. Nothing is concluded from fewer than five samples, or of fewer than
// five runs.
func Backtest(past []Sample) *Checked {
	var factors []float64
	var c Checked
	for from := 0; from < len(past); {
		to := from
		var budgets []int
		took := 0
		for to < len(past) && past[to].Run == past[from].Run {
			budgets, took = append(budgets, past[to].Budget), took+past[to].Iterations
			to++
		}
		f := Predict(budgets, past[:from])
		// Of phases whose budgets nobody knows nothing is forecast that could be off.
		if f.Samples >= fewSamples && took > 0 && f.Iterations.Likely > 0 {
			c.Runs++
			if f.Iterations.Low <= float64(took) && float64(took) <= f.Iterations.High {
				c.Within++
			}
			off := f.Iterations.Likely / float64(took)
			factors = append(factors, max(off, 1/off))
		}
		from = to
	}
	if c.Runs < fewSamples {
		return nil
	}
	c.Off = quartiles(factors).Likely
	return &c
}

func (c Checked) String() string {
	return fmt.Sprintf("Such forecasts of the last %d runs, each from those before it: half were off by a factor of %.2f or less, and %d lay in their range.\n", c.Runs, c.Off, c.Within)
}

// shortened leaves the middle of a long chain out.
func shortened(chain []string) []string {
	const most = 12
	if len(chain) <= most {
		return chain
	}
	return slices.Concat(chain[:most/2], []string{"…"}, chain[len(chain)-most/2:])
}

func span(seconds float64) string {
	return (time.Duration(seconds) * time.Second).Round(time.Second).String()
}

// Samples reads the finished phases out of the events of one run.
func Samples(run string, budgets map[string]int, evs []work.Event, read func(work.Event, any) error) []Sample {
	type taken struct {
		sample Sample
		began  time.Time
		priced bool
	}
	phases := map[string]*taken{}
	var out []Sample
	for _, e := range evs {
		t := phases[e.Phase]
		switch e.Kind {
		case work.PhaseStarted:
			phases[e.Phase] = &taken{sample: Sample{Run: run, Budget: budgets[e.Phase]}, priced: true}
		case work.IterationStarted:
			if t != nil {
				t.began = e.Time
			}
		case work.IterationFinished:
			var d work.IterationFinishedData
			if t == nil || read(e, &d) != nil || d.Outcome == work.OutcomeInterrupted || d.Outcome == work.OutcomeRateLimited {
				continue
			}
			t.sample.Iterations++
			t.sample.Time += e.Time.Sub(t.began)
			if d.Usage.CostUSD == nil {
				t.priced = false
				continue
			}
			sum := *d.Usage.CostUSD
			if t.sample.USD != nil {
				sum += *t.sample.USD
			}
			t.sample.USD = &sum
		case work.PhaseFinished:
			var d work.PhaseFinishedData
			if t == nil || read(e, &d) != nil || d.Outcome != work.PhaseDone {
				continue
			}
			if !t.priced {
				t.sample.USD = nil
			}
			out = append(out, t.sample)
		}
	}
	return out
}
