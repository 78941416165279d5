package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/dag"
	"forge/factory/triage"
	"forge/gates"
	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// Checkout is a checkout with its configuration and its state folder.
type Checkout struct {
	Env
	Base    work.Base      // its root, and what a run would start from
	Config  *config.Config // nil when it was found without its configuration
	State   string         // its state folder
	Journal *journal.Store // nil until OpenStore
	// Objects is the state folder whose git repository is used; "" = state's own.
	Objects string
	// Server is the variable with the URL of the database that has the journal;
	// "" = it is in the state folder.
	Server string
}

// located says where the journal of p is.
func located(p *Checkout) (*Checkout, error) {
	beyond, err := p.Beyond(p.Base.RepoRoot)
	if err != nil {
		return nil, err
	}
	p.Server = beyond.StoreURL
	return p, nil
}

// PlanFile is where the plan stands, from the root.
const PlanFile = ".forge/phases.json"

// Open finds the checkout around the working directory and loads its
// configuration. Warnings are said once, here.
func Open(ctx context.Context, env Env, flags ...config.Setting) (*Checkout, error) {
	return OpenFor(ctx, env, Issue{}, flags...)
}

// Issue is what an issue says of how it is worked on.
type Issue struct {
	By     *config.External // nil = it is the owner's
	Labels []string
	Target string // branch that its result is for, "" = it names none
}

// OpenFor is Open for an issue.
func OpenFor(ctx context.Context, env Env, i Issue, flags ...config.Setting) (*Checkout, error) {
	base, err := git.Inspect(ctx, env.Dir)
	if err != nil {
		return nil, err
	}
	state, err := config.StateDir(env.Environ, base.RepoRoot)
	if err != nil {
		return nil, err
	}
	cfg, warnings, err := config.Load(config.Sources{ProjectDir: base.RepoRoot, UserFile: config.UserFile(env.Environ), Environ: env.Environ, Flags: flags, External: i.By, Labels: i.Labels, Target: i.Target})
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		env.Log.Warn(w.String())
	}
	return located(&Checkout{Env: env, Base: base, Config: cfg, State: state})
}

// Configure lays flags over the configuration, as Open would have. What the
// configuration's files are warned of, Open has said.
func (p *Checkout) Configure(flags ...config.Setting) error {
	cfg, _, err := config.Load(config.Sources{ProjectDir: p.Base.RepoRoot, UserFile: config.UserFile(p.Environ), Environ: p.Environ, Flags: flags, External: p.Config.External(), Labels: p.Config.Labels(), Target: p.Config.Target()})
	if err == nil {
		p.Config = cfg
	}
	return err
}

// OpenStore opens the journal, making the state folder when make is set. A
// project without one has no runs: then it returns false.
func (p *Checkout) OpenStore(ctx context.Context, create bool) (bool, error) {
	if p.Server != "" {
		return true, p.openServer(ctx)
	}
	if err := p.stays(); err != nil {
		return false, err
	}
	return p.openFile(ctx, create)
}

// openFile is OpenStore for the journal of the state folder.
func (p *Checkout) openFile(ctx context.Context, create bool) (bool, error) {
	info, err := os.Stat(filepath.Join(p.State, "journal.db"))
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return false, refusal.New("set FORGE_STATE_DIR to a folder that you may read and write", "look for the journal: %v", err)
	}
	if fresh || info.Size() == 0 {
		// The journal is made before anything else of a run.
		if _, err := os.Lstat(filepath.Join(p.State, "runs")); err == nil {
			return false, &journal.BrokenError{File: filepath.Join(p.State, "journal.db"), What: "it is missing or empty although there were runs"}
		}
	}
	if fresh && !create {
		return false, nil
	}
	if fresh {
		if err := os.MkdirAll(p.State, 0o700); err != nil {
			return false, refusal.New("set FORGE_STATE_DIR to a folder that can be written", "make the state folder: %v", err)
		}
		if err := p.makeKey(); err != nil {
			return false, err
		}
	}
	if create {
		if err := p.CheckKey(); err != nil {
			return false, err
		}
	}
	p.Journal, err = journal.Open(ctx, p.State)
	return err == nil, err
}

// Close closes the journal, if it was opened.
func (p *Checkout) Close() {
	if p.Journal != nil {
		if err := p.Journal.Close(); err != nil {
			p.Log.Warn("close the journal", "err", err)
		}
	}
}

// Plan loads phases.json.
func (p *Checkout) Plan() (*config.Plan, error) {
	path := filepath.Join(p.Base.RepoRoot, PlanFile)
	plan, warnings, err := config.LoadPlan(path, CheckGraph)
	for _, w := range warnings {
		p.Log.Warn(w.String())
	}
	if err != nil {
		if _, statErr := os.Stat(path); errors.Is(statErr, fs.ErrNotExist) {
			return nil, refusal.New("forge init makes one to start from", "%s does not exist", PlanFile)
		}
		return nil, err
	}
	return plan, nil
}

// AgentKinds are the kinds of agents that there are, with what settings depend on.
func AgentKinds() []config.KindFacts {
	var out []config.KindFacts
	for _, name := range agent.Kinds() {
		f, _ := agent.FactsOf(name)
		out = append(out, config.KindFacts{Name: name, Continues: f.Continues, ReportsCost: f.ReportsCost, Listens: f.Listens, MCP: f.MCP})
	}
	return out
}

// CheckGraph says what is wrong with a plan's dependencies.
func CheckGraph(p work.Plan) []work.Problem {
	index := map[string]int{}
	nodes := make([]dag.Node[string], 0, len(p.Phases))
	for i, ph := range p.Phases {
		if _, seen := index[ph.Number]; !seen {
			index[ph.Number] = i
		}
		nodes = append(nodes, dag.Node[string]{Key: ph.Number, Needs: ph.DependsOn})
	}
	_, err := dag.New(nodes)
	var bad *dag.Problems[string]
	if !errors.As(err, &bad) {
		return nil
	}
	var out []work.Problem
	add := func(number, field, what, fix string) {
		out = append(out, work.Problem{Path: fmt.Sprintf("phases[%d].%s", index[number], field), What: what, Fix: fix})
	}
	numbers := slices.Sorted(maps.Keys(index)) // of two that are as near, always the same
	for _, n := range bad.Duplicates {
		add(n, "number", fmt.Sprintf("phase %s stands twice in the plan", n), "give each phase its own number")
	}
	for _, n := range bad.Self {
		add(n, "depends_on", fmt.Sprintf("phase %s depends on itself", n), "remove it from its own depends_on")
	}
	for _, m := range bad.Unknown {
		fix := "name a phase of this plan"
		others := slices.DeleteFunc(slices.Clone(numbers), func(n string) bool { return n == m.Node })
		if near := gates.Nearest(m.Need, others); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		}
		add(m.Node, "depends_on", fmt.Sprintf("phase %s depends on %q, which the plan does not have", m.Node, m.Need), fix)
	}
	for _, c := range bad.Cycles {
		add(c[0], "depends_on", "the dependencies form a cycle: "+strings.Join(append(c, c[0]), " → "), "remove one of its dependencies")
	}
	return out
}

// Resolve turns plan, configuration and policy into what a run is opened with.
func (p *Checkout) Resolve(plan *config.Plan, flags config.PolicyFlags) (orchestrator.Spec, gates.Origin, error) {
	set, err := config.Resolve(p.Config, plan, config.Facts{Kinds: AgentKinds()})
	if err != nil {
		return orchestrator.Spec{}, gates.Origin{}, err
	}
	policy, origin, err := config.Policy(p.Config, flags)
	if err != nil {
		return orchestrator.Spec{}, gates.Origin{}, err
	}
	spec := orchestrator.Spec{Plan: plan.Plan, Settings: set, Policy: policy, Bound: p.Config.Ceiling(), Base: p.Base}
	spec.Levels = p.Config.Levels(slices.Collect(maps.Values(set.Phases))...)
	spec.Digest, err = p.Digest()
	return spec, origin, err
}

// Digest is the hash of what the owner wrote: configuration, plan, spec and
// policies. It tells a resumed run that they were edited meanwhile.
func (p *Checkout) Digest() (string, error) {
	h := sha256.New()
	names := []string{config.ProjectFile, PlanFile, config.SpecFile}
	// Sorted; a folder that cannot be listed holds none that a run began with.
	entries, _ := os.ReadDir(filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.PolicyFolder)))
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".toml") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, config.PolicyFolder+"/"+e.Name())
		}
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(p.Base.RepoRoot, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		fmt.Fprintf(h, "%s %d\n%s\n", name, len(data), data)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// LoadRun rebuilds a run from its events.
func (p *Checkout) LoadRun(ctx context.Context, run string) (*orchestrator.State, []work.Event, error) {
	if triage.IsThread(run) {
		return nil, nil, NoRun(run)
	}
	evs, err := p.Journal.Events(ctx, run, 0)
	if err != nil {
		return nil, nil, err
	}
	s, err := p.BeginRun(ctx, run, evs)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range evs {
		if err := orchestrator.Apply(s, e); err != nil {
			return nil, nil, err
		}
	}
	return s, evs, nil
}

// BeginRun is a run before its first event, with what that event opens it with.
func (p *Checkout) BeginRun(ctx context.Context, run string, evs []work.Event) (*orchestrator.State, error) {
	if len(evs) == 0 {
		return nil, fmt.Errorf("%w: run %s has no events", journal.ErrBroken, run)
	}
	spec, err := p.SpecOf(ctx, evs[0])
	if err != nil {
		return nil, err
	}
	if came, err := p.Journal.Came(ctx, run); err != nil {
		return nil, err
	} else if came {
		p.Relocate(&spec)
	}
	return orchestrator.NewState(run, spec)
}

// SpecOf is what a run was opened with, as its first event tells.
func (p *Checkout) SpecOf(ctx context.Context, first work.Event) (orchestrator.Spec, error) {
	return SpecIn(first, func(sha string) ([]byte, error) { return p.Journal.Blob(ctx, sha) })
}

// SpecIn is specOf with the blobs of any place.
func SpecIn(first work.Event, blob func(sha string) ([]byte, error)) (orchestrator.Spec, error) {
	none := orchestrator.Spec{}
	if first.Kind != work.RunStarted {
		return none, fmt.Errorf("%w: run %s does not begin with %s", journal.ErrBroken, first.Run, work.RunStarted)
	}
	var d orchestrator.RunStartedData
	if err := work.Decode(first, &d); err != nil {
		return none, err
	}
	if d.Spec == nil {
		data, err := blob(d.Blob)
		if err != nil {
			return none, fmt.Errorf("read what run %s was opened with: %w", first.Run, err)
		}
		d.Spec = &orchestrator.Spec{}
		if err := json.Unmarshal(data, d.Spec); err != nil {
			return none, fmt.Errorf("read what run %s was opened with: %w", first.Run, err)
		}
	}
	return *d.Spec, nil
}

// PickRun finds the run that a flag names, "" = the newest.
func (p *Checkout) PickRun(ctx context.Context, run string) (journal.RunRow, error) {
	if run != "" { // by its whole name, as programs name it: whatever others there are
		if row, err := p.Journal.RunOf(ctx, run); !errors.Is(err, journal.ErrNoRun) {
			return row, err
		}
	}
	rows, err := p.Journal.Runs(ctx)
	if err != nil {
		return journal.RunRow{}, err
	}
	if run == "" {
		// A person's own runs come before those of issues.
		if n := slices.IndexFunc(rows, func(r journal.RunRow) bool { return r.Issue == 0 }); n >= 0 {
			return rows[n], nil
		}
	}
	var found []journal.RunRow
	for _, r := range rows {
		if triage.IsThread(r.ID) && !triage.IsThread(run) {
			continue
		}
		if run == "" || r.ID == run {
			return r, nil
		}
		if strings.HasPrefix(r.ID, run) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if run == "" {
			return journal.RunRow{}, refusal.New("forge run starts one", "this project has no runs")
		}
		return journal.RunRow{}, refusal.New("forge status --all lists them", "there is no run %q", run)
	}
	return journal.RunRow{}, refusal.New("write more of its id", "%q is the beginning of %d runs", run, len(found))
}
