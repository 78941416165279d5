package backtest

import (
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// looked is what the looks of a level go by, as far as events tell it: all but how
// sure an agent says it is at the end of a job.
type looked struct {
	unseen  map[string]bool                // phases that went on since a person looked at one
	sure    map[string]map[string]*float64 // phase → reviewer → what it said last
	since   map[string]bool                // phase and reviewer: it looks at what changed alone
	arbiter map[string]*float64            // phase → what it said; absent where it was not asked
}

func newLooked() looked {
	return looked{unseen: map[string]bool{}, sure: map[string]map[string]*float64{}, since: map[string]bool{}, arbiter: map[string]*float64{}}
}

// tell folds an event.
func (l *looked) tell(e work.Event) error {
	switch e.Kind {
	case work.ReviewStarted:
		return as(e, func(d orchestrator.ReviewStartedData) {
			delete(l.arbiter, e.Phase)
			l.since[e.Phase+" "+d.Specialist] = d.Since != ""
		})
	case work.ReviewFinished:
		return as(e, func(d orchestrator.ReviewFinishedData) { l.reviewed(e.Phase, d) })
	case work.ArbiterFinished:
		return as(e, func(d orchestrator.ArbiterFinishedData) { l.arbiter[e.Phase] = d.Answer.Confidence })
	case work.GateDecided:
		return as(e, func(d struct{ Gate, Decision, By string }) {
			if d.Gate == string(gates.PointPhaseTransition) && d.Decision != "ask" {
				l.ended(e.Phase, d.By, d.Decision == "go")
			}
		})
	case work.JobDecided:
		return as(e, func(d orchestrator.JobDecidedData) {
			l.ended(e.Phase, d.By, d.Answer == work.CheckpointApproved)
		})
	case work.PhaseFinished:
		return as(e, func(d work.PhaseFinishedData) {
			if d.Outcome == work.PhaseFailed || d.Outcome == work.PhaseSkipped {
				delete(l.unseen, e.Phase)
			}
		})
	}
	return nil
}

func (l *looked) reviewed(phase string, d orchestrator.ReviewFinishedData) {
	of := l.sure[phase]
	if of == nil {
		of = map[string]*float64{}
		l.sure[phase] = of
	}
	sure, was := d.Confidence, of[d.Specialist]
	switch {
	case d.Verdict == work.VerdictUnknown:
		sure = nil
	case l.since[phase+" "+d.Specialist] && sure != nil && (was == nil || *was < *sure):
		sure = was
	}
	of[d.Specialist] = sure
}

func (l *looked) ended(phase, by string, goes bool) {
	switch {
	case strings.HasPrefix(by, "person:"):
		clear(l.unseen)
	case goes:
		l.unseen[phase] = true
	}
}

// at is what looks go by at the end of a phase.
func (l *looked) at(phase, name string) *gates.PhaseEnd {
	return &gates.PhaseEnd{Name: name, Unseen: others(l.unseen, phase), Confidence: l.confidence(phase)}
}

func others(unseen map[string]bool, phase string) int {
	n := len(unseen)
	if unseen[phase] {
		n--
	}
	return n
}

func (l *looked) confidence(phase string) *float64 {
	if len(l.sure[phase]) == 0 {
		return nil
	}
	arbiter, asked := l.arbiter[phase]
	if asked && arbiter == nil {
		return nil
	}
	least := arbiter
	for _, sure := range l.sure[phase] {
		if sure == nil {
			return nil
		}
		if least == nil || *sure < *least {
			least = sure
		}
	}
	return least
}

// endsPhase says that one of the points stands at the end of a phase, where looks are
// due.
func endsPhase(points []gates.Point) bool {
	return slices.ContainsFunc(points, func(pt gates.Point) bool {
		switch pt {
		case gates.PointPhaseTransition, gates.PointPlanInitial, gates.PointPlanLater, gates.PointTactical, gates.PointFinal:
			return true
		}
		return false
	})
}
