package stuckeval

import (
	"fmt"
	"strconv"
	"strings"

	"forge/internal/eval"
	"forge/internal/stuck"
	"forge/internal/text"
)

// Table is how the rules did on some cases, Forge's first.
type Table struct {
	Threshold int     `json:"threshold"`
	Cases     int     `json:"cases"`
	Stuck     int     `json:"stuck"`
	Working   int     `json:"working"`
	Waiting   int     `json:"waiting"`
	Scores    []Score `json:"rules"`
}

// Compare holds all rules against the cases, which are at least one.
func Compare(cases []Case, threshold int) Table {
	t := Table{Threshold: threshold, Cases: len(cases)}
	for _, c := range cases {
		switch c.Label {
		case stuck.Stuck:
			t.Stuck++
		case stuck.Waiting:
			t.Waiting++
		default:
			t.Working++
		}
	}
	for _, r := range Rules(threshold) {
		t.Scores = append(t.Scores, Measure(r, cases))
	}
	return t
}

// Bounds are what Forge's rule must hold; nil is no bound.
type Bounds struct {
	MinPrecision, MinRecall *float64
	MaxDelay                *float64 // median, in iterations
	MaxWaiting              *int     // cases that wait and are taken for stuck
}

// Broken says which bounds Forge's rule does not hold. What is not known, such
// as the precision without an alarm, holds none.
func (t Table) Broken(b Bounds) (broken []string) {
	s := t.Scores[0]
	least := func(what string, r eval.Rate, bound *float64) {
		if bound != nil && (r.Rate == nil || *r.Rate < *bound) {
			broken = append(broken, fmt.Sprintf("%s is %s, below %v", what, share(r), *bound))
		}
	}
	least("precision", s.Precision, b.MinPrecision)
	least("recall", s.Recall, b.MinRecall)
	if b.MaxDelay != nil && (s.Delay == nil || *s.Delay > *b.MaxDelay) {
		broken = append(broken, fmt.Sprintf("the median delay is %s, above %v", s.delayText(), *b.MaxDelay))
	}
	if b.MaxWaiting != nil && s.Waiting.Hits > *b.MaxWaiting {
		broken = append(broken, fmt.Sprintf("%d that wait are taken for stuck, above %d", s.Waiting.Hits, *b.MaxWaiting))
	}
	return broken
}

// Text is the table for people.
func (t Table) Text() string {
	rows := make([][]string, 0, len(t.Scores))
	for _, s := range t.Scores {
		rows = append(rows, []string{s.Rule, share(s.Precision), share(s.Recall), count(s.Working), count(s.Waiting), strconv.Itoa(s.Early), s.delayText()})
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d cases: %d stuck, %d working, %d waiting. Threshold %d.\n\n", t.Cases, t.Stuck, t.Working, t.Waiting, t.Threshold)
	out.WriteString(text.Table([]string{"RULE", "PRECISION", "RECALL", "WORKING", "WAITING", "EARLY", "DELAY"}, rows))
	out.WriteString("\nWorking, waiting: taken for stuck. Early: stuck, and said before it was. Delay: median of\niterations from the first that brought nothing to the alarm. In brackets: 95 %, shares by Wilson.\n")
	forge := t.Scores[0]
	for _, l := range []struct {
		what string
		ids  []string
	}{{"Missed by forge", forge.Missed}, {"Wrong alarms of forge", forge.Wrong}} {
		if len(l.ids) > 0 {
			fmt.Fprintf(&out, "%s: %s\n", l.what, strings.Join(l.ids, ", "))
		}
	}
	return out.String()
}

func share(r eval.Rate) string {
	if r.Rate == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", *r.Rate, *r.Low, *r.High)
}

func count(r eval.Rate) string { return fmt.Sprintf("%d/%d", r.Hits, r.Of) }

func (s Score) delayText() string {
	if s.Delay == nil {
		return "-"
	}
	return fmt.Sprintf("%v (%d to %d)", *s.Delay, *s.DelayLow, *s.DelayTop)
}
