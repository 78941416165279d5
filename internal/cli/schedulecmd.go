package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/schedules"
	"forge/internal/text"
)

func (a *App) scheduleCommand() *cli.Command {
	names := []string{"list", "run", "pause", "resume"}
	return &cli.Command{
		Name: "schedule", Usage: "issues that are put on the board at times of their own",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "say when each is due and what was decided last", Flags: []cli.Flag{outputFlag("text", "json")}, Action: a.scheduleList},
			{Name: "run", Usage: "put its issue on the board now", ArgsUsage: "NAME", Flags: []cli.Flag{outputFlag("text", "json")}, Action: a.scheduleRun},
			{Name: "pause", Usage: "put nothing on the board until it is resumed", ArgsUsage: "NAME", Action: a.schedulePause(true)},
			{Name: "resume", Usage: "go on; what fell due meanwhile is not made up for", ArgsUsage: "NAME", Action: a.schedulePause(false)},
		},
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return cli.ShowSubcommandHelp(c)
			}
			return refusal.New("forge schedule "+strings.Join(names, ", "), "unknown command %q", "schedule "+c.Args().First())
		},
	}
}

func scheduleArg(c *cli.Context) (string, error) {
	if c.NArg() != 1 {
		return "", refusal.New("forge schedule list names them", "forge schedule %s takes one NAME", c.Command.Name)
	}
	return c.Args().First(), nil
}

func (a *App) scheduleList(c *cli.Context) error {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return err
	}
	b, err := a.openBoard(c.Context, false)
	if err != nil {
		return err
	}
	defer b.Close()
	all, err := schedules.List(c.Context, b)
	if err != nil {
		return err
	}
	if out == "json" {
		if all == nil {
			all = []schedules.Schedule{}
		}
		return printJSON(a.Stdout, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.Stdout, "No schedules. [[factory.schedules]] in .forge/forge.toml makes them.")
		return nil
	}
	var rows [][]string
	for _, s := range all {
		next, last := "never", "-"
		switch {
		case s.Paused:
			next = "paused"
		case !s.Next.IsZero():
			next = s.Next.Format("2006-01-02 15:04 MST")
		}
		if s.Issue != 0 {
			last = fmt.Sprint(s.Issue)
		}
		rows = append(rows, []string{s.Name, s.Cron, s.Zone, next, last, text.OneLine(s.Note, 80)})
	}
	fmt.Fprint(a.Stdout, text.Table([]string{"NAME", "CRON", "ZONE", "NEXT", "ISSUE", "LAST"}, rows))
	return nil
}

func (a *App) scheduleRun(c *cli.Context) error {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return err
	}
	name, err := scheduleArg(c)
	if err != nil {
		return err
	}
	b, err := a.openBoard(c.Context, true)
	if err != nil {
		return err
	}
	defer b.Close()
	i, err := schedules.Run(c.Context, b, name, a.by("run by hand"))
	if err != nil {
		return issueError(err)
	}
	return a.tellIssue(c.Context, b, i, out)
}

func (a *App) schedulePause(paused bool) cli.ActionFunc {
	return func(c *cli.Context) error {
		name, err := scheduleArg(c)
		if err != nil {
			return err
		}
		b, err := a.openBoard(c.Context, true)
		if err != nil {
			return err
		}
		defer b.Close()
		if err := schedules.Pause(c.Context, b, name, paused, a.by("").Name); err != nil {
			return err
		}
		fmt.Fprintln(a.Stdout, map[bool]string{true: name + " is paused; forge schedule resume " + name + " lets it go on.", false: name + " goes on."}[paused])
		return nil
	}
}
