package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/dag"
	"forge/internal/config"
	"forge/internal/draft"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/text"
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
			flags := config.PolicyFlags{Autonomous: c.Bool("autonomous"), Level: c.String("level")}
			spec, _, err := p.Resolve(plan, flags)
			if err == nil {
				err = p.In(c.Context, &spec, flags)
			}
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

func (p *checkout) list(spec orchestrator.Spec, output string) error {
	g, err := dag.New(orchestrator.Nodes(spec.Plan, spec.Settings))
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, ph := range spec.Plan.Phases {
		names[ph.Number] = ph.Name
	}
	if output == "dot" {
		_, err := fmt.Fprint(p.app.Stdout, g.Dot(func(n string) (string, string) { return n + " " + names[n], "" }))
		return err
	}
	plan := report.PlanOf(spec, g)
	if output == "json" {
		return printJSON(p.app.Stdout, plan)
	}
	_, err = fmt.Fprint(p.app.Stdout, plan.Text(spec.Settings, g))
	return err
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
