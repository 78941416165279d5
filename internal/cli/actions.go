package cli

import (
	"fmt"

	"forge/internal/report"
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
	fmt.Fprint(p.app.Stderr, report.Annotations(s, end))
	if err := appendSummary(p.Getenv("GITHUB_STEP_SUMMARY"), report.Summary(s, end).String()); err != nil {
		p.Log.Warn("write the job summary", "err", err)
	}
}
