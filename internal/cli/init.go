package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"charm.land/huh/v2"
	"github.com/urfave/cli/v2"

	"forge/internal/agent"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/setup"
	"forge/internal/text"
)

// initOptions are the flags of init.
type initOptions struct {
	agent  string
	from   string // a folder or a run whose plan is the pattern
	dryRun bool
	yes    bool
	noTry  bool
	limit  time.Duration // of each command that is tried
}

func (a *App) initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "find agent, setup and tests of a project, try them, and write .forge/",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "agent", Usage: "use this `KIND` of agent: " + strings.Join(agent.Kinds(), ", ")},
			&cli.StringFlag{Name: "from", Usage: "begin with the plan of a folder, or of the earlier run `NAME`, instead of the example"},
			&cli.BoolFlag{Name: "dry-run", Usage: "look only: run no command of the project, write nothing"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "ask nothing"},
			&cli.BoolFlag{Name: "no-try", Usage: "do not try the setup and verify commands"},
			&cli.DurationFlag{Name: "limit", Usage: "end a command that is tried after `TIME`", Value: 5 * time.Minute},
		},
		Action: func(c *cli.Context) error {
			o := initOptions{agent: c.String("agent"), from: c.String("from"), dryRun: c.Bool("dry-run"), yes: c.Bool("yes"), noTry: c.Bool("no-try"), limit: c.Duration("limit")}
			if c.Args().Present() {
				return refusal.New("change to the project and call forge init", "forge init takes no arguments, got %q", c.Args().First())
			}
			if o.limit < time.Second {
				return refusal.New("write a time such as 10m", "--limit %v is less than a second", o.limit)
			}
			return a.init(c.Context, o)
		},
	}
}

// initiation is one call of forge init: what it found, said as it is found.
type initiation struct {
	*setup.Telling
	app *App
	o   initOptions
}

// init finds, tries, writes, and says what it found, what worked and what to
// do next. Nothing that is there is overwritten.
func (a *App) init(ctx context.Context, o initOptions) error {
	found, err := setup.Look(ctx, a.env(), o.agent)
	if err != nil {
		return err
	}
	i := &initiation{Telling: &setup.Telling{Setup: found, Out: a.Stdout}, app: a, o: o}
	if o.from != "" {
		if found.Pattern, err = setup.FindPattern(ctx, a.env(), o.from); err != nil {
			return err
		}
	}
	i.SayProject()
	if err := i.FindAgent(ctx, o.agent); err != nil {
		return err
	}
	i.SayAgent()
	if err := i.try(ctx); err != nil {
		if ctx.Err() != nil || errors.Is(err, context.Canceled) {
			a.log.Warn("stopped: nothing was written")
			return codeError(exitInterrupted)
		}
		return err
	}
	reviewer, err := i.FindReviewer(ctx, !o.dryRun && !o.noTry)
	if err != nil {
		if ctx.Err() != nil {
			a.log.Warn("stopped: nothing was written")
			return codeError(exitInterrupted)
		}
		return err
	}
	i.SayReviewer(reviewer)
	files := i.Files()
	if o.dryRun {
		return i.SayDry(files)
	}
	wrote, kept, err := i.Write(files)
	if err != nil {
		return err
	}
	i.SayFiles(wrote, kept)
	if err := i.Check(ctx); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			a.log.Warn("forge run would refuse: " + line)
		}
	}
	i.SayNext(wrote)
	return nil
}

// try finds the sandbox, and tries the commands where nothing speaks against it.
func (i *initiation) try(ctx context.Context) error {
	caps := i.app.env().Sandboxes(ctx)
	level, err := project.ChooseSandbox(ctx, i.Settings.Sandbox, caps)
	i.SaySandbox(level, caps, err)
	c := i.Commands(i.o.limit)
	if c.None() {
		i.SayNothing()
		return nil
	}
	skip := "the sandbox that is required does not work"
	if err == nil {
		if skip, err = i.mayTry(ctx, c, level); err != nil {
			return err
		}
	}
	if skip != "" {
		i.Untried(c, skip)
		return nil
	}
	err = i.Try(ctx, c, caps, i)
	if err == nil && len(c.Verify) == 0 && !i.Failed {
		i.SayNoVerify()
	}
	return err
}

// mayTry says why the commands are not tried, "" when they are. They are code
// of the project, so a person at a terminal is asked first.
func (i *initiation) mayTry(ctx context.Context, c setup.Commands, level proc.Level) (skip string, err error) {
	switch {
	case i.o.dryRun:
		return "a dry run runs nothing", nil
	case i.o.noTry:
		return "--no-try", nil
	case i.Base.Commit == "":
		return "the repository has no commit yet", nil
	case i.o.yes || !i.app.terminal():
		return "", nil
	}
	where := "In a sandbox, on a copy of the last commit."
	if level == proc.LevelNone {
		where = "On a copy of the last commit, but without a sandbox: they can do what you can."
	}
	yes := false
	ask := huh.NewConfirm().Title("Try these commands now?").Affirmative("yes, try them").Negative("no").Value(&yes).
		Description(text.OneLine(strings.Join(append(append([]string{}, c.Worktree.Setup...), c.Verify...), "; "), 200) + "\n" + where)
	err = huh.NewForm(huh.NewGroup(ask)).WithTheme(huh.ThemeFunc(huh.ThemeBase)).WithInput(i.app.Stdin).WithOutput(i.app.Stderr).RunWithContext(ctx)
	switch {
	case errors.Is(err, huh.ErrUserAborted) || ctx.Err() != nil:
		return "", context.Canceled
	case err != nil:
		return "", fmt.Errorf("ask whether to try the commands: %w", err)
	case !yes:
		return "you said no", nil
	}
	return "", nil
}
