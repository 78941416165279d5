package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"forge/internal/narrate"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// End says what was done in a run that has ended or rests, what it cost, where
// the result is, how to undo it, and where to read on. change is the size of what
// was delivered, "" = nobody knows.
func End(s *orchestrator.State, end work.RunFinishedData, change string, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s: %s", narrate.NounOf(s), s.Run, end.Outcome)
	if end.Reason != "" && end.Reason != string(end.Outcome) {
		fmt.Fprintf(&b, " (%s)", end.Reason)
	}
	b.WriteString("\n\n")
	b.WriteString(PhaseTable(s, s.Live) + narrate.ProofsText(s))
	fmt.Fprintf(&b, "\nCost: %s\n", narrate.MoneyText(s.Ledger))
	if end.Reason == orchestrator.ReasonRedBaseline {
		fmt.Fprintf(&b, "\nThe project's setup or verify commands fail before any work:\n%s\n", text.Indent(strings.TrimSpace(s.Baseline.Output)))
		b.WriteString("Mend them, or set verify.allow_red_baseline = true.\n")
	}
	if took := narrate.TookText(s, now); took != "" {
		fmt.Fprintf(&b, "Time:   %s\n", took)
	}
	if change != "" {
		fmt.Fprintf(&b, "Change: %s\n", change)
	}
	b.WriteString(narrate.ResultText(s, "") + narrate.KeptText(s, "") + narrate.AssumedText(s) + narrate.FollowUpsText(s) + narrate.LessonsText(s, ""))
	switch end.Outcome {
	case work.RunFrozen:
		if len(s.Open) == 0 {
			fmt.Fprintf(&b, "Go on:  forge resume %s\n", s.Run) // its pull requests wait
			break
		}
		b.WriteString(Pulls(s) + "\nIt waits for you:\n")
		for _, id := range slices.Sorted(maps.Keys(s.Open)) {
			fmt.Fprintf(&b, "  %s  %s\n%s", id, s.Open[id].Question, narrate.ChoicesText(*s.Open[id]))
		}
		b.WriteString("Answer: forge approve ID | forge request-changes ID -m TEXT | forge reject ID\nThen:   forge resume\n")
	case work.RunInterrupted, work.RunLimit:
		if short, ok := strings.CutPrefix(end.Reason, orchestrator.StopShort); ok {
			fmt.Fprintf(&b, "Why:    %s; nothing is lost\n", short)
		}
		if hook, ok := strings.CutPrefix(end.Reason, orchestrator.StopHook); ok {
			fmt.Fprintf(&b, "Why:    a hook did not let it go on: %s\n", hook)
		}
		fmt.Fprintf(&b, "Go on:  forge resume %s\n", s.Run)
	case work.RunFailed:
		if runs.FinishedWhole(s) {
			break // rejected: there is no next attempt of anything
		}
		fmt.Fprintf(&b, "Again:  forge resume %s   (opens the next attempt of what failed)\n", s.Run)
	case work.RunCompleted, work.RunCancelled:
	}
	fmt.Fprintf(&b, "Why:    forge why --run %s\n", s.Run)
	return b.String()
}
