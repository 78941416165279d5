package changereview

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"forge/internal/config"
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
	// ruleWeakened: assertions gone, skips added, thresholds lowered, CI edited.
	ruleWeakened = "evidence_weakened"
	ruleGone     = "evidence_changed" // a test file of the base is gone
	forgeItself  = "forge"            // who finds these
	ownFailure   = "it could make bad work look proven"
	ownSettings  = "it could make Forge or an agent behave otherwise from the moment it is merged"
	ownSuggested = "let a person look at it; --may-change lets it go"
)

// Finding is a finding with what it means for the result.
type Finding struct {
	work.Finding
	ID     string `json:"id,omitempty"`   // by which people name it, and let it stand
	Rule   string `json:"rule,omitempty"` // of Forge's own findings
	Gating bool   `json:"gating"`         // it is of a reviewer whose word holds the change, or a rule that does
}

// ownFindings are what Forge itself shows of a change, whatever reviewers say:
// first what the base's settings make of evidence, then settings themselves. A
// test file that is gone holds the change until a person lets it go by
// --may-change; it is shown all the same.
func (r *ongoing) ownFindings(ctx context.Context, changes []work.FileChange) ([]Finding, error) {
	rules := evidence.New(r.repo, filepath.Join(r.temp, "evidence"))
	all, err := r.judged(ctx, rules, nil)
	if err != nil {
		return nil, err
	}
	held, err := r.judged(ctx, rules, r.options.MayChange)
	if err != nil {
		return nil, err
	}
	ci, err := config.NewMatcher(config.CIFiles())
	if err != nil {
		return nil, err
	}
	r.evidence = setOf(slices.Concat(all.Touched, all.Settings))
	return ownOf(changes, all, setOf(held.Touched), ci.Match), nil
}

// judged is the change held against the evidence of its base.
func (r *ongoing) judged(ctx context.Context, rules *evidence.Store, mayChange []string) (work.EvidenceReport, error) {
	req := project.EvidenceSettings(r.set)
	req.Trusted, req.Base, req.Commit, req.MayChange = r.base.Commit, r.base.Commit, r.now, mayChange
	return rules.Judge(ctx, req)
}

// ownOf are the findings that follow from what was judged. Evidence that lost
// something is a warning, and so is what CI runs, which nobody can compare. A test
// that was changed beside the code that it is about, and lost nothing, is minor:
// every honest change has some.
func ownOf(changes []work.FileChange, all work.EvidenceReport, held map[string]bool, ci func(path string) bool) []Finding {
	var out []Finding
	add := func(rule, path string, line int, gating bool, severity work.Severity, issue, failure, suggestion string) {
		out = append(out, Finding{Rule: rule, Gating: gating, Finding: work.Finding{
			Specialist: forgeItself, Severity: severity, File: review.Name(path), Line: max(line, 1), Issue: issue, Failure: failure, Suggestion: suggestion,
		}})
	}
	status := map[string]string{}
	for _, c := range changes {
		status[c.Path] = c.Status
	}
	said := map[string]bool{} // what is said of a path more exactly
	for _, path := range all.Touched {
		if status[path] != "D" {
			continue
		}
		said[path] = true
		if held[path] {
			add(ruleGone, path, 1, true, work.SeverityCritical, "a test file of the base is gone", ownFailure, ownSuggested)
		} else {
			add(ruleGone, path, 1, false, work.SeverityMinor, "a test file of the base is gone; --may-change lets it go", ownFailure, "")
		}
	}
	for _, c := range changes {
		if runs.AgentRules(c.Path) {
			said[c.Path] = true
			add(ruleSettings, c.Path, 1, false, work.SeverityMajor, fmt.Sprintf("settings of Forge or of an agent were %s; reviewers had those of the base", verbOf(c.Status)), ownSettings, "")
		}
	}
	weaker := map[string]bool{}
	for _, d := range all.Doubts {
		if d.Kind == work.DoubtWeakened && !said[d.Path] {
			weaker[d.Path] = true
			add(ruleWeakened, d.Path, d.Line, false, work.SeverityMajor, d.What, ownFailure, "")
		}
	}
	for _, c := range changes {
		if ci(c.Path) && !said[c.Path] && !weaker[c.Path] {
			weaker[c.Path] = true
			add(ruleWeakened, c.Path, 1, false, work.SeverityMajor, fmt.Sprintf("what CI runs was %s", verbOf(c.Status)), ownFailure, "")
		}
	}
	settings := setOf(all.Settings)
	for _, path := range all.Touched {
		switch {
		case said[path] || weaker[path]:
		case settings[path]:
			add(ruleTouched, path, 1, false, work.SeverityMajor, "a file that decides what tests and checks say was changed", ownFailure, "")
		case len(all.Product) == 0:
			add(ruleTouched, path, 1, false, work.SeverityMajor, "a test was changed, and no code beside it", ownFailure, "")
		default:
			add(ruleTouched, path, 1, false, work.SeverityMinor, "a test was changed beside code, and nothing of it was lost", "", "")
		}
	}
	return out
}

// folded takes out of Forge's own findings the tests that were changed beside
// code: a result has one line for all of them.
func folded(own []Finding) (shown []Finding, tests []string) {
	for _, f := range own {
		if f.Rule == ruleTouched && f.Severity == work.SeverityMinor {
			tests = append(tests, f.File)
		} else {
			shown = append(shown, f)
		}
	}
	return shown, tests
}

// Shown are Forge's own findings that are shown one by one.
func Shown(own []Finding) []Finding {
	shown, _ := folded(own)
	return shown
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
