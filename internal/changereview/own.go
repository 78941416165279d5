package changereview

import (
	"context"
	"fmt"
	"path/filepath"

	"forge/internal/evidence"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/review"
)

// The rules of Forge's own findings. No model is asked about them, and none has
// a say in them.
const (
	ruleSettings = "settings_changed" // what tells Forge or an agent how to behave
	ruleTouched  = "evidence_touched" // what decides what tests and checks say
	ruleGone     = "evidence_changed" // a test file of the base is gone
	forgeItself  = "forge"            // who finds these
	ownFailure   = "it could make bad work look proven"
	ownSettings  = "it could make Forge or an agent behave otherwise from the moment it is merged"
	ownSuggested = "let a person look at it; --may-change lets it go"
)

// Finding is a finding with what it means for the result.
type Finding struct {
	work.Finding
	Rule   string `json:"rule,omitempty"` // of Forge's own findings
	Gating bool   `json:"gating"`         // it is of a reviewer whose word holds the change, or a rule that does
}

// ownFindings are what Forge itself shows of a change, whatever reviewers say:
// first what the base's settings make of evidence, then settings themselves. A
// test file that is gone holds the change until a person lets it go by
// --may-change; it is shown all the same.
func (r *ongoing) ownFindings(ctx context.Context, changes []work.FileChange) ([]Finding, error) {
	rules := evidence.New(r.repo, filepath.Join(r.temp, "evidence"))
	touched, gone, err := project.TouchedBetween(ctx, r.repo, rules, r.set, r.base.Commit, r.now, nil)
	if err != nil {
		return nil, err
	}
	_, held, err := project.TouchedBetween(ctx, r.repo, rules, r.set, r.base.Commit, r.now, r.options.MayChange)
	if err != nil {
		return nil, err
	}
	var out []Finding
	add := func(rule, path string, gating bool, severity work.Severity, issue, failure, suggestion string) {
		out = append(out, Finding{Rule: rule, Gating: gating, Finding: work.Finding{
			Specialist: forgeItself, Severity: severity, File: review.Name(path), Line: 1, Issue: issue, Failure: failure, Suggestion: suggestion,
		}})
	}
	holds := setOf(held)
	for _, path := range gone {
		if holds[path] {
			add(ruleGone, path, true, work.SeverityCritical, "a test file of the base is gone", ownFailure, ownSuggested)
		} else {
			add(ruleGone, path, false, work.SeverityMinor, "a test file of the base is gone; --may-change lets it go", ownFailure, "")
		}
	}
	for _, c := range changes {
		if runs.AgentRules(c.Path) {
			add(ruleSettings, c.Path, false, work.SeverityMajor, fmt.Sprintf("settings of Forge or of an agent were %s; reviewers had those of the base", verbOf(c.Status)), ownSettings, "")
		}
	}
	for _, path := range touched {
		if !runs.AgentRules(path) {
			add(ruleTouched, path, false, work.SeverityMajor, "a file that decides what tests and checks say was changed", ownFailure, "")
		}
	}
	return out, nil
}

func setOf(all []string) map[string]bool {
	out := make(map[string]bool, len(all))
	for _, s := range all {
		out[s] = true
	}
	return out
}

func verbOf(status string) string {
	switch status {
	case "A":
		return "added"
	case "D":
		return "removed"
	}
	return "changed"
}
