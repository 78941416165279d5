package api

import (
	"forge/factory/web"
	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// Status is where a run stands: the document of forge status --output json, with
// what the run's page shows beside it.
type Status struct {
	Run         string             `json:"run"`
	State       string             `json:"state" doc:"running, frozen, limit, interrupted or finished."`
	Outcome     work.RunOutcome    `json:"outcome,omitempty"`
	Policy      string             `json:"policy"`
	Branch      string             `json:"branch"`
	Base        string             `json:"base"`
	Phases      []PhaseStatus      `json:"phases"`
	Checkpoints []CheckpointStatus `json:"checkpoints"`
	Job         *JobStanding       `json:"job,omitempty"`
	Reason      string             `json:"reason,omitempty" doc:"Why it ended as it did, or does not go on."`
	Issue       int64              `json:"issue,omitempty" doc:"The issue that it is the run of."`
	Sandbox     string             `json:"sandbox,omitempty"`
	Spent       Spent              `json:"spent"`
	Delivery    *work.Delivery     `json:"delivery,omitempty" doc:"Where the result is, once there is one."`
}

// Spent is what agents and models used.
type Spent struct {
	CostUSD       *float64 `json:"cost_usd" doc:"null = unknown, or a part of it."`
	UnknownUSD    int      `json:"calls_of_unknown_cost"`
	Tokens        int64    `json:"tokens" doc:"Those that were told."`
	UnknownTokens int      `json:"calls_of_unknown_tokens"`
}

// PhaseStatus is where one phase stands.
type PhaseStatus struct {
	Number     string             `json:"number"`
	Name       string             `json:"name"`
	State      orchestrator.Stage `json:"state"`
	Outcome    work.PhaseOutcome  `json:"outcome,omitempty"`
	Reason     work.Reason        `json:"reason,omitempty"`
	Cause      string             `json:"cause,omitempty"`
	Iterations int                `json:"iterations"`
	Budget     int                `json:"budget"`
	Sensitive  bool               `json:"sensitive"`
	Proof      work.Proof         `json:"proof,omitempty"`
	CostUSD    *float64           `json:"cost_usd" doc:"null = unknown."`
	Spent      Spent              `json:"spent"`
	Detail     string             `json:"detail,omitempty" doc:"Of the reason, in words."`
	Agent      string             `json:"agent,omitempty"`
	Model      string             `json:"model,omitempty"`
	Files      int                `json:"files" doc:"That it changed."`
	Fixes      int                `json:"fixes" doc:"That the arbiter asked for."`
	Reviews    []web.Review       `json:"reviews"`
	Findings   []work.Finding     `json:"findings"`
}

func spent(l orchestrator.Ledger) Spent {
	return Spent{CostUSD: l.Cost(), UnknownUSD: l.UnknownUSD, Tokens: l.Tokens, UnknownTokens: l.UnknownTokens}
}

// CheckpointStatus is one question of the run.
type CheckpointStatus struct {
	ID       string                `json:"id"`
	Kind     string                `json:"kind"`
	Phase    string                `json:"phase"`
	Status   work.CheckpointStatus `json:"status"`
	Revision int                   `json:"revision"`
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

// status tells where a run stands from its events.
func status(c call, row web.Run) (Status, error) {
	s, err := c.project.Runs.State(c, row.ID)
	if err != nil {
		return Status{}, err
	}
	out := Status{
		Run: row.ID, State: row.State, Outcome: row.Outcome, Policy: s.Spec.Policy.Preset, Branch: s.Spec.Branch, Base: s.Spec.Base.Commit,
		Phases: []PhaseStatus{}, Checkpoints: []CheckpointStatus{}, Reason: s.Reason, Sandbox: s.Sandbox, Spent: spent(s.Ledger), Delivery: s.Delivery,
	}
	if s.Spec.Issue != nil {
		out.Issue = s.Spec.Issue.ID
	}
	if row.Outcome.Final() {
		out.State = "finished"
	}
	if s.Job != nil {
		j := s.Spec.Job
		out.Job = &JobStanding{Description: j.Description, Expert: j.Expert, Phases: s.Job.Phases, Rounds: s.Job.Rounds, Sources: append([]string{}, j.Sources...), Status: s.Job.Status}
	}
	for _, n := range s.Order {
		p := s.Phases[n]
		out.Phases = append(out.Phases, PhaseStatus{
			Number: n, Name: p.Plan.Name, State: p.Stage, Outcome: p.Outcome, Reason: p.Reason, Cause: p.Cause,
			Iterations: p.Iteration, Budget: p.Budget, Sensitive: p.Set.Sensitive != "", Proof: p.Proof, CostUSD: p.Usage.Cost(),
			Spent: spent(p.Usage), Detail: p.Detail, Agent: p.Set.Agent, Model: p.Set.Model, Files: p.Files, Fixes: p.Review.Attempts,
			Reviews: append([]web.Review{}, web.ReviewsOf(p)...), Findings: append([]work.Finding{}, web.FindingsOf(p)...),
		})
	}
	for after := ""; ; {
		const page = 500
		asked, err := c.project.Desk.Checkpoints(c, row.ID, "", page, after)
		if err != nil {
			return out, err
		}
		for _, cp := range asked {
			out.Checkpoints = append(out.Checkpoints, CheckpointStatus{ID: cp.ID, Kind: cp.Kind, Phase: cp.Phase, Status: cp.Status, Revision: cp.Revision})
		}
		if len(asked) < page {
			return out, nil
		}
		after = asked[len(asked)-1].ID
	}
}
