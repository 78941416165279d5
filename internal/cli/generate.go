package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/draft"
	"forge/internal/planner"
	"forge/internal/project"
	"forge/internal/refusal"
)

// generateOptions are the flags of generate.
type generateOptions struct {
	text            string // TEXT, FILE or "-"; "" = the spec file
	extend, replace bool
	yes             bool
	agent, model    string
	kept            string // command that has the draft again for --yes; "" = none has
}

func (a *App) generateCommand() *cli.Command {
	return &cli.Command{
		Name: "generate", Usage: "let the agent draft a plan from a spec", ArgsUsage: "[TEXT|FILE|-]",
		Description: "Without an argument the spec is .forge/spec.md. The draft is checked, repaired once\nwhere it has to be, shown with a forecast, and written when you say yes.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "extend", Usage: "add phases to the plan that is there"},
			&cli.BoolFlag{Name: "replace", Usage: "replace the plan that is there"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "write without asking"},
			&cli.StringFlag{Name: "agent", Usage: "the agent that drafts; default that of [agent] use"},
			&cli.StringFlag{Name: "model", Usage: "its model"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Len() > 1 {
				return refusal.New("put the text into quotes", "forge generate takes one text or file, got %d", c.Args().Len())
			}
			if c.Args().Len() == 1 && c.Args().First() == "" {
				return refusal.New("write down what has to be built", "the spec is empty")
			}
			return a.generate(c.Context, generateOptions{
				text: c.Args().First(), extend: c.Bool("extend"), replace: c.Bool("replace"), yes: c.Bool("yes"), agent: c.String("agent"), model: c.String("model"),
			})
		},
	}
}

// generate drafts a plan and writes it. Nothing of the project changes before
// the user has said yes.
func (a *App) generate(ctx context.Context, o generateOptions) error {
	if o.extend && o.replace {
		return refusal.New("give one of them", "--extend and --replace contradict each other")
	}
	var flags []config.Setting
	if o.agent != "" {
		flags = append(flags, config.Setting{Flag: "--agent", Key: "agent.use", Value: o.agent})
	}
	p, err := a.openProject(ctx, flags...)
	if err != nil {
		return err
	}
	defer p.Close()
	spec, fromFile, err := draft.SpecFrom(p.Checkout, o.text, a.Stdin)
	if err != nil {
		return err
	}
	if what, fix := planner.CheckSpec(spec); what != "" {
		return refusal.New(fix, "%s", what)
	}
	existing, err := draft.Existing(p.Checkout, o.extend, o.replace)
	if err != nil {
		return err
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	text, err := draft.Plan(ctx, p.Checkout, o.model, spec, existing)
	if err != nil {
		return err
	}
	plan, err := draft.Finish(p.Checkout, text, existing, spec)
	if err != nil {
		return err
	}
	if err := p.showPlan(ctx, plan); err != nil {
		return err
	}
	return p.writePlan(ctx, o, plan, spec, fromFile)
}

// showPlan shows the graph and the forecast.
func (p *checkout) showPlan(ctx context.Context, plan *config.Plan) error {
	spec, _, err := p.Resolve(plan, config.PolicyFlags{})
	if err != nil {
		return err
	}
	if err := p.list(spec, "text"); err != nil {
		return err
	}
	return p.sayForecast(ctx, spec)
}

// writePlan asks and writes.
func (p *checkout) writePlan(ctx context.Context, o generateOptions, plan *config.Plan, spec string, fromFile bool) error {
	text, err := json.MarshalIndent(plan.Plan, "", "  ")
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	text = append(text, '\n')
	if !o.yes {
		if !p.app.terminal() {
			return refusal.New(o.unasked(p, text), "nobody can be asked whether to write %s", project.PlanFile)
		}
		if ok, err := p.app.confirm(ctx, "Write "+project.PlanFile+"?", "", "yes, write it"); err != nil || !ok {
			if err == nil {
				err = refusal.New("the draft is in "+draft.KeepRefused(p.Checkout, text), "nothing was written")
			}
			return err
		}
	}
	if !fromFile {
		if err := draft.WriteSpec(p.Checkout, spec, o.extend, o.replace); err != nil {
			return err
		}
	}
	if err := draft.WritePlan(p.Checkout, text); err != nil {
		return err
	}
	draft.Settled(p.Checkout)
	fmt.Fprintf(p.app.Stdout, "\nWrote %s. Next: forge run\n", project.PlanFile)
	return nil
}

// unasked keeps a draft that nobody could be asked about, and is the way out.
func (o generateOptions) unasked(p *checkout, plan []byte) string {
	if o.kept != "" {
		return o.kept + " --yes writes it; nothing is asked again"
	}
	return "forge generate --yes drafts another and writes it; move " + draft.Keep(p.Checkout, plan) + " there to take this one"
}
