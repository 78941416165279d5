// Package setup finds what a project needs to be worked on, tries it as a run
// would, and writes .forge/.
package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"forge/internal/config"
	"forge/internal/discovery"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// Setup is what was found of a project, and what will be written.
type Setup struct {
	Base     work.Base // Commit is "" while the repository has none
	Settings work.Settings
	// Configured says that there is a forge.toml: it is kept, and what it says
	// is what is tried.
	Configured bool
	Agent      discovery.Agent
	Failed     bool // something that was tried did
	// Pattern is what the project begins with, nil = the example.
	Pattern *Pattern

	env      project.Env
	cfg      *config.Config
	reviews  string // what forge.toml says of them
	proposal config.Proposal
}

// Look finds the checkout around the working directory, what is configured for
// it, and what its files say. kind is the agent that is asked for, "" = none is.
func Look(ctx context.Context, env project.Env, kind string) (*Setup, error) {
	s := &Setup{env: env}
	base, err := git.Inspect(ctx, env.Dir)
	if err != nil {
		root := project.CheckoutAround(env.Dir)
		if root == "" || !unborn(err) {
			return nil, err
		}
		base = work.Base{RepoRoot: root}
	}
	s.Base = base
	if _, err := os.Lstat(s.At(config.ProjectFile)); err == nil {
		s.Configured = true
	}
	cfg, warnings, err := config.Load(config.Sources{ProjectDir: base.RepoRoot, UserFile: config.UserFile(env.Environ), Environ: env.Environ})
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		env.Log.Warn(w.String())
	}
	s.cfg = cfg
	if s.Configured && kind != "" {
		return nil, refusal.New("edit [agent] use there, or leave --agent out", "%s is there and is not changed", config.ProjectFile)
	}
	s.Agent.Configured = kind == "" && (s.Configured || cfg.Origin("agent.use") != "default")
	// One phase that says nothing of its own: what every phase starts from.
	plan := &config.Plan{Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "any", Promise: "ANY"}}}, File: project.PlanFile}
	if s.Settings, err = config.Resolve(cfg, plan, config.Facts{Kinds: project.AgentKinds()}); err != nil {
		return nil, err
	}
	s.Agent.Name = s.Settings.Phases["01"].Agent
	if !s.Configured {
		s.proposal = discovery.Commands(base.RepoRoot, s.Inside())
	}
	return s, nil
}

// unborn says that a repository was refused because it has no commit yet.
func unborn(err error) bool {
	var state *git.StateError
	return errors.As(err, &state) && strings.Contains(state.What, "no commit")
}

// At is where a file of the checkout stands.
func (s *Setup) At(name string) string {
	return filepath.Join(s.Base.RepoRoot, filepath.FromSlash(name))
}

// Inside is the working directory below the root of the checkout, "" at the
// root itself.
func (s *Setup) Inside() string { return discovery.Inside(s.env.Dir, s.Base.RepoRoot) }

// FindAgent takes the agent that is configured, else one of the kind that is
// asked for, else one that is installed.
func (s *Setup) FindAgent(ctx context.Context, kind string) (err error) {
	if s.Agent.Configured {
		s.Agent = discovery.Configured(ctx, s.Settings.Agents[s.Agent.Name], s.env.Environ)
		return nil
	}
	s.Agent, err = discovery.FindAgent(ctx, kind, s.env.Environ)
	return err
}
