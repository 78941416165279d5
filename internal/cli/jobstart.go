package cli

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// maxDescription is how long the description of a job may be, in bytes.
const maxDescription = 32 << 10

// jobOptions are the flags of job start beside those of a run.
type jobOptions struct {
	runOptions
	description string
	expert      string
	documents   []string
	sources     []string
	maxPhases   int // -1 = as configured
	budget      int // 0 = as configured
}

func (a *App) jobStartCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "description", Aliases: []string{"d"}, Usage: "what is to be done, in your `WORDS`; - reads it from standard input"},
		&cli.StringFlag{Name: "expert", Usage: "who does it, `NAME`: " + strings.Join(gates.Experts(), ", ") + ", or a folder of " + config.ExpertFolder},
		&cli.GenericFlag{Name: "doc", Usage: "give the job `FILE` to read; may be repeated", Value: &words{}},
		&cli.GenericFlag{Name: "data", Usage: "let the job look into data source `NAME`; may be repeated", Value: &words{}},
		&cli.IntFlag{Name: "max-phases", Usage: "stop after `N` phases; 0 = no limit", DefaultText: "job.max_phases"},
		&cli.IntFlag{Name: "budget", Usage: "`N` iterations for each phase", DefaultText: "of the expert, else defaults.budget"},
	}
	leaveOut := []string{"from", "only", "max-parallel", "fail-fast", "dry-run", "generate", "strict"}
	for _, f := range runFlags() {
		if !slices.Contains(leaveOut, f.Names()[0]) {
			flags = append(flags, f)
		}
	}
	return &cli.Command{
		Name: "start", Usage: "start a job and drive it", Flags: flags,
		Action: func(c *cli.Context) error {
			o, err := a.jobOptions(c)
			if err != nil {
				return err
			}
			return a.startJob(c.Context, o)
		},
	}
}

func (a *App) jobOptions(c *cli.Context) (jobOptions, error) {
	run, err := a.runOptions(c)
	o := jobOptions{
		runOptions: run, expert: c.String("expert"), documents: wordsOf(c, "doc"), sources: wordsOf(c, "data"), maxPhases: -1, budget: c.Int("budget"),
	}
	if err != nil {
		return o, err
	}
	if c.Args().Present() {
		return o, refusal.New(`forge job start -d "…"`, "forge job start takes no arguments, got %q: put the description into quotes", c.Args().First())
	}
	if c.IsSet("max-phases") {
		if o.maxPhases = c.Int("max-phases"); o.maxPhases < 0 {
			return o, refusal.New("use 0 for no limit", "--max-phases %d is negative", o.maxPhases)
		}
	}
	if c.IsSet("budget") && (o.budget < 1 || o.budget > 100_000) {
		return o, refusal.New("use 1 or more", "--budget %d is not a number of iterations", o.budget)
	}
	if c.IsSet("expert") && o.expert == "" {
		return o, refusal.New("use one of "+strings.Join(gates.Experts(), ", ")+", or leave --expert out", "--expert names no expert")
	}
	o.description, err = a.description(c.String("description"))
	return o, err
}

// description is the text of -d, where "-" stands for standard input.
func (a *App) description(text string) (string, error) {
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(a.Stdin, maxDescription*2))
		if err != nil {
			return "", refusal.New("", "read the description from standard input: %v", err)
		}
		text = string(read)
	}
	return cleanDescription(text)
}

// cleanDescription is a job's description as it is kept.
func cleanDescription(text string) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", ""))
	switch {
	case text == "":
		return "", refusal.New(`forge job start -d "…"`, "the job has no description")
	case len(text) > maxDescription:
		return "", refusal.New("put it into a file, and name that with --doc", "the description has %d bytes, more than %d", len(text), maxDescription)
	}
	return text, nil
}

// startJob opens a new job and drives it.
func (a *App) startJob(ctx context.Context, o jobOptions) error {
	if err := git.Probe(ctx); err != nil {
		return err
	}
	p, err := a.openProject(ctx, o.settings...)
	if err != nil {
		return err
	}
	defer p.Close()
	b, err := jobBrief(p.Checkout, o)
	if err != nil {
		return err
	}
	if err := p.CheckStart(b.spec); err != nil {
		return err
	}
	if err := p.CheckAgents(ctx, b.spec.Settings); err != nil {
		return err
	}
	if err := p.CheckReviewer(ctx, b.asPlan().Settings, []string{project.JobPhases}); err != nil {
		return err
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	if err := p.CheckUnfinished(ctx, o.fresh, "forge job start"); err != nil {
		return err
	}
	e, err := p.Machine(ctx)
	if err != nil {
		return err
	}
	if err := p.CheckSandbox(e, b.spec.Settings.Sandbox); err != nil {
		return err
	}
	if err := checkJobFolder(ctx, e.Repo, p.Base.Commit); err != nil {
		return err
	}
	warnJob(p.Checkout, b)
	id := a.env().NewRunID()
	b.spec.Branch = "forge/job-" + id
	red := redact.New(redact.FromEnv(a.Environ, proc.SecretName))
	b.spec.Job.Start, err = e.Repo.WithFiles(ctx, p.Base.Commit, b.files(red), "start of job "+id+"\n", orchestrator.Ref(id, "start"))
	if err != nil {
		return err
	}
	return p.open(ctx, e, id, b.spec, o.runOptions)
}

// brief is what a job is opened with, and what its start commit tells of it.
type brief struct {
	spec      orchestrator.Spec
	origin    string // of the level
	documents map[string][]byte
	sources   []config.Source
}

// asPlan is the job as a plan of one phase, for checks that know plans.
func (b *brief) asPlan() orchestrator.Spec { return project.JobAsPlan(b.spec) }

// jobBrief resolves everything about a job that is known before it is opened.
func jobBrief(p *project.Checkout, o jobOptions) (*brief, error) {
	name := cmp.Or(o.expert, config.ValueOf(p.Config.File.Job.Expert))
	var expert config.Expert
	var err error
	if name != "" {
		if expert, err = p.Config.Expert(name); err != nil {
			return nil, err
		}
	}
	b := &brief{}
	if b.sources, err = p.Config.Sources(o.sources); err != nil {
		return nil, err
	}
	if b.documents, err = readDocuments(p, o.documents); err != nil {
		return nil, err
	}
	set, phase, err := config.ResolveJob(p.Config, config.JobFacts{
		Agent: expert.Agent, Model: expert.Model, Budget: cmp.Or(o.budget, expert.Budget), Source: expert.File,
	}, config.Facts{Kinds: project.AgentKinds()})
	if err != nil {
		return nil, err
	}
	flags := o.policy
	flags.Expert, flags.BuiltIn = expert.Level, "partial"
	policy, origin, err := config.Policy(p.Config, flags)
	if err != nil {
		return nil, err
	}
	job := work.Job{
		Description: o.description, Expert: expert.Name, Prompt: expert.Prompt, Phase: phase, MaxPhases: config.ValueOf(p.Config.File.Job.MaxPhases),
		Documents: slices.Sorted(maps.Keys(b.documents)),
	}
	if o.maxPhases >= 0 {
		job.MaxPhases = o.maxPhases
	}
	for _, s := range b.sources {
		job.Sources = append(job.Sources, s.Name)
		if s.Path != "" {
			set.Sandbox.Read = append(set.Sandbox.Read, sourceFiles(s)...)
		}
	}
	b.origin = origin.String()
	b.spec = orchestrator.Spec{
		Settings: set, Policy: policy, Bound: p.Config.Ceiling(), Base: p.Base, Job: &job, AnswerYes: o.yes, NoMerge: o.noMerge,
	}
	if b.spec.Pulls, err = pullrequest.Settings(p); err != nil {
		return nil, err
	}
	b.spec.Digest, err = p.Digest()
	return b, err
}

// checkJobFolder refuses a base in which the job's documents have no place.
func checkJobFolder(ctx context.Context, repo *git.Store, base string) error {
	files, err := repo.Files(ctx, base)
	if err != nil {
		return err
	}
	for _, f := range files {
		if top, _, _ := strings.Cut(f, "/"); strings.EqualFold(top, work.JobDir) {
			return refusal.New("rename it in the project, and commit that", "the project has a %q of its own, where a job keeps its documents", top)
		}
	}
	var wanted []string
	for _, name := range []string{"workspace.md", "plan.md", "todos.yaml", "archive/retrospective.md", "tools/verify.md", "documents/x"} {
		wanted = append(wanted, work.JobDir+"/"+name)
	}
	ignored, err := repo.Ignored(ctx, wanted)
	if err != nil {
		return err
	}
	if len(ignored) > 0 {
		return refusal.New("let "+work.JobDir+"/ in: add !/"+work.JobDir+"/** to .gitignore", "the project's ignore rules leave out %s, which a job has to keep", ignored[0])
	}
	return nil
}

// warnJob says what a person should know before the job begins.
func warnJob(p *project.Checkout, b *brief) {
	spec := b.spec
	if spec.Settings.Cost == (work.Cost{}) && !asksPeople(spec) {
		p.Log.Warn("no cost cap is set: nothing but budgets and job.max_phases bounds what this job may spend", "set", "[cost] run_usd")
	}
	if _, hidden := text.Reveal(spec.Job.Description); hidden > 0 {
		p.Log.Warn("hidden comments or invisible characters are kept from the agent", "in", "the description", "how many", hidden)
	}
	if spec.Settings.Sandbox.Network {
		return
	}
	for _, s := range b.sources {
		if s.Kind == config.SourceHTTP {
			p.Log.Warn("the sandbox has no network: the job cannot reach this data source", "data", s.Name, "set", "sandbox.network")
		}
	}
}
