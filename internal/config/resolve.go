package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/work"
)

// SpecFile is the spec of a project, relative to the checkout.
const SpecFile = ".forge/spec.md"

// Facts are what a run knows and the configuration cannot.
type Facts struct {
	// Kinds are the agent kinds that this program can run.
	Kinds []KindFacts
}

// KindFacts are the properties of an agent kind.
type KindFacts struct {
	Name        string
	Continues   bool // a session can be continued
	Listens     bool // it takes what a person says while it works
	ReportsCost bool // usage comes with money
	MCP         bool // it can be given Forge's tools
}

// SandboxSettings is [sandbox] with its paths made absolute.
func (c *Config) SandboxSettings() work.SandboxSettings {
	f := c.File.Sandbox
	set := work.SandboxSettings{
		Mode: said(f.Mode), Read: c.homePaths(f.Read), Write: c.homePaths(f.Write),
		Hide: c.homePaths(c.File.Proof.Hidden),
	}
	f.Network.settings(&set)
	if said(f.Kind) == "container" {
		set.Container = work.ContainerSettings{Runtime: said(f.Runtime), Image: said(f.Image), MemoryMB: said(f.Memory), PIDs: said(f.PIDs)}
	}
	return set
}

// Resolve computes what a run works with: files, environment, flags, plan and
// defaults merged, agents and skills filled in. The error is *Problems.
func Resolve(cfg *Config, plan *Plan, facts Facts) (work.Settings, error) {
	r := &resolver{collector: &collector{}, said: map[Problem]bool{}, cfg: cfg, plan: plan, facts: facts}
	f := cfg.File
	r.out = work.Settings{
		Project:              cfg.ProjectName(),
		MaxParallel:          said(f.Defaults.MaxParallel),
		MergeBatch:           said(f.Defaults.MergeBatch),
		FailFast:             said(f.Defaults.FailFast),
		AutoApproveThreshold: said(f.Defaults.AutoApproveThreshold),
		OutageWaitSecs:       durationSecs(said(f.Agent.OutageWait)),
		Stale:                work.StaleSettings{Threshold: said(f.Autonomy.StaleIterationsBeforePivot), PivotPrompt: said(f.Autonomy.PivotPrompt)},
		Decomposition:        f.Decomposition.settings(),
		Limits: work.Limits{
			StartSecs: said(f.Limits.StartSecs), IdleSecs: said(f.Limits.IdleSecs), IterationSecs: said(f.Limits.IterationSecs),
			PostResultSecs: said(f.Limits.PostResultSecs), DrainSecs: said(f.Limits.DrainSecs),
		},
		Cost: work.Cost(f.Cost),
		Verify: work.VerifySettings{
			Commands: f.Verify.Commands, TimeoutSecs: said(f.Verify.TimeoutSecs), Protected: ExpandProtected(f.Verify.Protected),
			AllowRedBaseline: said(f.Verify.AllowRedBaseline), None: said(f.Verify.None),
			OneHome: said(f.Verify.OneHome), MayWrite: f.Verify.MayWrite,
			Caches: work.Caches{Off: said(f.Verify.Cold), Also: f.Verify.Cache}, ReuseSecs: reuseSecs(said(f.Verify.Reuse)),
		},
		Proof: work.ProofSettings{
			Product: f.Proof.Product, Evidence: f.Proof.Evidence, Unproven: said(f.Proof.Unproven),
			NoControls: !said(f.Proof.Controls), ControlSecs: said(f.Proof.ControlSecs),
			Ablate: said(f.Proof.Ablate), AblateSecs: said(f.Proof.AblateSecs), RestSecs: said(f.Proof.RestSecs), Also: f.Proof.Also,
			Hidden: cfg.homePaths(f.Proof.Hidden), Pages: pageSettings(f.Proof.Pages),
		},
		Worktree: work.Worktree{
			Setup: f.Worktree.Setup, Copy: f.Worktree.Copy, Link: f.Worktree.Link, CacheKey: f.Worktree.CacheKey,
			TimeoutSecs: said(f.Worktree.TimeoutSecs),
		},
		Sandbox:         cfg.SandboxSettings(),
		Agents:          map[string]work.AgentSettings{},
		Phases:          map[string]work.PhaseSettings{},
		CheckpointTypes: f.Autonomy.CheckpointTypes,
		Hooks:           cfg.Hooks(),
		Promote:         work.PromoteSettings{Enabled: said(f.Autonomy.AutoPromote.Enabled), OnClean: said(f.Autonomy.AutoPromote.PromoteOnClean)},

		CheckpointExpirySecs: durationSecs(said(f.Autonomy.CheckpointExpiry)),
	}
	r.openRoot()
	defer r.closeRoot()
	r.phases()
	r.reviews()
	r.checkCost()
	r.spec()
	r.lessons()
	r.hidden()
	r.problems = append(r.problems, CheckTrust(cfg)...)
	if err := r.err(); err != nil {
		return work.Settings{}, err
	}
	return r.out, nil
}

type resolver struct {
	*collector
	said  map[Problem]bool // by once
	cfg   *Config
	plan  *Plan
	facts Facts
	out   work.Settings
	root  *os.Root // nil: the checkout cannot be opened

	judged []work.Phase        // those that name what shows that they are done
	needs  map[string][]string // what each phase comes right after, by number
}

func (r *resolver) openRoot() {
	root, err := os.OpenRoot(r.cfg.Root)
	if err != nil {
		r.add(r.cfg.Root, place{}, "cannot be opened: "+cause(err), "name the root of a checkout")
		return
	}
	r.root = root
}

func (r *resolver) closeRoot() {
	if r.root != nil {
		_ = r.root.Close() // nothing was written through it
	}
}

// ProjectName is project.name, or the name of the checkout's folder.
func (c *Config) ProjectName() string {
	if name := said(c.File.Project.Name); name != "" {
		return name
	}
	return filepath.Base(c.Root)
}

func durationSecs(text string) int {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return int((d + time.Second - 1) / time.Second)
}

// homePaths writes ~/ out.
func (c *Config) homePaths(paths []string) []string {
	var out []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok && c.environ["HOME"] != "" {
			p = filepath.Join(c.environ["HOME"], rest)
		}
		out = append(out, filepath.Clean(p))
	}
	return out
}

// phases resolves each phase: its own fields, then the overrides that match
// its name, the last one winning, then the defaults.
func (r *resolver) phases() {
	r.needs = map[string][]string{}
	for _, ph := range r.plan.Phases {
		r.needs[ph.Number] = ph.DependsOn
		if len(ph.Criteria) > 0 {
			r.judged = append(r.judged, ph)
		}
	}
	for i, ph := range r.plan.Phases {
		where := func(field string) (string, place) {
			return r.plan.File, r.plan.where(fmt.Sprintf("phases[%d].%s", i, field))
		}
		over := r.cfg.overridesOf(ph.Name)
		f := r.cfg.File
		ps := work.PhaseSettings{
			Budget:        firstOf(ph.Budget, said(over.Budget), said(f.Defaults.Budget)),
			Permission:    work.PermissionMode(firstOf(string(ph.PermissionMode), said(over.PermissionMode), said(f.Defaults.PermissionMode))),
			IterationSecs: firstOf(ph.IterationTimeoutSecs, said(over.IterationTimeoutSecs), said(f.Limits.IterationSecs)),
			MayChange:     slices.Clone(ph.MayChange),
		}
		limit := firstOf(ph.ContextLimit, said(over.ContextLimit), said(f.Defaults.ContextLimit))
		ps.ContextTokens, _ = contextTokens(limit) // checked when it was read

		// An empty list in a plan is a generator's way to say nothing; taken
		// as "no verify" it would let a claim pass unproven.
		switch {
		case len(ph.Verify) > 0:
			ps.Verify, ps.VerifyOwn = ph.Verify, true
		case len(over.Verify) > 0:
			ps.Verify, ps.VerifyOwn = over.Verify, true
		default:
			ps.Verify = f.Verify.Commands
		}
		r.warm(ps)
		r.contract(ph, &ps)
		r.pages(ph, ps)
		ps.Skills = r.cfg.SkillsOf(ph)
		for _, s := range ps.Skills {
			r.skill(s, ph, where)
		}
		ps.Sensitive, ps.AskIteration = r.cfg.sensitive(ph.Name)
		if r.plan.asks[i] {
			ps.AskIteration = true
			ps.Sensitive = firstOf(ps.Sensitive, ph.Name)
		}
		r.reviewers(i, ph, &ps)
		agents := r.agentsOf(ph, over, where)
		if ps.Agent = agents.First(); len(agents) > 1 {
			ps.Agents = slices.Clone(agents)
		}
		ps.Levels = r.levels(ph, agents, where)
		ps.Model = firstOf(ph.Model, said(over.Model), r.out.Agents[ps.Agent].Model)
		r.tries(ph, over, &ps, where)
		r.council(ph, over, &ps, where)
		r.repository(ph, ps, where)
		r.out.Phases[ph.Number] = ps
	}
}

// warm lets the commands of phases fill the caches that proofs are lent, where the
// project has no commands of its own that run on the base.
func (r *resolver) warm(ps work.PhaseSettings) {
	v := &r.out.Verify
	if len(v.Commands) > 0 || v.Caches.Off {
		return
	}
	for _, c := range ps.Verify {
		if !slices.Contains(v.Warm, c) {
			v.Warm = append(v.Warm, c)
		}
	}
}

// before are the phases that ph comes after, whatever is wrong with the graph.
func before(ph work.Phase, needs map[string][]string) map[string]bool {
	found, due := map[string]bool{}, slices.Clone(ph.DependsOn)
	for len(due) > 0 {
		n := due[0]
		if due = due[1:]; !found[n] {
			found[n] = true
			due = append(due, needs[n]...)
		}
	}
	return found
}

// contract makes the criteria of a phase, and of all that it comes after, part of
// its proof: what was reached stays so. What shows them is
// evidence for every phase, so that none can change it unasked; the page of a
// phase's own criterion is what the phase is to write.
func (r *resolver) contract(ph work.Phase, ps *work.PhaseSettings) {
	if len(r.judged) == 0 {
		return
	}
	earlier := before(ph, r.needs)
	var commands, files []string
	for _, other := range r.judged {
		if other.Number != ph.Number && !earlier[other.Number] {
			continue
		}
		for _, a := range other.Criteria {
			if a.Command != "" && other.Number != ph.Number && ph.PhaseType == "test" && len(ph.Verify) > 0 {
				continue // it writes tests that have to fail, so it says itself what proves it
			}
			if a.Command != "" {
				commands = append(commands, a.Proof())
			} else {
				files = append(files, a.Proof())
			}
		}
	}
	add := func(proofs []string) {
		for _, proof := range proofs {
			if !slices.Contains(ps.Verify, proof) {
				ps.Verify, ps.VerifyOwn = append(slices.Clip(ps.Verify), proof), true
			}
		}
	}
	add(commands)
	// That a file is there proves nothing by itself: where no command runs, the phase
	// rests on its agent's word as before.
	if len(ps.Verify) > 0 {
		add(files)
	}
	for _, a := range ph.Criteria {
		if a.Page != "" && !slices.Contains(ps.MayChange, a.Page) {
			ps.MayChange = append(ps.MayChange, a.Page)
		}
		if file := a.Path(); file != "" && !slices.Contains(r.out.Proof.Evidence, file) {
			r.out.Proof.Evidence = append(slices.Clip(r.out.Proof.Evidence), file)
		}
	}
}

// firstOf is the first value that says something.
func firstOf[T comparable](values ...T) T {
	var nothing T
	for _, v := range values {
		if v != nothing {
			return v
		}
	}
	return nothing
}

// overridesOf merges the overrides whose glob matches the name, key by key;
// their skills add up. It also remembers which of them named the agent.
func (c *Config) overridesOf(name string) Override {
	var out Override
	for _, o := range c.overrides {
		if !c.matches(o.glob, name) {
			continue
		}
		s := o.said
		out.Budget = orElse(s.Budget, out.Budget)
		out.PermissionMode = orElse(s.PermissionMode, out.PermissionMode)
		out.ContextLimit = orElse(s.ContextLimit, out.ContextLimit)
		if s.Agent != nil {
			out.Agent = s.Agent
		}
		out.Model = orElse(s.Model, out.Model)
		out.Tries, out.TriesUntil = orElse(s.Tries, out.Tries), orElse(s.TriesUntil, out.TriesUntil)
		if s.TryAgents != nil {
			out.TryAgents = s.TryAgents
		}
		out.Council.Enabled = orElse(s.Council.Enabled, out.Council.Enabled)
		out.IterationTimeoutSecs = orElse(s.IterationTimeoutSecs, out.IterationTimeoutSecs)
		if s.Verify != nil {
			out.Verify = s.Verify
		}
		out.Skills = append(out.Skills, s.Skills...)
		out.Requires = append(out.Requires, s.Requires...)
	}
	return out
}

func orElse[T any](p, otherwise *T) *T {
	if p != nil {
		return p
	}
	return otherwise
}

// matches tells whether a phase's name matches a glob of the configuration.
func (c *Config) matches(glob, name string) bool {
	g := c.globs[glob]
	return g != nil && g.Match(name)
}

// sensitive returns the first pattern that the name matches, and whether one
// that "strict" was said for matches.
func (c *Config) sensitive(name string) (pattern string, asks bool) {
	// The patterns were checked when they were read; one that could not be used
	// would make the phase sensitive.
	pattern, _, err := work.MatchName(c.File.Autonomy.SensitivePatterns.Patterns, name)
	if err != nil {
		pattern = err.Error()
	}
	for _, p := range c.asks {
		if c.matches(p, name) {
			asks = true
		}
	}
	return pattern, asks
}

// Sensitive returns the pattern that makes a phase of this name sensitive, ""
// when none does.
func (c *Config) Sensitive(name string) string {
	pattern, _ := c.sensitive(name)
	return pattern
}

// checkCost refuses a cap that nothing could ever be held against.
func (r *resolver) checkCost() {
	c := r.cfg.File.Cost
	if c.IterationUSD != nil {
		return
	}
	caps := []struct {
		key  string
		said bool
	}{{"phase_usd", c.PhaseUSD != nil}, {"run_usd", c.RunUSD != nil}, {"day_usd", c.DayUSD != nil}}
	for _, limit := range caps {
		if !limit.said {
			continue
		}
		if by, fix := r.unpriced(); by != "" {
			file, at := r.cfg.where("cost", limit.key)
			r.add(file, at, fmt.Sprintf("cost.%s caps dollars, but %s has no price", limit.key, by), fix)
		}
		for _, name := range sortedKeys(r.out.Agents) {
			a := r.out.Agents[name]
			if a.ReportsCost || a.USDPerMTokIn != nil && a.USDPerMTokOut != nil {
				continue
			}
			file, at := r.cfg.where("cost", limit.key)
			r.add(file, at, fmt.Sprintf("cost.%s caps dollars, but agent %s reports none", limit.key, name),
				fmt.Sprintf("set usd_per_mtok_in and usd_per_mtok_out in [agents.%s], or cost.iteration_usd", quoteKey(name)))
		}
	}
}
