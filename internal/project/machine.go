package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/effect"
	"forge/internal/evidence"
	"forge/internal/git"
	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/verify"
	"forge/internal/work"
)

// Machine is everything that a run needs of this machine.
type Machine struct {
	Repo   *git.Store
	Agents *agent.Agents
	Bench  *verify.Bench
	Caps   proc.Capabilities
	// Evidence holds changes against what their proofs rest on.
	Evidence *evidence.Store
}

// Pages shows the pages of the project, whose pictures keep keeps.
func (m *Machine) Pages(keep func(ctx context.Context, picture []byte) (sha string, err error)) verify.Pages {
	return verify.Pages{Bench: m.Bench, Keep: keep}
}

// Machine opens what runs need, and settles what a Forge that died had begun.
func (p *Checkout) Machine(ctx context.Context) (*Machine, error) {
	repo, err := git.Open(ctx, git.Config{StateDir: p.State, Root: p.Base.RepoRoot, Environ: p.Environ})
	if err != nil {
		return nil, err
	}
	p.Settle(ctx, repo)
	red := redact.New(redact.FromEnv(p.Environ, proc.SecretName))
	caps := p.Sandboxes(ctx)
	return &Machine{
		Repo:   repo,
		Agents: agent.New(agent.Config{Environ: p.Environ, Caps: caps, Redact: red, Tools: p.tools()}),
		Bench:  verify.New(repo, caps, p.Environ, filepath.Join(p.State, "cache"), red),
		Caps:   caps,

		Evidence: evidence.New(repo, filepath.Join(p.State, "cache", "evidence")).Traced(filepath.Join(p.State, "cache", "opened")),
	}, nil
}

// tools is what agents of the checkout are given; nil = nothing.
func (p *Checkout) tools() agent.Tools {
	if p.Tools == nil {
		return nil
	}
	return p.Tools(p)
}

// Repo opens Forge's own repository to read in it.
func (p *Checkout) Repo(ctx context.Context) (*git.Store, error) {
	repo, err := git.Open(ctx, git.Config{StateDir: cmp.Or(p.Objects, p.State), Root: p.Base.RepoRoot, Environ: p.Environ, Also: p.objectsBeside()})
	if errors.Is(err, fs.ErrPermission) {
		return nil, refusal.New("ask as the user who started the run", "open Forge's repository: %v", err)
	}
	return repo, err
}

// Settle says what had to be done about a move of the checkout that a Forge
// which died had begun.
func (p *Checkout) Settle(ctx context.Context, repo *git.Store) {
	switch said, err := repo.SettleMove(ctx); {
	case err != nil:
		p.Log.Warn("the checkout is as a Forge that died left it", "err", err)
	case said != "":
		p.Log.Warn(said)
	}
}

// Layout is where runs keep their folders.
func (p *Checkout) Layout() effect.Layout {
	return effect.Layout{State: p.State, Checkout: p.Base.RepoRoot}
}

// CheckSandbox refuses a run whose sandbox cannot be had, and says honestly
// when there is none.
func (p *Checkout) CheckSandbox(ctx context.Context, e *Machine, set work.SandboxSettings) error {
	level, err := ChooseSandbox(ctx, set, e.Caps)
	if err != nil {
		return refusal.New(SandboxFix(set)+", or set "+sandboxKey(set)+" in your own configuration", "%v", err)
	}
	if level == proc.LevelNone {
		why := e.Caps.Why
		if set.Mode == "off" {
			why = "it is switched off"
		}
		p.Log.Warn("no sandbox: approvals, secrets and other files of this user are not protected from the agent", "why", why, "sandbox.mode", set.Mode)
	}
	return nil
}

// CheckAgents finds every agent that the plan uses, before anything is spent,
// and says of all that cannot work what they lack.
func (p *Checkout) CheckAgents(ctx context.Context, set work.Settings) error {
	var list []config.Problem
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		a := set.Agents[name]
		d := agent.Detect(ctx, a, p.Environ)
		problems := Lacks(a, d)
		if len(problems) == 0 && d.Untried != "" {
			p.Log.Warn("agent of a version that is not known", "agent", name, "why", d.Untried)
		}
		list = append(list, problems...)
	}
	if len(list) > 0 {
		return &config.Problems{List: list}
	}
	return nil
}

// Lacks says what an agent lacks to work, as it was found here; none when it can.
// What is missing is said once, however the agent's own kind puts it.
func Lacks(a work.AgentSettings, d agent.Detection) []config.Problem {
	what, fix := "", ""
	switch {
	case !d.Found && a.Kind == "script":
		what, fix = "cannot be used", "correct its script"
	case !d.Found:
		what, fix = "is not installed", "install it, or name another in [agent] use"
	case d.LoggedIn == agent.LoginNo:
		what = "is not logged in"
	default:
		return nil
	}
	var list []config.Problem
	// A script has as many lines here as it has mistakes.
	for line := range strings.Lines(d.Why) {
		why := strings.TrimSpace(line)
		if _, rest, said := strings.Cut(why, " "+what+": "); said {
			why = rest
		}
		list = append(list, config.Problem{What: fmt.Sprintf("agent %q %s: %s", a.Name, what, why), Fix: fix})
	}
	return list
}

// OfProject says that what an agent lacks stands in the project's own files, and
// is not a matter of this machine.
func OfProject(a work.AgentSettings) bool {
	return a.Kind == "script" || len(a.Command) > 0 && strings.Contains(a.Command[0], "/") && !filepath.IsAbs(a.Command[0])
}

// ChooseSandbox says how what runs is shut in, once it is known that it can be: a
// container is tried.
func ChooseSandbox(ctx context.Context, set work.SandboxSettings, caps proc.Capabilities) (proc.Level, error) {
	level, err := proc.Choose(set.How(), set.OnlyHosts, caps)
	if level == proc.LevelContainer {
		err = proc.TryContainer(ctx, proc.Container(set.Container))
	}
	return level, err
}

// sandboxKey is the key that decides which sandbox it is.
func sandboxKey(set work.SandboxSettings) string {
	if set.Container.Image != "" {
		return "sandbox.kind"
	}
	return "sandbox.mode"
}

// SandboxFix is the way to the sandbox of the settings on this system.
func SandboxFix(set work.SandboxSettings) string {
	if set.Container.Image != "" {
		return "give its runtime the image that sandbox.image names; docs/containers.md has what a runtime needs"
	}
	if runtime.GOOS == "linux" {
		return "install bubblewrap, and allow user namespaces"
	}
	return "run forge on Linux, for example in a container or a virtual machine"
}

// AtPath is an agent with the path at which its relative command is looked for.
func AtPath(a work.AgentSettings) work.AgentSettings {
	if len(a.Command) > 0 && strings.Contains(a.Command[0], "/") && !filepath.IsAbs(a.Command[0]) {
		a.Command = slices.Clone(a.Command)
		a.Command[0] = filepath.Join(a.Checkout, a.Command[0])
	}
	return a
}
