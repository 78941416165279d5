package eval

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"forge/internal/work"
	"forge/review"
)

// trialOf is a trial of one reviewer on four cases with a fault each: of each case
// how it came out.
func trialOf(id, model string, usd float64, came ...Status) *Trial {
	t := &Trial{V: TrialVersion, ID: id, Asked: AskedLLM, Model: model, Arbiter: model, Judge: JudgePlace, Prompts: map[string]string{"security": "p"}}
	for i, s := range came {
		took, cost, verdict := int64(1000*(i+1)), usd, work.VerdictFail
		o := Outcome{Case: fmt.Sprintf("case-%d", i), Hash: "h", Specialist: "security", Model: model, Usage: work.Usage{CostUSD: &cost}, Millis: &took}
		switch s {
		case Found:
			o.Findings, o.Kinds = []work.Finding{{}}, []Kind{Hit}
		case Unknown:
			verdict = work.VerdictUnknown
		default:
			verdict = work.VerdictPass
		}
		o.Verdict, o.Expected = verdict, []Checked{{ID: "fault", Must: Find, Status: s}}
		t.Outcomes = append(t.Outcomes, o)
	}
	return t
}

// Any number of trials stand side by side, by hand-counted numbers.
func TestSideBySide(t *testing.T) {
	a := trialOf("a", "m", 0.1, Found, Found, Missed, Missed)
	b := trialOf("b", "m", 0.1, Found, Missed, Found, Found)
	c := trialOf("c", "other", 0.2, Found, Unknown, Unknown, Missed)
	c.Outcomes = append(c.Outcomes, Outcome{Case: "more", Hash: "h", Specialist: "security", Verdict: work.VerdictPass})
	got := SideBySide([]*Trial{a, b, c})
	if len(got.Columns) != 3 || !slices.Equal(got.LeftOut, []string{"more"}) || len(got.Against) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []struct {
		recall, worst  string
		perTrue        float64
		median, p90    float64
		cases, unknown int
	}{
		{"2/4 50%", "2/4 50%", 0.2, 2, 4, 4, 0}, {"3/4 75%", "3/4 75%", 0.4 / 3, 2, 4, 4, 0}, {"1/2 50%", "1/4 25%", 0.8, 2, 4, 4, 2},
	} {
		is := got.Columns[i]
		if rateText(is.Recall) != want.recall || rateText(is.Worst) != want.worst || is.PerTrue == nil || math.Abs(*is.PerTrue-want.perTrue) > 1e-9 ||
			is.Latency == nil || is.Latency.Median != want.median || is.Latency.P90 != want.p90 || is.Cases != want.cases || is.Unknown != want.unknown {
			t.Errorf("%d: %+v %+v", i, is, is.Latency)
		}
	}
	// a and b asked the same: their spread is one of chance. c asked another model.
	if len(got.Repeats) != 1 || !slices.Equal(got.Repeats[0].Trials, []string{"a", "b"}) || len(got.Repeats[0].Moved) != 3 {
		t.Fatalf("repeats: %+v", got.Repeats)
	}
	if m := got.Repeats[0].Recall; m == nil || m.Mean != 0.625 || math.Abs(m.SD-0.25/math.Sqrt2) > 1e-9 || m.Min != 0.5 || m.Max != 0.75 {
		t.Errorf("recall of repeats: %+v", m)
	}
	said := BesideText(got)
	for _, want := range []string{"USD PER TRUE", "0.8000", "2 times the same: recall 62% ± 17.7 (50 to 75)", "Left out, changed or not asked in each: more", "case-1: fault"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
}

// What nobody knows has no number: neither 0 nor free.
func TestSideBySideUnknown(t *testing.T) {
	a := trialOf("a", "m", 0.1, Missed, Missed)
	b := trialOf("b", "m2", 0.1, Found)
	b.Outcomes[0].Usage, b.Outcomes[0].Millis = work.Usage{}, nil
	got := SideBySide([]*Trial{a, b})
	if one := got.Columns[0]; one.PerTrue != nil || one.CostUSD == nil {
		t.Errorf("nothing found: %+v", one)
	}
	if two := got.Columns[1]; two.PerTrue != nil || two.CostUSD != nil || two.Latency != nil {
		t.Errorf("nothing known: %+v", two)
	}
	if len(got.Repeats) != 0 || MomentsOf([]float64{1}) != nil {
		t.Errorf("one number has a spread: %+v", got.Repeats)
	}
	changed := trialOf("c", "m", 0.1, Found, Found)
	changed.Outcomes[0].Hash = "another"
	if got := SideBySide([]*Trial{a, changed}); !slices.Equal(got.LeftOut, []string{"case-0"}) || got.Columns[1].Cases != 1 {
		t.Errorf("a case that changed: %+v", got)
	}
}

// The page is whole by itself, shows each trial in each plot, and words of others
// are text in it.
func TestPageOfTrials(t *testing.T) {
	a := trialOf("a", "<script>alert(1)</script>", 0.1, Found, Missed, Unknown)
	a.Outcomes = append(a.Outcomes, Outcome{Case: "rule", Hash: "h", Specialist: Arbiter, Ruling: &RulingOutcome{Right: review.Fix, Rules: review.Fix}})
	b := trialOf("b", "m", 0.2, Found, Found, Found)
	var page bytes.Buffer
	if err := WriteHTML(&page, a, b); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(&page)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			count[n.Data]++
		}
		for _, at := range n.Attr {
			if at.Key == "src" || at.Key == "href" {
				t.Errorf("it loads %s", at.Val)
			}
		}
	}
	// Recall, precision, false proceeds, seconds, dollars; a point for each known
	// number, and one for the recall at worst of each.
	if count["svg"] != 5 || count["script"] != 0 || count["circle"] != 5*2-2+2 {
		t.Errorf("%v", count)
	}
	var alone bytes.Buffer
	if err := WriteHTML(&alone, b); err != nil || !strings.Contains(alone.String(), "case-2") {
		t.Errorf("one trial: %v", err)
	}
}

// A line of the table says how long the answer took; unknown is an empty cell.
func TestCSVHasTimes(t *testing.T) {
	a := trialOf("a", "m", 0.1, Found, Missed)
	a.Outcomes[1].Millis = nil
	var out bytes.Buffer
	if err := WriteCSV(&out, a); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v, %v", rows, err)
	}
	at := slices.Index(rows[0], "millis")
	if at < 0 || rows[1][at] != "1000" || rows[2][at] != "" {
		t.Errorf("%v", rows)
	}
}
