package eval

import (
	"slices"

	"forge/internal/work"
	"forge/review"
)

// Summary is how good one specialist was, or all together.
type Summary struct {
	Specialist string `json:"specialist"` // "" = all
	Model      string `json:"model,omitempty"`
	Cases      int    `json:"cases"`
	// Unknown cases had no usable answer. They count for nothing but this and
	// the cost: neither as faults missed nor as clean changes left alone.
	Unknown int  `json:"unknown_cases"`
	Recall  Rate `json:"recall"` // of what must be found, found
	// WorstRecall takes what is unknown or not decided for missed: an answer
	// that nobody got found nothing.
	WorstRecall Rate `json:"recall_worst"`
	// Undecided are expectations at whose place there is a finding of which
	// nobody has said whether it means the same.
	Undecided int `json:"undecided"`
	// Precision is the share of findings that had to be found. Duplicates
	// count against it, what is unclear not at all. A real fault that the case
	// does not list counts against it too, so it is a lower bound.
	Precision    Rate     `json:"precision"`
	PerChange    *float64 `json:"comments_per_change"` // nil = no case
	Hallucinated Rate     `json:"hallucinated"`        // of all findings, those that are not in the change
	Violations   Rate     `json:"must_not_flag"`       // flagged, of what must not be
	Clean        Rate     `json:"clean_flagged"`       // clean changes with a finding
	Duplicates   int      `json:"duplicates"`
	Unclear      int      `json:"unclear"`

	Latency *Latency   `json:"latency"` // nil = of no answer it is known
	Usage   work.Usage `json:"usage"`
	// PerTrue is what was spent by each fault found; nil = unknown, or none was.
	PerTrue *float64 `json:"cost_per_true_usd"`
}

// Summarize sums outcomes of reviewers up: each specialist, sorted, and then
// all of them.
func Summarize(all []Outcome) []Summary {
	var names []string
	for _, o := range all {
		if o.Ruling == nil && !slices.Contains(names, o.Specialist) {
			names = append(names, o.Specialist)
		}
	}
	slices.Sort(names)
	var out []Summary
	for _, n := range names {
		out = append(out, summarize(n, all))
	}
	if len(names) > 1 {
		out = append(out, summarize("", all))
	}
	return out
}

func summarize(name string, all []Outcome) Summary {
	s := Summary{Specialist: name, Usage: nothing()}
	var mine []Outcome
	var found, must, allMust, hits, counted, comments, judged, dropped, flagged, mustNot, cleanCases, cleanFlagged int
	for _, o := range all {
		if o.Ruling != nil || name != "" && o.Specialist != name {
			continue
		}
		mine = append(mine, o)
		s.Cases++
		s.Usage = Spent(s.Usage, o.Usage)
		if s.Model == "" {
			s.Model = o.Model
		}
		dropped += o.Hallucinated
		comments += len(o.Findings)
		for _, k := range o.Expected {
			if k.Must == Find {
				allMust++
			}
		}
		if o.Verdict == work.VerdictUnknown {
			s.Unknown++
			comments -= len(o.Findings)
			continue
		}
		judged++
		if o.Clean {
			cleanCases++
			if len(o.Findings) > 0 {
				cleanFlagged++
			}
		}
		for _, k := range o.Expected {
			switch k.Status {
			case Found:
				found, must = found+1, must+1
			case Missed:
				must++
			case Flagged:
				flagged, mustNot = flagged+1, mustNot+1
			case Quiet:
				mustNot++
			default:
				s.Undecided++
			}
		}
		for i, k := range o.Kinds {
			// What one reviewer said again in the same words went into this one.
			if i < len(o.Findings) && o.Findings[i].Merged > 0 {
				again := o.Findings[i].Merged
				s.Duplicates += again
				if k != Unclear {
					counted += again
				}
			}
			switch k {
			case Hit:
				hits, counted = hits+1, counted+1
			case Unclear:
				s.Unclear++
			case Duplicate:
				s.Duplicates++
				counted++
			default:
				counted++
			}
		}
	}
	s.Recall, s.WorstRecall, s.Precision = NewRate(found, must), NewRate(found, allMust), NewRate(hits, counted)
	s.Violations, s.Clean = NewRate(flagged, mustNot), NewRate(cleanFlagged, cleanCases)
	placed := 0
	for _, o := range mine {
		placed += len(o.Findings)
	}
	s.Latency, s.PerTrue = latencyOf(mine), perTrue(s.Usage, found)
	s.Hallucinated = NewRate(dropped, dropped+placed)
	if judged > 0 {
		per := float64(comments) / float64(judged)
		s.PerChange = &per
	}
	return s
}

// Confusion is what one way of ruling said, against what is right.
type Confusion struct {
	Way string `json:"way"` // rules, model, or both
	// Count is by the right ruling and then by what was said, both in the
	// order Proceed, Fix, FailPhase.
	Count   [3][3]int `json:"count"`
	Unknown int       `json:"unknown"` // no usable answer; in no cell
	Right   Rate      `json:"right"`
	// FalseProceed is of the cases whose right ruling is another those that
	// would have gone on.
	FalseProceed Rate `json:"false_proceed"`
	// WorstFalseProceed takes each case without a usable answer for one that
	// would have gone on.
	WorstFalseProceed Rate       `json:"false_proceed_worst"`
	Usage             work.Usage `json:"usage"`
}

// The ways of ruling.
const (
	ByRules = "rules"
	ByModel = "model"
	ByBoth  = "both"
)

// Confuse sums the arbiter's outcomes up: the rules alone and, where a model
// was asked, the model alone and both as in a run.
func Confuse(all []Outcome) []Confusion {
	var out []Confusion
	for _, way := range []string{ByRules, ByModel, ByBoth} {
		if c, any := confuse(way, all); any {
			out = append(out, c)
		}
	}
	return out
}

// By is what one way of ruling came to; "" = no usable answer, and asked
// says whether that way was gone at all.
func (r RulingOutcome) By(way string) (said review.Ruling, asked bool) {
	switch way {
	case ByRules:
		return r.Rules, true
	case ByModel:
		return r.Said, r.Asked
	}
	return r.Both, r.Both != ""
}

func confuse(way string, all []Outcome) (Confusion, bool) {
	c, any := Confusion{Way: way, Usage: nothing()}, false
	var right, judged, wrongly, held, open int
	for _, o := range all {
		if o.Ruling == nil {
			continue
		}
		said, asked := o.Ruling.By(way)
		if !asked {
			continue
		}
		any = true
		if way != ByRules {
			c.Usage = Spent(c.Usage, o.Usage)
		}
		i, j := slices.Index(rulings(), o.Ruling.Right), slices.Index(rulings(), said)
		if i < 0 || j < 0 {
			c.Unknown++
			if o.Ruling.Right != review.Proceed {
				open++
			}
			continue
		}
		c.Count[i][j]++
		judged++
		if i == j {
			right++
		}
		if o.Ruling.Right != review.Proceed {
			held++
			if said == review.Proceed {
				wrongly++
			}
		}
	}
	c.Right, c.FalseProceed = NewRate(right, judged), NewRate(wrongly, held)
	c.WorstFalseProceed = NewRate(wrongly+open, held+open)
	return c, any
}

// Judged says that of all who were asked at least one gave a usable answer;
// where the rules alone had to say something, that is one.
func Judged(all []Outcome) bool {
	asked := 0
	for _, o := range all {
		switch {
		case o.Ruling == nil && o.Verdict != work.VerdictUnknown, o.Ruling != nil && o.Ruling.Said != "":
			return true
		case o.Ruling == nil || o.Ruling.Asked:
			asked++
		}
	}
	return asked == 0 && len(all) > 0
}

// WhyUnknown is the reason of the first case without an answer.
func WhyUnknown(t *Trial) string {
	for _, o := range t.Outcomes {
		if o.Ruling != nil && o.Ruling.Why != "" {
			return o.Ruling.Why
		}
		if o.Why != "" {
			return o.Why
		}
	}
	return "nobody was asked"
}
