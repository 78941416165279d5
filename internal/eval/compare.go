package eval

import "slices"

// NoiseLevel is the p from which on a difference may as well be chance.
const NoiseLevel = 0.05

// Paired holds two trials against each other on what both could be judged on.
type Paired struct {
	What  string  `json:"what"`
	Pairs int     `json:"pairs"`
	Both  int     `json:"both"`    // right in both
	OnlyA int     `json:"only_a"`  // right in the first alone
	OnlyB int     `json:"only_b"`  // right in the second alone
	P     float64 `json:"p"`       // exact two-sided, McNemar
	Noise bool    `json:"noise"`   // P is NoiseLevel or more
	Left  int     `json:"unknown"` // pairs that are unknown in one of them, left out
}

// Comparison is two trials on the same cases.
type Comparison struct {
	Tests []Paired `json:"tests"`
	// Changed and Missing are cases that one of them was not asked, or not in
	// the same words; they are left out.
	Changed []string `json:"changed,omitempty"`
	Missing []string `json:"missing,omitempty"`
}

// The questions on which two trials are compared.
const (
	OnFound    = "must_find found"
	OnQuiet    = "must_not_flag left alone"
	OnRuling   = "rulings right, rules and model"
	onRulingBy = "rulings right, model alone"
)

// Compare pairs what both say about the same cases. Each test is exact and
// stands for itself: with several of them one in twenty differs by chance.
func Compare(a, b []Outcome) Comparison {
	var out Comparison
	of := map[string]Outcome{}
	for _, o := range b {
		of[o.Case] = o
	}
	inA := map[string]bool{}
	var pairs [][2]Outcome
	for _, o := range a {
		inA[o.Case] = true
		other, ok := of[o.Case]
		switch {
		case !ok:
			out.Missing = append(out.Missing, o.Case)
		case other.Hash != o.Hash:
			out.Changed = append(out.Changed, o.Case)
		default:
			pairs = append(pairs, [2]Outcome{o, other})
		}
	}
	for _, o := range b {
		if !inA[o.Case] {
			out.Missing = append(out.Missing, o.Case)
		}
	}
	slices.Sort(out.Missing)
	out.Tests = append(out.Tests, paired(OnFound, pairs, func(o Outcome) map[string]answer { return checked(o, Find, Found) }))
	out.Tests = append(out.Tests, paired(OnQuiet, pairs, func(o Outcome) map[string]answer { return checked(o, NotFlag, Quiet) }))
	for _, w := range []struct{ what, way string }{{OnRuling, ByBoth}, {onRulingBy, ByModel}} {
		t := paired(w.what, pairs, func(o Outcome) map[string]answer { return ruled(o, w.way) })
		if t.Pairs+t.Left > 0 {
			out.Tests = append(out.Tests, t)
		}
	}
	return out
}

// answer is whether something was right, where that is known.
type answer struct{ known, right bool }

func checked(o Outcome, must Must, right Status) map[string]answer {
	out := map[string]answer{}
	for _, k := range o.Expected {
		if k.Must == must {
			out[k.ID] = answer{k.Status != Unknown, k.Status == right}
		}
	}
	return out
}

func ruled(o Outcome, way string) map[string]answer {
	if o.Ruling == nil {
		return nil
	}
	said, asked := o.Ruling.By(way)
	if !asked {
		return nil
	}
	return map[string]answer{"": {said != "", said == o.Ruling.Right}}
}

func paired(what string, pairs [][2]Outcome, of func(Outcome) map[string]answer) Paired {
	t := Paired{What: what}
	for _, p := range pairs {
		a, b := of(p[0]), of(p[1])
		for id, x := range a {
			y, ok := b[id]
			switch {
			case !ok:
			case !x.known || !y.known:
				t.Left++
			default:
				t.Pairs++
				switch {
				case x.right && y.right:
					t.Both++
				case x.right:
					t.OnlyA++
				case y.right:
					t.OnlyB++
				}
			}
		}
	}
	t.P = McNemar(t.OnlyA, t.OnlyB)
	t.Noise = t.P >= NoiseLevel
	return t
}
