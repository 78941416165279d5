package eval

import "math"

// z95 is the quantile of the normal distribution for an interval of 95 %.
const z95 = 1.959963984540054

// Rate is a share with its 95 % interval after Wilson (1927, score interval):
// unlike the simple one it holds for few cases and for shares of 0 and 1.
type Rate struct {
	Hits int      `json:"hits"`
	Of   int      `json:"of"`
	Rate *float64 `json:"rate"` // nil = of nothing
	Low  *float64 `json:"low95"`
	High *float64 `json:"high95"`
}

// NewRate is hits of n; hits outside 0 to n are not possible.
func NewRate(hits, n int) Rate {
	r := Rate{Hits: hits, Of: n}
	if n <= 0 {
		return r
	}
	p := float64(hits) / float64(n)
	low, high := Wilson(hits, n)
	r.Rate, r.Low, r.High = &p, &low, &high
	return r
}

// Wilson is the 95 % score interval of hits out of n; 0 to 1 when n is 0.
func Wilson(hits, n int) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	total, p := float64(n), float64(hits)/float64(n)
	const z2 = z95 * z95
	middle := (p + z2/(2*total)) / (1 + z2/total)
	half := z95 / (1 + z2/total) * math.Sqrt(p*(1-p)/total+z2/(4*total*total))
	low, high = max(0, middle-half), min(1, middle+half)
	// At the ends rounding must not leave a gap that the formula does not have.
	if hits == 0 {
		low = 0
	}
	if hits == n {
		high = 1
	}
	return low, high
}

// McNemar is the exact two-sided p of a paired comparison in which b pairs went
// one way alone and c the other way alone: how likely a split at least as
// uneven is when both ways are equally likely. Without such pairs it is 1.
func McNemar(b, c int) float64 {
	n := b + c
	if n <= 0 {
		return 1
	}
	less := min(b, c)
	// log of C(n,k)/2^n by its neighbour: no overflow however many there are.
	logTerm := -float64(n) * math.Ln2
	sum := math.Exp(logTerm)
	for k := 1; k <= less; k++ {
		logTerm += math.Log(float64(n-k+1)) - math.Log(float64(k))
		sum += math.Exp(logTerm)
	}
	return min(1, 2*sum)
}
