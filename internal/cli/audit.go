package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) auditCommand() *cli.Command {
	run := &cli.StringFlag{Name: "run", Usage: "`ID` of the run; default the newest"}
	return &cli.Command{
		Name: "audit", Usage: "show, export or verify the journal of a run",
		Subcommands: []*cli.Command{
			{Name: "show", Usage: "every event in one line", ArgsUsage: "[RUN]", Flags: []cli.Flag{run}, Action: a.auditing(auditShow)},
			a.auditChangesCommand(run),
			{Name: "export", Usage: "every event as JSON, one per line", ArgsUsage: "[RUN]", Flags: []cli.Flag{run}, Action: a.auditing(auditExport)},
			{
				Name: "verify", Usage: "hold the chain of hashes against itself, Forge's repository and the commits", ArgsUsage: "[RUN]",
				Flags: []cli.Flag{run, &cli.BoolFlag{Name: "all", Usage: "all runs"}}, Action: a.auditVerify,
			},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(c, "audit")
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

// openRuns opens a project that has runs.
func (a *App) openRuns(c *cli.Context) (*checkout, error) {
	p, err := a.openProject(c.Context)
	if err != nil {
		return nil, err
	}
	ok, err := p.OpenStore(c.Context, false)
	if err == nil && !ok {
		err = refusal.New("forge run starts one", "this project has no runs")
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (a *App) auditing(show func(*checkout, work.Event) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		run, err := runOf(c)
		if err != nil {
			return err
		}
		p, err := a.openRuns(c)
		if err != nil {
			return err
		}
		defer p.Close()
		row, err := p.PickRun(c.Context, run)
		if err != nil {
			return err
		}
		for e, err := range p.Journal.Replay(c.Context, row.ID, 0) {
			if err != nil {
				return err
			}
			if err := show(p, e); err != nil {
				return err
			}
		}
		return nil
	}
}

func auditExport(p *checkout, e work.Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("export event %d: %w", e.Seq, err)
	}
	_, err = fmt.Fprintf(p.app.Stdout, "%s\n", line)
	return err
}

func auditShow(p *checkout, e work.Event) error {
	where := e.Phase
	if e.Iteration > 0 {
		where += fmt.Sprintf("/%d", e.Iteration)
	}
	if e.Attempt > 1 {
		where += fmt.Sprintf(" attempt %d", e.Attempt)
	}
	body := string(e.Data)
	if e.Kind == work.RunStarted {
		body = "" // plan and configuration: forge audit export
	}
	_, err := fmt.Fprintf(p.app.Stdout, "%5d  %s  %-20s %-12s %s\n", e.Seq, e.Time.Local().Format(time.DateTime), e.Kind, where, text.FirstLine(text.Harmless(body), 160))
	return err
}

// auditVerify says of each run whether its journal holds.
func (a *App) auditVerify(c *cli.Context) error {
	run, err := runOf(c)
	if err != nil {
		return err
	}
	p, err := a.openRuns(c)
	if err != nil {
		return err
	}
	defer p.Close()
	repo, err := git.Open(c.Context, git.Config{StateDir: p.State, Root: p.Base.RepoRoot, Environ: a.Environ})
	if err != nil {
		return err
	}
	rows, err := p.Journal.Runs(c.Context)
	if err != nil {
		return err
	}
	if !c.Bool("all") {
		row, err := p.PickRun(c.Context, run)
		if err != nil {
			return err
		}
		rows = []journal.RunRow{row}
	}
	bad := false
	for _, r := range rows {
		count, err := runs.Verify(c.Context, p.Checkout, repo, r.ID)
		if err != nil {
			bad = true
			fmt.Fprintf(a.Stdout, "%s  BROKEN  %v\n", r.ID, err)
			continue
		}
		fmt.Fprintf(a.Stdout, "%s  ok  %d events\n", r.ID, count)
	}
	if bad {
		return codeError(exitUsage)
	}
	return nil
}
