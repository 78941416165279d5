package changereview

import (
	"strings"
	"testing"

	"forge/internal/work"
)

// However long a review is, its comment is one that a host takes.
func TestReviewMarkdownIsBounded(t *testing.T) {
	res := Result{Verdict: work.VerdictFail}
	for range 500 {
		f := Finding{Finding: work.Finding{Specialist: "security", Severity: work.SeverityMajor, File: "a.go", Line: 1, Issue: strings.Repeat("x @y & ", 300), Failure: strings.Repeat("&", 2000), Repro: strings.Repeat("<", 2000)}}
		res.Findings, res.Own = append(res.Findings, f), append(res.Own, f)
		res.Unreviewed, res.Why = append(res.Unreviewed, strings.Repeat("some/", 50)), append(res.Why, "why")
	}
	if got := Markdown(res).String(); len(got) > 60_000 || !strings.Contains(got, " more\n") || !strings.Contains(got, "Cost: ") {
		t.Errorf("%d bytes", len(got))
	}
}
