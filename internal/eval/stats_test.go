package eval

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Values of the score interval as tables give them (Newcombe 1998, method 3,
// and the closed forms at the ends).
func TestWilsonKnown(t *testing.T) {
	for _, tc := range []struct {
		hits, n   int
		low, high float64
	}{
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{0, 20, 0, 0.1611},
		{1, 29, 0.0061, 0.1718},
		{0, 1, 0, z95 * z95 / (1 + z95*z95)},
		{10, 10, 10 / (10 + z95*z95), 1},
		{5, 10, 0.2366, 0.7634},
	} {
		low, high := Wilson(tc.hits, tc.n)
		if math.Abs(low-tc.low) > 5e-5 || math.Abs(high-tc.high) > 5e-5 {
			t.Errorf("Wilson(%d, %d) = %.4f to %.4f, want %.4f to %.4f", tc.hits, tc.n, low, high, tc.low, tc.high)
		}
	}
	if low, high := Wilson(0, 0); low != 0 || high != 1 {
		t.Errorf("of nothing: %v to %v", low, high)
	}
}

// The ends of the interval are the shares from which the observed one is
// exactly z standard deviations away: the equation that defines it.
func TestWilsonSolvesItsEquation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(t, "n")
		hits := rapid.IntRange(0, n).Draw(t, "hits")
		low, high := Wilson(hits, n)
		p := float64(hits) / float64(n)
		if !(0 <= low && low <= p && p <= high && high <= 1) {
			t.Fatalf("%v to %v around %v", low, high, p)
		}
		for _, end := range []float64{low, high} {
			if end == p || end == 0 || end == 1 {
				continue
			}
			z := math.Abs(p-end) / math.Sqrt(end*(1-end)/float64(n))
			if math.Abs(z-z95) > 1e-6 {
				t.Fatalf("%d of %d: %v is %v deviations away", hits, n, end, z)
			}
		}
		otherLow, otherHigh := Wilson(n-hits, n)
		if math.Abs(otherLow-(1-high)) > 1e-9 || math.Abs(otherHigh-(1-low)) > 1e-9 {
			t.Fatalf("%d of %d is not the mirror of %d", hits, n, n-hits)
		}
	})
}

func TestRateOfNothing(t *testing.T) {
	if r := NewRate(0, 0); r.Rate != nil || r.Low != nil || r.High != nil {
		t.Errorf("%+v", r)
	}
	if r := NewRate(1, 4); *r.Rate != 0.25 || *r.Low >= 0.25 || *r.High <= 0.25 {
		t.Errorf("%+v", r)
	}
}

// oracleMcNemar adds the probabilities up that are not above that of the
// observed split, in fractions of whole numbers.
func oracleMcNemar(b, c int) float64 {
	n := b + c
	if n == 0 {
		return 1
	}
	observed := new(big.Int).Binomial(int64(n), int64(b))
	sum := new(big.Int)
	for k := 0; k <= n; k++ {
		if term := new(big.Int).Binomial(int64(n), int64(k)); term.Cmp(observed) <= 0 {
			sum.Add(sum, term)
		}
	}
	all := new(big.Int).Lsh(big.NewInt(1), uint(n))
	p, _ := new(big.Rat).SetFrac(sum, all).Float64()
	return p
}

func TestMcNemarAgainstOracle(t *testing.T) {
	for b := 0; b <= 40; b++ {
		for c := 0; c <= 40; c++ {
			if got, want := McNemar(b, c), oracleMcNemar(b, c); math.Abs(got-want) > 1e-12 {
				t.Fatalf("McNemar(%d, %d) = %v, want %v", b, c, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b, c := rapid.IntRange(0, 400).Draw(t, "b"), rapid.IntRange(0, 400).Draw(t, "c")
		got, want := McNemar(b, c), oracleMcNemar(b, c)
		if math.Abs(got-want) > 1e-9*max(want, 1e-30)+1e-300 {
			t.Fatalf("McNemar(%d, %d) = %v, want %v", b, c, got, want)
		}
	})
}

func TestMcNemarKnown(t *testing.T) {
	for _, tc := range []struct {
		b, c int
		p    float64
	}{{0, 0, 1}, {1, 0, 1}, {5, 0, 0.0625}, {6, 0, 0.03125}, {0, 6, 0.03125}, {3, 3, 1}, {10, 2, 0.038574}} {
		if got := McNemar(tc.b, tc.c); math.Abs(got-tc.p) > 1e-6 {
			t.Errorf("McNemar(%d, %d) = %v, want %v", tc.b, tc.c, got, tc.p)
		}
	}
	if p := McNemar(100_000, 100_500); !(p > 0.2 && p < 0.3) {
		t.Errorf("many pairs: %v", p)
	}
}
