package eval

import "fmt"

// Bounds are what a trial must hold; nil = no bound.
type Bounds struct {
	MinRecall        *float64 // of all reviewers together, a share
	MaxFalseProceeds *int     // of the arbiter as in a run, cases
}

// Broken says which bounds the outcomes do not hold. The worst case counts:
// what is unknown was missed, and would have gone on. A bound on what no case
// asks about is broken too.
func (b Bounds) Broken(all []Outcome) (broken []string) {
	if b.MinRecall != nil {
		worst := NewRate(0, 0)
		if sums := Summarize(all); len(sums) > 0 {
			worst = sums[len(sums)-1].WorstRecall
		}
		switch {
		case worst.Rate == nil:
			broken = append(broken, "no case says what must be found, so there is no recall")
		case *worst.Rate < *b.MinRecall:
			broken = append(broken, fmt.Sprintf("recall is %d of %d at worst, below %v", worst.Hits, worst.Of, *b.MinRecall))
		}
	}
	if b.MaxFalseProceeds != nil {
		// The last way is the nearest to a run that was gone.
		var worst Rate
		if ways := Confuse(all); len(ways) > 0 {
			worst = ways[len(ways)-1].WorstFalseProceed
		}
		switch {
		case worst.Of == 0:
			broken = append(broken, "in no case must the arbiter not go on, so there are no false proceeds to count")
		case worst.Hits > *b.MaxFalseProceeds:
			broken = append(broken, fmt.Sprintf("%d of %d are false proceeds at worst, above %d", worst.Hits, worst.Of, *b.MaxFalseProceeds))
		}
	}
	return broken
}
