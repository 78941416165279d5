package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/handoff"
	"forge/internal/refusal"
	"forge/internal/work"
)

// defaultRemote is what --remote means without a name.
const defaultRemote = "origin"

func remoteFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "remote", Usage: usage, Value: defaultRemote}
}

func (a *App) pushCommand() *cli.Command {
	return &cli.Command{
		Name: "push", Usage: "send a run that rests to a remote, with its branch, checkpoints and journal", ArgsUsage: "[RUN]",
		Description: "It is what --push does at the end of a process, for a run whose sending failed or was not asked for.",
		Flags: []cli.Flag{
			remoteFlag("where it goes: `NAME` of a remote"),
			&cli.BoolFlag{Name: "forget", Usage: "send nothing; from now on the copy of this machine is a run of its own"},
		},
		Action: func(c *cli.Context) error {
			run, err := oneArg(c.Args().Slice(), "run")
			if err != nil {
				return err
			}
			return a.push(c.Context, run, runOptions{remote: c.String("remote"), fetch: c.IsSet("remote")}, c.Bool("forget"))
		},
	}
}

func (a *App) push(ctx context.Context, run string, o runOptions, forget bool) error {
	p, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.CheckKey(); err != nil {
		return err
	}
	row, err := p.PickRun(ctx, run)
	if err != nil {
		return err
	}
	t, away, err := p.Journal.TravelOf(ctx, row.ID)
	if err != nil {
		return err
	}
	if forget {
		if !away {
			return refusal.New("there is nothing to forget", "run %s is at no remote", row.ID)
		}
		if err := p.Journal.DropTravel(ctx, row.ID); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "%s is this machine's own again. Whoever goes on with it from %q works on another run of that name.\nNext: forge resume %s\n", row.ID, t.Remote, row.ID)
		return err
	}
	if o.fetch {
		if err := handoff.CheckSame(row.ID, o.remote, t, away); err != nil {
			return err
		}
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	s, _, err := p.LoadRun(ctx, row.ID)
	if err != nil {
		return err
	}
	if away {
		o.remote = t.Remote
	}
	if err := handoff.At(p.Checkout, repo, o.remote).Send(ctx, s); err != nil {
		return err
	}
	next := ""
	if !s.Outcome.Final() || s.Outcome == work.RunFailed {
		next = fmt.Sprintf("Next: forge resume %s --remote, on any machine with a clone\n", row.ID)
	}
	_, err = fmt.Fprintf(a.Stdout, "%s is at %s.\n%s", row.ID, o.remote, next)
	return err
}
