package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Column is one trial beside others.
type Column struct {
	Trial     string   `json:"trial"`
	Asked     string   `json:"asked"`
	Cases     int      `json:"cases"`
	Unknown   int      `json:"unknown_cases"`
	Recall    Rate     `json:"recall"`
	Worst     Rate     `json:"recall_worst"`
	Precision Rate     `json:"precision"`
	Proceeds  Rate     `json:"false_proceed_worst"` // of the arbiter, as near to a run as it was asked
	Latency   *Latency `json:"latency"`             // nil = of no answer it is known
	CostUSD   *float64 `json:"cost_usd"`            // nil = unknown
	PerTrue   *float64 `json:"cost_per_true_usd"`   // nil = unknown, or nothing true was found
}

// Latency is how long an answer took, over those of which it is known.
type Latency struct {
	Answers int     `json:"answers"`
	Median  float64 `json:"median_s"`
	P90     float64 `json:"p90_s"` // nine of ten were as fast
}

// latencyOf is nil where no time is known.
func latencyOf(all []Outcome) *Latency {
	var took []int64
	for _, o := range all {
		if o.Millis != nil {
			took = append(took, *o.Millis)
		}
	}
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	at := func(share float64) float64 { // the nearest rank
		return float64(took[max(int(math.Ceil(share*float64(len(took))))-1, 0)]) / 1000
	}
	return &Latency{Answers: len(took), Median: at(0.5), P90: at(0.9)}
}

// Moments are how a number spread over repeats.
type Moments struct {
	Trials int     `json:"trials"` // that have it
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"` // of a sample: divided by one less
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// MomentsOf is nil for less than two: one number says nothing of its spread.
func MomentsOf(all []float64) *Moments {
	if len(all) < 2 {
		return nil
	}
	m := Moments{Trials: len(all), Min: slices.Min(all), Max: slices.Max(all)}
	for _, x := range all {
		m.Mean += x / float64(len(all))
	}
	for _, x := range all {
		m.SD += (x - m.Mean) * (x - m.Mean)
	}
	m.SD = math.Sqrt(m.SD / float64(len(all)-1))
	return &m
}

// Spread is how trials that asked the same in the same way differ: nothing but
// chance is between them.
type Spread struct {
	Trials    []string `json:"trials"`
	Asked     string   `json:"asked"`
	Recall    *Moments `json:"recall"`
	Worst     *Moments `json:"recall_worst"`
	Precision *Moments `json:"precision"`
	Proceeds  *Moments `json:"false_proceed_worst"`
	// Moved are expectations and rulings that did not come out alike in all.
	Moved []string `json:"moved"`
}

// Beside is any number of trials side by side, on the cases that all of them were
// asked in the same words; each but the first is held against the first.
type Beside struct {
	Columns []Column     `json:"trials"`
	Repeats []Spread     `json:"repeats"`
	Against []Comparison `json:"against_first"` // of the second, the third and so on
	LeftOut []string     `json:"left_out,omitempty"`
}

// SideBySide holds trials beside each other.
func SideBySide(all []*Trial) Beside {
	out := Beside{Columns: []Column{}, Repeats: []Spread{}, Against: []Comparison{}}
	common, left := inAll(all)
	out.LeftOut = left
	shared := make([][]Outcome, len(all))
	groups := map[string][]int{}
	var order []string
	for i, t := range all {
		for _, o := range t.Outcomes {
			if common[o.Case] {
				shared[i] = append(shared[i], o)
			}
		}
		out.Columns = append(out.Columns, column(t, shared[i]))
		if i > 0 {
			out.Against = append(out.Against, Compare(all[0].Outcomes, t.Outcomes))
		}
		key := t.setting()
		if len(groups[key]) == 0 {
			order = append(order, key)
		}
		groups[key] = append(groups[key], i)
	}
	for _, key := range order {
		if at := groups[key]; len(at) > 1 {
			out.Repeats = append(out.Repeats, spread(out.Columns, shared, at))
		}
	}
	return out
}

// inAll are the cases that every trial was asked in the same words, and the names
// of all others.
func inAll(all []*Trial) (common map[string]bool, left []string) {
	hashes, count := map[string]string{}, map[string]int{}
	for _, t := range all {
		for _, o := range t.Outcomes {
			if was, known := hashes[o.Case]; !known {
				hashes[o.Case] = o.Hash
			} else if was != o.Hash {
				continue
			}
			count[o.Case]++
		}
	}
	common = map[string]bool{}
	for name := range hashes {
		if count[name] == len(all) {
			common[name] = true
		} else {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return common, left
}

// setting is who was asked, and how: equal of two trials that repeat each other.
func (t *Trial) setting() string {
	said, err := json.Marshal([]any{t.Asked, t.Model, t.Arbiter, t.Judge, t.JudgeModel, t.Prompts})
	if err != nil {
		return t.ID // it repeats nothing
	}
	return string(said)
}

func column(t *Trial, all []Outcome) Column {
	c := Column{Trial: t.ID, Asked: askedText(t), Cases: len(all), Latency: latencyOf(all), Recall: NewRate(0, 0), Worst: NewRate(0, 0), Precision: NewRate(0, 0), Proceeds: NewRate(0, 0)}
	spent := nothing()
	for _, o := range all {
		spent = Spent(spent, o.Usage)
	}
	c.CostUSD = spent.CostUSD
	if sums := Summarize(all); len(sums) > 0 {
		of := sums[len(sums)-1]
		c.Unknown, c.Recall, c.Worst, c.Precision, c.PerTrue = of.Unknown, of.Recall, of.WorstRecall, of.Precision, of.PerTrue
	}
	if ways := Confuse(all); len(ways) > 0 {
		c.Proceeds = ways[len(ways)-1].WorstFalseProceed
	}
	return c
}

func spread(columns []Column, shared [][]Outcome, at []int) Spread {
	s := Spread{Asked: columns[at[0]].Asked, Moved: []string{}}
	moments := func(of func(Column) Rate) *Moments {
		var all []float64
		for _, i := range at {
			if r := of(columns[i]); r.Rate != nil {
				all = append(all, *r.Rate)
			}
		}
		return MomentsOf(all)
	}
	s.Recall, s.Worst = moments(func(c Column) Rate { return c.Recall }), moments(func(c Column) Rate { return c.Worst })
	s.Precision, s.Proceeds = moments(func(c Column) Rate { return c.Precision }), moments(func(c Column) Rate { return c.Proceeds })
	came := map[string]string{}
	for _, i := range at {
		s.Trials = append(s.Trials, columns[i].Trial)
		for _, o := range shared[i] {
			for what, how := range o.came() {
				if was, known := came[what]; known && was != how && !slices.Contains(s.Moved, what) {
					s.Moved = append(s.Moved, what)
				}
				came[what] = how
			}
		}
	}
	slices.Sort(s.Moved)
	return s
}

// came is how each thing that a case asks about came out.
func (o Outcome) came() map[string]string {
	out := map[string]string{}
	if r := o.Ruling; r != nil {
		out[o.Case] = string(r.Rules) + " " + string(r.Said) + " " + string(r.Both)
	}
	for _, k := range o.Expected {
		out[o.Case+": "+k.ID] = string(k.Status)
	}
	return out
}

// perTrue is what one true finding cost: all that was spent by what was found.
func perTrue(spent work.Usage, found int) *float64 {
	if spent.CostUSD == nil || found == 0 {
		return nil
	}
	per := *spent.CostUSD / float64(found)
	return &per
}

// BesideText is trials side by side for a person. Words of others in it may still
// act on a terminal.
func BesideText(b Beside) string {
	var rows [][]string
	for _, c := range b.Columns {
		median, p90 := "-", "-"
		if c.Latency != nil {
			median, p90 = fmt.Sprintf("%.1fs", c.Latency.Median), fmt.Sprintf("%.1fs", c.Latency.P90)
		}
		rows = append(rows, []string{
			c.Trial, c.Asked, fmt.Sprint(c.Cases), fmt.Sprint(c.Unknown), rateText(c.Recall), rateText(c.Worst), rateText(c.Precision), rateText(c.Proceeds),
			median, p90, dollars(c.CostUSD), dollars(c.PerTrue),
		})
	}
	var out strings.Builder
	out.WriteString(text.Table([]string{"TRIAL", "ASKED", "CASES", "UNKNOWN", "RECALL", "AT WORST", "PRECISION", "FALSE PROCEEDS AT WORST", "MEDIAN", "P90", "USD", "USD PER TRUE"}, rows))
	if n := len(b.LeftOut); n > 0 {
		fmt.Fprintf(&out, "Left out, changed or not asked in each: %s%s\n", strings.Join(b.LeftOut[:min(n, 5)], ", "), andMore(n-5))
	}
	for _, s := range b.Repeats {
		fmt.Fprintf(&out, "\n%s, %d times the same: recall %s, at worst %s, precision %s, false proceeds at worst %s\n", s.Asked, len(s.Trials), momentsText(s.Recall), momentsText(s.Worst), momentsText(s.Precision), momentsText(s.Proceeds))
		if n := len(s.Moved); n > 0 {
			fmt.Fprintf(&out, "Not alike in all of them: %s%s\n", strings.Join(s.Moved[:min(n, 5)], ", "), andMore(n-5))
		}
	}
	return out.String()
}

func momentsText(m *Moments) string {
	if m == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%% ± %.1f (%.0f to %.0f)", 100*m.Mean, 100*m.SD, 100*m.Min, 100*m.Max)
}

func dollars(usd *float64) string {
	if usd == nil {
		return "?"
	}
	return fmt.Sprintf("%.4f", *usd)
}
