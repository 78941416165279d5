package config

import (
	"fmt"

	"forge/internal/work"
)

// Decomposition is [decomposition], in the words of the Rust Forge.
type Decomposition struct {
	Enabled                 *bool    `toml:"enabled" default:"true" doc:"Split phases at all."`
	AllowExplicitRequest    *bool    `toml:"allow_explicit_request" default:"true" doc:"Split a phase whose agent asks for it."`
	DetectComplexitySignals *bool    `toml:"detect_complexity_signals" default:"true" doc:"Split a phase whose agent names three things that stop it, or uses one of complexity_keywords there."`
	ComplexityKeywords      []string `toml:"complexity_keywords" default:"[\"complex\", \"multiple\", \"several\", \"needs decomposition\", \"too large\", \"split\", \"parallel\"]" doc:"Words in what stops an agent that show that its phase is too much for one; case does not count." rule:"filled"`
	BudgetThreshold         *int     `toml:"budget_threshold" default:"50" doc:"Split a phase that used up this share of its iterations, in percent, and reports less than progress_threshold. An agent that reports no percentage is not judged by it." rule:"min=0 max=100"`
	ProgressThreshold       *int     `toml:"progress_threshold" default:"30" doc:"In percent; see budget_threshold." rule:"min=0 max=100"`
	SizeThreshold           *int     `toml:"size_threshold" default:"0" doc:"Split a phase with more iterations than this before its first one; 0 = none." rule:"min=0 max=100000"`
	MinTasks                *int     `toml:"min_tasks" default:"2" doc:"The fewest parts." rule:"min=2 max=10"`
	MaxTasks                *int     `toml:"max_tasks" default:"10" doc:"The most parts." rule:"min=2 max=10"`
	RequireIntegrationTask  *bool    `toml:"require_integration_task" default:"false" doc:"One part has to come after all others and put them together."`
	BudgetBuffer            *int     `toml:"budget_buffer" default:"10" doc:"Share, in percent, of the iterations that are left which the parts do not get, rounded up: the phase as a whole is finished and proven with them." rule:"min=0 max=90"`
}

func (d Decomposition) settings() work.DecompositionSettings {
	return work.DecompositionSettings{
		Enabled: said(d.Enabled), Requests: said(d.AllowExplicitRequest), Blockers: said(d.DetectComplexitySignals), Keywords: d.ComplexityKeywords,
		BudgetPercent: said(d.BudgetThreshold), ProgressPercent: said(d.ProgressThreshold), Size: said(d.SizeThreshold),
		MinTasks: said(d.MinTasks), MaxTasks: said(d.MaxTasks), Integration: said(d.RequireIntegrationTask), KeptPercent: said(d.BudgetBuffer),
	}
}

// checkDecomposition holds the bounds of one file against each other.
func (c *Config) checkDecomposition(col *collector) {
	d := c.File.Decomposition
	if fewest, most := said(d.MinTasks), said(d.MaxTasks); fewest > most {
		file, at := c.where("decomposition", "min_tasks")
		col.add(file, at, fmt.Sprintf("decomposition.min_tasks is %d, and max_tasks is %d", fewest, most), "let min_tasks be the smaller one")
	}
}
