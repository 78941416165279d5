package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"forge/internal/narrate"
	"forge/internal/pullrequest"
	"forge/internal/work"
)

// sqlAnswer is a reviewer's answer that names one SQL injection on each of the
// lines.
func sqlAnswer(lines ...int) string {
	var all []string
	for _, line := range lines {
		all = append(all, fmt.Sprintf(`{"file":"db.go","line":%d,"end_line":null,"severity":"critical","issue":"SQL injection: column%d is put into the query as it came","failure":"","suggestion":"","repro":null}`, line, line))
	}
	return `{"verdict":"fail","confidence":0.9,"findings":[` + strings.Join(all, ",") + `],"need":[]}`
}

// What one reviewer names on neighbouring lines are faults of their own, in
// every output. What it says again, and what another one says too, is counted.
func TestReviewMergesNothingOfOneReviewer(t *testing.T) {
	files := map[string]string{"db.go": "package db\n// a\n// b\n// c\n// d\n"}
	w, _ := changed(t, files, "", to("security", sqlAnswer(1, 3, 5)))
	res := w.reviewJSON(exitFailed, "--specialists", "security")
	if len(res.Findings) != 3 || res.Merged != 0 || res.Reviewers[0].Findings != 3 || res.Reviewers[0].Merged != 0 {
		t.Errorf("%+v", res)
	}
	for _, output := range []string{"text", "json", "sarif", "markdown"} {
		e := w.forge("review", "--specialists", "security", "--output", output).want(exitFailed)
		for _, line := range []int{1, 3, 5} {
			if !strings.Contains(e.stdout, fmt.Sprintf("column%d is put", line)) {
				t.Errorf("%s: the finding of line %d is not there:\n%s", output, line, e.stdout)
			}
		}
		if strings.Contains(e.stdout, "findings in one") || strings.Contains(e.stdout, "said the same") {
			t.Errorf("%s says that something was merged:\n%s", output, e.stdout)
		}
	}

	// Line 3 said twice by one, and all three by another one.
	w, _ = changed(t, files, "", to("security", sqlAnswer(1, 3, 3, 5)), to("performance", sqlAnswer(1, 3, 5)))
	res = w.reviewJSON(exitFailed, "--specialists", "security,performance")
	if len(res.Findings) != 3 || res.Merged != 4 || res.Findings[1].Merged != 2 || len(res.Findings[1].Also) != 1 {
		t.Errorf("%+v", res)
	}
	for _, s := range res.Reviewers {
		if want := map[string]int{"security": 1}[s.Name]; s.Findings != 3 || s.Merged != want {
			t.Errorf("%+v", s)
		}
	}
	for output, count := range map[string]string{
		"text": "4 findings said the same as another one", "markdown": "4 findings said the same as another one", "json": `"merged": 4`, "sarif": `"merged": 4`,
	} {
		e := w.forge("review", "--specialists", "security,performance", "--output", output).want(exitFailed)
		e.says(count)
		if output != "json" {
			e.says("3 findings in one")
		}
	}
	w.env = append(w.env, "GITHUB_ACTIONS=true")
	w.forge("review", "--specialists", "security,performance").want(exitFailed).warns("title=critical%3A performance%2C also security; 3 findings in one::")
}

// The counts reach the pull request's notes and the pages of a phase by the one
// way in which a finding says who found it.
func TestAFindingSaysWhatItStandsFor(t *testing.T) {
	f := work.Finding{Specialist: "security", Also: []string{"performance"}, Merged: 2, Severity: work.SeverityMajor, File: "a.go", Line: 1, Issue: "x"}
	for name, text := range map[string]string{"note": pullrequest.TellNote(f).String(), "terminal": narrate.SayFinding(f)} {
		if !strings.Contains(text, "3 findings in one") || !strings.Contains(text, "performance") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if data, err := json.Marshal(f); err != nil || !strings.Contains(string(data), `"merged":2`) {
		t.Errorf("%s, %v", data, err)
	}
}
