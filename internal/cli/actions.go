package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"forge/internal/work"
	"forge/orchestrator"
)

// reportCI writes annotations and the job summary where GitHub or Gitea Actions
// run forge. What cannot be written is said and changes nothing.
func (p *project) reportCI(s *orchestrator.State, end work.RunFinishedData) {
	if p.app.getenv("GITHUB_ACTIONS") != "true" && p.app.getenv("GITEA_ACTIONS") != "true" {
		return
	}
	// Annotations are commands on a log line; stdout may be a stream.
	fmt.Fprint(p.app.Stderr, annotations(s, end))
	path := p.app.getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(summaryMarkdown(s, end))
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		p.app.log.Warn("write the job summary", "err", err)
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
			fmt.Fprintf(&b, "::%s title=%s::%s\n", level, escapeProperty(fmt.Sprintf("phase %s %s", n, ph.Plan.Name)), escapeData(string(ph.Outcome)+" "+reasonOf(ph)))
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

// escapeData keeps text from ending its line or starting another command.
func escapeData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func escapeProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(text))
}

func summaryMarkdown(s *orchestrator.State, end work.RunFinishedData) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Forge run %s: %s\n\n", s.Run, end.Outcome)
	if end.Reason != "" {
		fmt.Fprintf(&b, "%s\n\n", cell(end.Reason))
	}
	b.WriteString("| phase | name | state | iterations | why |\n|---|---|---|---|---|\n")
	for _, n := range s.Order {
		ph := s.Phases[n]
		fmt.Fprintf(&b, "| %s | %s | %s | %d/%d | %s |\n", n, cell(ph.Plan.Name), standing(ph), ph.Spent, ph.Budget, cell(reasonOf(ph)))
	}
	fmt.Fprintf(&b, "\nCost: %s\n", money(s.Ledger))
	if d := s.Delivery; d != nil {
		fmt.Fprintf(&b, "\nResult: `%s`\n", d.Branch)
	}
	b.WriteString("\n")
	return b.String()
}

// cell makes text inert in a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", ">", "&gt;", "`", "'", "[", `\[`, "@", "@\u200b").Replace(text)
}
