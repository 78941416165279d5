package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/dag"
	"forge/internal/config"
	"forge/internal/draft"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "show the plan: order, dependencies, agents, verify commands",
		Flags: []cli.Flag{
			outputFlag("text", "dot", "json"),
			&cli.BoolFlag{Name: "forecast", Usage: "say what it will take, as far as earlier runs tell"},
			&cli.BoolFlag{Name: "autonomous", Usage: "as for run"},
			presetFlag("as for run"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "dot", "json")
			if err != nil {
				return err
			}
			if c.Bool("forecast") && out != "text" {
				return refusal.New("leave one of them out", "--forecast is for people, --output %s for programs", out)
			}
			p, err := a.openProject(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			plan, err := p.Plan()
			if err != nil {
				return err
			}
			spec, _, err := p.Resolve(plan, config.PolicyFlags{Autonomous: c.Bool("autonomous"), Level: c.String("level")})
			if err != nil {
				return err
			}
			for _, why := range project.Unreviewed(spec) {
				a.log.Warn("forge run will refuse: no reviewer can be asked", "why", why)
			}
			if err := p.list(spec, out); err != nil || !c.Bool("forecast") {
				return err
			}
			return p.sayForecast(c.Context, spec)
		},
	}
}

// listedPhase is one phase of forge list --output json.
type listedPhase struct {
	Number     string           `json:"number"`
	Name       string           `json:"name"`
	Order      int              `json:"order"` // its turn where one runs at a time, from 1
	DependsOn  []string         `json:"depends_on"`
	Budget     int              `json:"budget"`
	Permission string           `json:"permission_mode"`
	Agent      string           `json:"agent"`
	Model      string           `json:"model,omitempty"`
	Verify     []string         `json:"verify"`
	Levels     []string         `json:"levels,omitempty"` // of its own; they bound the run's
	Reviews    bool             `json:"reviews"`
	Sensitive  bool             `json:"sensitive"`
	Why        string           `json:"sensitive_pattern,omitempty"`
	Reviewers  []listedReviewer `json:"reviewers,omitempty"`
	MaxFixes   int              `json:"max_fixes,omitempty"`
	// Criteria are what it is held against, each with what shows it.
	Criteria []work.Acceptance `json:"criteria,omitempty"`
}

func (p *checkout) list(spec orchestrator.Spec, output string) error {
	g, err := dag.New(orchestrator.Nodes(spec.Plan, spec.Settings))
	if err != nil {
		return err
	}
	at := map[string]int{}
	for i, ph := range spec.Plan.Phases {
		at[ph.Number] = i
	}
	if output == "dot" {
		_, err := fmt.Fprint(p.app.Stdout, g.Dot(func(n string) (string, string) {
			return n + " " + spec.Plan.Phases[at[n]].Name, ""
		}))
		return err
	}
	turn := map[string]int{}
	for i, n := range g.Order() {
		turn[n] = i + 1
	}
	var phases []listedPhase
	for _, ph := range spec.Plan.Phases {
		n, set := ph.Number, spec.Settings.Phases[ph.Number]
		phases = append(phases, listedPhase{
			Number: n, Name: ph.Name, Order: turn[n], DependsOn: append([]string{}, ph.DependsOn...), Budget: set.Budget,
			Permission: string(set.Permission), Agent: set.Agent, Model: set.Model, Verify: append([]string{}, set.Verify...), Levels: set.Levels,
			Reviews: set.Reviewed, Sensitive: set.Sensitive != "", Why: set.Sensitive,
			Reviewers: listedReviewers(set), MaxFixes: set.MaxFixes, Criteria: ph.Criteria,
		})
	}
	if output == "json" {
		return printJSON(p.app.Stdout, map[string]any{"policy": spec.Policy.Preset, "phases": phases, "reviewed_by": spec.Settings.Reviews.By})
	}
	var rows [][]string
	for _, ph := range phases {
		note := ph.Permission
		if ph.Sensitive {
			note += ", sensitive (" + ph.Why + ")"
		}
		if len(ph.Levels) > 0 {
			note += ", level " + strings.Join(ph.Levels, " and ")
		}
		rows = append(rows, []string{ph.Number, ph.Name, strings.Join(ph.DependsOn, ","), fmt.Sprint(ph.Budget), ph.Agent, note, strings.Join(ph.Verify, "; ")})
	}
	fmt.Fprint(p.app.Stdout, text.Table([]string{"PHASE", "NAME", "AFTER", "BUDGET", "AGENT", "PERMISSION", "VERIFY"}, rows))
	for _, ph := range phases {
		for i, c := range ph.Criteria {
			if i == 0 {
				fmt.Fprintf(p.app.Stdout, "\n%s is held against:\n", ph.Number)
			}
			fmt.Fprintln(p.app.Stdout, "  "+text.Harmless(c.String()))
		}
	}
	fmt.Fprint(p.app.Stdout, reviewText(phases, spec.Settings.Reviews))
	levels := g.Levels()
	wide := 0
	for _, l := range levels {
		wide = max(wide, len(l))
	}
	fmt.Fprintf(p.app.Stdout, "\n%s, longest chain %d, up to %d at once (max_parallel %d)\n", text.Number(len(phases), "phase"), len(levels), wide, spec.Settings.MaxParallel)
	return nil
}

func (p *checkout) sayForecast(ctx context.Context, spec orchestrator.Spec) error {
	some, err := p.OpenStore(ctx, false)
	if err != nil {
		return err
	}
	if !some {
		_, err := fmt.Fprintln(p.app.Stdout, "Forecast: none; this project has no runs yet.")
		return err
	}
	f, err := draft.Forecast(ctx, p.Checkout, spec)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.app.Stdout, text.Harmless(f.String()))
	return err
}

func printJSON(w interface{ Write([]byte) (int, error) }, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}
