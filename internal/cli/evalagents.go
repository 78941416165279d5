package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/agenteval"
	"forge/internal/agenttrial"
	"forge/internal/refusal"
)

func (a *App) evalAgentsCommand() *cli.Command {
	shown := []cli.Flag{&cli.StringFlag{Name: "html", Usage: "write the trial as a page into `FILE`"}, outputFlag("text", "json")}
	return &cli.Command{
		Name: "agents", Usage: "find out which agent is good here: each does changes of the past again",
		Description: "Takes changes of this repository whose tests failed before and pass after, hides the tests,\nlets each agent do the change from where its author began, and proves it with the hidden tests.",
		Flags: append([]cli.Flag{
			&cli.IntFlag{Name: "from-history", Usage: "take `N` changes, the newest that can be done again", Value: 20},
			&cli.StringSliceFlag{Name: "agent", Usage: "try agent `NAME`; may be repeated", DefaultText: "the one in use"},
			&cli.IntFlag{Name: "tries", Usage: "let each agent do each change `N` times", Value: 1},
			&cli.IntFlag{Name: "budget", Usage: "`N` iterations for each try", Value: 8},
			&cli.DurationFlag{Name: "time", Usage: "end a try after `TIME`", Value: 30 * time.Minute},
			&cli.Float64Flag{Name: "usd", Usage: "spend at most `N` dollars on a try", DefaultText: "as configured"},
			&cli.Float64Flag{Name: "max-usd", Usage: "begin no try once the trial has cost `N` dollars", DefaultText: "no limit"},
			&cli.StringFlag{Name: "resume", Usage: "go on with trial `ID`"},
		}, shown...),
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the trials of agents", Action: a.evalAgentsList},
			{Name: "show", Usage: "show a trial of agents try by try", ArgsUsage: "[ID]", Flags: shown, Action: a.evalAgentsShow},
		},
		Action: a.evalAgents,
	}
}

func (a *App) evalAgents(c *cli.Context) error {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return err
	}
	o := agenttrial.Options{
		From: c.Int("from-history"), Agents: c.StringSlice("agent"), Tries: c.Int("tries"), Budget: c.Int("budget"), Limit: c.Duration("time"),
		TryUSD: c.Float64("usd"), MaxUSD: c.Float64("max-usd"), Resume: c.String("resume"),
	}
	switch {
	case c.Args().Present():
		return refusal.New("forge eval agents list or show", "unknown command %q", "eval agents "+c.Args().First())
	case o.From < 1 || o.From > 1000 || o.Tries < 1 || o.Tries > 100 || o.Budget < 1:
		return refusal.New("give numbers from 1", "--from-history, --tries and --budget are counts, at most 1000 changes and 100 tries")
	case o.Limit < time.Minute:
		return refusal.New("give a minute or more", "--time %s is too short for a try", o.Limit)
	case o.TryUSD < 0 || o.MaxUSD < 0:
		return refusal.New("give an amount in dollars", "--usd and --max-usd are no less than 0")
	}
	for _, flag := range []string{"from-history", "agent", "tries", "budget", "time"} {
		if o.Resume != "" && c.IsSet(flag) {
			return refusal.New("leave --"+flag+" out", "trial %s goes on as it began, and --%s would change it", o.Resume, flag)
		}
	}
	if o.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find forge's own program: %w", err)
	}
	end, err := agenttrial.Run(c.Context, a.env(), o)
	if err != nil {
		return err
	}
	if err := a.showAgents(c, end.Trial, out, false); err != nil {
		return err
	}
	goOn := "forge eval agents --resume " + end.Trial.ID
	switch {
	case end.Stopped && len(end.Trial.Tasks) == 0:
		a.log.Warn("stopped before a change was found that can be done again")
		return codeError(exitInterrupted)
	case end.Stopped:
		a.log.Warn("stopped; what was tried is kept", "go on", goOn)
		return codeError(exitInterrupted)
	case end.Reached != "":
		a.log.Warn(end.Reached, "go on", goOn)
		return codeError(exitLimit)
	}
	return nil
}

// showAgents shows a trial, and writes its page where that is asked for.
func (a *App) showAgents(c *cli.Context, t *agenteval.Trial, out string, whole bool) error {
	if err := a.writePage(c, func(to io.Writer) error { return agenteval.WriteHTML(to, t) }); err != nil {
		return err
	}
	if out == "json" {
		return printJSON(a.Stdout, map[string]any{"trial": t, "scores": agenteval.Scores(t), "pairs": agenteval.Pairs(t)})
	}
	_, err := fmt.Fprint(a.Stdout, agenteval.Text(t, whole))
	return err
}

// writePage writes what --html asks for, if anything.
func (a *App) writePage(c *cli.Context, write func(io.Writer) error) error {
	name := a.absolute(c.String("html"))
	if name == "" {
		return nil
	}
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	if err := os.WriteFile(name, page.Bytes(), 0o644); err != nil { //nolint:gosec // for others to read
		return refusal.New("name a file that can be written", "--html: %v", err)
	}
	return nil
}

func (a *App) evalAgentsList(c *cli.Context) error {
	all, err := agenttrial.Stored(a.env())
	if err != nil {
		return err
	}
	for _, t := range all {
		if _, err := fmt.Fprintf(a.Stdout, "%s  %s  %d changes, %d of %d tries\n", t.ID, t.Started.Format("2006-01-02 15:04"), len(t.Tasks), len(t.Done), len(t.Done)+len(t.Left())); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) evalAgentsShow(c *cli.Context) error {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return err
	}
	t, err := agenttrial.Pick(a.env(), c.Args().First())
	if err != nil {
		return err
	}
	return a.showAgents(c, t, out, true)
}
