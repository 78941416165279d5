package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/trackers"
	"forge/internal/work"
	"forge/orchestrator"
)

// Doctor says one line for each thing it looks at.
type Doctor struct {
	Env project.Env
	Out io.Writer
	Bad int // problems that were found
}

func (d *Doctor) say(mark, what, fix string) {
	fmt.Fprintf(d.Out, "%s %s\n", mark, what)
	if fix != "" {
		fmt.Fprintf(d.Out, "    → %s\n", fix)
	}
}

func (d *Doctor) good(format string, args ...any) { d.say("✓", fmt.Sprintf(format, args...), "") }

func (d *Doctor) poor(fix, format string, args ...any) {
	d.Bad++
	d.say("✗", fmt.Sprintf(format, args...), fix)
}

func (d *Doctor) note(fix, format string, args ...any) { d.say("!", fmt.Sprintf(format, args...), fix) }

// Look looks at what forge run needs; try also asks each agent one question, and
// runs a proof, cold and warm.
func (d *Doctor) Look(ctx context.Context, try bool) {
	if err := git.Probe(ctx); err != nil {
		d.poor("install git 2.39 or later", "git: %v", err)
		return
	}
	d.good("git")
	caps := d.Env.Sandboxes(ctx)
	switch {
	case caps.Bubblewrap:
		d.good("sandbox: bubblewrap")
	case caps.Landlock:
		d.note("install bubblewrap for a tighter one", "sandbox: landlock (%s)", caps.Why)
	case caps.Seatbelt:
		d.note(`sandbox.mode = "required" uses it`, "sandbox: macOS's own (%s)", caps.Why)
	default:
		d.note(project.SandboxFix(work.SandboxSettings{}), "no sandbox: approvals and secrets are not protected from agents (%s)", caps.Why)
	}
	p, err := project.Open(ctx, d.Env)
	if err != nil {
		d.failed("project", err)
		return
	}
	defer p.Close()
	d.good("project %s, configuration is valid", p.Config.ProjectName())
	if err := d.writable(p.State); err != nil {
		d.poor("set FORGE_STATE_DIR to a folder that can be written", "state folder: %v", err)
	} else {
		d.good("state folder can be written")
	}
	plan, err := p.Plan()
	if err != nil {
		d.failed("plan", err)
		plan = config.NewPlan(work.Plan{Phases: []work.Phase{{Number: "0", Name: "doctor", Promise: "WELL"}}})
	} else {
		d.good("plan: %s", text.Number(len(plan.Phases), "phase"))
	}
	spec, _, err := p.Resolve(plan, config.PolicyFlags{})
	if err != nil {
		d.failed("settings", err)
		return
	}
	d.container(ctx, spec.Settings.Sandbox, caps)
	for _, name := range slices.Sorted(maps.Keys(spec.Settings.Agents)) {
		d.agent(ctx, p, name, spec.Settings.Agents[name], spec.Settings, try)
	}
	d.model(ctx, p, spec)
	if len(spec.Settings.Verify.Commands) == 0 && !spec.Settings.Verify.None {
		d.note("set [verify] commands; forge init proposes them", "no verify commands: a phase is done by the agent's word alone")
	}
	d.repositories(ctx, p, spec)
	d.pages(spec.Settings, caps)
	d.slack(ctx, p)
	if try {
		d.proof(ctx, p, caps)
	} else {
		d.proofs(ctx, p)
	}
	for _, why := range project.Unreviewed(spec) {
		d.note("", "forge run will refuse: %s", why)
	}
	d.trackers(ctx)
}

// repositories looks whether the other repositories of the plan could be worked in.
func (d *Doctor) repositories(ctx context.Context, p *project.Checkout, spec orchestrator.Spec) {
	if err := p.In(ctx, &spec, config.PolicyFlags{}); err != nil {
		d.failed("repositories", err)
		return
	}
	for _, r := range spec.Repositories {
		d.good("repository %s: %s, branch %s", r.Name, r.Base.RepoRoot, r.Base.Branch)
	}
}

// container starts one of the image that the settings name, if they name any.
func (d *Doctor) container(ctx context.Context, set work.SandboxSettings, caps proc.Capabilities) {
	if set.Container.Image == "" {
		return
	}
	if _, err := project.ChooseSandbox(ctx, set, caps); err != nil {
		d.poor(project.SandboxFix(set), "sandbox: %v", err)
		return
	}
	d.good("container of %s: one was started, and ended", set.Container.Image)
}

// trackers looks whether the trackers answer that the user named.
func (d *Doctor) trackers(ctx context.Context) {
	all, err := trackers.Check(ctx, d.Env)
	if err != nil {
		d.failed("trackers", err)
	}
	for _, t := range all {
		if t.Err != nil {
			d.poor(t.Fix, "tracker %s (%s): %s", t.Name, t.Where, text.Harmless(t.Err.Error()))
			continue
		}
		d.good("tracker %s answers (%s)", t.Name, t.Where)
	}
}

func (d *Doctor) failed(what string, err error) {
	var problems *config.Problems
	if !errors.As(err, &problems) {
		d.poor("", "%s: %v", what, err)
		return
	}
	for _, pr := range problems.List {
		d.poor("", "%s: %s", what, pr)
	}
}

func (d *Doctor) writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (d *Doctor) agent(ctx context.Context, p *project.Checkout, name string, s work.AgentSettings, set work.Settings, try bool) {
	found := agent.Detect(ctx, s, d.Env.Environ)
	switch {
	case !found.Found:
		d.poor(found.Why, "agent %q is not installed", name)
		return
	case found.LoggedIn == agent.LoginNo:
		d.poor(found.Why, "agent %q is not logged in", name)
		return
	}
	d.good("agent %s, login: %s", strings.TrimSpace(fmt.Sprintf("%q %s", name, found.Version)), found.LoggedIn)
	if found.LoggedIn == agent.LoginUnknown && found.Why != "" {
		d.note("forge doctor --try asks it one question", "agent %q: %s", name, found.Why)
	}
	if found.Untried != "" {
		d.note("", "agent %q: %s", name, found.Untried)
	}
	if !try {
		return
	}
	said, err := tryAgent(ctx, p, s, set)
	if err != nil {
		d.poor("", "agent %q does not answer: %v", name, err)
		return
	}
	d.good("agent %q answers: %s", name, said)
}

// tryAgent asks an agent one question in an empty folder.
func tryAgent(ctx context.Context, p *project.Checkout, s work.AgentSettings, set work.Settings) (string, error) {
	e, err := p.Machine(ctx)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "forge-doctor-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	rep, err := e.Agents.Iterate(ctx, work.IterationRequest{
		Run: "doctor", Phase: "0", PhaseName: "doctor", Iteration: 1, Attempt: 1, Level: "doctor", Agent: s, Model: s.Model,
		Permission: work.PermissionReadonly, Limits: set.Limits, Dir: dir, Prompt: "Answer with the one word: well", Mark: runs.NewMark(),
		LogPath: dir + ".log", Sandbox: set.Sandbox, HidePaths: []string{p.State},
	}, nil)
	_ = os.Remove(dir + ".log")
	if err != nil {
		return "", err
	}
	if !rep.Outcome.KeepsClaim() {
		return "", fmt.Errorf("%s: %s", rep.Outcome, rep.Detail)
	}
	return text.FirstLine(strings.TrimSpace(rep.Message), 60), nil
}
