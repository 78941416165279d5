// Package patterns is what past phases of a project took, by kind and by agent,
// and what follows from it for a phase that is to come. It counts and compares;
// where the past is too small to tell, it says so and suggests nothing.
package patterns

import (
	"math"
	"slices"
	"strings"
	"time"

	"forge/internal/eval"
	"forge/internal/work"
)

// Few is below how many phases nothing is concluded.
const Few = 5

// Phase is one of the past that came to its end.
type Phase struct {
	Run, Number, Name string
	Type              string // "" = none was given
	About             string // its name and what it is about, for likeness
	Agent             string
	Done              bool // proven; else it failed
	Iterations        int  // of its budget
	Budget            int
	Time              time.Duration
	USD               *float64 // nil = unknown
}

// Ended says that a phase with that outcome tells something: one that was
// cancelled or skipped does not.
func Ended(o work.PhaseOutcome) bool { return o == work.PhaseDone || o == work.PhaseFailed }

// Spread is how values lie: half of them between Low and High, nine in ten at
// most Most.
type Spread struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
	Most   float64 `json:"nine_in_ten"`
}

// spread is that of values; nil = there is none.
func spread(v []float64) *Spread {
	if len(v) == 0 {
		return nil
	}
	v = slices.Sorted(slices.Values(v))
	at := func(q float64) float64 { return v[int(math.Ceil(q*float64(len(v))))-1] }
	return &Spread{Low: at(0.25), Median: at(0.5), High: at(0.75), Most: at(0.9)}
}

// Group is what phases of one kind, agent or run took.
type Group struct {
	Name string    `json:"name"`
	Done eval.Rate `json:"done"` // of all that ended
	// Of those that are done; nil = none is, or nobody knows.
	Iterations *Spread `json:"iterations"`
	Seconds    *Spread `json:"seconds"`
	USD        *Spread `json:"usd"`
	Few        bool    `json:"few"` // too few to conclude from
}

// Of is the group of all of these.
func Of(name string, past []Phase) Group {
	done := 0
	var iterations, seconds, usd []float64
	for _, p := range past {
		if !p.Done {
			continue
		}
		done++
		iterations = append(iterations, float64(p.Iterations))
		seconds = append(seconds, p.Time.Seconds())
		if p.USD != nil {
			usd = append(usd, *p.USD)
		}
	}
	return Group{
		Name: name, Done: eval.NewRate(done, len(past)),
		Iterations: spread(iterations), Seconds: spread(seconds), USD: spread(usd), Few: len(past) < Few,
	}
}

// By groups past phases by what of says of each, those with the most phases first.
func By(past []Phase, of func(Phase) string) []Group {
	sorted := map[string][]Phase{}
	for _, p := range past {
		sorted[of(p)] = append(sorted[of(p)], p)
	}
	var out []Group
	for name, all := range sorted {
		out = append(out, Of(name, all))
	}
	slices.SortFunc(out, func(a, b Group) int {
		if d := b.Done.Of - a.Done.Of; d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// Better is the one of two whose phases are done more often, as far as that can
// be told: "" where one has too few, or where the intervals of 95 % meet.
func Better(a, b Group) string {
	switch {
	case a.Few || b.Few:
		return ""
	case *a.Done.Low > *b.Done.High:
		return a.Name
	case *b.Done.Low > *a.Done.High:
		return b.Name
	}
	return ""
}
