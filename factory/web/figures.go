package web

import (
	"context"
	"time"
)

// Figures are what the metrics page of a project shows, for programs. What
// nobody knows is null.
type Figures struct {
	Weeks        []WeekFigures `json:"weeks"` // the oldest first, in UTC
	IssuesDone   int           `json:"issues_done"`
	LeadMedian   *float64      `json:"lead_median_secs" doc:"From added to done; null = nothing is done."`
	LeadLongest  *float64      `json:"lead_longest_secs"`
	RunsCounted  int           `json:"runs_counted" doc:"The newest ones, 500 at most."`
	Runs         Rate          `json:"runs" doc:"Of those that are over."`
	PhaseTypes   []Rate        `json:"phase_types"`
	Agents       []Rate        `json:"agents"`
	Models       []Rate        `json:"models"`
	Findings     Rate          `json:"findings" doc:"Acted on, of all that were judged."`
	Accepted     int           `json:"accepted_changes"`
	SpentUSD     float64       `json:"spent_usd" doc:"As far as it is known."`
	UnknownCost  int           `json:"runs_cost_unknown"`
	PerChangeUSD *float64      `json:"usd_per_accepted_change" doc:"null = nothing was accepted, or the cost of a run is unknown."`
}

// WeekFigures are what was finished in the week from Begin.
type WeekFigures struct {
	Begin  time.Time `json:"begin"`
	Issues int       `json:"issues_done"`
	Runs   int       `json:"runs_completed"`
}

// Rate is how many of all succeeded.
type Rate struct {
	Name string `json:"name,omitempty"`
	Good int    `json:"good"`
	All  int    `json:"all"`
}

// Figures counts a project as its metrics page does.
func (s *Server) Figures(ctx context.Context, p Project) (Figures, error) {
	m, err := s.counted.of(p.ID).count(ctx, p, s.Now())
	if err != nil {
		return Figures{}, err
	}
	out := Figures{
		Weeks: []WeekFigures{}, IssuesDone: m.Issues, LeadMedian: seconds(m.LeadMedian), LeadLongest: seconds(m.LeadLongest), RunsCounted: m.Counted,
		PhaseTypes: toldRates(m.Types), Agents: toldRates(m.Agents), Models: toldRates(m.Models), Findings: Rate{Good: m.Findings.Good, All: m.Findings.All},
		Accepted: m.Accepted, SpentUSD: m.Spent, UnknownCost: m.UnknownCost, PerChangeUSD: m.PerChange,
	}
	for _, w := range m.Weeks {
		out.Weeks = append(out.Weeks, WeekFigures(w))
	}
	for _, r := range m.Runs {
		out.Runs.Good, out.Runs.All = out.Runs.Good+r.Good, out.Runs.All+r.All
	}
	return out, nil
}

func toldRates(in []rate) []Rate {
	out := []Rate{}
	for _, r := range in {
		out = append(out, Rate(r))
	}
	return out
}

func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	s := d.Seconds()
	return &s
}
