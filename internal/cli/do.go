package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/draft"
	"forge/internal/git"
	"forge/internal/planner"
	"forge/internal/planrun"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/tui"
	"forge/internal/work"
	"forge/orchestrator"
)

// doOptions are the flags of do beside those of a run.
type doOptions struct {
	runOptions
	text     string   // what is wanted, whole
	opener   string   // the command that the user called
	agent    string   // "" = as configured, else found
	plan     bool     // the agent drafts a plan
	fromSpec bool     // of the project's spec: the text is none
	budget   int      // of each phase; 0 = as configured
	tries    int      // of each phase, side by side; 0 = as configured
	verify   []string // commands that prove each phase; none = as configured, else found
}

func (a *App) doCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "read the text from `FILE`, - = standard input"},
		&cli.StringFlag{Name: "agent", Usage: "the agent `NAME` does it", DefaultText: "as configured, else the first that is installed"},
		&cli.GenericFlag{Name: "verify", Usage: "the shell command `CMD` proves it; may be repeated", Value: &words{}, DefaultText: "as configured, else what the project's files name"},
		&cli.BoolFlag{Name: "plan", Usage: "let the agent draft a plan of several phases first"},
		&cli.StringFlag{Name: "draft", Usage: "begin with the plan of the draft `ID`, which forge inbox lists"},
		&cli.IntFlag{Name: "budget", Usage: "`N` iterations for each phase", DefaultText: "defaults.budget"},
		&cli.IntFlag{Name: "tries", Usage: "try it `N` times side by side, and take the best try that is proven", DefaultText: "as configured, else once"},
		&cli.StringFlag{Name: "usd", Usage: "spend at most `N` dollars (= --cost run_usd=N)"},
	}
	for _, f := range runFlags() {
		if !slices.Contains([]string{"from", "only", "generate", "strict"}, f.Names()[0]) {
			flags = append(flags, f)
		}
	}
	return &cli.Command{
		Name: "do", Usage: "do what a text says, prove it, and land it on your branch", ArgsUsage: "TEXT", Flags: flags,
		Description: "Works in any git repository, also without .forge/, and writes no such folder. Where the\n" +
			"project has no .forge/forge.toml, the agent and the test commands are found as forge init\nfinds them. Put the text into quotes; after -- it may begin with a dash.",
		Action: func(c *cli.Context) error {
			o, err := a.doOptions(c)
			if err != nil {
				return err
			}
			return a.do(c.Context, o)
		},
	}
}

func (a *App) doOptions(c *cli.Context) (o doOptions, err error) {
	if o.runOptions, err = a.runOptions(c); err != nil {
		return o, err
	}
	o.opener, o.agent, o.plan, o.budget = "forge do", c.String("agent"), c.Bool("plan"), c.Int("budget")
	o.tries = c.Int("tries")
	switch {
	case c.IsSet("tries") && (o.tries < 1 || o.tries > work.MaxTries):
		return o, refusal.New(fmt.Sprintf("use 1 to %d", work.MaxTries), "--tries %d is not a number of tries", o.tries)
	case c.IsSet("budget") && (o.budget < 1 || o.budget > 100_000):
		return o, refusal.New("use 1 or more", "--budget %d is not a number of iterations", o.budget)
	case c.IsSet("draft") && c.String("draft") == "":
		return o, refusal.New("forge inbox lists them, or leave --draft out", "--draft names no draft")
	case c.IsSet("agent") && o.agent == "":
		return o, refusal.New("forge agents lists them, or leave --agent out", "--agent names no agent")
	case o.plan && o.dryRun:
		return o, refusal.New("leave one of them out", "--plan has the agent draft a plan, which --dry-run would not")
	}
	if c.IsSet("usd") {
		caps, err := config.Caps([]string{"run_usd=" + c.String("usd")})
		if err != nil {
			return o, refusal.New("write it as --usd 2", "--usd %q is not an amount", c.String("usd"))
		}
		if slices.ContainsFunc(o.settings, func(s config.Setting) bool { return s.Key == "cost.run_usd" }) {
			return o, refusal.New("give one of them", "--usd and --cost run_usd both set the cap of the run")
		}
		o.settings = append(o.settings, caps...)
	}
	if o.agent != "" {
		o.settings = append(o.settings, config.Setting{Flag: "--agent", Key: "agent.use", Value: o.agent})
	}
	if c.IsSet("verify") {
		if o.verify = wordsOf(c, "verify"); slices.ContainsFunc(o.verify, text.Blank) {
			return o, refusal.New("write a shell command, or leave --verify out", "--verify names no command")
		}
		o.settings = append(o.settings, config.Setting{Flag: "--verify", Key: "verify.none", Value: "false"})
	}
	if o.draft = c.String("draft"); c.IsSet("draft") {
		if c.Args().Present() || c.IsSet("file") || o.plan || o.budget != 0 {
			return o, refusal.New("leave it out", "--draft has its text, plan and budgets: no text, --file, --plan or --budget goes with it")
		}
		return o, nil // it is read where the project is known
	}
	o.fromSpec = o.plan && c.Args().Len() == 0 && !c.IsSet("file")
	if o.fromSpec {
		return o, nil // it is read where the project is known
	}
	o.text, err = planrun.Wanted(a.Dir, a.Stdin, c.Args().Slice(), c.String("file"), c.IsSet("file"))
	return o, err
}

// runText is forge run -p.
func (a *App) runText(c *cli.Context, run runOptions) (err error) {
	o := doOptions{runOptions: run, opener: "forge run"}
	for _, name := range []string{"from", "only", "generate", "strict"} {
		if c.IsSet(name) {
			return refusal.New("leave one of them out", "--%s is about the plan in %s, which --prompt does not use", name, project.PlanFile)
		}
	}
	if o.text, err = planrun.Wanted(a.Dir, a.Stdin, []string{c.String("prompt")}, "", false); err != nil {
		return err
	}
	return a.do(c.Context, o)
}

// do opens a run for a text and drives it.
func (a *App) do(ctx context.Context, o doOptions) error {
	if err := git.Probe(ctx); err != nil {
		return err
	}
	p, err := a.openProject(ctx, o.settings...)
	if err != nil {
		return err
	}
	defer p.Close()
	if o.fromSpec {
		if o.text, err = p.specToDo(); err != nil {
			return err
		}
	}
	var kept *work.Plan // that was drafted before
	if o.draft != "" {
		if kept, o.text, err = draft.Begun(p.Checkout, o.draft); err != nil {
			return err
		}
	}
	if err := p.discover(ctx, &o); err != nil {
		return err
	}
	plan, err := p.planFor(ctx, o, kept)
	if err != nil {
		return err
	}
	spec, origin, err := planrun.OfText(p.Checkout, o.text, plan, o.plan || kept != nil, o.policy)
	if err != nil {
		return err
	}
	spec.AnswerYes = spec.AnswerYes || o.yes
	p.sayProof(spec)
	o.change = true
	return p.begin(ctx, spec, origin, o.opener, o.runOptions)
}

// specToDo is the project's spec, as forge interview writes it.
func (p *checkout) specToDo() (string, error) {
	spec, _, err := draft.SpecFrom(p.Checkout, "", nil)
	if err != nil {
		return "", refusal.New(planrun.Usage+"; forge interview writes a spec", "nothing says what is to be done, and there is no %s", config.SpecFile)
	}
	return spec, planrun.CheckText(spec)
}

// discover finds what the project needs where it has no file of its own, and
// says what it took.
func (p *checkout) discover(ctx context.Context, o *doOptions) error {
	found, err := planrun.Discover(ctx, p.Checkout, len(o.verify) > 0, o.settings...)
	if err != nil {
		return err
	}
	o.redHint = found.Say(p.Log)
	return nil
}

// planFor is the plan of a text: one phase, what was drafted before, or what the
// agent drafts now.
func (p *checkout) planFor(ctx context.Context, o doOptions, kept *work.Plan) (plan work.Plan, err error) {
	plan = planner.Single(o.text, o.budget)
	if kept != nil {
		plan = *kept
	}
	if o.plan {
		if plan, err = p.drafted(ctx, o); err != nil {
			return plan, err
		}
	}
	for n := range plan.Phases {
		// A proof that names what is still to be made is red before: the base's
		// own commands stay those of the project.
		plan.Phases[n].Verify = o.verify
		if o.tries > 0 {
			plan.Phases[n].Tries = o.tries
		}
	}
	return plan, nil
}

// drafted is the plan that the agent drafts for a text.
func (p *checkout) drafted(ctx context.Context, o doOptions) (none work.Plan, err error) {
	// Nothing is spent on a plan that may not be run.
	if err := p.mayOpen(ctx, o.opener, o.runOptions); err != nil {
		return none, err
	}
	ofWords := draft.OfText
	if o.fromSpec {
		ofWords = draft.OfSpec
	}
	tame, err := ofWords(ctx, p.Checkout, o.text, o.budget)
	if err != nil {
		return none, err
	}
	for _, ph := range tame.Phases {
		p.Log.Info("planned phase "+ph.Number, "name", ph.Name, "after", strings.Join(ph.DependsOn, ", "))
	}
	return tame, nil
}

// sayProof says before anything is spent that nothing will prove the work.
func (p *checkout) sayProof(spec orchestrator.Spec) {
	if !planrun.Unproven(spec) {
		return
	}
	p.Log.Warn("no test command was found: nothing will prove it but the agent's word; --verify CMD names a command that does")
}

// mostShown is how many lines of a change are shown at the end of forge do.
const mostShown = 300

// showChange shows what a run changed, or of a large change the files alone.
func (p *checkout) showChange(ctx context.Context, repo *git.Store, s *orchestrator.State) {
	if s.Head == s.Spec.Base.Commit {
		return
	}
	patch, err := repo.Diff(ctx, s.Spec.Base.Commit, s.Head)
	if err == nil && strings.Count(patch, "\n") > mostShown {
		_, err = fmt.Fprintf(p.app.Stdout, "%sThe change has more than %d lines: forge diff --run %s\n", text.Harmless(tui.PatchStat(patch)), mostShown, s.Run)
		patch = ""
	}
	if err == nil {
		err = p.app.printPatch(patch)
	}
	if err != nil {
		p.Log.Warn("show the change", "err", err, "way out", "forge diff --run "+s.Run)
	}
}
