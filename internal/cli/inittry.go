package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"charm.land/huh/v2"

	"forge/internal/config"
	"forge/internal/discovery"
	"forge/internal/git"
	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/verify"
	"forge/internal/work"
)

// heartbeat is how often init says that a command is still running.
const heartbeat = 15 * time.Second

// mostCold is how long a cold proof may have taken that is measured warm as well.
const mostCold = 2 * time.Minute

// try finds the sandbox, and runs setup and verify on the last commit as a run
// would: in folders of their own, without credentials. Everything that it
// makes is temporary.
func (i *initiation) try(ctx context.Context) error {
	caps := i.app.env().Sandboxes(ctx)
	level, err := proc.Choose(i.set.Sandbox.Mode, caps)
	i.saySandbox(level, caps, err)
	t := commandTry{i: i, caps: caps, worktree: i.set.Worktree, commands: i.set.Verify.Commands, seconds: i.set.Verify.TimeoutSecs}
	if !i.configured {
		t.worktree = work.Worktree{Setup: discovery.Lines(i.proposal.Setup), CacheKey: i.proposal.CacheKey, TimeoutSecs: i.set.Worktree.TimeoutSecs}
		t.commands = discovery.Lines(i.proposal.Verify)
	}
	if len(t.commands) == 0 && len(t.worktree.Setup) == 0 {
		i.sayNothing()
		return nil
	}
	most := int(i.o.limit / time.Second)
	t.seconds, t.worktree.TimeoutSecs = min(t.seconds, most), min(t.worktree.TimeoutSecs, most)
	skip := "the sandbox that is required does not work"
	if err == nil {
		if skip, err = i.mayTry(ctx, t, level); err != nil {
			return err
		}
	}
	if skip != "" {
		i.sayUntried(t, skip)
		return nil
	}
	return t.run(ctx)
}

// mayTry says why the commands are not tried, "" when they are. They are code
// of the project, so a person at a terminal is asked first.
func (i *initiation) mayTry(ctx context.Context, t commandTry, level proc.Level) (skip string, err error) {
	switch {
	case i.o.dryRun:
		return "a dry run runs nothing", nil
	case i.o.noTry:
		return "--no-try", nil
	case i.base.Commit == "":
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
		Description(text.OneLine(strings.Join(append(append([]string{}, t.worktree.Setup...), t.commands...), "; "), 200) + "\n" + where)
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

// commandTry is one try of a project's commands.
type commandTry struct {
	i        *initiation
	caps     proc.Capabilities
	worktree work.Worktree
	commands []string
	seconds  int // limit of each verify command
}

func (t commandTry) run(ctx context.Context) (err error) {
	root := t.i.base.RepoRoot
	dir, err := os.MkdirTemp("", "forge-init-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return refusal.New("set TMPDIR to a folder that can be written, or use --no-try", "make a folder to try the commands in: %v", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	environ := t.i.app.Environ
	store, err := git.Open(ctx, git.Config{StateDir: dir, Root: root, Environ: environ})
	if err != nil {
		return err
	}
	red := redact.New(redact.FromEnv(environ, proc.SecretName))
	bench := verify.New(store, t.caps, environ, filepath.Join(dir, "cache"), red)
	place := func(name string) string { return filepath.Join(dir, name) }
	if len(t.worktree.Setup) > 0 {
		if err := store.Materialize(ctx, place("setup"), t.i.base.Commit); err != nil {
			return err
		}
		rep, err := t.timed("setup", t.worktree.Setup, func() (work.CommandsReport, error) {
			return bench.Setup(ctx, work.SetupRequest{
				Dir: place("setup"), Checkout: root, Settings: t.worktree, Sandbox: t.i.set.Sandbox, Hide: []string{dir}, Mark: runs.NewMark(),
			})
		})
		t.i.note(&t.i.proposal.Setup, rep)
		if err != nil || !rep.OK {
			if err == nil && len(t.commands) > 0 {
				t.i.sayUntried(commandTry{commands: t.commands}, "setup failed")
			}
			return err
		}
	}
	if len(t.commands) == 0 {
		t.i.sayNoVerify()
		return nil
	}
	// The last commit is the user's own, so that its proof fills caches as the base
	// of a run does.
	req := work.VerifyRequest{
		Dir: place("verify"), Checkout: root, Commit: t.i.base.Commit, Commands: t.commands, TimeoutSecs: t.seconds,
		Worktree: t.worktree, Sandbox: t.i.set.Sandbox, Hide: []string{dir}, Mark: runs.NewMark(), Accepted: true, Caches: t.i.set.Verify.Caches,
		OneHome: t.i.set.Verify.OneHome, MayWrite: t.i.set.Verify.MayWrite,
	}
	began := t.i.app.Now()
	rep, err := t.timed("verify", t.commands, func() (work.CommandsReport, error) { return bench.Verify(ctx, req, nil) })
	t.i.note(&t.i.proposal.Verify, rep)
	if err != nil || !rep.OK {
		return err
	}
	return t.warm(ctx, bench, req, t.i.app.Now().Sub(began))
}

// warm runs the proof once more, with the caches that the first one filled, as
// the proofs of a run have them.
func (t commandTry) warm(ctx context.Context, bench *verify.Bench, req work.VerifyRequest, cold time.Duration) error {
	if cold > mostCold {
		t.i.say("", " ", "cold, with empty caches; the proofs of a run are lent what the first one filled")
		return nil
	}
	began := t.i.app.Now()
	req.Accepted, req.Mark = false, runs.NewMark()
	rep, err := bench.Verify(ctx, req, nil)
	if err != nil {
		return err
	}
	if !rep.OK {
		t.i.failed = true
		t.i.say("Verify", markNo, "green at first and red when it was run again: %s", text.OneLine(rep.Problem, 200))
		return nil
	}
	t.i.say("", " ", "a proof takes %.1f s cold, with empty caches, and %.1f s warm, as in a run", cold.Seconds(), t.i.app.Now().Sub(began).Seconds())
	return nil
}

// note writes into the reasons of the proposal, which become comments in
// forge.toml, what failed.
func (i *initiation) note(commands *[]config.Command, rep work.CommandsReport) {
	for n := range *commands {
		c := &(*commands)[n]
		switch ran := reportOf(rep, c.Run); {
		case rep.OK || ran != nil && ran.OK:
		case ran != nil:
			c.Why += "; it FAILED when forge init tried it: " + howItEnded(*ran)
		default:
			c.Why += "; not tried, as something before it failed"
		}
	}
}

// reportOf is what came of a command, nil when it did not run.
func reportOf(rep work.CommandsReport, command string) *work.CommandReport {
	for n := range rep.Ran {
		if rep.Ran[n].Command == command {
			return &rep.Ran[n]
		}
	}
	return nil
}

func howItEnded(c work.CommandReport) string {
	switch {
	case c.TimedOut:
		return "it took too long"
	case c.ExitCode == nil:
		return "it was ended by a signal"
	case *c.ExitCode == 127:
		return "exit code 127, a program was not found"
	}
	return fmt.Sprintf("exit code %d", *c.ExitCode)
}

// timed runs one group of commands and says what came of it.
func (t commandTry) timed(kind string, commands []string, do func() (work.CommandsReport, error)) (work.CommandsReport, error) {
	a := t.i.app
	began := a.Now()
	a.log.Info("trying", kind, text.OneLine(strings.Join(commands, "; "), 80))
	over := make(chan struct{})
	var beat sync.WaitGroup
	beat.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				a.log.Info("still trying", kind, since(a.Now().Sub(began)))
			}
		}
	})
	rep, err := do()
	close(over)
	beat.Wait()
	if err == nil {
		t.i.failed = t.i.failed || !rep.OK
		t.i.sayTried(kind, commands, rep, a.Now().Sub(began))
	}
	return rep, err
}
