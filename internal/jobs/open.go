package jobs

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// MaxDescription is how long the description of a job may be, in bytes.
const MaxDescription = 32 << 10

// Order is what a person wants of a job.
type Order struct {
	Description string
	Expert      string // "" = as configured
	Documents   []Document
	Sources     []string // names of data sources
	Policy      config.PolicyFlags
	MaxPhases   int  // 0 = no limit, -1 = as configured
	Budget      int  // iterations of each phase; 0 = as configured
	AnswerYes   bool // questions that only stop are answered with yes
	Fresh       bool // what was proven before is proven again
	NoMerge     bool // the result stays on its branch
}

// Brief is what a job is opened with, and what its start commit tells of it.
type Brief struct {
	spec      orchestrator.Spec
	origin    string // of the level
	documents map[string][]byte
	sources   []config.Source
}

// Prepare resolves a job and checks all that can be checked before there is a
// journal: nothing is written yet.
func Prepare(ctx context.Context, p *project.Checkout, o Order) (*Brief, error) {
	var err error
	if o.Description, err = CleanDescription(o.Description); err != nil {
		return nil, err
	}
	b, err := briefOf(p, o)
	if err != nil {
		return nil, err
	}
	if err := p.CheckStart(b.spec); err != nil {
		return nil, err
	}
	if err := p.CheckAgents(ctx, b.spec.Settings); err != nil {
		return nil, err
	}
	// The reviewer is asked about as for a plan of one phase.
	return b, p.CheckReviewer(ctx, project.JobAsPlan(b.spec).Settings, []string{project.JobPhases})
}

// Open opens the job as the run id, on a start commit that holds its documents.
func (b *Brief) Open(ctx context.Context, p *project.Checkout, e *project.Machine, id string, create runs.Create) (runs.Opened, error) {
	if err := p.CheckSandbox(ctx, e, b.spec.Settings.Sandbox); err != nil {
		return runs.Opened{}, err
	}
	if err := checkFolder(ctx, e.Repo, p.Base.Commit); err != nil {
		return runs.Opened{}, err
	}
	b.warn(p)
	b.spec.Branch = "forge/job-" + id
	red := redact.New(redact.FromEnv(p.Environ, proc.SecretName))
	var err error
	if b.spec.Job.Start, err = e.Repo.WithFiles(ctx, p.Base.Commit, b.files(red), "start of job "+id+"\n", orchestrator.Ref(id, "start")); err != nil {
		return runs.Opened{}, err
	}
	return runs.Open(ctx, p, e, id, b.spec, b.spec.Base.Branch, create)
}

// CleanDescription is a job's description as it is kept.
func CleanDescription(text string) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", ""))
	switch {
	case text == "":
		return "", refusal.New(`forge job start -d "…"`, "the job has no description")
	case len(text) > MaxDescription:
		return "", refusal.New("put it into a file, and name that with --doc", "the description has %d bytes, more than %d", len(text), MaxDescription)
	}
	return text, nil
}

// briefOf resolves everything about a job that is known before it is opened.
func briefOf(p *project.Checkout, o Order) (*Brief, error) {
	name := cmp.Or(o.Expert, config.ValueOf(p.Config.File.Job.Expert))
	var expert config.Expert
	var err error
	if name != "" {
		if expert, err = p.Config.Expert(name); err != nil {
			return nil, err
		}
	}
	b := &Brief{}
	if b.sources, err = p.Config.Sources(o.Sources); err != nil {
		return nil, err
	}
	if b.documents, err = named(o.Documents); err != nil {
		return nil, err
	}
	set, phase, err := config.ResolveJob(p.Config, config.JobFacts{
		Agent: expert.Agent, Model: expert.Model, Budget: cmp.Or(o.Budget, expert.Budget), Source: expert.File,
	}, config.Facts{Kinds: project.AgentKinds()})
	if err != nil {
		return nil, err
	}
	flags := o.Policy
	flags.Expert, flags.BuiltIn = expert.Level, "partial"
	policy, origin, err := config.Policy(p.Config, flags)
	if err != nil {
		return nil, err
	}
	job := work.Job{
		Description: o.Description, Expert: expert.Name, Prompt: expert.Prompt, Phase: phase, MaxPhases: config.ValueOf(p.Config.File.Job.MaxPhases),
		Documents: slices.Sorted(maps.Keys(b.documents)),
	}
	if o.MaxPhases >= 0 {
		job.MaxPhases = o.MaxPhases
	}
	for _, s := range b.sources {
		job.Sources = append(job.Sources, s.Name)
		if s.Path != "" {
			set.Sandbox.Read = append(set.Sandbox.Read, sourceFiles(s)...)
		}
	}
	b.origin = origin.String()
	b.spec = orchestrator.Spec{
		Settings: set, Policy: policy, Bound: p.Config.Ceiling(), Base: p.Base, Job: &job, AnswerYes: o.AnswerYes, NoMerge: o.NoMerge, Fresh: o.Fresh,
		Levels: p.Config.Levels(phase),
	}
	if b.spec.Pulls, err = pullrequest.Settings(p); err != nil {
		return nil, err
	}
	b.spec.Digest, err = p.Digest()
	return b, err
}

// sourceFiles are the paths that a sandbox has to show for s. What a database
// has not written back yet lies beside it.
func sourceFiles(s config.Source) []string {
	out := []string{s.Path}
	if s.Kind == config.SourceSQLite {
		for _, end := range []string{"-wal", "-shm"} {
			if _, err := os.Lstat(s.Path + end); err == nil {
				out = append(out, s.Path+end)
			}
		}
	}
	return out
}

// checkFolder refuses a base in which the job's documents have no place.
func checkFolder(ctx context.Context, repo *git.Store, base string) error {
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

// warn says what a person should know before the job begins.
func (b *Brief) warn(p *project.Checkout) {
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

// asksPeople says that a person is asked at some end of the job's phases.
func asksPeople(s orchestrator.Spec) bool {
	return !s.Policy.Looks.None() || slices.ContainsFunc([]gates.Point{gates.PointPlanInitial, gates.PointPlanLater, gates.PointTactical, gates.PointFinal},
		func(pt gates.Point) bool { return s.Policy.At(pt) == gates.Human })
}
