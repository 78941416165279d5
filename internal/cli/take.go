package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/runs"
	"forge/internal/text"
)

func (a *App) takeCommand() *cli.Command {
	return &cli.Command{
		Name: "take", Usage: "bring the work of a phase that is not done into your repository, as a branch", ArgsUsage: "RUN [PHASE]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "branch", Usage: "name the branch `NAME`; else forge/take-RUN-PHASE"},
			&cli.StringFlag{Name: "onto", Usage: "instead of a branch, put it onto the one that is checked out: as uncommitted `changes`, or as one commit"},
		},
		Action: func(c *cli.Context) error {
			run, req, err := takeArgs(c)
			if err != nil {
				return err
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			return p.take(c.Context, run, req)
		},
	}
}

func takeArgs(c *cli.Context) (run string, req runs.TakeRequest, err error) {
	args := c.Args().Slice()
	if len(args) == 0 || len(args) > 2 {
		return "", req, refusal.New("forge take RUN [PHASE]; forge status --all names the runs", "forge take takes a run, and a phase of it")
	}
	if len(args) == 2 {
		req.Phase = args[1]
	}
	req.Branch, req.Onto = c.String("branch"), runs.TakeOnto(c.String("onto"))
	switch {
	case req.Onto == runs.TakeBranch && c.IsSet("onto"), req.Onto != runs.TakeBranch && req.Onto != runs.TakeCommit && req.Onto != runs.TakeChanges:
		return "", req, refusal.New("--onto changes, or --onto commit", "--onto does not know %q", c.String("onto"))
	case c.IsSet("branch") && req.Onto != runs.TakeBranch:
		return "", req, refusal.New("leave one out", "--branch and --onto do not go together")
	}
	return args[0], req, nil
}

func (p *checkout) take(ctx context.Context, run string, req runs.TakeRequest) error {
	row, s, err := p.StandOf(ctx, run)
	if err != nil {
		return err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	req.Driven = project.Driven(row)
	took, err := runs.Take(ctx, p.Checkout, repo, s, req)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.app.Stdout, text.Harmless(report.Taken(took)))
	return err
}
