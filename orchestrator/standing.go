package orchestrator

import (
	"cmp"

	"forge/gates"
	"forge/internal/work"
)

// RunStanding is where a run stands, as forge status --output json and the API tell
// programs: docs/cli.md, and what each of them shows beside it.
type RunStanding struct {
	Run     string          `json:"run"`
	State   string          `json:"state" doc:"running, frozen, limit, interrupted or finished."`
	Outcome work.RunOutcome `json:"outcome,omitempty"`
	Policy  string          `json:"policy"`
	Branch  string          `json:"branch"`
	Base    string          `json:"base"`
	Stalled string          `json:"stalled,omitempty" doc:"Why nobody takes what it needs done, of a run that several machines drive; absent = somebody does."`
	Lessons []work.Lesson   `json:"lessons,omitempty" doc:"What its agents say that it taught; nobody is told before a person keeps it."`
}

// Standing is that of a run which is in a state and has an outcome, both of which
// its events alone do not say.
func (s *State) Standing(state string, outcome work.RunOutcome) RunStanding {
	return RunStanding{Run: s.Run, State: state, Outcome: outcome, Policy: s.Level(), Branch: s.Spec.Branch, Base: s.Spec.Base.Commit, Lessons: s.Proposed}
}

// PhaseStanding is where one phase stands.
type PhaseStanding struct {
	Number     string            `json:"number"`
	Name       string            `json:"name"`
	Repository string            `json:"repository,omitempty" doc:"That it works in; absent = the one of the plan."`
	State      Stage             `json:"state"`
	Outcome    work.PhaseOutcome `json:"outcome,omitempty"`
	Reason     work.Reason       `json:"reason,omitempty"`
	Cause      string            `json:"cause,omitempty"`
	Iterations int               `json:"iterations"`
	Budget     int               `json:"budget"`
	Sensitive  bool              `json:"sensitive"`
	Proof      work.Proof        `json:"proof,omitempty"`
	CostUSD    *float64          `json:"cost_usd" doc:"null = unknown."`
	// Record is nil before the first proof.
	Record *work.ProofRecord `json:"proof_record,omitempty" doc:"The last proof: what ran on what, what was put back, how strong it is; absent before there is one."`
}

// Standing is where the phase stands.
func (p *View) Standing() PhaseStanding {
	out := PhaseStanding{
		Number: p.Number, Name: p.Plan.Name, Repository: p.Plan.Repository, State: p.Stage, Outcome: p.Outcome, Reason: p.Reason, Cause: p.Cause,
		Iterations: p.Iteration, Budget: p.Budget, Sensitive: p.Set.Sensitive != "", Proof: p.Proof, CostUSD: p.Usage.Cost(),
	}
	if p.Record.Known() {
		record := p.Record
		out.Record = &record
	}
	return out
}

// CheckpointStanding is one question of a run.
type CheckpointStanding struct {
	ID       string                `json:"id"`
	Kind     string                `json:"kind"`
	Phase    string                `json:"phase"`
	Status   work.CheckpointStatus `json:"status"`
	Revision int                   `json:"revision"`
}

// StandingOf is where a checkpoint stands.
func StandingOf(cp work.Checkpoint) CheckpointStanding {
	return CheckpointStanding{ID: cp.ID, Kind: cp.Kind, Phase: cp.Phase, Status: cp.Status, Revision: cp.Revision}
}

// JobStanding is what is said of a job beside its run.
type JobStanding struct {
	Description string          `json:"description"`
	Expert      string          `json:"expert,omitempty"`
	Phases      int             `json:"phases" doc:"So far."`
	Rounds      int             `json:"rounds" doc:"Of feedback, in a row."`
	Sources     []string        `json:"data_sources"`
	Status      gates.JobStatus `json:"status,omitempty" doc:"Once it is over."`
}

// JobStanding is nil where the run is no job.
func (s *State) JobStanding() *JobStanding {
	if s.Job == nil {
		return nil
	}
	j := s.Spec.Job
	return &JobStanding{Description: j.Description, Expert: j.Expert, Phases: s.Job.Phases, Rounds: s.Job.Rounds, Sources: append([]string{}, j.Sources...), Status: s.Job.Status}
}

// Word is the phase's outcome, or in words where it stands. driven says that a
// process drives the run: without one, what was under way has stopped.
func (p *View) Word(driven bool) string {
	if p.Outcome != "" {
		return string(p.Outcome)
	}
	switch p.Stage {
	case StageWaiting, StageReady, StageFinished:
		return string(p.Stage)
	case StageAsked:
		return "waits for you"
	}
	if !driven {
		return "stopped"
	}
	switch p.Stage {
	case StageFolder, StageGate, StageIterate, StageJudge:
		return "at work"
	case StageOutage:
		return "provider is out"
	case StageSub:
		return "sub-phase at work"
	case StageTries:
		return "tries at work"
	case StageCouncil:
		return "tries judged"
	case StageEvidence, StageReverify, StageTrain:
		return "verify again"
	case StageControl:
		return "asking the tests"
	case StageReview, StageArbiter:
		return "review"
	case StageTurn, StageMerged, StageLand, StageLanded:
		return "merging"
	case StagePull:
		return "pull request"
	}
	return string(p.Stage) // verify, proven
}

// Kept says that there is work of the phase in Forge's repository: its last
// snapshot is not what it began with.
func (p *View) Kept() bool { return p.Last != "" && p.Last != p.Base }

// WhyNot is why a phase that ended is not done, in one line.
func (p *View) WhyNot() string {
	said := string(cmp.Or(p.Reason, work.Reason(p.Outcome)))
	if p.Cause != "" {
		said += " of " + p.Cause
	}
	if p.Detail != "" {
		said += ": " + p.Detail
	}
	return said
}

// NotRun says of a phase that its run takes as done without working on it what
// is known of it, "" for every other.
func (p *View) NotRun() string {
	switch {
	case p.Outcome != work.PhaseDone || p.Reason != work.ReasonUser:
		return ""
	case p.Proof == work.ProofWaived:
		return "left out of this run: taken as done, unproven"
	case p.Proof == work.ProofClaim:
		return "done before by its word alone, in the run that this one goes on from"
	}
	return "done before, in the run that this one goes on from"
}
