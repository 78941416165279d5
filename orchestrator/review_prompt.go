package orchestrator

import (
	"fmt"
	"strings"

	"forge/internal/work"
)

// writeFindings tells the agent what reviewers found.
func writeFindings(b *strings.Builder, p *Phase) {
	b.WriteString("\n## Fix what reviewers found\n\nReviewers looked at your work, and it cannot go on as it is. Fix the cause of each finding below and change nothing else. Verify runs again, and so do the reviews. No promise is needed this time.\n")
	section(b, "The findings", p.tellFindings())
	if a := p.Review.Answer; a != nil && a.Instructions != "" {
		section(b, "How to go about it", a.Instructions)
	}
}

// tellFindings is everything that stands against p, for people and agents.
func (p *Phase) tellFindings() string {
	var b strings.Builder
	for i, f := range p.objections() {
		fmt.Fprintf(&b, "%d. %s\n", i+1, tellFinding(f))
		for _, line := range []struct{ name, text string }{{"It leads to", f.Failure}, {"Suggestion", f.Suggestion}, {"To see it", f.Repro}} {
			if line.text != "" {
				fmt.Fprintf(&b, "   %s: %s\n", line.name, line.text)
			}
		}
	}
	for _, name := range p.unanswered() {
		why := ""
		if o := p.Review.Of[name]; o != nil && o.Why != "" {
			why = ": " + o.Why
		}
		fmt.Fprintf(&b, "- no usable answer of %s%s\n", name, why)
	}
	if p.Last != p.Review.Commit {
		b.WriteString("- the last fix does not pass verify; going on takes the work as it was before it\n")
	}
	return b.String()
}

func tellFinding(f work.Finding) string {
	where := ""
	if f.File != "" {
		where = fmt.Sprintf(" %s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("%s (%s)%s: %s", f.Severity, f.By(), where, f.Issue)
}

// reviewSummary is what reviewers are told about the phase: the plan's words,
// not the author's.
func reviewSummary(s *State, p *Phase) string {
	text := fmt.Sprintf("Phase %s, %q, of the project %s.\n", p.Number, p.Plan.Name, s.Spec.Settings.Project)
	if p.Plan.PhaseType != "" {
		text += fmt.Sprintf("Its type is %s.\n", p.Plan.PhaseType)
	}
	if p.Plan.Reasoning != "" {
		text += "What it is about: " + p.Plan.Reasoning + "\n"
	}
	if len(p.Plan.Criteria) > 0 {
		text += "It is held against:\n" + tellAcceptance(p.Plan.Criteria) + "\n"
	}
	if len(p.Set.Verify) > 0 {
		text += "It passes these commands: " + strings.Join(p.Set.Verify, "; ") + "\n"
	}
	return text
}
