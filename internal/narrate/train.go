package narrate

import (
	"strings"

	"charm.land/log/v2"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// sayTrain tells of phases that are merged together.
func sayTrain(e work.Event) (string, facts, error) {
	switch e.Kind {
	case work.TrainStarted:
		return telling(e, func(d orchestrator.TrainStartedData) (string, facts) {
			return text.Number(len(d.Members), "phase") + " are merged together", facts{{"phases", strings.Join(d.Members, ", ")}}
		})
	case work.TrainFinished:
		return telling(e, func(d orchestrator.TrainFinishedData) (string, facts) {
			if d.Problem == "" {
				return "", nil
			}
			return "they could not be merged together: each goes alone", facts{{"problem", d.Problem}}
		})
	}
	return telling(e, func(d orchestrator.TrainDecidedData) (string, facts) {
		below := facts{{"reason", d.Reason}, {"named", d.Culprit}, {"phases", strings.Join(d.Members, ", ")}}
		switch d.Decision {
		case orchestrator.TrainStands:
			return "they land together, once each was asked for itself", below
		case orchestrator.TrainNamed:
			return "none of them lands together", below
		}
		return "they come apart, and are merged anew", below
	})
}

// describeTrain is a line of the log about a decision on a batch.
func describeTrain(e work.Event) (log.Level, string, []any) {
	return describeAs(e, func(d orchestrator.TrainDecidedData) (log.Level, string, []any) {
		pairs := []any{"decision", d.Decision, "reason", d.Reason}
		if d.Culprit != "" {
			return log.WarnLevel, "a batch of phases is red", append(pairs, "phase", d.Culprit)
		}
		return log.InfoLevel, "a batch of phases", pairs
	})
}
