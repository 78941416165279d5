package orchestrator

import (
	"cmp"
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// TryFacts is what is known of one try once it is over, by which tries are held
// against each other.
type TryFacts struct {
	Number  string            `json:"number"`
	Agent   string            `json:"agent,omitempty"`
	Model   string            `json:"model,omitempty"`
	Outcome work.PhaseOutcome `json:"outcome"`
	Proven  bool              `json:"proven,omitempty"` // nothing else may win
	Why     string            `json:"why,omitempty"`    // it is not proven, or did not win
	Commit  string            `json:"commit,omitempty"`

	// Of its reviewers.
	Critical int `json:"critical,omitempty"`
	Major    int `json:"major,omitempty"`
	Minor    int `json:"minor,omitempty"`
	// Weakened counts evidence that is worth less than before, Doubts what else
	// is in doubt about its proof.
	Weakened int `json:"weakened,omitempty"`
	Doubts   int `json:"doubts,omitempty"`

	// Synthesis says that a council made it out of the others. Score is what their
	// workers think of it on average, from 0 to work.MostScore; nil = it does not
	// count, since not every one of those that are proven has a vote.
	Synthesis bool     `json:"synthesis,omitempty"`
	Score     *float64 `json:"score,omitempty"`

	Size *work.ChangeSize `json:"size,omitempty"` // nil = unknown
	USD  *float64         `json:"usd"`            // nil = unknown
}

// clean says that nothing speaks against a try.
func (t TryFacts) clean() bool {
	return t.Proven && t.Critical+t.Major+t.Minor+t.Weakened+t.Doubts == 0
}

// ruleSynthesis is the name of the rule that what a council made out of all wins.
const ruleSynthesis = "need of the council's synthesis"

// tryRules are what tries are held against each other by, the first that tells two
// apart decides. What is unknown counts as the worst.
func tryRules() []struct {
	name string
	of   func(TryFacts) float64
} {
	const unknown = 1 << 62
	return []struct {
		name string
		of   func(TryFacts) float64
	}{
		{ruleSynthesis, func(t TryFacts) float64 {
			if t.Synthesis {
				return 0
			}
			return 1
		}},
		{"points lost with its peers", func(t TryFacts) float64 {
			if t.Score == nil {
				return unknown
			}
			return work.MostScore - *t.Score
		}},
		{"critical findings", func(t TryFacts) float64 { return float64(t.Critical) }},
		{"major findings", func(t TryFacts) float64 { return float64(t.Major) }},
		{"minor findings", func(t TryFacts) float64 { return float64(t.Minor) }},
		{"weakened evidence", func(t TryFacts) float64 { return float64(t.Weakened) }},
		{"doubts about its proof", func(t TryFacts) float64 { return float64(t.Doubts) }},
		{"lines changed", func(t TryFacts) float64 {
			if t.Size == nil || t.Size.Lines == nil {
				return unknown
			}
			return float64(*t.Size.Lines)
		}},
		{"dollars", func(t TryFacts) float64 {
			if t.USD == nil {
				return unknown
			}
			return *t.USD
		}},
	}
}

// beats holds a against b: negative where a is better, with the rule that told
// them apart; 0 where none does.
func (t TryFacts) beats(b TryFacts) (int, string) {
	for _, r := range tryRules() {
		if x, y := r.of(t), r.of(b); x != y {
			return cmp.Compare(x, y), r.name
		}
	}
	return 0, ""
}

// BestTry is the place in all of the try that wins by the rules, -1 where none is
// proven; and all of them, each of the others with why it did not win. Of two that
// no rule tells apart the earlier one wins.
func BestTry(all []TryFacts) (int, []TryFacts) {
	best := -1
	for i, t := range all {
		if !t.Proven {
			continue
		}
		if best < 0 {
			best = i
			continue
		}
		if c, _ := t.beats(all[best]); c < 0 {
			best = i
		}
	}
	return best, whyNot(all, best)
}

// whyNot says of each proven try why it is not the one that was taken.
func whyNot(all []TryFacts, taken int) []TryFacts {
	out := append([]TryFacts(nil), all...)
	for i := range out {
		t := &out[i]
		if i == taken || taken < 0 || !t.Proven {
			continue
		}
		switch c, rule := all[taken].beats(*t); {
		case c < 0 && rule == ruleSynthesis:
			t.Why = "the council's synthesis is proven, and was made out of it and the others"
		case c < 0:
			t.Why = "it has more " + rule
			if !strings.HasPrefix(rule, "dollars") && !strings.HasPrefix(rule, "lines") {
				break
			}
			t.Why = "as good, with more " + rule
		case c > 0:
			t.Why = "it was not chosen, though it has fewer " + rule
		default:
			t.Why = "as good, and later in order"
		}
	}
	return out
}

// String is a try in a line, for people.
func (t TryFacts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "try %s", t.Number)
	if t.Synthesis {
		b.WriteString(", the council's synthesis,")
	}
	if t.Agent != "" {
		b.WriteString(" by " + strings.Join(nonEmpty(text.Label(t.Agent), text.Label(t.Model)), " "))
	}
	if !t.Proven {
		fmt.Fprintf(&b, ": not proven: %s", text.OneLine(t.Why, 300))
		return b.String()
	}
	b.WriteString(": proven, ")
	found := t.Critical + t.Major + t.Minor
	switch found {
	case 0:
		b.WriteString("no findings")
	default:
		fmt.Fprintf(&b, "%s (%d critical, %d major)", text.Number(found, "finding"), t.Critical, t.Major)
	}
	if t.Score != nil {
		fmt.Fprintf(&b, ", %.1f of %d points with its peers", *t.Score, work.MostScore)
	}
	if t.Weakened+t.Doubts > 0 {
		fmt.Fprintf(&b, ", %s", text.Number(t.Weakened+t.Doubts, "doubt"))
	}
	switch {
	case t.Size == nil:
		b.WriteString(", size unknown")
	case t.Size.Lines == nil:
		fmt.Fprintf(&b, ", %s", text.Number(t.Size.Files, "file"))
	default:
		fmt.Fprintf(&b, ", %s in %s", text.Number(*t.Size.Lines, "line"), text.Number(t.Size.Files, "file"))
	}
	if t.USD == nil {
		b.WriteString(", cost unknown")
	} else {
		b.WriteString(", " + text.USD(*t.USD))
	}
	return b.String()
}

func nonEmpty(all ...string) []string {
	var out []string
	for _, one := range all {
		if one != "" {
			out = append(out, one)
		}
	}
	return out
}
