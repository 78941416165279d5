package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/planrun"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/text"
)

func (a *App) configCommand() *cli.Command {
	return &cli.Command{
		Name: "config", Usage: "show or check the configuration",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "show every value with where it comes from",
				Flags:  []cli.Flag{outputFlag("text", "json")},
				Action: a.withoutArgs(a.configShow),
			},
			{
				Name: "validate", Aliases: []string{"check"}, Usage: "find everything that is wrong with the files; what this machine lacks is a warning",
				Flags:  append(policyFlags(), outputFlag("text", "json")),
				Action: a.withoutArgs(a.configValidate),
			},
			{
				Name: "schema", Usage: "print the JSON schema of forge.toml, for editors",
				Action: func(*cli.Context) error {
					text, err := config.JSONSchema()
					if err == nil {
						_, err = fmt.Fprintf(a.Stdout, "%s\n", text)
					}
					return err
				},
			},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(c, "config")
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

func policyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "autonomous", Usage: "as for run"},
		presetFlag("as for run"),
	}
}

func (a *App) withoutArgs(do func(c *cli.Context, output string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		out, err := outputOf(c, "text", "json")
		if err != nil {
			return err
		}
		if c.Args().Present() {
			return refusal.New("", "forge config %s takes no arguments, got %q", c.Command.Name, c.Args().First())
		}
		return do(c, out)
	}
}

// shownValue is one value of forge config show --output json.
type shownValue struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // as TOML
	Origin string `json:"origin"`
}

func (a *App) configShow(c *cli.Context, output string) error {
	p, err := a.openProject(c.Context)
	if err != nil {
		return err
	}
	defer p.Close()
	hide := redact.New(p.Config.Secrets())
	if output == "text" {
		_, err := fmt.Fprint(a.Stdout, text.Harmless(hide.String(p.Config.Render())))
		return err
	}
	values := []shownValue{}
	for _, l := range p.Config.Show() {
		values = append(values, shownValue{Key: l.Key, Value: hide.String(l.Value), Origin: l.Origin})
	}
	return printJSON(a.Stdout, map[string]any{"state": p.State, "values": values})
}

func (a *App) configValidate(c *cli.Context, output string) error {
	v := planrun.Validate(c.Context, a.env(), config.PolicyFlags{Autonomous: c.Bool("autonomous"), Level: c.String("level")})
	if output == "json" {
		if err := printJSON(a.Stdout, v); err != nil {
			return err
		}
	} else {
		for _, w := range v.Warnings {
			a.log.Warn(config.Problem(w).String())
		}
		for _, p := range v.Problems {
			fmt.Fprintln(a.Stderr, "forge: "+text.Harmless(config.Problem(p).String()))
		}
	}
	if !v.OK {
		return codeError(exitUsage)
	}
	if output == "json" {
		return nil
	}
	_, err := fmt.Fprintln(a.Stdout, "ok")
	return err
}
