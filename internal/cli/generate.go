package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/planner"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// generateOptions are the flags of generate.
type generateOptions struct {
	text            string // TEXT, FILE or "-"; "" = the spec file
	extend, replace bool
	yes             bool
	agent, model    string
}

func (a *App) generateCommand() *cli.Command {
	return &cli.Command{
		Name: "generate", Usage: "let the agent draft a plan from a spec", ArgsUsage: "[TEXT|FILE|-]",
		Description: "Without an argument the spec is .forge/spec.md. The draft is checked, repaired once\nwhere it has to be, shown with a forecast, and written when you say yes.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "extend", Usage: "add phases to the plan that is there"},
			&cli.BoolFlag{Name: "replace", Usage: "replace the plan that is there"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "write without asking"},
			&cli.StringFlag{Name: "agent", Usage: "the agent that drafts; default that of [agent] use"},
			&cli.StringFlag{Name: "model", Usage: "its model"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Len() > 1 {
				return refusal.New("put the text into quotes", "forge generate takes one text or file, got %d", c.Args().Len())
			}
			if c.Args().Len() == 1 && c.Args().First() == "" {
				return refusal.New("write down what has to be built", "the spec is empty")
			}
			return a.generate(c.Context, generateOptions{
				text: c.Args().First(), extend: c.Bool("extend"), replace: c.Bool("replace"), yes: c.Bool("yes"), agent: c.String("agent"), model: c.String("model"),
			})
		},
	}
}

// generate drafts a plan and writes it. Nothing of the project changes before
// the user has said yes.
func (a *App) generate(ctx context.Context, o generateOptions) error {
	if o.extend && o.replace {
		return refusal.New("give one of them", "--extend and --replace contradict each other")
	}
	var flags []config.Setting
	if o.agent != "" {
		flags = append(flags, config.Setting{Flag: "--agent", Key: "agent.use", Value: o.agent})
	}
	p, err := a.openProject(ctx, flags...)
	if err != nil {
		return err
	}
	defer p.Close()
	spec, fromFile, err := p.specFor(o)
	if err != nil {
		return err
	}
	if what, fix := planner.CheckSpec(spec); what != "" {
		return refusal.New(fix, "%s", what)
	}
	existing, err := p.existingPlan(o)
	if err != nil {
		return err
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	text, err := draftPlan(ctx, p.Checkout, o, spec, existing)
	if err != nil {
		return err
	}
	plan, err := finishPlan(p.Checkout, text, existing, spec)
	if err != nil {
		return err
	}
	if err := p.showPlan(ctx, plan); err != nil {
		return err
	}
	return p.writePlan(ctx, o, plan, spec, fromFile)
}

// specFor is the spec to plan from. fromFile says that it is the project's
// own, which need not be written.
func (p *checkout) specFor(o generateOptions) (spec string, fromFile bool, err error) {
	own := filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.SpecFile))
	read := func(r io.Reader) (string, error) {
		text, err := io.ReadAll(io.LimitReader(r, config.MaxSpecBytes+1))
		return string(text), err
	}
	switch o.text {
	case "-":
		spec, err = read(p.app.Stdin)
		return spec, false, err
	case "":
		f, err := os.Open(own)
		if errors.Is(err, fs.ErrNotExist) {
			return "", false, refusal.New(`write it, or say what to build: forge generate "…"`, "%s does not exist", config.SpecFile)
		}
		if err != nil {
			return "", false, refusal.New("make it readable", "read the spec: %v", err)
		}
		defer func() { _ = f.Close() }()
		spec, err = read(f)
		return spec, true, err
	}
	path := o.text
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		// No such file: the argument is the text itself.
		return o.text, false, nil
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false, refusal.New("name a file, or write the text", "%s is not a file", o.text)
	}
	spec, err = read(f)
	return spec, path == own, err
}

func (p *checkout) hasPlan() bool {
	_, err := os.Lstat(filepath.Join(p.Base.RepoRoot, project.PlanFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// checkSpecHash says that a plan was made from another spec than the project
// has now; strict makes that an error.
func (p *checkout) checkSpecHash(plan work.Plan, strict bool) error {
	if plan.SpecHash == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.SpecFile)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refusal.New("make it readable", "read the spec: %v", err)
	}
	if specHash(string(text)) == plan.SpecHash {
		return nil
	}
	if strict {
		return refusal.New("forge generate --replace makes a new plan; leave --strict out to run this one", "%s was made from another spec than %s", project.PlanFile, config.SpecFile)
	}
	p.Log.Warn("the plan was made from another spec than the project has now", "way out", "forge generate --replace")
	return nil
}

// existingPlan is the plan to extend, nil for none. A plan that is there is
// touched on request only, which is found out before anything is spent.
func (p *checkout) existingPlan(o generateOptions) (*work.Plan, error) {
	if !p.hasPlan() {
		if o.extend {
			return nil, refusal.New("leave --extend out", "there is no %s to extend", project.PlanFile)
		}
		return nil, nil
	}
	if o.replace {
		return nil, nil
	}
	if !o.extend {
		return nil, refusal.New("--extend adds phases to it, --replace puts a new plan in its place", "%s exists", project.PlanFile)
	}
	plan, err := p.Plan()
	if err != nil {
		return nil, err
	}
	return &plan.Plan, nil
}

// draftPlan has the plan written by the agent.
func draftPlan(ctx context.Context, p *project.Checkout, o generateOptions, spec string, existing *work.Plan) ([]byte, error) {
	e, err := p.Machine(ctx)
	if err != nil {
		return nil, err
	}
	one := config.NewPlan(work.Plan{Phases: []work.Phase{{Number: "0", Name: "plan", Promise: "PLAN", Model: o.model}}})
	set, err := config.Resolve(p.Config, one, config.Facts{Kinds: project.AgentKinds()})
	if err != nil {
		return nil, err
	}
	if err := p.CheckAgents(ctx, set); err != nil {
		return nil, err
	}
	if err := p.CheckSandbox(e, set.Sandbox); err != nil {
		return nil, err
	}
	author := &planAuthor{p: p, e: e, set: set, dir: filepath.Join(p.State, "drafts", p.NewRunID())}
	defer author.close()
	p.Log.Info("drafting a plan", "agent", set.Phases["0"].Agent)
	text, err := planner.Draft(ctx, author, planner.Request{Spec: spec, Existing: existing, Verify: set.Verify.Commands}, func(text []byte) []string {
		return draftProblems(p, text, existing)
	})
	var bad *planner.DraftError
	switch {
	case errors.As(err, &bad):
		return nil, refusal.New("say more in the spec, or write the plan by hand; the draft is in "+keepDraft(p, bad.Text), "%v", bad)
	case errors.Is(err, planner.ErrNoDraft):
		return nil, refusal.New("forge generate again, or with another agent", "%v", err)
	}
	return text, err
}

// draftProblems is everything wrong with a draft: of the file, and of what
// would become of the plan with it.
func draftProblems(p *project.Checkout, text []byte, existing *work.Plan) []string {
	graph := project.CheckGraph
	if existing != nil {
		graph = nil
	}
	plan, problems := parsePlan(p, text, graph)
	if len(problems) > 0 {
		return problems
	}
	if n := len(plan.Phases); n > planner.MaxPhases {
		return []string{fmt.Sprintf("the plan has %d phases; at most %d are taken", n, planner.MaxPhases)}
	}
	if existing == nil {
		return nil
	}
	whole, err := json.Marshal(planner.Extend(*existing, plan.Plan))
	if err != nil {
		return []string{err.Error()}
	}
	_, problems = parsePlan(p, whole, project.CheckGraph)
	return problems
}

// parsePlan reads a draft; graph is nil where its dependencies cannot be
// judged yet, because they may name phases of the plan that it extends.
func parsePlan(p *project.Checkout, text []byte, graph func(work.Plan) []work.Problem) (*config.Plan, []string) {
	path := filepath.Join(p.State, "draft-"+runs.NewMark()[:12]+".json")
	if err := atomicfile.Write(path, text, 0o600); err != nil {
		return nil, []string{err.Error()}
	}
	defer func() { _ = os.Remove(path) }()
	plan, _, err := config.LoadPlan(path, graph)
	var problems *config.Problems
	switch {
	case errors.As(err, &problems):
		var out []string
		for _, pr := range problems.List {
			out = append(out, fmt.Sprintf("line %d: %s (%s)", pr.Line, pr.What, pr.Fix))
		}
		return nil, out
	case err != nil:
		return nil, []string{err.Error()}
	}
	return plan, nil
}

// finishPlan is the plan that would be written.
func finishPlan(p *project.Checkout, text []byte, existing *work.Plan, spec string) (*config.Plan, error) {
	plan, problems := parsePlan(p, text, nil)
	if len(problems) > 0 {
		return nil, &planner.DraftError{Problems: problems, Text: text}
	}
	whole := plan.Plan
	if existing != nil {
		whole = planner.Extend(*existing, plan.Plan)
	}
	whole.SpecHash, whole.GeneratedAt = specHash(spec), p.Now().UTC().Format(time.RFC3339)
	return config.NewPlan(whole), nil
}

func specHash(spec string) string {
	sum := sha256.Sum256([]byte(spec))
	return hex.EncodeToString(sum[:])
}

// showPlan shows the graph and the forecast.
func (p *checkout) showPlan(ctx context.Context, plan *config.Plan) error {
	spec, _, err := p.Resolve(plan, config.PolicyFlags{})
	if err != nil {
		return err
	}
	if err := p.list(spec, "text"); err != nil {
		return err
	}
	f, err := p.forecast(ctx, spec)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.app.Stdout, f)
	return err
}

// recentRuns is how many past runs a forecast looks at.
const recentRuns = 20

func (p *checkout) forecast(ctx context.Context, spec orchestrator.Spec) (planner.Forecast, error) {
	var budgets []int
	for _, ph := range spec.Plan.Phases {
		budgets = append(budgets, spec.Settings.Phases[ph.Number].Budget)
	}
	rows, err := plainRuns(p.Journal.Runs(ctx))
	if err != nil {
		return planner.Forecast{}, err
	}
	var past []planner.Sample
	for i, r := range rows {
		if i == recentRuns {
			break
		}
		s, evs, err := p.LoadRun(ctx, r.ID)
		if err != nil {
			p.Log.Warn("leave a run out of the forecast", "run", r.ID, "err", err)
			continue
		}
		had := map[string]int{}
		for n, ph := range s.Phases {
			had[n] = ph.Budget
		}
		past = append(past, planner.Samples(r.ID, had, evs, work.Decode)...)
	}
	return planner.Predict(budgets, past), nil
}

// writePlan asks and writes.
func (p *checkout) writePlan(ctx context.Context, o generateOptions, plan *config.Plan, spec string, fromFile bool) error {
	text, err := json.MarshalIndent(plan.Plan, "", "  ")
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	text = append(text, '\n')
	if !o.yes {
		if !p.app.terminal() {
			return refusal.New("forge generate --yes writes it; this draft is in "+keepDraft(p.Checkout, text), "nobody can be asked whether to write %s", project.PlanFile)
		}
		if ok, err := p.app.confirm(ctx, "Write "+project.PlanFile+"?", "", "yes, write it"); err != nil || !ok {
			if err == nil {
				err = refusal.New("the draft is in "+keepDraft(p.Checkout, text), "nothing was written")
			}
			return err
		}
	}
	if !fromFile {
		if err := p.writeSpec(o, spec); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(p.Base.RepoRoot, ".forge"), 0o755); err != nil {
		return refusal.New("make the folder writable", "write the plan: %v", err)
	}
	if err := atomicfile.Write(filepath.Join(p.Base.RepoRoot, project.PlanFile), text, 0o644); err != nil {
		return refusal.New("make the folder writable", "write the plan: %v", err)
	}
	fmt.Fprintf(p.app.Stdout, "\nWrote %s. Next: forge run\n", project.PlanFile)
	return nil
}

// writeSpec keeps the words that the plan was made from as the project's spec.
func (p *checkout) writeSpec(o generateOptions, spec string) error {
	path := filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.SpecFile))
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && o.replace:
	case err != nil:
		return refusal.New("make it readable", "read the spec: %v", err)
	case o.extend:
		spec = string(old) + "\n\n" + spec
	case string(old) != spec:
		p.Log.Warn("the spec file was left as it is; the plan was made from other words", "file", config.SpecFile)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return refusal.New("make the folder writable", "write the spec: %v", err)
	}
	return atomicfile.Write(path, []byte(spec), 0o644)
}
