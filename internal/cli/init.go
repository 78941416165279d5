package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/discovery"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// initOptions are the flags of init.
type initOptions struct {
	agent  string
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
			&cli.BoolFlag{Name: "dry-run", Usage: "look only: run no command of the project, write nothing"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "ask nothing"},
			&cli.BoolFlag{Name: "no-try", Usage: "do not try the setup and verify commands"},
			&cli.DurationFlag{Name: "limit", Usage: "end a command that is tried after `TIME`", Value: 5 * time.Minute},
		},
		Action: func(c *cli.Context) error {
			o := initOptions{agent: c.String("agent"), dryRun: c.Bool("dry-run"), yes: c.Bool("yes"), noTry: c.Bool("no-try"), limit: c.Duration("limit")}
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

// initiation is one call of forge init: what it found, and what it will write.
type initiation struct {
	app  *App
	o    initOptions
	base work.Base // Commit is "" while the repository has none
	set  work.Settings
	// configured says that there is a forge.toml: it is kept, and what it says
	// is what is tried.
	configured bool
	agent      discovery.Agent
	cfg        *config.Config
	reviews    string // what forge.toml says of them
	proposal   config.Proposal
	failed     bool // something that was tried did
}

// init finds, tries, writes, and says what it found, what worked and what to
// do next. Nothing that is there is overwritten.
func (a *App) init(ctx context.Context, o initOptions) error {
	i := &initiation{app: a, o: o}
	if err := i.look(ctx); err != nil {
		return err
	}
	i.sayProject()
	if err := i.findAgent(ctx); err != nil {
		return err
	}
	i.sayAgent()
	if err := i.try(ctx); err != nil {
		if ctx.Err() != nil || errors.Is(err, context.Canceled) {
			a.log.Warn("stopped: nothing was written")
			return codeError(exitInterrupted)
		}
		return err
	}
	if err := i.findReviewer(ctx); err != nil {
		if ctx.Err() != nil {
			a.log.Warn("stopped: nothing was written")
			return codeError(exitInterrupted)
		}
		return err
	}
	files := i.files()
	if o.dryRun {
		return i.sayDry(files)
	}
	wrote, kept, err := writeNew(i.base.RepoRoot, files)
	if err != nil {
		return err
	}
	i.sayFiles(wrote, kept)
	i.checkWritten(ctx)
	i.sayNext(wrote)
	return nil
}

// look finds the checkout, what is configured for it, and what its files say.
func (i *initiation) look(ctx context.Context) error {
	a := i.app
	base, err := git.Inspect(ctx, a.Dir)
	if err != nil {
		root := project.CheckoutAround(a.Dir)
		if root == "" || !unborn(err) {
			return err
		}
		base = work.Base{RepoRoot: root}
	}
	i.base = base
	if _, err := os.Lstat(i.at(config.ProjectFile)); err == nil {
		i.configured = true
	}
	cfg, warnings, err := config.Load(config.Sources{ProjectDir: base.RepoRoot, UserFile: config.UserFile(a.Environ), Environ: a.Environ})
	if err != nil {
		return err
	}
	for _, w := range warnings {
		a.log.Warn(w.String())
	}
	i.cfg = cfg
	if i.configured && i.o.agent != "" {
		return refusal.New("edit [agent] use there, or leave --agent out", "%s is there and is not changed", config.ProjectFile)
	}
	i.agent.Configured = i.o.agent == "" && (i.configured || cfg.Origin("agent.use") != "default")
	// One phase that says nothing of its own: what every phase starts from.
	plan := &config.Plan{Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "any", Promise: "ANY"}}}, File: project.PlanFile}
	if i.set, err = config.Resolve(cfg, plan, config.Facts{Kinds: project.AgentKinds()}); err != nil {
		return err
	}
	i.agent.Name = i.set.Phases["01"].Agent
	if !i.configured {
		i.proposal = discovery.Commands(base.RepoRoot, i.inside())
	}
	return nil
}

// unborn says that a repository was refused because it has no commit yet.
func unborn(err error) bool {
	var state *git.StateError
	return errors.As(err, &state) && strings.Contains(state.What, "no commit")
}

func (i *initiation) at(name string) string {
	return filepath.Join(i.base.RepoRoot, filepath.FromSlash(name))
}

// inside is the working directory below the root of the checkout, "" at the
// root itself.
func (i *initiation) inside() string { return discovery.Inside(i.app.Dir, i.base.RepoRoot) }

// findAgent takes the agent that is configured or asked for, else one that is
// installed.
func (i *initiation) findAgent(ctx context.Context) (err error) {
	if i.agent.Configured {
		i.agent = discovery.Configured(ctx, i.set.Agents[i.agent.Name], i.app.Environ)
		return nil
	}
	i.agent, err = discovery.FindAgent(ctx, i.o.agent, i.app.Environ)
	return err
}
