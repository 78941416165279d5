package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/report"
)

func (a *App) policyCommand() *cli.Command {
	return &cli.Command{
		Name: "policy", Usage: "show, explain and compare autonomy policies",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the presets with when to use which",
				Flags:  []cli.Flag{outputFlag("text", "json")},
				Action: a.onPolicies(0, 0, "", a.policyList),
			},
			{
				Name: "show", Usage: "show every axis of the policy that holds here, or of a preset, with where it comes from", ArgsUsage: "[NAME]",
				Flags:  append(policyFlags(), outputFlag("text", "json")),
				Action: a.onPolicies(0, 1, "forge policy show [NAME]", a.policyShow),
			},
			{
				Name: "explain", Usage: "say what will stop you under each preset", ArgsUsage: "[NAME…]",
				Flags:  []cli.Flag{outputFlag("text", "json")},
				Action: a.onPolicies(0, -1, "", a.policyExplain),
			},
			{
				Name: "check", Usage: "say whether work under CHILD may be spawned below its parents (default: the policy that holds here)", ArgsUsage: "CHILD [PARENT…]",
				Flags:  append(policyFlags(), outputFlag("text", "json")),
				Action: a.onPolicies(1, -1, "forge policy check CHILD [PARENT…], the outermost parent first", a.policyCheck),
			},
			{
				Name: "diff", Aliases: []string{"compare"}, Usage: "show on which axes two presets differ", ArgsUsage: "A B",
				Flags:  []cli.Flag{outputFlag("text", "json")},
				Action: a.onPolicies(2, 2, "forge policy diff A B", a.policyDiff),
			},
			a.policyBacktestCommand(),
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(c, "policy")
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

// policies is what a command of forge policy works on.
type policies struct {
	cfg   *config.Config // without a checkout: nothing but the built-in presets
	at    string         // the checkout; "" = none
	flags config.PolicyFlags
	args  []string
	json  bool
}

// onPolicies reads arguments (at least and at most so many, -1 = any number)
// and the configuration.
func (a *App) onPolicies(least, most int, usage string, do func(p policies) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		out, err := outputOf(c, "text", "json")
		if err != nil {
			return err
		}
		n := c.Args().Len()
		if n < least || most >= 0 && n > most {
			return refusal.New(usage, "forge policy %s takes another number of arguments than %d", c.Command.Name, n)
		}
		p := policies{
			cfg: &config.Config{}, args: c.Args().Slice(), json: out == "json",
			flags: config.PolicyFlags{Autonomous: c.Bool("autonomous"), Level: c.String("level")},
		}
		if p.at = project.CheckoutAround(a.Dir); p.at != "" {
			if p.cfg, err = a.loadConfig(c.Context); err != nil {
				return err
			}
		}
		return do(p)
	}
}

// loadConfig reads the configuration of the checkout around the working
// directory, whatever state its repository is in.
func (a *App) loadConfig(ctx context.Context) (*config.Config, error) {
	p, err := a.findProject(ctx)
	if err != nil {
		return nil, err
	}
	cfg, warnings, err := config.Load(config.Sources{ProjectDir: p.Base.RepoRoot, UserFile: config.UserFile(a.Environ), Environ: a.Environ})
	for _, w := range warnings {
		a.log.Warn(w.String())
	}
	return cfg, err
}

func (a *App) policyList(p policies) error {
	list := report.PresetsOf(p.cfg.Presets())
	if p.json {
		return printJSON(a.Stdout, map[string]any{"presets": list})
	}
	_, err := fmt.Fprint(a.Stdout, list.Text())
	return err
}

func (a *App) policyExplain(p policies) error {
	list, err := report.ExplanationsOf(p.cfg.Presets(), p.args, func(name string) (gates.Policy, error) { return project.Preset(p.cfg, name) })
	if err != nil {
		return err
	}
	if p.json {
		return printJSON(a.Stdout, map[string]any{"presets": list})
	}
	_, err = fmt.Fprint(a.Stdout, list.Text())
	return err
}
