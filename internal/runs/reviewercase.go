package runs

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/review"
)

// CaseReviewer asks an agent, as a reviewer of a run, about changes that stand in
// no repository: cases whose right answer is known.
type CaseReviewer struct {
	repo   *git.Store
	agents agentRunner
	req    work.ReviewRequest
	asked  int
}

// holdsCase is what an agent's folder holds of a case.
const holdsCase = "as it is after the change, as far as it is known: other files are left out. You may read in it what you need to judge the change."

// OpenCaseReviewer makes what asking an agent takes: it is there and signed in, and
// has a sandbox in which it reaches nothing but its own service and the hosts that the
// settings name, as long as this machine has that. dir is a folder for all of it; run names the asking.
func OpenCaseReviewer(ctx context.Context, p *project.Checkout, by, model, run, dir string) (*CaseReviewer, error) {
	name := ReviewAgent(by)
	if name == "" {
		return nil, refusal.New("write agent:NAME, such as agent:claude; without it the model in [llm] is asked", "%q is no agent", by)
	}
	const phase = "eval"
	plan := config.NewPlan(work.Plan{Phases: []work.Phase{{Number: phase, Name: phase, Promise: "REVIEWED", Agent: name}}})
	set, err := config.Resolve(p.Config, plan, config.Facts{Kinds: project.AgentKinds()})
	if err != nil {
		return nil, err
	}
	of, ok := set.Agents[name]
	if !ok {
		return nil, refusal.New("there are "+strings.Join(slices.Sorted(maps.Keys(set.Agents)), ", "), "unknown agent %q", name)
	}
	set.Agents = map[string]work.AgentSettings{name: of}
	if err := p.CheckAgents(ctx, set); err != nil {
		return nil, err
	}
	repo, err := git.Open(ctx, git.Config{StateDir: filepath.Join(dir, "state"), Root: p.Base.RepoRoot, Environ: p.Environ})
	if err != nil {
		return nil, refusal.New("git init makes a folder one", "an agent is asked in a git repository: %v", err)
	}

	caps := p.Sandboxes(ctx)
	alone := set.Sandbox
	alone.Network, alone.OnlyHosts = false, true // beside the hosts that the settings name
	if _, err := project.ChooseSandbox(ctx, alone, caps); alone.Mode != "off" && err == nil {
		set.Sandbox = alone
	} else {
		p.Log.Warn("the agent's network is as it is configured: this machine cannot leave it its own service alone", "why", err)
	}
	if err := p.CheckSandbox(ctx, &project.Machine{Caps: caps}, set.Sandbox); err != nil {
		return nil, err
	}
	return &CaseReviewer{
		repo:   repo,
		agents: agent.New(agent.Config{Environ: p.Environ, Caps: caps, Redact: redact.New(redact.FromEnv(p.Environ, proc.SecretName))}),
		req: work.ReviewRequest{
			Run: run, Phase: phase, PhaseName: phase, By: by, Model: model, Mark: NewMark(), Dir: filepath.Join(dir, "folder"), LogPath: filepath.Join(dir, "agent.log"),
			Sandbox: set.Sandbox, Agent: of, Limits: set.Limits, ReadPaths: repo.ObjectPaths(), HidePaths: []string{p.State},
		},
	}, nil
}

// Of is the agent before one case: its folder holds files, save what would tell
// agents how to behave. done drops the folder.
func (v *CaseReviewer) Of(ctx context.Context, s work.Specialist, files map[string][]byte, usd *float64, tokens *int64) (m review.Model, done func() error, err error) {
	files = maps.Clone(files)
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return AgentRules(name) })
	commit, err := v.repo.Alone(ctx, files, "a case\n")
	if err != nil {
		return nil, nil, fmt.Errorf("lay a case out: %w", err)
	}
	req := v.req
	v.asked++
	req.Specialist, req.Ask, req.CostUSD, req.Tokens = s, v.asked, usd, tokens
	a := &agentReviewer{repo: v.repo, agents: v.agents, req: req, commit: commit, holds: holdsCase}
	return a, a.close, nil
}
