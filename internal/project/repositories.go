package project

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"charm.land/log/v2"

	"forge/gates"
	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/effect"
	"forge/internal/git"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// A run may work in several repositories: those that its plan's phases name, by the
// names that [workspace] gives them. What proves work in one, and what is protected
// there, it says itself, by its own .forge/forge.toml and the configuration of the
// user. Who works, what may be spent and how many phases go at once is the home's.

// In is spec with the repositories that its phases name, as they stand now. What is
// wrong with them is one error with all of it.
func (p *Checkout) In(ctx context.Context, spec *orchestrator.Spec, flags config.PolicyFlags) error {
	var names []string
	for _, ph := range spec.Plan.Phases {
		if ph.Repository != "" && !slices.Contains(names, ph.Repository) {
			names = append(names, ph.Repository)
		}
	}
	if len(names) == 0 {
		return nil
	}
	var list []config.Problem
	roots := []string{p.Base.RepoRoot}
	for _, name := range names {
		b, ok := p.Config.Beside(name)
		if !ok {
			list = append(list, config.Problem{File: config.ProjectFile, What: fmt.Sprintf("there is no repository %q", name), Fix: "name it in [workspace] repositories"})
			continue
		}
		if problem := p.inOne(ctx, spec, b, flags, &roots); problem != nil {
			list = append(list, *problem)
		}
	}
	if len(list) > 0 {
		return &config.Problems{List: list}
	}
	if why := spec.OneRepository(); why != "" {
		return refusal.New("let all its phases work in one repository, or leave that out", "phases of this plan work in several repositories, and %s", why)
	}
	return nil
}

// inOne adds the repository b to spec; roots are those of the ones before.
func (p *Checkout) inOne(ctx context.Context, spec *orchestrator.Spec, b config.Beside, flags config.PolicyFlags, roots *[]string) *config.Problem {
	bad := func(what, fix string) *config.Problem {
		problem := b.Problem(what, fix)
		return &problem
	}
	env := p.Env
	env.Dir = b.Path
	other, err := Open(ctx, env)
	if err != nil {
		return bad(fmt.Sprintf("cannot be worked in (%s): %s", b.Path, strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")), "name a checkout that forge run would work in")
	}
	base := other.Base
	switch {
	case slices.ContainsFunc(*roots, func(root string) bool { return SameDir(root, base.RepoRoot) }):
		return bad("is the checkout "+base.RepoRoot+", which the work is in already", "name each checkout once")
	case base.Branch == "" || base.Shallow:
		return bad("is in no state to be moved: "+base.RepoRoot+" has no branch checked out, or is a shallow clone", "check the branch out that the work is for")
	case b.Target != "" && b.Target != base.Branch:
		return bad(fmt.Sprintf("is for the branch %s, and %s has %s checked out", b.Target, base.RepoRoot, base.Branch), "git switch "+b.Target+" there")
	}
	*roots = append(*roots, base.RepoRoot)

	// Its own word on the phases that work in it; who does them is not its matter.
	var plan work.Plan
	for _, ph := range spec.Plan.Phases {
		if ph.Repository == b.Name {
			ph.Repository, ph.Agent, ph.Fallback, ph.DependsOn, ph.Skills, ph.Level = "", "", nil, nil, nil, ""
			plan.Phases = append(plan.Phases, ph)
		}
	}
	set, err := config.Resolve(other.Config, config.NewPlan(plan), config.Facts{Kinds: AgentKinds()})
	if err != nil {
		return bad("has a configuration that cannot be used: "+strings.ReplaceAll(err.Error(), "\n", "; "), "mend it; forge config validate there says more")
	}
	if why := differs(spec.Settings, set, other.Config, plan); why != "" {
		return bad(why, "let both say the same; what is said in your own configuration holds for both")
	}
	policy, _, err := config.Policy(other.Config, flags)
	if err != nil {
		return bad("has a policy that cannot be used: "+err.Error(), "mend it, forge policy explain there says more")
	}
	if err := config.CheckHooks(other.Config, policy, true); err != nil {
		return bad("has hooks that nobody would ask: "+err.Error(), "take them out there")
	}
	spec.Policy = gates.Meet(spec.Policy, policy)
	if bound := other.Config.Ceiling(); bound != nil && spec.Bound != nil {
		both := gates.Meet(*spec.Bound, *bound)
		spec.Bound = &both
	} else if bound != nil {
		spec.Bound = bound
	}
	for _, ph := range plan.Phases {
		own, its := spec.Settings.Phases[ph.Number], set.Phases[ph.Number]
		own.Sensitive = its.Sensitive
		own.AskIteration = own.AskIteration || its.AskIteration
		if !own.VerifyOwn {
			own.Verify, own.VerifyOwn = its.Verify, its.VerifyOwn
		}
		spec.Settings.Phases[ph.Number] = own
	}
	spec.Repositories = append(spec.Repositories, work.Repository{Name: b.Name, Base: base, Verify: set.Verify, Proof: set.Proof, Worktree: set.Worktree})
	return nil
}

// Beside is the checkout of another repository of a run, with its own configuration.
// What that is warned of, In has said.
func (p *Checkout) Beside(ctx context.Context, r work.Repository) (*Checkout, error) {
	env := p.Env
	env.Dir = r.Base.RepoRoot
	env.Log = log.New(io.Discard)
	c, err := Open(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("open the repository %s of the run: %w", r.Name, err)
	}
	c.Log = p.Log
	return c, nil
}

// differs says what another repository asks for that a run of the home's plan would
// pass over.
func differs(home, set work.Settings, its *config.Config, plan work.Plan) string {
	switch {
	case len(its.Hooks()) > 0:
		return "has hooks, and nobody asks them in a run of another repository's plan"
	case !reflect.DeepEqual(home.Sandbox, set.Sandbox):
		return "has another [sandbox] than this repository"
	}
	for _, ph := range plan.Phases {
		if set.Phases[ph.Number].Reviewed && !home.Phases[ph.Number].Reviewed {
			return "wants phase " + ph.Number + " to be reviewed, and this repository does not"
		}
		if set.Phases[ph.Number].Tries > 1 {
			return "wants phase " + ph.Number + " to be tried several times"
		}
	}
	return ""
}

// Among are the machines of the other repositories of a run, by name, and whatever
// of all of them no agent may see.
type Among struct {
	Machines map[string]*Machine
	Checkout map[string]*Checkout
	States   []string
}

// OpenAmong opens the other repositories of a run, and settles what a Forge that
// died had begun in them.
func (p *Checkout) OpenAmong(ctx context.Context, all []work.Repository) (Among, error) {
	out := Among{Machines: map[string]*Machine{}, Checkout: map[string]*Checkout{}}
	for _, r := range all {
		env := p.Env
		env.Dir = r.Base.RepoRoot
		if _, err := git.Inspect(ctx, env.Dir); err != nil {
			return out, refusal.New("put it back where it was when the run began", "the repository %s of the run, %s: %v", r.Name, env.Dir, err)
		}
		state, err := config.StateDir(env.Environ, env.Dir)
		if err != nil {
			return out, err
		}
		if state == p.State {
			// FORGE_STATE_DIR names one folder for whichever checkout.
			state = filepath.Join(p.State, "repositories", r.Name)
		}
		c := &Checkout{Env: env, Base: r.Base, Config: p.Config, State: state}
		m, err := c.Machine(ctx)
		if err != nil {
			return out, fmt.Errorf("open the repository %s of the run: %w", r.Name, err)
		}
		out.Machines[r.Name], out.Checkout[r.Name] = m, c
		out.States = append(out.States, state)
	}
	return out, nil
}

// objectsFile lists where the objects of other repositories of runs are, so that
// whoever looks at a run finds the commits of all of them.
func (p *Checkout) objectsFile() string { return filepath.Join(p.State, "repositories", "objects") }

// objectsBeside are those folders as far as they are there.
func (p *Checkout) objectsBeside() []string {
	data, err := os.ReadFile(p.objectsFile())
	if err != nil {
		return nil // no run worked in several repositories
	}
	var out []string
	for dir := range strings.Lines(string(data)) {
		dir = strings.TrimSpace(dir)
		if info, err := os.Stat(dir); err == nil && info.IsDir() && !strings.ContainsRune(dir, os.PathListSeparator) {
			out = append(out, dir)
		}
	}
	return out
}

// NoteObjects keeps where the objects of the other repositories of a run are.
func (p *Checkout) NoteObjects(a Among) error {
	all := p.objectsBeside()
	for _, m := range a.Machines {
		all = append(all, m.Repo.Objects())
	}
	slices.Sort(all)
	if err := os.MkdirAll(filepath.Dir(p.objectsFile()), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(p.objectsFile(), []byte(strings.Join(slices.Compact(all), "\n")+"\n"), 0o600)
}

// LayoutOf is where a run keeps the folders of its work in one of them.
func (a Among) LayoutOf(home *Checkout, name string) effect.Layout {
	l := home.Layout()
	l.Repository, l.Checkout, l.Others = name, a.Checkout[name].Base.RepoRoot, a.States
	return l
}

// CheckOne refuses work whose phases name repositories that nobody opened: only a
// run of the plan is of several.
func CheckOne(spec orchestrator.Spec) error {
	for _, ph := range spec.Plan.Phases {
		if ph.Repository != "" && len(spec.Repositories) == 0 {
			return refusal.New("start it with forge run, or put it on the board as an issue", "phase %s works in the repository %s, and several repositories are worked in by forge run and by issues alone", ph.Number, ph.Repository)
		}
	}
	return nil
}
