package cli

import (
	"fmt"

	"forge/internal/report"
	"forge/internal/work"
	"forge/orchestrator"
)

// report says at the end what was done, what it cost, where the result is, how
// to undo it, and where to read on. It goes to stderr when stdout is a stream.
func (p *checkout) report(s *orchestrator.State, end work.RunFinishedData, o runOptions) {
	if o.output == "json" && p.app.quiet {
		return
	}
	out := p.app.Stdout
	if o.output == "json" {
		out = p.app.Stderr
	}
	fmt.Fprint(out, report.End(s, end, p.Now()))
}
