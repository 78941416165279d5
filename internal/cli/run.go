package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/work"
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
	fresh      bool // --new
	yes        bool
	deadline   time.Duration
	output     string
	run        string         // resume: which
	budgets    map[string]int // resume
	costs      []string       // resume
}

func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "autonomous", Usage: "decide every gate without a person"},
		&cli.StringFlag{Name: "level", Usage: "the policy preset `NAME`"},
		&cli.StringSliceFlag{Name: "from", Usage: "run phase `N` and everything after it in the plan's order; earlier ones count as done"},
		&cli.StringSliceFlag{Name: "only", Usage: "run phase `N` alone; the others count as done"},
		&cli.StringFlag{Name: "max-parallel", Usage: "at most `N` phases at once"},
		&cli.BoolFlag{Name: "fail-fast", Usage: "start nothing new once a phase has failed"},
		&cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, and do nothing"},
		&cli.DurationFlag{Name: "deadline", Usage: "end the run, resumable, after `TIME` (such as 45m)"},
		&cli.BoolFlag{Name: "no-merge", Usage: "leave the result on its branch"},
		&cli.BoolFlag{Name: "push", Usage: "push the result's branch"},
		&cli.StringFlag{Name: "remote", Usage: "where --push goes", Value: "origin"},
		&cli.BoolFlag{Name: "new", Usage: "open a new run although another is unfinished"},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "answer phase start, iteration and sub-phase questions with yes"},
		outputFlag("text", "json"),
	}
}

func outputFlag(words ...string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: words[0], Usage: "`FORMAT`: " + strings.Join(words, ", ")}
}

// outputOf checks the word of --output.
func outputOf(c *cli.Context, words ...string) (string, error) {
	out := c.String("output")
	if !slices.Contains(words, out) {
		return "", refuse("use "+strings.Join(words, " or "), "unknown --output %q", out)
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
		push: c.Bool("push"), remote: c.String("remote"), fresh: c.Bool("new"), yes: c.Bool("yes"), deadline: c.Duration("deadline"), output: out,
	}
	if c.IsSet("deadline") && o.deadline <= 0 {
		return o, refuse("write a time such as 45m", "--deadline %v is not in the future", o.deadline)
	}
	if c.IsSet("max-parallel") {
		o.settings = append(o.settings, config.Setting{Flag: "--max-parallel", Key: "defaults.max_parallel", Value: c.String("max-parallel")})
	}
	if c.Bool("fail-fast") {
		o.settings = append(o.settings, config.Setting{Flag: "--fail-fast", Key: "defaults.fail_fast", Value: "true"})
	}
	return o, nil
}

func (a *App) runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run the plan in .forge/phases.json", Flags: runFlags(),
		Action: func(c *cli.Context) error {
			o, err := a.runOptions(c)
			if err != nil {
				return err
			}
			if c.Args().Present() {
				return refuse("forge phase N runs one phase", "forge run takes no arguments, got %q", c.Args().First())
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
				return refuse("forge phase 05", "forge phase takes one phase number")
			}
			o.only = []string{c.Args().First()}
			return a.run(c.Context, o)
		},
	}
}

// run opens a new run and drives it.
func (a *App) run(ctx context.Context, o runOptions) error {
	p, err := a.openProject(ctx, o.settings...)
	if err != nil {
		return err
	}
	defer p.close()
	plan, err := p.plan()
	if err != nil {
		return err
	}
	spec, origin, err := p.resolve(plan, o.policy)
	if err != nil {
		return err
	}
	if spec.Only, err = selection(plan.Plan, o.from, o.only); err != nil {
		return err
	}
	spec.AnswerYes, spec.NoMerge = o.yes, o.noMerge
	if err := p.checkReviews(spec); err != nil {
		return err
	}
	if o.dryRun {
		a.log.Info("dry run: nothing is done", "policy", origin)
		return p.list(spec, o.output)
	}
	if err := p.checkAgents(ctx, spec.Settings); err != nil {
		return err
	}
	if _, err := p.openStore(ctx, true); err != nil {
		return err
	}
	if err := p.checkUnfinished(ctx, o.fresh); err != nil {
		return err
	}
	e, err := p.engine(ctx)
	if err != nil {
		return err
	}
	if err := p.checkSandbox(e, spec.Settings.Sandbox); err != nil {
		return err
	}
	p.warnMoney(spec)
	p.warnHidden(spec)
	id := a.newRunID()
	spec.Branch = "forge/run-" + id
	return p.open(ctx, e, id, spec, o)
}

func (p *project) open(ctx context.Context, e *engine, id string, spec orchestrator.Spec, o runOptions) error {
	first := orchestrator.Opened{Inline: &spec}
	text, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("record what the run is opened with: %w", err)
	}
	if len(text) > work.MaxEventBytes/2 {
		first.Inline = nil
		if first.Blob, err = p.store.PutBlob(ctx, text); err != nil {
			return err
		}
	}
	create := p.store.CreateSoleRun
	if o.fresh {
		create = p.store.CreateRun
	}
	lease, err := create(ctx, id, journal.Self())
	if err != nil {
		return err
	}
	if err := e.repo.KeepBase(ctx, id, spec.Base.Commit); err != nil {
		return err
	}
	s, err := orchestrator.NewState(id, spec)
	if err != nil {
		return err
	}
	return p.carryOn(ctx, e, lease, s, first, o)
}

// carryOn drives s and says at the end what came of it.
func (p *project) carryOn(ctx context.Context, e *engine, lease *journal.Lease, s *orchestrator.State, first orchestrator.Fact, o runOptions) error {
	opts := driveOptions{answers: p.app.terminal() && o.output != "json"}
	if o.deadline > 0 {
		opts.deadline = p.app.Now().Add(o.deadline)
	}
	view, done := p.watcher(ctx, s, o)
	opts.watch = view
	end, err := p.drive(ctx, e, lease, s, first, opts)
	done()
	if err != nil {
		return err
	}
	if err := p.anchor(ctx, e, s.Run); err != nil {
		p.app.log.Warn("note the journal's length in Forge's repository", "err", err)
	}
	if err := p.after(ctx, e, s, end, o); err != nil {
		return err
	}
	if code := exitOfRun(end); code != exitDone {
		return codeError(code)
	}
	return nil
}

// after does what belongs to the end of a run in the user's repository.
func (p *project) after(ctx context.Context, e *engine, s *orchestrator.State, end work.RunFinishedData, o runOptions) error {
	ctx = context.WithoutCancel(ctx)
	var pushErr error
	if o.push && s.Delivery != nil && s.Delivery.Branch != "" {
		if pushErr = e.repo.Push(ctx, o.remote, s.Delivery.Branch); pushErr == nil {
			p.app.log.Info("pushed", "branch", s.Delivery.Branch, "remote", o.remote)
		}
	}
	if end.Outcome.Final() {
		if err := e.repo.DropBase(ctx, s.Run); err != nil {
			p.app.log.Warn("drop the ref that kept the base", "err", err)
		}
	}
	if end.Outcome == work.RunCompleted {
		p.sweep(s.Run)
	}
	p.report(s, end, o)
	p.reportCI(s, end)
	if pushErr != nil {
		return refuse(fmt.Sprintf("git push %s %s", o.remote, s.Delivery.Branch), "push the result: %v", pushErr)
	}
	return nil
}

// sweep removes the folders that a completed run worked in; its logs stay.
func (p *project) sweep(run string) {
	dir := p.layout().RunDir(run)
	for _, name := range []string{"phases", "verify"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			p.app.log.Warn("remove the folders of the finished run", "err", err)
		}
	}
}

// selection is the list of phases that --from and --only leave in.
func selection(plan work.Plan, from, only []string) ([]string, error) {
	if len(from) == 0 && len(only) == 0 {
		return nil, nil
	}
	at := map[string]int{}
	var numbers []string
	for i, ph := range plan.Phases {
		at[ph.Number] = i
		numbers = append(numbers, ph.Number)
	}
	keep := map[string]bool{}
	for _, words := range []struct {
		flag string
		list []string
		rest bool
	}{{"--from", from, true}, {"--only", only, false}} {
		for _, n := range words.list {
			i, ok := at[n]
			if !ok {
				return nil, refuse("the plan has "+strings.Join(numbers, ", "), "%s %s: the plan has no such phase", words.flag, n)
			}
			keep[n] = true
			for _, later := range plan.Phases[i:] {
				keep[later.Number] = keep[later.Number] || words.rest
			}
		}
	}
	var out []string
	for _, ph := range plan.Phases {
		if keep[ph.Number] {
			out = append(out, ph.Number)
		}
	}
	return out, nil
}

// checkReviews refuses what cannot be judged: reviews and sensitive phases
// need a reviewer.
func (p *project) checkReviews(spec orchestrator.Spec) error {
	if whys := unreviewed(spec); len(whys) > 0 {
		return refuse("turn reviews off, or take the phase out of autonomy.sensitive_patterns", "no reviewer can be asked: %s", strings.Join(whys, "; "))
	}
	return nil
}

func unreviewed(spec orchestrator.Spec) []string {
	var whys []string
	for _, ph := range spec.Plan.Phases {
		set := spec.Settings.Phases[ph.Number]
		switch {
		case set.Sensitive != "":
			whys = append(whys, fmt.Sprintf("phase %s %q is sensitive (pattern %q)", ph.Number, ph.Name, set.Sensitive))
		case set.Reviewed:
			whys = append(whys, fmt.Sprintf("phase %s %q is to be reviewed", ph.Number, ph.Name))
		}
	}
	return whys
}

func (p *project) checkUnfinished(ctx context.Context, fresh bool) error {
	rows, err := p.store.Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Alive && r.Owner != nil {
			return refuse("wait for it, or stop it", "run %s is being driven by process %d", r.ID, r.Owner.PID)
		}
	}
	if len(rows) > 0 && !fresh {
		r := rows[0]
		state := string(r.Outcome)
		if state == "" {
			state = "interrupted"
		}
		return refuse("forge resume goes on with it; forge run --new opens another", "run %s is unfinished (%s)", r.ID, state)
	}
	return nil
}

func (p *project) warnMoney(spec orchestrator.Spec) {
	if spec.Settings.Cost == (work.Cost{}) && spec.Policy.Preset == "autonomous" {
		p.app.log.Warn("no cost cap is set: nothing but the budgets bounds what this run may spend", "set", "[cost] run_usd")
	}
}

// warnHidden shows what a person who reads the spec or a skill would not see;
// the agent does not get it either.
func (p *project) warnHidden(spec orchestrator.Spec) {
	texts := map[string]string{"the spec": spec.Settings.Spec}
	for name, text := range spec.Settings.Skills {
		texts["skill "+name] = text
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if _, hidden := orchestrator.Reveal(texts[name]); hidden > 0 {
			p.app.log.Warn("hidden comments or invisible characters are kept from the agent", "in", name, "how many", hidden)
		}
	}
}

func (a *App) resumeCommand() *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "go on with a run that is frozen, interrupted, at a limit, or failed", ArgsUsage: "[RUN]",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "budget", Usage: "widen the budget of a phase: `N=ITERATIONS`"},
			&cli.StringSliceFlag{Name: "cost", Usage: "raise a cap: `KEY=VALUE`, such as run_usd=20"},
			&cli.DurationFlag{Name: "deadline", Usage: "end the run, resumable, after `TIME`"},
			&cli.BoolFlag{Name: "push", Usage: "push the result's branch"},
			&cli.StringFlag{Name: "remote", Usage: "where --push goes", Value: "origin"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			o := runOptions{run: c.Args().First(), deadline: c.Duration("deadline"), push: c.Bool("push"), remote: c.String("remote"), output: out, costs: c.StringSlice("cost")}
			if o.budgets, err = parseBudgets(c.StringSlice("budget")); err != nil {
				return err
			}
			return a.resume(c.Context, o)
		},
	}
}

func parseBudgets(words []string) (map[string]int, error) {
	out := map[string]int{}
	for _, w := range words {
		n, text, ok := strings.Cut(w, "=")
		b, err := strconv.Atoi(text)
		if !ok || err != nil || b < 1 {
			return nil, refuse("write it as --budget 05=20", "--budget %q is not PHASE=ITERATIONS", w)
		}
		out[n] = b
	}
	return out, nil
}

// resume goes on with a run where its events left it.
func (a *App) resume(ctx context.Context, o runOptions) error {
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	if ok, err := p.openStore(ctx, false); err != nil || !ok {
		if err == nil {
			err = refuse("forge run starts one", "this project has no runs")
		}
		return err
	}
	if err := p.key(); err != nil {
		return err
	}
	row, err := p.pickResumable(ctx, o.run)
	if err != nil {
		return err
	}
	e, err := p.engine(ctx)
	if err != nil {
		return err
	}
	lease, err := p.store.AcquireRun(ctx, row.ID, journal.Self())
	if err != nil {
		return err
	}
	s, _, err := p.load(ctx, row.ID)
	if err == nil {
		err = p.checkAnchor(ctx, e, row.ID)
	}
	var first orchestrator.Resumed
	if err == nil {
		first, err = p.resumed(s, o)
	}
	if err == nil {
		err = p.checkSandbox(e, s.Spec.Settings.Sandbox)
	}
	if err != nil {
		return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	return p.carryOn(ctx, e, lease, s, first, o)
}

// pickResumable is the run that is named, or the newest that can go on.
func (p *project) pickResumable(ctx context.Context, id string) (journal.RunRow, error) {
	row, err := p.pick(ctx, id)
	if err != nil {
		return row, err
	}
	if id == "" {
		rows, err := p.store.Unfinished(ctx)
		if err != nil {
			return row, err
		}
		if len(rows) > 0 {
			row = rows[0]
		}
	}
	switch row.Outcome {
	case work.RunCompleted, work.RunCancelled:
		return row, refuse("forge run starts a new one", "run %s is %s: there is nothing to go on with", row.ID, row.Outcome)
	}
	return row, nil
}

// resumed is the fact that opens the next process of a run. A configuration
// that was edited since is named as not used.
func (p *project) resumed(s *orchestrator.State, o runOptions) (orchestrator.Resumed, error) {
	if digest, err := p.digest(); err != nil {
		return orchestrator.Resumed{}, err
	} else if s.Spec.Digest != "" && digest != s.Spec.Digest {
		p.app.log.Warn("the plan, spec or configuration was edited since this run began; the run goes on with what it began with")
	}
	r := orchestrator.Resumed{Reopen: true}
	r.By, r.AcceptUnknown = userName(p.app), true
	for n := range o.budgets {
		if s.Phases[n] == nil {
			return r, refuse("forge status shows its phases", "--budget %s: run %s has no such phase", n, s.Run)
		}
	}
	if len(o.budgets) > 0 {
		r.Budgets = o.budgets
	}
	cost, err := raiseCaps(s.Spec.Settings.Cost, o.costs)
	if err != nil {
		return r, err
	}
	if len(o.costs) > 0 {
		r.Cost = &cost
	}
	return r, nil
}

// raiseCaps sets caps by their names in [cost].
func raiseCaps(cost work.Cost, words []string) (work.Cost, error) {
	usd := map[string]**float64{"iteration_usd": &cost.IterationUSD, "phase_usd": &cost.PhaseUSD, "run_usd": &cost.RunUSD, "day_usd": &cost.DayUSD}
	tokens := map[string]**int64{"iteration_tokens": &cost.IterationTokens, "phase_tokens": &cost.PhaseTokens, "run_tokens": &cost.RunTokens, "day_tokens": &cost.DayTokens}
	for _, w := range words {
		key, text, _ := strings.Cut(w, "=")
		if into, ok := usd[key]; ok {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !(v > 0) || v > 1e9 {
				return cost, refuse("write it as --cost run_usd=20", "--cost %q is not an amount", w)
			}
			*into = &v
		} else if into, ok := tokens[key]; ok {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil || v < 1 {
				return cost, refuse("write it as --cost run_tokens=2000000", "--cost %q is not a number of tokens", w)
			}
			*into = &v
		} else {
			return cost, refuse("the keys are those of [cost]", "--cost %q: unknown cap", w)
		}
	}
	return cost, nil
}

// anchor notes the journal's length outside of it.
func (p *project) anchor(ctx context.Context, e *engine, run string) error {
	ctx = context.WithoutCancel(ctx)
	count, head, err := p.store.Head(ctx, run)
	if err != nil {
		return err
	}
	return e.repo.Anchor(ctx, run, count, head)
}

// checkAnchor holds the journal against what Forge's own repository knows of
// its length: a chain cannot show a cut tail.
func (p *project) checkAnchor(ctx context.Context, e *engine, run string) error {
	count, head, ok, err := e.repo.ReadAnchor(ctx, run)
	if err != nil || !ok {
		return err
	}
	return p.store.CheckAnchor(ctx, run, count, head)
}
