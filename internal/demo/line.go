package demo

import (
	"fmt"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// phaseName is a phase as the demo names it.
func phaseName(number string) string {
	name, ok := map[string]string{
		"01": "words", "02": "upper", "03": "lower", "04": "count", "05": "translate", "06": "phrasebook", "07": "reverse", "08": "join", "08.1": "test", "09": "manual",
	}[number]
	if !ok {
		return number
	}
	return number + " " + name
}

// lineOf says in a few words what an event means to somebody who watches the
// demo; "" for what only the journal needs.
func lineOf(e work.Event) string {
	switch e.Kind {
	case work.PhaseStarted:
		return "starts"
	case work.VerifyFinished:
		return said(e, func(d work.VerifyFinishedData) string {
			if d.OK && d.On == work.OnMerged {
				return "others were merged meanwhile: the merged tree is verified as well"
			}
			return ""
		})
	case work.GateDecided:
		return said(e, func(d work.GateDecidedData) string {
			if d.Gate == string(gates.PointStale) && d.Decision == "pivot" {
				return fmt.Sprintf("no progress since iteration %d: a pivot", max(e.Iteration-1, 1))
			}
			return ""
		})
	case work.SubPhaseSpawned:
		return said(e, func(d orchestrator.SubPhaseSpawnedData) string {
			return fmt.Sprintf("asks for a sub-phase %q: approved as %s", d.Request.Name, d.Number)
		})
	case work.PhaseMerged:
		return "verified and merged"
	case work.RunResumed:
		return "reads the journal, ends what the dead process left behind, and goes on"
	case work.DeliverFinished:
		return said(e, func(d orchestrator.DeliverFinishedData) string { return "the result is on " + d.Delivery.Branch })
	}
	return ""
}

func said[T any](e work.Event, say func(T) string) string {
	var d T
	if work.Decode(e, &d) != nil {
		return ""
	}
	return say(d)
}
