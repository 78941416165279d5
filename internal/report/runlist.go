package report

import (
	"fmt"
	"time"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// RunSummary is one run of forge status --all --output json.
type RunSummary struct {
	Run     string          `json:"run"`
	State   string          `json:"state"`
	Outcome work.RunOutcome `json:"outcome,omitempty"`
	Created time.Time       `json:"created"`
	Updated time.Time       `json:"updated"`
	Branch  string          `json:"branch,omitempty"` // of the result, once delivered
	CostUSD *float64        `json:"cost_usd"`         // null = unknown
	Stalled string          `json:"stalled,omitempty"`
}

// RunList are the runs of a project.
type RunList []RunSummary

// RunsOf lists runs.
func RunsOf(rows []journal.RunRow) RunList {
	list := RunList{}
	for _, r := range rows {
		list = append(list, RunSummary{Run: r.ID, State: project.RunState(r), Outcome: r.Outcome, Created: r.Created.UTC(), Updated: r.Updated.UTC(), Branch: r.Branch, CostUSD: r.CostUSD, Stalled: r.Stalled})
	}
	return list
}

// Text is the list for a person; ago says how long ago a time was.
func (list RunList) Text(ago func(time.Time) string) string {
	if len(list) == 0 {
		return "This project has no runs: forge run starts one.\n"
	}
	var rows [][]string
	for _, r := range list {
		state, cost := r.State, "unknown"
		if state == project.StateFinished {
			state = string(r.Outcome)
		}
		if r.CostUSD != nil {
			cost = fmt.Sprintf("%.4f", *r.CostUSD)
		}
		rows = append(rows, []string{r.Run, r.Created.Local().Format(time.DateTime), ago(r.Updated), state, cost, r.Branch})
	}
	said := text.Table([]string{"RUN", "BEGAN", "LAST EVENT", "STATE", "USD", "RESULT"}, rows)
	for _, r := range list {
		if r.Stalled != "" {
			said += "\nrun " + r.Run + " waits: " + r.Stalled + "\n"
		}
	}
	return text.Harmless(said)
}
