package orchestrator

import (
	"forge/gates"
	texts "forge/internal/text"
	"forge/internal/work"
)

// PointBaseline is the gate before any work where the project's own commands
// fail.
const PointBaseline = "baseline"

// ReasonRedBaseline is why a run was cancelled before its first iteration.
const ReasonRedBaseline = "red_baseline"

func baselineGate() gate {
	return gate{
		names: []string{PointBaseline}, ofRun: true, answered: (*decision).answeredBaseline, fold: foldBaseline,
		moves: map[string][]Stage{decideGo: {Stage(BaselinePassed)}},
	}
}

// baseline decides on a base whose own verify commands fail.
func (d *decision) baseline() {
	s := d.s
	switch {
	case s.settingsOf(s.Baseline.Repository).Verify.AllowRedBaseline:
		d.rule("", PointBaseline, decideGo, "verify.allow_red_baseline is set")
	case s.policyOf(nil).At(gates.PointPhaseStart) == gates.Human:
		d.open(nil, PointBaseline, nil, "The project's own setup or verify commands fail before any work. Go on all the same?", texts.ClipJSON(s.Baseline.Output, 4000))
	default:
		d.rule("", PointBaseline, decideStop, "the project's verify commands fail on the base")
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunCancelled, Reason: ReasonRedBaseline})
	}
}

// warmsUp says that what runs on the base are the commands of phases, which may be
// about what is not made yet.
func (s *State) warmsUp(repository string) bool {
	v := s.settingsOf(repository).Verify
	return len(v.Commands) == 0 && len(v.Warm) > 0
}

func (d *decision) answeredBaseline(_ *Phase, a answer) {
	if a.yes || a.comment != "" {
		d.sayRun(a, decideGo, a.Comment)
		return
	}
	d.sayRun(a, decideStop, a.Comment)
	d.run(work.RunStopping, RunStoppingData{Outcome: work.RunCancelled, Reason: ReasonRedBaseline})
}

func foldBaseline(s *State, _ *Phase, d folded) {
	if d.to != "" {
		if s.Baseline.Stage = BaselineStage(d.to); s.Baseline.Stage == BaselinePassed {
			s.nextBaseline()
		}
	}
}
