package web

import (
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// What speaks against a change stands at its head, in the same order, and what is
// not known does not look like yes.
func TestSignsOfAChange(t *testing.T) {
	files := []cockpitFile{{Path: "a.go"}}
	for name, c := range map[string]struct {
		d    cockpitData
		want string
	}{
		"no change":        {cockpitData{}, ""},
		"nothing checked":  {cockpitData{Files: files}, "1 file, +0 −0|! nothing was checked"},
		"checked":          {cockpitData{Files: files, Judged: Judged{Verify: &work.VerifyFinishedData{OK: true}}}, "1 file, +0 −0|✓ your checks passed on exactly this commit"},
		"red":              {cockpitData{Files: files, Judged: Judged{Verify: &work.VerifyFinishedData{}}}, "1 file, +0 −0|✗ your checks failed"},
		"without evidence": {cockpitData{Criteria: []orchestrator.CriterionState{{}, {Met: true}}}, "! 1 criterion without evidence"},
		"in doubt":         {cockpitData{Judged: Judged{InDoubt: make([]work.Doubt, 2), Protected: []string{"x"}}, Findings: make([]work.Finding, 3)}, "! 2 doubts about the proof|! 1 file that decides the proof was changed|! 3 findings of reviewers"},
	} {
		var got []string
		for _, s := range c.d.Signs() {
			got = append(got, strings.TrimSpace(s.Mark()+" "+s.Text))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, "|"), c.want)
		}
	}
	if got := withoutPromise("I did it. <promise>DONE</promise>\nMore <b>"); got != "I did it.\nMore <b>" {
		t.Errorf("without its promise the agent said %q", got)
	}
}
