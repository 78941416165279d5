package cli

import (
	"cmp"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/doctor"
	"forge/internal/text"
)

func (a *App) agentsCommand() *cli.Command {
	return &cli.Command{
		Name: "agents", Usage: "list the agents, what is installed, and what they can do",
		Flags: []cli.Flag{outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			list, err := doctor.Agents(c.Context, a.env())
			if err != nil {
				return err
			}
			if out == "json" {
				return printJSON(a.Stdout, list)
			}
			var rows [][]string
			for _, g := range list {
				name := g.Name
				if g.Used {
					name += " *"
				}
				rows = append(rows, []string{name, g.Kind, found(g), g.Login, yesNo(g.Resume), yesNo(g.Cost), yesNo(g.Readonly), yesNo(g.TurnLimit), text.FirstLine(cmp.Or(g.Out(a.env().Now()), g.Why, g.Untried), 100)})
			}
			_, err = fmt.Fprint(a.Stdout, text.Table([]string{"AGENT", "KIND", "INSTALLED", "LOGIN", "RESUMES", "COST", "READONLY", "TURNS", "NOTE"}, rows), agentsLegend(list))
			return err
		},
	}
}

// agentsLegend says what the table does not explain by itself.
func agentsLegend(list []doctor.Agent) string {
	text := "\n* the agent of phases that name none\n"
	said := map[string]bool{}
	for _, g := range list {
		if g.TurnLimit && !said[g.Kind] {
			said[g.Kind] = true
			text += fmt.Sprintf("TURNS of an iteration are bounded for %s by %s\n", g.Kind, g.TurnLimitBy)
		}
	}
	return text
}

func found(g doctor.Agent) string {
	switch {
	case g.Found && g.Version != "":
		return g.Version
	case g.Found:
		return "yes"
	}
	return "no"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (a *App) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "find what is missing on this machine and in this project, and say how to get it",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "try", Usage: "also ask the agent one question (costs a little), and run a proof cold and warm"}},
		Action: func(c *cli.Context) error {
			d := &doctor.Doctor{Env: a.env(), Out: a.Stdout}
			d.Look(c.Context, c.Bool("try"))
			fmt.Fprintln(a.Stdout)
			if d.Bad > 0 {
				fmt.Fprintf(a.Stdout, "%s.\n", text.Number(d.Bad, "problem"))
				return codeError(exitUsage)
			}
			fmt.Fprintln(a.Stdout, "Everything that forge run needs is there.")
			return nil
		},
	}
}
