package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/draft"
	"forge/internal/git"
	"forge/internal/handoff"
	"forge/internal/planrun"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/orchestrator"
)

// runOptions are the flags of run, phase and resume.
type runOptions struct {
	policy     config.PolicyFlags
	settings   []config.Setting
	from, only []string
	dryRun     bool
	noMerge    bool
	push       bool
	remote     string
	fetch      bool // resume: --remote was given
	take       bool // resume: from a machine that is gone
	asRecorded bool // resume: with the settings of the other machine
	fresh      bool // --new
	again      bool // --fresh: what was proven before is proven again
	generate   bool
	strict     bool
	goOn       bool // --resume: with what rests at the remote
	yes        bool
	deadline   time.Duration
	output     string
	run        string           // resume: which
	with       *project.Machine // resume: of a process that has read the host and goes on with many runs
	budgets    map[string]int   // resume
	costs      []string         // resume
	maxPhases  int              // resume, of a job; 0 = as many as before
	level      string           // resume: the run's policy from now on, "" = as it is
	change     bool             // show the change before the report
	draft      string           // whose plan it is, dropped once the run is open; "" = none
	redHint    string           // said where the base's own commands fail; "" = nothing
}

func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "autonomous", Usage: "ask nobody: decide everything by rules"},
		presetFlag("the policy preset `NAME`"),
		&cli.StringSliceFlag{Name: "from", Usage: "run phase `N` and everything after it in the plan's order; earlier ones count as done"},
		&cli.StringSliceFlag{Name: "only", Usage: "run phase `N` alone; the others count as done"},
		&cli.StringFlag{Name: "max-parallel", Usage: "at most `N` phases at once"},
		&cli.BoolFlag{Name: "fail-fast", Usage: "start nothing new once a phase has failed"},
		&cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, and do nothing"},
		&cli.DurationFlag{Name: "deadline", Usage: "end the run, resumable, after `TIME` (such as 45m)"},
		&cli.StringSliceFlag{Name: "cost", Usage: "set a cap for this run: `KEY=VALUE`, such as run_usd=5; may be repeated"},
		&cli.BoolFlag{Name: "no-merge", Usage: "leave the result on its branch"},
		&cli.BoolFlag{Name: "push", Usage: "send the run to a remote when it ends or freezes: its branch, checkpoints and journal"},
		remoteFlag("where --push goes"),
		&cli.BoolFlag{Name: "new", Usage: "open a new run although another is unfinished"},
		freshFlag(),
		&cli.BoolFlag{Name: "generate", Usage: "draft the plan first when there is none"},
		&cli.BoolFlag{Name: "strict", Usage: "refuse a plan that was made from another spec"},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "answer phase start, iteration and sub-phase questions with yes"},
		outputFlag("text", "json"),
	}
}

func freshFlag() cli.Flag {
	return &cli.BoolFlag{Name: "fresh", Usage: "run every proof, also those that were green before on the same"}
}

func outputFlag(words ...string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: words[0], Usage: "`FORMAT`: " + strings.Join(words, ", ")}
}

// outputOf checks the word of --output.
func outputOf(c *cli.Context, words ...string) (string, error) {
	out := c.String("output")
	if !slices.Contains(words, out) {
		return "", refusal.New("use "+strings.Join(words, " or "), "unknown --output %q", out)
	}
	return out, nil
}

func (a *App) runOptions(c *cli.Context) (runOptions, error) {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return runOptions{}, err
	}
	o := runOptions{
		policy: config.PolicyFlags{Autonomous: c.Bool("autonomous"), Level: c.String("level")},
		from:   c.StringSlice("from"), only: c.StringSlice("only"), dryRun: c.Bool("dry-run"), noMerge: c.Bool("no-merge"),
		generate: c.Bool("generate"), strict: c.Bool("strict"), goOn: c.Bool("resume"),
		push: c.Bool("push"), remote: c.String("remote"), fresh: c.Bool("new"), again: c.Bool("fresh"), yes: c.Bool("yes"), deadline: c.Duration("deadline"), output: out,
	}
	if c.IsSet("deadline") && o.deadline <= 0 {
		return o, refusal.New("write a time such as 45m", "--deadline %v is not in the future", o.deadline)
	}
	if o.goOn && !o.push {
		return o, refusal.New("forge run --push --resume", "--resume looks at the remote that --push sends the run to")
	}
	if c.IsSet("max-parallel") {
		o.settings = append(o.settings, config.Setting{Flag: "--max-parallel", Key: "defaults.max_parallel", Value: c.String("max-parallel")})
	}
	if c.Bool("fail-fast") {
		o.settings = append(o.settings, config.Setting{Flag: "--fail-fast", Key: "defaults.fail_fast", Value: "true"})
	}
	caps, err := config.Caps(c.StringSlice("cost"))
	o.settings = append(o.settings, caps...)
	return o, err
}

func (a *App) runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run the plan in .forge/phases.json",
		Flags: append(runFlags(), &cli.StringFlag{Name: "prompt", Aliases: []string{"p"}, Usage: "do what `TEXT` says instead, as forge do does; - reads standard input"},
			&cli.BoolFlag{Name: "resume", Usage: "go on with the run of this plan that rests where --push goes, if there is one"}),
		Action: func(c *cli.Context) error {
			o, err := a.runOptions(c)
			if err != nil {
				return err
			}
			if c.Args().Present() {
				return refusal.New("forge phase N runs one phase; forge do \"TEXT\" does what a text says", "forge run takes no arguments, got %q", c.Args().First())
			}
			if c.IsSet("prompt") {
				return a.runText(c, o)
			}
			return a.run(c.Context, o)
		},
	}
}

func (a *App) phaseCommand() *cli.Command {
	return &cli.Command{
		Name: "phase", Usage: "run one phase (= run --only N)", ArgsUsage: "N", Flags: runFlags(),
		Action: func(c *cli.Context) error {
			o, err := a.runOptions(c)
			if err != nil {
				return err
			}
			if c.Args().Len() != 1 {
				return refusal.New("forge phase 05", "forge phase takes one phase number")
			}
			o.only = []string{c.Args().First()}
			return a.run(c.Context, o)
		},
	}
}

// run opens a new run and drives it.
func (a *App) run(ctx context.Context, o runOptions) error {
	if err := git.Probe(ctx); err != nil {
		return err
	}
	p, err := a.openProject(ctx, o.settings...)
	if err != nil {
		return err
	}
	defer p.Close()
	if o.generate && !draft.HasPlan(p.Checkout) {
		if err := a.generate(ctx, generateOptions{yes: o.yes}); err != nil {
			return err
		}
	}
	plan, err := p.Plan()
	if err != nil {
		return err
	}
	if err := draft.CheckSpec(p.Checkout, plan.Plan, o.strict); err != nil {
		return err
	}
	spec, origin, err := p.Resolve(plan, o.policy)
	if err != nil {
		return err
	}
	if spec.Only, err = project.Selection(plan.Plan, o.from, o.only); err != nil {
		return err
	}
	spec.AnswerYes = o.yes
	return p.begin(ctx, spec, origin, "forge run", o)
}

// begin opens a run with spec and drives it, once everything is there that it
// needs; opener is the command that it is said to be begun with.
func (p *checkout) begin(ctx context.Context, spec orchestrator.Spec, origin gates.Origin, opener string, o runOptions) (err error) {
	spec.NoMerge, spec.Fresh = o.noMerge, o.again
	if err := p.In(ctx, &spec, o.policy); err != nil {
		return err
	}
	if err := pullrequest.Aim(ctx, p.Checkout, &spec); err != nil {
		return err
	}
	if err := p.CheckStart(spec); err != nil {
		return err
	}
	if o.dryRun {
		p.Log.Info("dry run: nothing is done", "policy", origin)
		return p.list(spec, o.output)
	}
	if err := planrun.Ready(ctx, p.Checkout, spec); err != nil {
		return err
	}
	if o.push {
		if err := handoff.CheckOne(spec); err != nil {
			return err
		}
		if done, err := p.takeUp(ctx, spec, o); done || err != nil {
			return err
		}
	}
	if err := p.mayOpen(ctx, opener, o); err != nil {
		return err
	}
	e, err := p.Machine(ctx)
	if err != nil {
		return err
	}
	if err := p.CheckSandbox(ctx, e, spec.Settings.Sandbox); err != nil {
		return err
	}
	p.WarnMoney(spec)
	p.WarnHidden(spec)
	p.sayAtStart(ctx, e, o)
	id := p.NewRunID()
	spec.Branch = "forge/run-" + id
	return p.open(ctx, e, id, spec, o)
}

// takeUp goes on with the run of the same plan that rests at the remote, where
// that is asked for; else it says that there is one. done = it went on.
func (p *checkout) takeUp(ctx context.Context, spec orchestrator.Spec, o runOptions) (done bool, err error) {
	repo, err := p.Repo(ctx)
	if err != nil {
		return false, err
	}
	run, err := handoff.At(p.Checkout, repo, o.remote).Resting(ctx, spec.Plan)
	switch {
	case err != nil && o.goOn:
		return false, err
	case err != nil || run == "":
		return false, nil // that it cannot be sent there is said at its end
	case o.goOn:
		p.Log.Info("goes on with the run of this plan that rests at the remote", "run", run, "remote", o.remote)
		return true, p.app.resume(ctx, runOptions{run: run, remote: o.remote, fetch: true, push: true, deadline: o.deadline, again: o.again, output: o.output})
	}
	p.Log.Warn("a run of this plan rests at the remote, and this is another one", "run", run, "remote", o.remote, "next", "forge resume "+run+" --remote "+o.remote+" goes on with that one, forge run --push --resume does so by itself")
	return false, nil
}

// sayAtStart says what a person should know before a run or job of the checkout
// begins.
func (p *checkout) sayAtStart(ctx context.Context, e *project.Machine, o runOptions) {
	facts := project.StartFacts{Branch: p.Base.Branch, Dumb: p.app.dumb()}
	if o.noMerge {
		facts.Branch = ""
	}
	p.SayAtStart(ctx, e.Repo, facts)
}

// mayOpen opens the journal, and refuses a run beside an unfinished one. It may
// be asked again.
func (p *checkout) mayOpen(ctx context.Context, opener string, o runOptions) error {
	if p.Journal == nil {
		if _, err := p.OpenStore(ctx, true); err != nil {
			return err
		}
	}
	return p.CheckUnfinished(ctx, o.fresh, opener)
}

func (p *checkout) open(ctx context.Context, e *project.Machine, id string, spec orchestrator.Spec, o runOptions) error {
	run, err := runs.Open(ctx, p.Checkout, e, id, spec, spec.Base.Branch, p.creator(o))
	if err != nil {
		return err
	}
	if o.draft != "" {
		if err := draft.DropRecord(p.State, o.draft); err != nil { // the run's journal has the plan
			p.Log.Warn("the draft of the run's plan stays", "err", err)
		}
	}
	return p.carryOn(ctx, e, run.Lease, run.State, run.First, o)
}

// creator makes a new run beside an unfinished one only where that is asked for.
func (p *checkout) creator(o runOptions) runs.Create {
	if o.fresh {
		return p.Journal.CreateRun
	}
	return p.Journal.CreateSoleRun
}
