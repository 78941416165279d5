package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) configCommand() *cli.Command {
	return &cli.Command{
		Name: "config", Usage: "show or check the configuration",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "show every value with where it comes from",
				Flags:  []cli.Flag{outputFlag("text", "json")},
				Action: a.withoutArgs(a.configShow),
			},
			{
				Name: "validate", Aliases: []string{"check"}, Usage: "find everything that is wrong with the files; what this machine lacks is a warning",
				Flags:  append(policyFlags(), outputFlag("text", "json")),
				Action: a.withoutArgs(a.configValidate),
			},
			{
				Name: "schema", Usage: "print the JSON schema of forge.toml, for editors",
				Action: func(*cli.Context) error {
					text, err := config.JSONSchema()
					if err == nil {
						_, err = fmt.Fprintf(a.Stdout, "%s\n", text)
					}
					return err
				},
			},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(c, "config")
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

func policyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "autonomous", Usage: "as for run"},
		presetFlag("as for run"),
	}
}

func (a *App) withoutArgs(do func(c *cli.Context, output string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		out, err := outputOf(c, "text", "json")
		if err != nil {
			return err
		}
		if c.Args().Present() {
			return refusal.New("", "forge config %s takes no arguments, got %q", c.Command.Name, c.Args().First())
		}
		return do(c, out)
	}
}

// shownValue is one value of forge config show --output json.
type shownValue struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // as TOML
	Origin string `json:"origin"`
}

func (a *App) configShow(c *cli.Context, output string) error {
	p, err := a.openProject(c.Context)
	if err != nil {
		return err
	}
	defer p.Close()
	hide := redact.New(p.Config.Secrets())
	if output == "text" {
		_, err := fmt.Fprint(a.Stdout, text.Harmless(hide.String(p.Config.Render())))
		return err
	}
	values := []shownValue{}
	for _, l := range p.Config.Show() {
		values = append(values, shownValue{Key: l.Key, Value: hide.String(l.Value), Origin: l.Origin})
	}
	return printJSON(a.Stdout, map[string]any{"state": p.State, "values": values})
}

// validation collects all that is wrong before a run, from all sides.
type validation struct {
	OK       bool           `json:"ok"`
	Problems []shownProblem `json:"problems"`
	Warnings []shownProblem `json:"warnings"`
}

type shownProblem struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
	What string `json:"what"`
	Fix  string `json:"fix,omitempty"`
}

func (v *validation) warn(list []config.Warning) {
	for _, w := range list {
		v.Warnings = append(v.Warnings, shownProblem(w))
	}
}

// add takes in an error of any kind; a problem that is there already counts
// once.
func (v *validation) add(err error) {
	var problems *config.Problems
	var usage *refusal.Error
	var state *git.StateError
	switch {
	case err == nil:
	case errors.As(err, &problems):
		for _, p := range problems.List {
			v.problem(shownProblem(p))
		}
	case errors.As(err, &usage):
		v.problem(shownProblem{What: usage.What, Fix: usage.Fix})
	case errors.As(err, &state):
		v.problem(shownProblem{What: state.What, Fix: state.Fix})
	default:
		v.problem(shownProblem{What: err.Error()})
	}
}

func (v *validation) problem(p shownProblem) {
	for _, known := range v.Problems {
		if known == p {
			return
		}
	}
	v.Problems = append(v.Problems, p)
}

func (a *App) configValidate(c *cli.Context, output string) error {
	v := &validation{Problems: []shownProblem{}, Warnings: []shownProblem{}}
	a.validate(c.Context, v, config.PolicyFlags{Autonomous: c.Bool("autonomous"), Level: c.String("level")})
	v.OK = len(v.Problems) == 0
	if output == "json" {
		if err := printJSON(a.Stdout, v); err != nil {
			return err
		}
	} else {
		for _, w := range v.Warnings {
			a.log.Warn(config.Problem(w).String())
		}
		for _, p := range v.Problems {
			fmt.Fprintln(a.Stderr, "forge: "+text.Harmless(config.Problem(p).String()))
		}
	}
	if !v.OK {
		return codeError(exitUsage)
	}
	if output == "json" {
		return nil
	}
	_, err := fmt.Fprintln(a.Stdout, "ok")
	return err
}

// plan reads the plan; planned is false where there is none, which only
// forge run needs.
func (v *validation) plan(file string) (_ *config.Plan, planned bool) {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		v.Warnings = append(v.Warnings, shownProblem{File: project.PlanFile, What: "there is no plan: forge run needs one, a job does not", Fix: "write one, or make one from the spec with forge generate"})
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

// planOf is an empty plan where there is none.
func planOf(plan *config.Plan) work.Plan {
	if plan == nil {
		return work.Plan{}
	}
	return plan.Plan
}

// onMachine is what is missing here, which says nothing about the project's files.
func onMachine(p config.Problem) shownProblem {
	p.What = "on this machine " + p.What
	return shownProblem(p)
}

// validate looks at everything that run looks at before it spends anything,
// and goes on past each problem as far as the rest can be judged.
func (a *App) validate(ctx context.Context, v *validation, flags config.PolicyFlags) {
	base, err := git.Inspect(ctx, a.Dir)
	v.add(err)
	if base.RepoRoot == "" {
		if base.RepoRoot = project.CheckoutAround(a.Dir); base.RepoRoot == "" {
			return
		}
	}
	p := &project.Checkout{Env: a.env(), Base: base}
	p.State, err = config.StateDir(a.Environ, base.RepoRoot)
	v.add(err)
	plan, planned := v.plan(filepath.Join(base.RepoRoot, filepath.FromSlash(project.PlanFile)))
	cfg, warnings, err := config.Load(config.Sources{ProjectDir: base.RepoRoot, UserFile: config.UserFile(a.Environ), Environ: a.Environ})
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
			v.problem(shownProblem(problem))
		}
		return
	}
	set, err := resolvePlanned(cfg, plan)
	if err != nil {
		v.add(err)
		return
	}
	for _, why := range project.Unreviewed(orchestrator.Spec{Plan: planOf(plan), Settings: set}) {
		v.Warnings = append(v.Warnings, shownProblem{What: "forge run will refuse, since no reviewer can be asked: " + why})
	}
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		found := agent.Detect(ctx, set.Agents[name], a.Environ)
		for _, problem := range project.Lacks(set.Agents[name], found) {
			if project.OfProject(set.Agents[name]) {
				v.problem(shownProblem(problem))
			} else {
				v.Warnings = append(v.Warnings, onMachine(problem))
			}
		}
	}
	if _, err := proc.Choose(set.Sandbox.Mode, set.Sandbox.OnlyHosts, proc.Detect(ctx)); err != nil {
		v.Warnings = append(v.Warnings, onMachine(config.Problem{What: err.Error(), Fix: project.SandboxFix() + ", or set sandbox.mode in your own configuration"}))
	}
	if planned && strings.TrimSpace(set.Spec) == "" {
		v.Warnings = append(v.Warnings, shownProblem{File: config.SpecFile, What: "there is no spec: the agent knows its phases only by their names", Fix: "write one"})
	}
}
