package report

import (
	"cmp"
	"fmt"
	"strings"

	"forge/dag"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Plan is a plan as it would run: forge list --output json.
type Plan struct {
	Policy     string         `json:"policy"`
	Phases     []PlannedPhase `json:"phases"`
	ReviewedBy string         `json:"reviewed_by"`
}

// PlannedPhase is one phase of a plan.
type PlannedPhase struct {
	Number     string            `json:"number"`
	Name       string            `json:"name"`
	Repository string            `json:"repository,omitempty"` // that it works in; none = the one of the plan
	Order      int               `json:"order"`                // its turn where one runs at a time, from 1
	DependsOn  []string          `json:"depends_on"`
	Budget     int               `json:"budget"`
	Permission string            `json:"permission_mode"`
	Agent      string            `json:"agent"`
	Model      string            `json:"model,omitempty"`
	Verify     []string          `json:"verify"`
	Tries      int               `json:"tries,omitempty"`       // side by side, of which one is taken; none = once
	TryAgents  []string          `json:"try_agents,omitempty"`  // who makes them, in their order
	TriesUntil string            `json:"tries_until,omitempty"` // best or first
	Levels     []string          `json:"levels,omitempty"`      // of its own; they bound the run's
	Reviews    bool              `json:"reviews"`
	Sensitive  bool              `json:"sensitive"`
	Why        string            `json:"sensitive_pattern,omitempty"`
	Reviewers  []PlannedReviewer `json:"reviewers,omitempty"`
	MaxFixes   int               `json:"max_fixes,omitempty"`
	// Criteria are what it is held against, each with what shows it.
	Criteria []work.Acceptance `json:"criteria,omitempty"`
}

// PlannedReviewer is one reviewer of a phase.
type PlannedReviewer struct {
	Name   string `json:"name"`
	Gating bool   `json:"gating"`
}

// reviewersOf are the reviewers of a phase.
func reviewersOf(set work.PhaseSettings) []PlannedReviewer {
	var out []PlannedReviewer
	for _, s := range set.Reviewers {
		out = append(out, PlannedReviewer{s.Name, s.Gating})
	}
	return out
}

// reviewText says who reviews which phases; nothing where none is reviewed. A
// star marks reviewers that gate.
func reviewText(phases []PlannedPhase, set work.ReviewSettings) string {
	numbers := map[string][]string{} // by the reviewers' names
	var order []string
	for _, ph := range phases {
		if !ph.Reviews {
			continue
		}
		var names []string
		for _, r := range ph.Reviewers {
			if r.Gating {
				r.Name += "*"
			}
			names = append(names, r.Name)
		}
		all := strings.Join(names, ", ")
		if numbers[all] == nil {
			order = append(order, all)
		}
		numbers[all] = append(numbers[all], ph.Number)
	}
	if len(order) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nReviewed by %s (* holds the phase):\n", runs.ReviewedBy(set))
	for _, all := range order {
		fmt.Fprintf(&b, "  %s: %s\n", strings.Join(numbers[all], ", "), all)
	}
	return b.String()
}

// PlanOf is the plan of spec, whose graph is g.
func PlanOf(spec orchestrator.Spec, g *dag.Graph[string]) Plan {
	turn := map[string]int{}
	for i, n := range g.Order() {
		turn[n] = i + 1
	}
	out := Plan{Policy: spec.Policy.Preset, ReviewedBy: spec.Settings.Reviews.By}
	for _, ph := range spec.Plan.Phases {
		n, set := ph.Number, spec.Settings.Phases[ph.Number]
		one := PlannedPhase{
			Number: n, Name: ph.Name, Repository: ph.Repository, Order: turn[n], DependsOn: append([]string{}, ph.DependsOn...), Budget: set.Budget,
			Permission: string(set.Permission), Agent: set.Agent, Model: set.Model, Verify: append([]string{}, set.Verify...), Levels: set.Levels,
			Reviews: set.Reviewed, Sensitive: set.Sensitive != "", Why: set.Sensitive,
			Reviewers: reviewersOf(set), MaxFixes: set.MaxFixes, Criteria: ph.Criteria,
		}
		one.tries(set)
		out.Phases = append(out.Phases, one)
	}
	return out
}

// tries are who tries a phase several times.
func (p *PlannedPhase) tries(set work.PhaseSettings) {
	if set.Tries < 2 {
		return
	}
	p.Tries, p.TriesUntil = set.Tries, cmp.Or(set.TriesUntil, work.TriesBest)
	for n := range set.Tries {
		agent, model := orchestrator.TryAgent(set, n)
		if model != "" {
			agent += ":" + model
		}
		p.TryAgents = append(p.TryAgents, agent)
	}
}

// Text is the plan for a person.
func (p Plan) Text(set work.Settings, g *dag.Graph[string]) string {
	var b strings.Builder
	var rows [][]string
	for _, ph := range p.Phases {
		note := ph.Permission
		if ph.Repository != "" {
			note += ", in " + ph.Repository
		}
		if ph.Sensitive {
			note += ", sensitive (" + ph.Why + ")"
		}
		if ph.Tries > 1 {
			note += fmt.Sprintf(", %d tries (%s) by %s", ph.Tries, ph.TriesUntil, strings.Join(ph.TryAgents, ", "))
		}
		if len(ph.Levels) > 0 {
			note += ", level " + strings.Join(ph.Levels, " and ")
		}
		rows = append(rows, []string{ph.Number, ph.Name, strings.Join(ph.DependsOn, ","), fmt.Sprint(ph.Budget), ph.Agent, note, strings.Join(ph.Verify, "; ")})
	}
	b.WriteString(text.Table([]string{"PHASE", "NAME", "AFTER", "BUDGET", "AGENT", "PERMISSION", "VERIFY"}, rows))
	for _, ph := range p.Phases {
		for i, c := range ph.Criteria {
			if i == 0 {
				fmt.Fprintf(&b, "\n%s is held against:\n", ph.Number)
			}
			b.WriteString("  " + text.Harmless(c.String()) + "\n")
		}
	}
	b.WriteString(reviewText(p.Phases, set.Reviews))
	levels := g.Levels()
	wide := 0
	for _, l := range levels {
		wide = max(wide, len(l))
	}
	fmt.Fprintf(&b, "\n%s, longest chain %d, up to %d at once (max_parallel %d)\n", text.Number(len(p.Phases), "phase"), len(levels), wide, set.MaxParallel)
	return b.String()
}
