package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"forge/factory/triage"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) auditCommand() *cli.Command {
	run := &cli.StringFlag{Name: "run", Usage: "`ID` of the run; default the newest"}
	return &cli.Command{
		Name: "audit", Usage: "show, export or verify the journal of a run",
		Subcommands: []*cli.Command{
			{Name: "show", Usage: "every event in one line", Flags: []cli.Flag{run}, Action: a.auditing(auditShow)},
			{Name: "export", Usage: "every event as JSON, one per line", Flags: []cli.Flag{run}, Action: a.auditing(auditExport)},
			{
				Name: "verify", Usage: "hold the chain of hashes against itself, Forge's repository and the commits",
				Flags: []cli.Flag{run, &cli.BoolFlag{Name: "all", Usage: "all runs"}}, Action: a.auditVerify,
			},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return refusal.New("forge audit show, export or verify", "unknown command \"audit %s\"", c.Args().First())
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
		p, err := a.openRuns(c)
		if err != nil {
			return err
		}
		defer p.Close()
		row, err := p.PickRun(c.Context, c.String("run"))
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

// auditVerify reads every event of a run, which checks the chain, and holds it
// against what Forge's repository and its commits say of it.
func (a *App) auditVerify(c *cli.Context) error {
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
		row, err := p.PickRun(c.Context, c.String("run"))
		if err != nil {
			return err
		}
		rows = []journal.RunRow{row}
	}
	bad := false
	for _, r := range rows {
		count, err := p.verifyRun(c, repo, r.ID)
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

func (p *checkout) verifyRun(c *cli.Context, repo *git.Store, run string) (count int64, err error) {
	var evs []work.Event
	if triage.IsThread(run) {
		_, evs, err = p.TriageEvents(c.Context, run)
	} else {
		_, evs, err = p.LoadRun(c.Context, run)
	}
	if err != nil {
		return 0, err
	}
	anchored, head, ok, err := repo.ReadAnchor(c.Context, run)
	if err == nil && ok {
		err = p.Journal.CheckAnchor(c.Context, run, anchored, head)
	}
	if err != nil {
		return 0, err
	}
	for _, e := range evs {
		var d orchestrator.PhaseMergedData
		if e.Kind != work.PhaseMerged {
			continue
		}
		if err := work.Decode(e, &d); err != nil {
			return 0, err
		}
		if there, err := repo.Exists(c.Context, d.Commit); err != nil || !there {
			return 0, errors.Join(err, fmt.Errorf("the commit %s of phase %s is missing", d.Commit, e.Phase))
		}
	}
	return int64(len(evs)), nil
}
