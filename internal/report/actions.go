package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/internal/changereview"
	"forge/internal/narrate"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Annotations are what failed or waits in a run, as commands on a line of the
// log of GitHub or Gitea Actions.
func Annotations(s *orchestrator.State, end work.RunFinishedData) string {
	var b strings.Builder
	for _, n := range s.Order {
		ph := s.View(n)
		level := ""
		switch ph.Outcome {
		case work.PhaseFailed:
			level = "error"
		case work.PhaseSkipped, work.PhaseCancelled:
			level = "warning"
		case work.PhaseDone:
		}
		if level != "" {
			fmt.Fprintf(&b, "::%s title=%s::%s\n", level, escapeProperty(fmt.Sprintf("phase %s %s", n, ph.Plan.Name)), escapeData(string(ph.Outcome)+": "+narrate.Cause(ph)))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Open)) {
		cp := s.Open[id]
		fmt.Fprintf(&b, "::notice title=%s::%s\n", escapeProperty("waits for a person"), escapeData(cp.ID+" "+cp.Question))
	}
	if end.Outcome == work.RunLimit {
		fmt.Fprintf(&b, "::warning title=%s::%s\n", escapeProperty("run "+s.Run+" stopped"), escapeData(end.Reason))
	}
	return b.String()
}

// escapeData is words of others in an annotation: each line acts nowhere, and
// none ends the command or begins another.
func escapeData(words string) string {
	lines := strings.Split(words, "\n")
	for i, line := range lines {
		lines[i] = text.Line(line)
	}
	return escapeCommand(strings.Join(lines, "\n"))
}

// escapeProperty is words of others as what an annotation is called.
func escapeProperty(words string) string { return escapeName(text.Line(words)) }

// escapeName is a property that has to stay what it is, such as a file's name.
func escapeName(name string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeCommand(name))
}

func escapeCommand(words string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(words)
}

// whyIn is why a phase stands as it does, in the job's summary.
func whyIn(p *orchestrator.View) string {
	if p.Outcome == work.PhaseFailed {
		return narrate.Cause(p)
	}
	return Reason(p)
}

// Summary is how a run ended, for the summary of a job of CI.
func Summary(s *orchestrator.State, end work.RunFinishedData) text.Markdown {
	all := []text.Markdown{text.Format("## Forge run %s: %s\n\n", s.Run, string(end.Outcome))}
	if end.Reason != "" {
		all = append(all, text.Format("%s\n\n", end.Reason))
	}
	all = append(all, text.Own("| phase | name | state | iterations | why |\n|---|---|---|---|---|\n"))
	for _, n := range s.Order {
		ph := s.View(n)
		all = append(all, text.Format("| %s | %s | %s | %d/%d | %s |\n", n, ph.Plan.Name, ph.Word(s.Live), ph.Spent, ph.Budget, whyIn(ph)))
	}
	all = append(all, text.Format("\nCost: %s\n", narrate.MoneyText(s.Ledger)))
	if d := s.Delivery; d != nil {
		all = append(all, text.Format("\nResult: %s\n", text.Code(d.Branch)))
	}
	return text.Join("", append(all, text.Own("\n"))...)
}

// ReviewAnnotations are findings of a review, and what is not known, as such
// commands.
func ReviewAnnotations(res changereview.Result) string {
	var b strings.Builder
	for _, list := range [][]changereview.Finding{changereview.Shown(res.Own), res.Findings} {
		for _, f := range list {
			level := "notice"
			switch {
			case f.Severity == work.SeverityMinor:
			case f.Gating:
				level = "error"
			default:
				level = "warning"
			}
			title := f.By()
			if f.Rule != "" {
				title = f.Rule
			}
			at := ""
			if f.EndLine > f.Line {
				at = fmt.Sprintf(",endLine=%d", f.EndLine)
			}
			text, _, _ := strings.Cut(f.Issue, "\n")
			if f.Failure != "" {
				text += "\n" + f.Failure
			}
			fmt.Fprintf(&b, "::%s file=%s,line=%d%s,title=%s::%s\n", level, escapeName(f.File), f.Line, at, escapeProperty(string(f.Severity)+": "+title), escapeData(text))
		}
	}
	for _, s := range res.Reviewers {
		if s.Verdict == work.VerdictUnknown {
			level := "warning"
			if s.Gating {
				level = "error"
			}
			fmt.Fprintf(&b, "::%s title=%s::%s\n", level, escapeProperty("review by "+s.Name+": unknown"), escapeData(s.Why))
		}
	}
	return b.String()
}
