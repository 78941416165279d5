package narrate

import (
	"fmt"
	"strings"

	"charm.land/log/v2"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// sayRewind puts it into words that a phase is set back, for forge why.
func sayRewind(e work.Event) (string, facts, error) {
	if e.Kind == work.RewindAsked {
		return telling(e, func(d orchestrator.RewindAskedData) (string, facts) {
			head := "is to go on from " + whereBack(d.Iteration, d.Attempt)
			if d.Refused != "" {
				head = "was to go on from " + whereBack(d.Iteration, d.Attempt) + ", and cannot"
			}
			return head, facts{{"by", d.By + " (" + d.Door + ")"}, {"why not", d.Refused}, {"said to its agent", text.FirstLine(text.Plain(d.Text), 200)}}
		})
	}
	return telling(e, func(d orchestrator.PhaseRewoundData) (string, facts) {
		return "goes on from " + whereBack(d.Iteration, d.Attempt), facts{
			{"by", d.By}, {"commit", text.Short(d.Commit)}, {"budget", fmt.Sprint(d.Budget)}, {"no answer is needed any more", strings.Join(d.Closed, ", ")},
		}
	})
}

// describeRewind says it in one line, as it happens.
func describeRewind(e work.Event) (log.Level, string, []any) {
	if e.Kind == work.RewindAsked {
		return describeAs(e, func(d orchestrator.RewindAskedData) (log.Level, string, []any) {
			if d.Refused != "" {
				return log.WarnLevel, "cannot be set back", []any{"why", d.Refused, "by", d.By, "door", d.Door}
			}
			return log.InfoLevel, "is to be set back to " + whereBack(d.Iteration, d.Attempt), []any{"by", d.By, "door", d.Door}
		})
	}
	return describeAs(e, func(d orchestrator.PhaseRewoundData) (log.Level, string, []any) {
		return log.InfoLevel, "goes on from " + whereBack(d.Iteration, d.Attempt), []any{"by", d.By, "commit", text.Short(d.Commit)}
	})
}

// whereBack names what a phase is set back to.
func whereBack(iteration, attempt int) string {
	switch {
	case iteration == 0:
		return "what it began with"
	case attempt > 1:
		return fmt.Sprintf("iteration %d, attempt %d", iteration, attempt)
	}
	return fmt.Sprintf("iteration %d", iteration)
}
