package narrate

import (
	"strings"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// mostOfCause is how much of a cause stands in one line.
const mostOfCause = 300

// Cause is why a phase ended as it did, in one line that begins with what a
// person can mend: of a budget that was used up, what stood in the way last.
func Cause(p *orchestrator.View) string {
	detail := text.FirstLine(p.Detail, mostOfCause)
	if p.Reason == work.ReasonBudgetExhausted {
		if used, last, found := strings.Cut(detail, "; "); found {
			return last + " (" + string(p.Reason) + ": " + used + ")"
		}
	}
	all := []string{string(p.Reason)}
	if p.Cause != "" {
		all[0] += " of " + p.Cause
	}
	if detail != "" {
		all = append(all, detail)
	}
	return strings.Join(all, ": ")
}
