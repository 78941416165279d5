package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
)

// listedAgent is one agent of forge agents --output json.
type listedAgent struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Used     bool   `json:"used"` // by [agent] use
	Found    bool   `json:"found"`
	Version  string `json:"version,omitempty"`
	Login    string `json:"login"`
	Why      string `json:"why,omitempty"`
	Resume   bool   `json:"resume"`
	Cost     bool   `json:"cost"`
	Readonly bool   `json:"readonly"`
	// TurnLimit says that the turns of an iteration can be bounded, by what
	// TurnLimitBy shows as a sample.
	TurnLimit   bool   `json:"turn_limit"`
	TurnLimitBy string `json:"turn_limit_by,omitempty"`
	Untried     string `json:"untried,omitempty"`
}

func (a *App) agentsCommand() *cli.Command {
	return &cli.Command{
		Name: "agents", Usage: "list the agents, what is installed, and what they can do",
		Flags: []cli.Flag{outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			list, err := a.listAgents(c.Context)
			if err != nil {
				return err
			}
			if out == "json" {
				return printJSON(a.Stdout, list)
			}
			var rows [][]string
			for _, g := range list {
				name := g.Name
				if g.Used {
					name += " *"
				}
				rows = append(rows, []string{name, g.Kind, found(g), g.Login, yesNo(g.Resume), yesNo(g.Cost), yesNo(g.Readonly), yesNo(g.TurnLimit), text.FirstLine(cmp.Or(g.Why, g.Untried), 100)})
			}
			_, err = fmt.Fprint(a.Stdout, text.Table([]string{"AGENT", "KIND", "INSTALLED", "LOGIN", "RESUMES", "COST", "READONLY", "TURNS", "NOTE"}, rows), agentsLegend(list))
			return err
		},
	}
}

// agentsLegend says what the table does not explain by itself.
func agentsLegend(list []listedAgent) string {
	text := "\n* the agent of phases that name none\n"
	said := map[string]bool{}
	for _, g := range list {
		if g.TurnLimit && !said[g.Kind] {
			said[g.Kind] = true
			text += fmt.Sprintf("TURNS of an iteration are bounded for %s by %s\n", g.Kind, g.TurnLimitBy)
		}
	}
	return text
}

func found(g listedAgent) string {
	switch {
	case g.Found && g.Version != "":
		return g.Version
	case g.Found:
		return "yes"
	}
	return "no"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// listAgents are the built-in kinds and the project's own agents. Outside a
// repository there are the built-in ones alone.
func (a *App) listAgents(ctx context.Context) ([]listedAgent, error) {
	p, err := a.openProject(ctx)
	var state *git.StateError
	if errors.As(err, &state) {
		p, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	settings := map[string]work.AgentSettings{}
	add := func(s work.AgentSettings) {
		if _, known := settings[s.Name]; !known {
			names = append(names, s.Name)
		}
		settings[s.Name] = s
	}
	for _, kind := range agent.Kinds() {
		// A kind without a login of its own needs a command or file of the
		// user's: it is listed where one is configured.
		if f, _ := agent.FactsOf(kind); len(f.SecretEnv) > 0 {
			add(work.AgentSettings{Name: kind, Kind: kind})
		}
	}
	use := ""
	if p != nil {
		use = *p.Config.File.Agent.Use
		for _, s := range p.Config.Agents(config.Facts{Kinds: project.AgentKinds()}) {
			add(s)
		}
	}
	var out []listedAgent
	for _, name := range names {
		s := settings[name]
		d := agent.Detect(ctx, s, a.Environ)
		f, _ := agent.FactsOf(s.Kind)
		out = append(out, listedAgent{
			Name: name, Kind: s.Kind, Used: name == use, Found: d.Found, Version: d.Version, Login: string(d.LoggedIn), Why: d.Why,
			Resume: f.Continues, Cost: f.ReportsCost, Readonly: f.ReadOnly, TurnLimit: f.TurnLimit != "", TurnLimitBy: f.TurnLimit, Untried: d.Untried,
		})
	}
	return out, nil
}

func (a *App) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "find what is missing on this machine and in this project, and say how to get it",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "try", Usage: "also ask the agent one question (costs a little)"}},
		Action: func(c *cli.Context) error {
			d := &doctor{app: a}
			d.look(c.Context, c.Bool("try"))
			fmt.Fprintln(a.Stdout)
			if d.bad > 0 {
				fmt.Fprintf(a.Stdout, "%d problem(s).\n", d.bad)
				return codeError(exitUsage)
			}
			fmt.Fprintln(a.Stdout, "Everything that forge run needs is there.")
			return nil
		},
	}
}

// doctor says one line for each thing it looks at.
type doctor struct {
	app *App
	bad int
}

func (d *doctor) say(mark, what, fix string) {
	fmt.Fprintf(d.app.Stdout, "%s %s\n", mark, what)
	if fix != "" {
		fmt.Fprintf(d.app.Stdout, "    → %s\n", fix)
	}
}

func (d *doctor) good(format string, args ...any) { d.say("✓", fmt.Sprintf(format, args...), "") }

func (d *doctor) poor(fix, format string, args ...any) {
	d.bad++
	d.say("✗", fmt.Sprintf(format, args...), fix)
}

func (d *doctor) note(fix, format string, args ...any) { d.say("!", fmt.Sprintf(format, args...), fix) }

func (d *doctor) look(ctx context.Context, try bool) {
	if err := git.Probe(ctx); err != nil {
		d.poor("install git 2.39 or later", "git: %v", err)
		return
	}
	d.good("git")
	caps := d.app.env().Sandboxes(ctx)
	switch {
	case caps.Bubblewrap:
		d.good("sandbox: bubblewrap")
	case caps.Landlock:
		d.note("install bubblewrap for a tighter one", "sandbox: landlock (%s)", caps.Why)
	default:
		d.note(project.SandboxFix(), "no sandbox: approvals and secrets are not protected from agents (%s)", caps.Why)
	}
	p, err := d.app.openProject(ctx)
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
		d.good("plan: %d phases", len(plan.Phases))
	}
	spec, _, err := p.Resolve(plan, config.PolicyFlags{})
	if err != nil {
		d.failed("settings", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Settings.Agents)) {
		d.agent(ctx, p.Checkout, name, spec.Settings.Agents[name], spec.Settings, try)
	}
	d.model(ctx, p.Checkout, spec)
	if len(spec.Settings.Verify.Commands) == 0 && !spec.Settings.Verify.None {
		d.note("set [verify] commands; forge init proposes them", "no verify commands: a phase is done by the agent's word alone")
	}
	for _, why := range project.Unreviewed(spec) {
		d.note("", "forge run will refuse: %s", why)
	}
}

func (d *doctor) failed(what string, err error) {
	var problems *config.Problems
	if !errors.As(err, &problems) {
		d.poor("", "%s: %v", what, err)
		return
	}
	for _, pr := range problems.List {
		d.poor("", "%s: %s", what, pr)
	}
}

func (d *doctor) writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (d *doctor) agent(ctx context.Context, p *project.Checkout, name string, s work.AgentSettings, set work.Settings, try bool) {
	found := agent.Detect(ctx, s, d.app.Environ)
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
