package planrun

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// Validation is all that is wrong before a run, from all sides.
type Validation struct {
	OK       bool      `json:"ok"`
	Problems []Problem `json:"problems"`
	Warnings []Problem `json:"warnings"`
}

// Problem is one thing that is wrong, with the way out.
type Problem struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
	What string `json:"what"`
	Fix  string `json:"fix,omitempty"`
}

func (v *Validation) warn(list []config.Warning) {
	for _, w := range list {
		v.Warnings = append(v.Warnings, Problem(w))
	}
}

// add takes in an error of any kind; a problem that is there already counts
// once.
func (v *Validation) add(err error) {
	var problems *config.Problems
	var usage *refusal.Error
	var state *git.StateError
	switch {
	case err == nil:
	case errors.As(err, &problems):
		for _, p := range problems.List {
			v.problem(Problem(p))
		}
	case errors.As(err, &usage):
		v.problem(Problem{What: usage.What, Fix: usage.Fix})
	case errors.As(err, &state):
		v.problem(Problem{What: state.What, Fix: state.Fix})
	default:
		v.problem(Problem{What: err.Error()})
	}
}

func (v *Validation) problem(p Problem) {
	for _, known := range v.Problems {
		if known == p {
			return
		}
	}
	v.Problems = append(v.Problems, p)
}

// plan reads the plan; planned is false where there is none, which only
// forge run needs.
func (v *Validation) plan(file string) (_ *config.Plan, planned bool) {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		v.Warnings = append(v.Warnings, Problem{File: project.PlanFile, What: "there is no plan: forge run needs one, a job does not", Fix: "write one, or make one from the spec with forge generate"})
		return nil, false
	}
	plan, warnings, err := config.LoadPlan(file, project.CheckGraph)
	v.warn(warnings)
	v.add(err)
	return plan, true
}

// resolvePlanned is what a run of the plan works with; without one, what a job
// does.
func resolvePlanned(cfg *config.Config, plan *config.Plan) (work.Settings, error) {
	if plan == nil {
		set, _, err := config.ResolveJob(cfg, config.JobFacts{}, config.Facts{Kinds: project.AgentKinds()})
		return set, err
	}
	return config.Resolve(cfg, plan, config.Facts{Kinds: project.AgentKinds()})
}

// job warns of what a job would be refused for, where the plan is what was looked at.
func (v *Validation) job(cfg *config.Config) {
	_, err := resolvePlanned(cfg, nil)
	var refused *config.Problems
	if !errors.As(err, &refused) {
		return
	}
	for _, p := range refused.List {
		p.What = "forge job start will refuse: " + p.What
		v.Warnings = append(v.Warnings, Problem(p))
	}
}

// planOf is an empty plan where there is none.
func planOf(plan *config.Plan) work.Plan {
	if plan == nil {
		return work.Plan{}
	}
	return plan.Plan
}

// onMachine is what is missing here, which says nothing about the project's files.
func onMachine(p config.Problem) Problem {
	p.What = "on this machine " + p.What
	return Problem(p)
}

// Validate says what is wrong for a run of the checkout at env.Dir under a policy.
func Validate(ctx context.Context, env project.Env, flags config.PolicyFlags) *Validation {
	v := &Validation{Problems: []Problem{}, Warnings: []Problem{}}
	v.look(ctx, env, flags)
	v.OK = len(v.Problems) == 0
	return v
}

// look looks at everything that run looks at before it spends anything,
// and goes on past each problem as far as the rest can be judged.
func (v *Validation) look(ctx context.Context, env project.Env, flags config.PolicyFlags) {
	base, err := git.Inspect(ctx, env.Dir)
	v.add(err)
	if base.RepoRoot == "" {
		if base.RepoRoot = project.CheckoutAround(env.Dir); base.RepoRoot == "" {
			return
		}
	}
	p := &project.Checkout{Env: env, Base: base}
	p.State, err = config.StateDir(env.Environ, base.RepoRoot)
	v.add(err)
	plan, planned := v.plan(filepath.Join(base.RepoRoot, filepath.FromSlash(project.PlanFile)))
	cfg, warnings, err := config.Load(config.Sources{ProjectDir: base.RepoRoot, UserFile: config.UserFile(env.Environ), Environ: env.Environ})
	v.warn(warnings)
	v.add(err)
	if err != nil {
		return
	}
	p.Config = cfg
	_, _, err = config.Policy(cfg, flags)
	v.add(err)
	_, err = cfg.Experts()
	v.add(err)
	if planned && plan == nil {
		for _, problem := range config.CheckTrust(cfg) {
			v.problem(Problem(problem))
		}
		return
	}
	set, err := resolvePlanned(cfg, plan)
	if err != nil {
		v.add(err)
		return
	}
	for _, why := range project.Unreviewed(orchestrator.Spec{Plan: planOf(plan), Settings: set}) {
		v.Warnings = append(v.Warnings, Problem{What: "forge run will refuse, since no reviewer can be asked: " + why})
	}
	if plan != nil {
		v.add(p.In(ctx, &orchestrator.Spec{Plan: plan.Plan, Settings: set}, flags))
		v.job(cfg)
	}
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		found := agent.Detect(ctx, set.Agents[name], env.Environ)
		for _, problem := range project.Lacks(set.Agents[name], found) {
			if project.OfProject(set.Agents[name]) {
				v.problem(Problem(problem))
			} else {
				v.Warnings = append(v.Warnings, onMachine(problem))
			}
		}
	}
	if _, err := project.ChooseSandbox(ctx, set.Sandbox, proc.Detect(ctx)); err != nil {
		v.Warnings = append(v.Warnings, onMachine(config.Problem{What: err.Error(), Fix: project.SandboxFix(set.Sandbox) + ", or set sandbox.mode in your own configuration"}))
	}
	if planned && strings.TrimSpace(set.Spec) == "" {
		v.Warnings = append(v.Warnings, Problem{File: config.SpecFile, What: "there is no spec: the agent knows its phases only by their names", Fix: "write one"})
	}
}
