package cli

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/factory"
	"forge/internal/board"
	"forge/internal/git"
	"forge/internal/report"
	"forge/internal/work"
	"forge/internal/worker"
)

func (a *App) issueCancelCommand() *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "let nobody work on an issue any more, and stop who does; it stays where it is", ArgsUsage: "ISSUE",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "`WHY`, for the history"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := issueArg(c, "")
			if err != nil {
				return err
			}
			b, err := a.openBoard(c.Context, true)
			if err != nil {
				return err
			}
			defer b.Close()
			return a.cancelIssue(c.Context, b, id, a.by(strings.TrimSpace(c.String("message"))), out)
		},
	}
}

// cancelIssue cancels an issue, and waits until its agents are gone.
func (a *App) cancelIssue(ctx context.Context, b *board.Opened, id int64, by factory.By, out string) error {
	f := worker.Control{Board: b}
	i, err := f.CancelIssue(ctx, id, by)
	if err != nil {
		return issueError(err)
	}
	gone, err := f.Stopped(ctx, id)
	if err != nil {
		return err
	}
	if !gone {
		b.Log.Warn("the process that works on it has not stopped yet", "issue", id)
	}
	return a.tellIssue(ctx, b, i, out)
}

func (a *App) issueRunCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "claim an issue and work on it here and now", ArgsUsage: "ISSUE", Flags: []cli.Flag{outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := issueArg(c, "")
			if err != nil {
				return err
			}
			return a.runIssue(c.Context, id, out)
		},
	}
}

// runIssue works on one issue as the factory would, whether that is paused or
// has no room.
func (a *App) runIssue(ctx context.Context, id int64, out string) error {
	if err := git.Probe(ctx); err != nil {
		return err
	}
	s, err := worker.Open(ctx, a.env(), a.Dir, factory.NewConcurrency(1), a.With.Engine)
	if err != nil {
		return err
	}
	defer s.Close()
	i, err := s.Journal.Issue(ctx, s.Project, id)
	if err == nil && i.Column == work.ColumnBacklog && i.State == "" {
		i, err = s.Move(ctx, id, work.ColumnReady, factory.Place{At: factory.Top}, a.by("to be worked on now"))
	}
	if err != nil {
		return issueError(err)
	}
	if from, err := s.Origins.From(ctx, i); err != nil {
		return err
	} else if from != "" {
		if _, err := (worker.All{s}).Trackers(a.env()); err != nil {
			return err
		}
	}
	over := make(chan struct{})
	defer close(over)
	go leaveWorkers(a.Kill, func() worker.All { return worker.All{s} }, over)
	loop := s.Loop()
	loop.Only, loop.Once = id, true
	why, err := loop.Run(ctx)
	if err != nil {
		return err
	}
	now, err := s.Journal.Issue(context.WithoutCancel(ctx), s.Project, id)
	if err != nil {
		return err
	}
	if now.Version == i.Version && ctx.Err() == nil {
		return report.NotClaimed(factory.NoClaim(why), now)
	}
	if err := a.tellIssue(context.WithoutCancel(ctx), s.Opened, now, out); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return codeError(exitInterrupted)
	}
	if now.State == work.IssueCancelled {
		return codeError(exitFailed) // a person said no
	}
	if code := exitOfBoard([]work.Issue{now}, map[int64]bool{id: now.Column == work.ColumnInProgress}); code != exitDone {
		return codeError(code)
	}
	return nil
}
