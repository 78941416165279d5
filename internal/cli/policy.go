package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
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

// listedPreset is one preset of forge policy list --output json.
type listedPreset struct {
	Name    string   `json:"name"`
	Use     string   `json:"use"`
	Level   bool     `json:"level"` // one of the five
	Own     bool     `json:"own"`   // from .forge/policies
	SameAs  []string `json:"same_as"`
	Version string   `json:"version"`
}

func (a *App) policyList(p policies) error {
	list := []listedPreset{}
	for _, info := range p.cfg.Presets().List() {
		policy, _ := p.cfg.Presets().Preset(info.Name)
		list = append(list, listedPreset{
			Name: info.Name, Use: info.Use, Level: slices.Contains(gates.Levels(), info.Name), Own: info.Own,
			SameAs: append([]string{}, p.cfg.Presets().Identical(info.Name)...), Version: policy.Version(),
		})
	}
	if p.json {
		return printJSON(a.Stdout, map[string]any{"presets": list})
	}
	var body strings.Builder
	for _, group := range []struct {
		head string
		in   func(listedPreset) bool
	}{
		{"LEVEL", func(l listedPreset) bool { return l.Level }},
		{"PRESET", func(l listedPreset) bool { return !l.Level && !l.Own }},
		{"OF THIS PROJECT", func(l listedPreset) bool { return l.Own }},
	} {
		var rows [][]string
		for _, l := range list {
			if group.in(l) {
				use := text.FirstLine(l.Use, 200)
				if len(l.SameAs) > 0 {
					use = strings.TrimSpace(use + " Same as " + strings.Join(l.SameAs, ", ") + ".")
				}
				rows = append(rows, []string{l.Name, use})
			}
		}
		if len(rows) == 0 {
			continue
		}
		if body.Len() > 0 {
			body.WriteString("\n")
		}
		body.WriteString(text.Table([]string{group.head, "WHEN TO USE IT"}, rows))
	}
	_, err := fmt.Fprint(a.Stdout, text.Harmless(body.String()))
	return err
}

// explainedPreset is one preset of forge policy explain --output json.
type explainedPreset struct {
	Name   string   `json:"name"`
	Use    string   `json:"use"`
	SameAs []string `json:"same_as"`
	gates.Explanation
}

func (a *App) policyExplain(p policies) error {
	names := p.args
	if len(names) == 0 {
		names = p.cfg.Presets().Names()
	}
	use := map[string]string{}
	for _, info := range p.cfg.Presets().List() {
		use[info.Name] = info.Use
	}
	list := []explainedPreset{}
	for _, name := range names {
		policy, err := project.Preset(p.cfg, name)
		if err != nil {
			return err
		}
		list = append(list, explainedPreset{
			Name: name, Use: cmp.Or(use[name], gates.OldNameHint(name)), SameAs: append([]string{}, p.cfg.Presets().Identical(name)...), Explanation: gates.Explain(policy),
		})
	}
	if p.json {
		return printJSON(a.Stdout, map[string]any{"presets": list})
	}
	var body strings.Builder
	said := map[string]bool{}
	for i, e := range list {
		if i > 0 {
			body.WriteString("\n")
		}
		body.WriteString(strings.TrimSuffix(e.Name+": "+text.FirstLine(e.Use, 200), ": ") + "\n")
		said[e.Name] = true
		if at := slices.IndexFunc(e.SameAs, func(name string) bool { return said[name] }); at >= 0 {
			fmt.Fprintf(&body, "  As %s.\n", e.SameAs[at])
			continue
		}
		body.WriteString(explanationText(e.Explanation))
	}
	_, err := fmt.Fprint(a.Stdout, text.Harmless(body.String()))
	return err
}

func explanationText(e gates.Explanation) string {
	var b strings.Builder
	b.WriteString("  What will stop you:\n")
	if len(e.Stops) == 0 {
		b.WriteString("    nothing\n")
	}
	for _, s := range e.Stops {
		fmt.Fprintf(&b, "    %s (%s)\n", s.When, s.Point)
	}
	for _, sentence := range e.Alone {
		fmt.Fprintf(&b, "  %s\n", sentence)
	}
	return b.String()
}
