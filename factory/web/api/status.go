package api

import (
	"context"

	"forge/factory/web"
	"forge/internal/work"
	"forge/orchestrator"
)

// Status is where a run stands: the document of forge status --output json, with
// what the run's page shows beside it.
type Status struct {
	orchestrator.RunStanding
	Phases      []PhaseStatus                     `json:"phases"`
	Checkpoints []orchestrator.CheckpointStanding `json:"checkpoints"`
	Job         *orchestrator.JobStanding         `json:"job,omitempty"`
	Reason      string                            `json:"reason,omitempty" doc:"Why it ended as it did, or does not go on."`
	Issue       int64                             `json:"issue,omitempty" doc:"The issue that it is the run of."`
	Sandbox     string                            `json:"sandbox,omitempty"`
	Spent       Spent                             `json:"spent"`
	Delivery    *work.Delivery                    `json:"delivery,omitempty" doc:"Where the result is, once there is one."`
	Landing     []work.PageShown                  `json:"landing_pages,omitempty" doc:"The project's pages as the result showed them when it was last proven on its target."`
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
	orchestrator.PhaseStanding
	Spent    Spent          `json:"spent"`
	Detail   string         `json:"detail,omitempty" doc:"Of the reason, in words."`
	Agent    string         `json:"agent,omitempty"`
	Model    string         `json:"model,omitempty"`
	Files    int            `json:"files" doc:"That it changed."`
	Fixes    int            `json:"fixes" doc:"That the arbiter asked for."`
	Reviews  []web.Review   `json:"reviews"`
	Findings []work.Finding `json:"findings"`
}

func spent(l orchestrator.Ledger) Spent {
	return Spent{CostUSD: l.Cost(), UnknownUSD: l.UnknownUSD, Tokens: l.Tokens, UnknownTokens: l.UnknownTokens}
}

func status(c call, row web.Run) (Status, error) { return StatusOf(c, c.project, row) }

// StatusOf tells where a run of a project stands from its events.
func StatusOf(ctx context.Context, project web.Project, row web.Run) (Status, error) {
	s, err := project.Runs.State(ctx, row.ID)
	if err != nil {
		return Status{}, err
	}
	out := Status{
		RunStanding: s.Standing(row.State, row.Outcome), Phases: []PhaseStatus{}, Checkpoints: []orchestrator.CheckpointStanding{}, Job: s.JobStanding(),
		Reason: s.Reason, Sandbox: s.Sandbox, Spent: spent(s.Ledger), Delivery: s.Delivery,
	}
	out.RunStanding.Stalled = row.Stalled
	if out.Landing, err = project.PagesOfLanding(ctx, row.ID); err != nil {
		return out, err
	}
	if s.Spec.Issue != nil {
		out.Issue = s.Spec.Issue.ID
	}
	if row.Outcome.Final() {
		out.State = "finished"
	}
	for _, n := range s.Order {
		p := s.View(n)
		out.Phases = append(out.Phases, PhaseStatus{
			PhaseStanding: p.Standing(), Spent: spent(p.Usage), Detail: p.Detail, Agent: p.Set.Agent, Model: p.Model(), Files: p.Files, Fixes: p.Review.Attempts,
			Reviews: append([]web.Review{}, web.ReviewsOf(p)...), Findings: append([]work.Finding{}, web.FindingsOf(p)...),
		})
	}
	for after := ""; ; {
		const page = 500
		asked, err := project.Questions.Checkpoints(ctx, row.ID, "", page, after)
		if err != nil {
			return out, err
		}
		for _, cp := range asked {
			out.Checkpoints = append(out.Checkpoints, orchestrator.StandingOf(cp))
		}
		if len(asked) < page {
			return out, nil
		}
		after = asked[len(asked)-1].ID
	}
}
