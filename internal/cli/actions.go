package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"forge/internal/narrate"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// reportCI writes annotations and the job summary where GitHub or Gitea Actions
// run forge. What cannot be written is said and changes nothing.
func (p *checkout) reportCI(s *orchestrator.State, end work.RunFinishedData) {
	if !p.InActions() {
		return
	}
	// Annotations are commands on a log line; stdout may be a stream.
	fmt.Fprint(p.app.Stderr, annotations(s, end))
	path := p.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(summaryMarkdown(s, end).String())
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		p.Log.Warn("write the job summary", "err", err)
	}
}

func annotations(s *orchestrator.State, end work.RunFinishedData) string {
	var b strings.Builder
	for _, n := range s.Order {
		ph := s.Phases[n]
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
func whyIn(p *orchestrator.Phase) string {
	if p.Outcome == work.PhaseFailed {
		return narrate.Cause(p)
	}
	return reasonOf(p)
}

func summaryMarkdown(s *orchestrator.State, end work.RunFinishedData) text.Markdown {
	all := []text.Markdown{text.Format("## Forge run %s: %s\n\n", s.Run, string(end.Outcome))}
	if end.Reason != "" {
		all = append(all, text.Format("%s\n\n", end.Reason))
	}
	all = append(all, text.Own("| phase | name | state | iterations | why |\n|---|---|---|---|---|\n"))
	for _, n := range s.Order {
		ph := s.Phases[n]
		all = append(all, text.Format("| %s | %s | %s | %d/%d | %s |\n", n, ph.Plan.Name, standing(ph), ph.Spent, ph.Budget, whyIn(ph)))
	}
	all = append(all, text.Format("\nCost: %s\n", narrate.MoneyText(s.Ledger)))
	if d := s.Delivery; d != nil {
		all = append(all, text.Format("\nResult: %s\n", text.Code(d.Branch)))
	}
	return text.Join("", append(all, text.Own("\n"))...)
}
