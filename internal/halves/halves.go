// Package halves seeks the first tree that is red among those that were merged onto one
// another.
package halves

// Span is what is known of trees that were merged onto one another, in a row: the first Good of them end in one
// that is green, where 0 is the head that they begin on; the Bad-th is red, where one
// more than there are says that none is known to be.
type Span struct{ Good, Bad, Of int }

// NewSpan is the span of n trees of which nothing is known.
func NewSpan(n int) Span { return Span{Bad: n + 1, Of: n} }

// Probe is the tree to verify next, from 1; 0 = nothing is left to find: Good lands,
// and Bad is named. The whole comes first.
func (s Span) Probe() int {
	switch {
	case s.Bad-s.Good <= 1:
		return 0
	case s.Bad > s.Of:
		return s.Of
	}
	return (s.Good + s.Bad) / 2
}

// Saw is the span once the n-th tree was verified.
func (s Span) Saw(n int, green bool) Span {
	switch {
	case n <= s.Good || n >= s.Bad:
	case green:
		s.Good = n
	default:
		s.Bad = n
	}
	return s
}

// Culprit is the first tree that is red, from 1; 0 = there is none, or it is sought.
func (s Span) Culprit() int {
	if s.Probe() != 0 || s.Bad > s.Of {
		return 0
	}
	return s.Bad
}
