package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/factory"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/text"
	"forge/internal/work"
	"forge/internal/worker"
)

// maxRuns is how many runs a server drives at once if not told otherwise.
const maxRuns = 8

// factoryOptions are the flags of factory.
type factoryOptions struct {
	projects []string // folders; none = the one around the working directory
	maxRuns  int
	once     bool
	listen   string // "" = as configured
	workflow string // a WORKFLOW.md that is worked by, or its folder; "" = none
	port     int    // where its state is served; -1 = as it says
}

func (a *App) factoryCommand() *cli.Command {
	steer := func(name, usage string, do func(f worker.Control, ctx context.Context, by string) error) *cli.Command {
		return &cli.Command{
			Name: name, Usage: usage, Flags: []cli.Flag{outputFlag("text", "json")},
			Action: func(c *cli.Context) error { return a.steerFactory(c, name, do) },
		}
	}
	return &cli.Command{
		Name: "factory", Usage: "work on the board: claim ready issues and bring them to done",
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "project", Usage: "work on the project in `DIR`; may be repeated", Value: &words{}, DefaultText: "the one around the working directory"},
			&cli.IntFlag{Name: "max-runs", Usage: "at most `N` runs at once, of all projects together", Value: maxRuns},
			&cli.BoolFlag{Name: "once", Usage: "end when nothing is left that can be done without a person; without --listen no pages are served"},
			&cli.StringFlag{Name: "listen", Usage: "serve the pages at `ADDRESS`, or off", DefaultText: "server.listen"},
			&cli.StringFlag{Name: "workflow", Usage: "work by the WORKFLOW.md at `PATH`, written for Symphony; a folder is that file in it"},
			&cli.IntFlag{Name: "port", Usage: "with --workflow: serve its state at port `N` of this machine alone; 0 = one that is free", Value: -1, DefaultText: "server.port of the file, else nowhere"},
		},
		Subcommands: []*cli.Command{
			steer("pause", "claim nothing more; what runs goes on", func(f worker.Control, ctx context.Context, by string) error { return f.Pause(ctx, true, by) }),
			steer("resume", "claim again, also for agents that failed too often", func(f worker.Control, ctx context.Context, by string) error { return f.Pause(ctx, false, by) }),
			steer("drain", "claim nothing more, and end the server when nothing runs", func(f worker.Control, ctx context.Context, by string) error { return f.Drain(ctx, by) }),
			steer("status", "show whether the board is worked on, and why not", nil),
			a.factoryURLCommand(), a.factoryUserCommand(),
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(c, "factory")
			}
			o := factoryOptions{projects: wordsOf(c, "project"), maxRuns: c.Int("max-runs"), once: c.Bool("once"), listen: c.String("listen"), workflow: c.String("workflow"), port: c.Int("port")}
			switch {
			case o.workflow != "" && len(o.projects) > 0:
				return refusal.New("leave --project out: it is the one that the file is in", "--workflow and --project do not go together")
			case o.workflow == "" && c.IsSet("port"), o.port < -1 || o.port > 65535:
				return refusal.New("forge factory --workflow PATH --port 0 to 65535", "--port %d is of no use", o.port)
			case o.workflow != "" && !c.IsSet("max-runs"):
				o.maxRuns = 1000 // the file says how many
			}
			if o.maxRuns < 1 || o.maxRuns > 1000 {
				return refusal.New("use 1 to 1000", "--max-runs %d is no number of runs", o.maxRuns)
			}
			for n, dir := range o.projects {
				if !filepath.IsAbs(dir) {
					o.projects[n] = filepath.Join(a.Dir, dir)
				}
			}
			return a.factory(c.Context, o)
		},
	}
}

// steerFactory says how the loop is to go on, and how it stands then; a nil do
// changes nothing.
func (a *App) steerFactory(c *cli.Context, name string, do func(f worker.Control, ctx context.Context, by string) error) error {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return err
	}
	if c.Args().Present() {
		return refusal.New("forge factory "+name, "forge factory %s takes no arguments, got %q", name, c.Args().First())
	}
	b, err := a.openBoard(c.Context, do != nil)
	if err != nil {
		return err
	}
	defer b.Close()
	if b.None {
		return refusal.New(`forge issue add "…" puts an issue on it`, "this project has no board")
	}
	f := worker.Control{Board: b}
	if do != nil {
		if err := do(f, c.Context, text.PlainLine(a.env().User())); err != nil {
			return err
		}
	}
	s, err := f.Standing(c.Context)
	if err != nil {
		return err
	}
	if do != nil && !s.Paused {
		s.Note = "" // said before, and looked at again at once
	}
	if out == "json" {
		return printJSON(a.Stdout, s)
	}
	_, err = fmt.Fprintln(a.Stdout, report.FactoryStanding(s))
	return err
}

// weightier is the exit code that is said when both hold.
func weightier(a, b int) int {
	for _, code := range []int{exitInterrupted, exitFrozen, exitLimit, exitFailed} {
		if a == code || b == code {
			return code
		}
	}
	return a
}

// exitOfBoard is what is left to do on a board, as an exit code.
func exitOfBoard(issues []work.Issue, later map[int64]bool) int {
	code := exitDone
	for _, i := range issues {
		one := exitDone
		switch {
		case i.State == work.IssueFailed:
			one = exitFailed
		case i.State == work.IssueCancelled:
		case i.State == "" && (later[i.ID] || strings.HasPrefix(i.Reason, factory.HoldOrigin+":")):
			one = exitLimit
		case i.State == work.IssueWaits, i.Column == work.ColumnInReview:
			one = exitFrozen
		}
		code = weightier(code, one)
	}
	return code
}
