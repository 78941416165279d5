package agenteval

import (
	"cmp"
	"slices"

	"forge/internal/eval"
)

// Score is how good one agent was.
type Score struct {
	Agent string `json:"agent"`
	// Solved is of the tries whose end is known; Worst counts the others as
	// unsolved, Best as solved. Late are those of the unknown ones whose time was up.
	Solved  eval.Rate `json:"solved"`
	Worst   eval.Rate `json:"worst"`
	Best    eval.Rate `json:"best"`
	Unknown int       `json:"unknown"`
	Late    int       `json:"late"`
	// USD is the mean of a try, and PerSolved what one solved task took; nil where
	// a price is not known.
	USD       *float64 `json:"usd"`
	PerSolved *float64 `json:"usd_per_solved"`
	Seconds   *float64 `json:"median_seconds"`
}

// Pair is two agents at the same tries.
type Pair struct {
	A string `json:"a"`
	B string `json:"b"`
	eval.Paired
}

// Scores are those of a trial's agents, the best first: by the share that they
// solved, then by what a try cost.
func Scores(t *Trial) []Score {
	var all []Score
	for _, agent := range t.Agents {
		all = append(all, score(agent, t.Done))
	}
	slices.SortStableFunc(all, func(a, b Score) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(price(a), price(b)))
	})
	return all
}

func share(s Score) float64 {
	if s.Solved.Rate == nil {
		return -1
	}
	return *s.Solved.Rate
}

func price(s Score) float64 {
	if s.USD == nil {
		return 0
	}
	return *s.USD
}

func score(agent string, done []Try) Score {
	s := Score{Agent: agent}
	hits, known, all, usd, priced := 0, 0, 0, 0.0, true
	var took []float64
	for _, d := range done {
		if d.Agent != agent {
			continue
		}
		all++
		if d.Status == Unknown {
			s.Unknown++
			if d.Late {
				s.Late++
			}
			continue
		}
		known++
		if d.Status == Solved {
			hits++
		}
		took = append(took, d.Seconds)
		if d.USD == nil {
			priced = false
			continue
		}
		usd += *d.USD
	}
	s.Solved, s.Worst, s.Best = eval.NewRate(hits, known), eval.NewRate(hits, all), eval.NewRate(hits+s.Unknown, all)
	if priced && known > 0 {
		s.USD = new(usd / float64(known))
		if hits > 0 {
			s.PerSolved = new(usd / float64(hits))
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		middle := len(took) / 2
		s.Seconds = new((took[middle] + took[len(took)-1-middle]) / 2)
	}
	return s
}

// Pairs holds each agent against each other one, on the tries of which both are
// known: how likely such a difference is by chance, exact and two-sided.
func Pairs(t *Trial) (all []Pair) {
	order := Scores(t)
	for i, a := range order {
		for _, b := range order[i+1:] {
			all = append(all, pair(a.Agent, b.Agent, t.Done))
		}
	}
	return all
}

func pair(a, b string, done []Try) Pair {
	type key struct {
		task string
		nth  int
	}
	of := map[key]Status{}
	for _, d := range done {
		if d.Agent == b {
			of[key{d.Task, d.Nth}] = d.Status
		}
	}
	p := Pair{A: a, B: b, Paired: eval.Paired{What: a + " and " + b}}
	for _, d := range done {
		other, ok := of[key{d.Task, d.Nth}]
		switch {
		case d.Agent != a || !ok:
		case d.Status == Unknown || other == Unknown:
			p.Left++
		default:
			p.Pairs++
			switch {
			case d.Status == Solved && other == Solved:
				p.Both++
			case d.Status == Solved:
				p.OnlyA++
			case other == Solved:
				p.OnlyB++
			}
		}
	}
	p.P = eval.McNemar(p.OnlyA, p.OnlyB)
	p.Noise = p.P >= eval.NoiseLevel
	return p
}
