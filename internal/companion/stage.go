package companion

import (
	"slices"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// Stage is how far a piece of work is.
type Stage string

// The stages of a piece of work.
const (
	Planning    Stage = "planning"
	PlanWaits   Stage = "plan waits"
	Working     Stage = "working"
	ResultWaits Stage = "result waits"
	Over        Stage = "over"
)

// StageRow is what a stage means for the companion.
type StageRow struct {
	Stage Stage
	When  string              // in words
	Told  string              // what the model is told of it
	May   []work.ProposalKind // what it may propose
}

// Stages are all stages, in the order of a piece of work. docs/companion.md holds
// the same table.
func Stages() []StageRow {
	return []StageRow{
		{Planning, "no run yet, none of its phases has begun, or a job plans",
			"What is to be done is still being made out. Help to say what is wanted, what is missing and what could go wrong.",
			[]work.ProposalKind{work.ProposeTell, work.ProposeIssue, work.ProposeLevel, work.ProposeSettings}},
		{PlanWaits, "a plan, or the beginning of work, waits for a person",
			"A plan waits for a person, who alone answers. Help to judge it: what it leaves out, what it rests on, which phases are risky.",
			[]work.ProposalKind{work.ProposeTell, work.ProposeComment, work.ProposeEdit, work.ProposeTodos, work.ProposeIssue, work.ProposeLevel, work.ProposeSettings}},
		{Working, "agents work, or one asks something, or the run rests",
			"Work is under way. Say what happens now and why, and where it is stuck. A word to the agent is how people steer it.",
			[]work.ProposalKind{work.ProposeTell, work.ProposeIssue, work.ProposeLevel, work.ProposeSettings}},
		{ResultWaits, "a result waits for a person",
			"A result waits for a person, who alone answers. Help to judge it: what changed, what proves it, what is in doubt.",
			[]work.ProposalKind{work.ProposeTell, work.ProposeComment, work.ProposeEdit, work.ProposeTodos, work.ProposeIssue, work.ProposeLevel, work.ProposeSettings}},
		{Over, "the run is over",
			"The work is over. Explain what came of it, and what is left for later.",
			[]work.ProposalKind{work.ProposeIssue, work.ProposeSettings}},
	}
}

func (s Stage) row() StageRow {
	all := Stages()
	if n := slices.IndexFunc(all, func(r StageRow) bool { return r.Stage == s }); n >= 0 {
		return all[n]
	}
	return all[len(all)-1] // what nobody knows may propose the least
}

// asksBefore are the points at which a person is asked before work is done.
func asksBefore() []gates.Point {
	return []gates.Point{
		gates.PointPlanInitial, gates.PointPlanLater, gates.PointTactical, gates.PointPhaseStart, gates.PointSubPhase, gates.PointDecompose,
		gates.PointIntent, gates.PointContext, gates.PointAction,
	}
}

// stageOf is how far a run is, with what waits in it; nil = there is none yet.
func stageOf(st *orchestrator.State, waits []work.Checkpoint) Stage {
	switch {
	case st == nil:
		return Planning
	case st.Outcome.Final() && !st.Live:
		return Over
	}
	plan, result := false, false
	for _, cp := range waits {
		switch kind := gates.Point(cp.Kind); {
		case slices.Contains(asksBefore(), kind):
			plan = true
		case kind == gates.PointQuestion || kind == gates.PointBlocker:
			// An agent asks in the middle of its work.
		default:
			result = true
		}
	}
	switch {
	case result:
		return ResultWaits
	case plan:
		return PlanWaits
	}
	stage := Planning
	for _, n := range st.Order {
		if p := st.View(n); p.Iteration > 0 {
			stage = Working
			if st.Job != nil && p.Plan.Kind == work.KindStrategic {
				stage = Planning
			}
		}
	}
	return stage
}
