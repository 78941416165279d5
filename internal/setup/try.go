package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"forge/internal/config"
	"forge/internal/discovery"
	"forge/internal/git"
	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/verify"
	"forge/internal/work"
)

// mostCold is how long a cold proof may have taken that is measured warm as well.
const mostCold = 2 * time.Minute

// Commands are a project's commands to be tried.
type Commands struct {
	Worktree work.Worktree // with the setup commands
	Verify   []string
	Seconds  int // limit of each verify command
}

// None says that there is nothing to try.
func (c Commands) None() bool { return len(c.Verify) == 0 && len(c.Worktree.Setup) == 0 }

// Commands are what a run would run, as configured or proposed, each with at
// most limit.
func (s *Setup) Commands(limit time.Duration) Commands {
	c := Commands{Worktree: s.Settings.Worktree, Verify: s.Settings.Verify.Commands, Seconds: s.Settings.Verify.TimeoutSecs}
	if !s.Configured {
		c.Worktree = work.Worktree{Setup: discovery.Lines(s.proposal.Setup), CacheKey: s.proposal.CacheKey, TimeoutSecs: s.Settings.Worktree.TimeoutSecs}
		c.Verify = discovery.Lines(s.proposal.Verify)
	}
	most := int(limit / time.Second)
	c.Seconds, c.Worktree.TimeoutSecs = min(c.Seconds, most), min(c.Worktree.TimeoutSecs, most)
	return c
}

// Teller is told what is tried, in order, by one goroutine.
type Teller interface {
	// Trying begins a group, "setup" or "verify"; over ends it.
	Trying(kind string, commands []string) (over func())
	// Tried is what came of a group that could be tried.
	Tried(kind string, commands []string, rep work.CommandsReport, took time.Duration)
	// Untried are commands that were not tried, and why.
	Untried(c Commands, why string)
	// Proven is a green proof. warm is how long it took once more with the caches
	// of the first time, 0 = it was not tried; problem is why it was red then.
	Proven(cold, warm time.Duration, problem string)
}

// Try runs setup and verify on the last commit as a run would: in folders of
// their own, without credentials. Everything that it makes is temporary.
func (s *Setup) Try(ctx context.Context, c Commands, caps proc.Capabilities, tell Teller) (err error) {
	root := s.Base.RepoRoot
	dir, err := os.MkdirTemp("", "forge-init-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return refusal.New("set TMPDIR to a folder that can be written, or use --no-try", "make a folder to try the commands in: %v", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	environ := s.env.Environ
	store, err := git.Open(ctx, git.Config{StateDir: dir, Root: root, Environ: environ})
	if err != nil {
		return err
	}
	red := redact.New(redact.FromEnv(environ, proc.SecretName))
	bench := verify.New(store, caps, environ, filepath.Join(dir, "cache"), red)
	place := func(name string) string { return filepath.Join(dir, name) }
	if len(c.Worktree.Setup) > 0 {
		if err := store.Materialize(ctx, place("setup"), s.Base.Commit); err != nil {
			return err
		}
		rep, err := s.timed(tell, "setup", c.Worktree.Setup, func() (work.CommandsReport, error) {
			return bench.Setup(ctx, work.SetupRequest{
				Dir: place("setup"), Checkout: root, Settings: c.Worktree, Sandbox: s.Settings.Sandbox, Hide: []string{dir}, Mark: runs.NewMark(),
			})
		})
		note(s.proposal.Setup, rep)
		if err != nil || !rep.OK {
			if err == nil && len(c.Verify) > 0 {
				tell.Untried(Commands{Verify: c.Verify}, "setup failed")
			}
			return err
		}
	}
	if len(c.Verify) == 0 {
		return nil
	}
	// The last commit is the user's own, so that its proof fills caches as the base
	// of a run does.
	req := work.VerifyRequest{
		Dir: place("verify"), Checkout: root, Commit: s.Base.Commit, Commands: c.Verify, TimeoutSecs: c.Seconds,
		Worktree: c.Worktree, Sandbox: s.Settings.Sandbox, Hide: []string{dir}, Mark: runs.NewMark(), Accepted: true, Caches: s.Settings.Verify.Caches,
		OneHome: s.Settings.Verify.OneHome, MayWrite: s.Settings.Verify.MayWrite,
	}
	began := s.env.Now()
	rep, err := s.timed(tell, "verify", c.Verify, func() (work.CommandsReport, error) { return bench.Verify(ctx, req, nil) })
	note(s.proposal.Verify, rep)
	if err != nil || !rep.OK {
		return err
	}
	return s.warm(ctx, bench, req, s.env.Now().Sub(began), tell)
}

// timed runs one group of commands and tells what came of it.
func (s *Setup) timed(tell Teller, kind string, commands []string, do func() (work.CommandsReport, error)) (work.CommandsReport, error) {
	began := s.env.Now()
	over := tell.Trying(kind, commands)
	rep, err := do()
	over()
	if err == nil {
		s.Failed = s.Failed || !rep.OK
		tell.Tried(kind, commands, rep, s.env.Now().Sub(began))
	}
	return rep, err
}

// warm runs the proof once more, with the caches that the first one filled, as
// the proofs of a run have them.
func (s *Setup) warm(ctx context.Context, bench *verify.Bench, req work.VerifyRequest, cold time.Duration, tell Teller) error {
	if cold > mostCold {
		tell.Proven(cold, 0, "")
		return nil
	}
	began := s.env.Now()
	req.Accepted, req.Mark = false, runs.NewMark()
	rep, err := bench.Verify(ctx, req, nil)
	if err != nil {
		return err
	}
	problem := ""
	if !rep.OK {
		s.Failed, problem = true, rep.Problem
	}
	tell.Proven(cold, max(s.env.Now().Sub(began), 1), problem)
	return nil
}

// note writes into the reasons of the proposal, which become comments in
// forge.toml, what failed.
func note(commands []config.Command, rep work.CommandsReport) {
	for n := range commands {
		c := &commands[n]
		switch ran := ReportOf(rep, c.Run); {
		case rep.OK || ran != nil && ran.OK:
		case ran != nil:
			c.Why += "; it FAILED when forge init tried it: " + HowItEnded(*ran)
		default:
			c.Why += "; not tried, as something before it failed"
		}
	}
}

// ReportOf is what came of a command, nil when it did not run.
func ReportOf(rep work.CommandsReport, command string) *work.CommandReport {
	for n := range rep.Ran {
		if rep.Ran[n].Command == command {
			return &rep.Ran[n]
		}
	}
	return nil
}

// HowItEnded is how a command that failed did.
func HowItEnded(c work.CommandReport) string {
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
