package site

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	pages "forge/factory/web"
	"forge/gates"
	"forge/internal/approval"
	"forge/internal/config"
	"forge/internal/planner"
	"forge/internal/planrun"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// RunPrefix begins the ids of runs that a server opened: those it also goes on
// with by itself.
const RunPrefix = "w-"

// mostIterations bounds the iterations of a phase that somebody orders.
const mostIterations = 1000

// Starts begins runs of one project in the server's process.
type Starts struct {
	// Fresh is the project with its configuration as it is now.
	Fresh   func(context.Context) (*project.Checkout, error)
	Machine *project.Machine
	// Drive drives a run that was opened; it returns once the run's first event
	// is there.
	Drive func(context.Context, *project.Checkout, runs.Opened) error
	Jobs  *Jobs // what runs beside requests
}

var _ pages.Starts = Starts{}

// Forecast says what a run of the order will do.
func (s Starts) Forecast(ctx context.Context, o pages.RunOrder) (pages.Forecast, error) {
	p, spec, err := s.resolve(ctx, o, true)
	if err != nil {
		return pages.Forecast{}, forPages(err)
	}
	f, err := s.forecast(ctx, p, spec)
	return f, forPages(err)
}

// Begin opens the run of an order and has it driven.
func (s Starts) Begin(ctx context.Context, o pages.RunOrder) (string, error) {
	id, err := s.begin(ctx, o)
	return id, forPages(err)
}

func (s Starts) begin(ctx context.Context, o pages.RunOrder) (string, error) {
	p, spec, err := s.resolve(ctx, o, o.Seen != "")
	if err != nil {
		return "", err
	}
	if o.Seen != "" {
		now, err := s.forecast(ctx, p, spec)
		if err != nil {
			return "", err
		}
		if now.Sum != o.Seen {
			return "", fmt.Errorf("%w: the run would do something else than what was shown", work.ErrStale)
		}
	}
	if err := planrun.Ready(ctx, p, spec); err != nil {
		return "", err
	}
	if err := unfinished(p.CheckUnfinished(ctx, false, "forge run")); err != nil {
		return "", err
	}
	id, err := s.open(ctx, p, spec, p.Journal.CreateSoleRun)
	if err != nil {
		return id, err
	}
	if o.Draft != "" {
		if err := s.DropDraft(ctx, o.Draft); err != nil { // the run's journal has the plan
			p.Log.Warn("the draft of the run's plan stays", "err", err)
		}
	}
	return id, nil
}

// Fork opens the fork of a run and has it driven.
func (s Starts) Fork(ctx context.Context, run string, r work.Rewind, by string) (string, error) {
	id, err := s.fork(ctx, run, r, by)
	return id, forPages(err)
}

func (s Starts) fork(ctx context.Context, run string, r work.Rewind, by string) (string, error) {
	p, err := s.Fresh(ctx)
	if err != nil {
		return "", err
	}
	spec, err := approval.Fork(ctx, p, run, r, by)
	if err != nil {
		return "", err
	}
	if err := p.CheckStart(spec); err != nil {
		return "", err
	}
	if err := planrun.Ready(ctx, p, spec); err != nil {
		return "", err
	}
	return s.open(ctx, p, spec, p.Journal.CreateRun)
}

// open opens a run and has it driven.
func (s Starts) open(ctx context.Context, p *project.Checkout, spec orchestrator.Spec, create runs.Create) (string, error) {
	if err := p.CheckSandbox(ctx, s.Machine, spec.Settings.Sandbox); err != nil {
		return "", err
	}
	p.WarnHidden(spec)
	id := RunPrefix + p.NewRunID()
	spec.Branch = "forge/run-" + id
	run, err := runs.Open(ctx, p, s.Machine, id, spec, spec.Base.Branch, create)
	if err != nil {
		return "", err
	}
	return id, s.Drive(ctx, p, run)
}

// Again is the order by which a run would do the same once more: of its text, or
// of the plan as it is now.
func (s Starts) Again(st *orchestrator.State) pages.RunOrder {
	o := pages.RunOrder{Level: st.Spec.Policy.Preset, NoMerge: st.Spec.NoMerge}
	if words := st.Spec.Settings.Spec; len(st.Spec.Plan.Phases) == 1 && words != "" {
		ph := st.Spec.Plan.Phases[0]
		if one := planner.Single(words, 0).Phases[0]; one.Name == ph.Name && one.Promise == ph.Promise {
			o.Text, o.Tries = words, ph.Budget
		}
	}
	return o
}

// unfinished says at a page how it goes on where another run is not finished.
func unfinished(err error) error {
	if refused := (*refusal.Error)(nil); errors.As(err, &refused) {
		return refusal.New("Answer what it asks, cancel it on its page, or go on with it by forge resume.", "%s", refused.What)
	}
	return err
}

// resolve is the project and what the run of an order is opened with, by whether a
// person has looked at what it will do.
func (s Starts) resolve(ctx context.Context, o pages.RunOrder, looked bool) (*project.Checkout, orchestrator.Spec, error) {
	none := orchestrator.Spec{}
	p, err := s.Fresh(ctx)
	if err != nil {
		return nil, none, err
	}
	settings, err := caps(p.Config, o)
	if err != nil {
		return nil, none, err
	}
	if _, err := planrun.Discover(ctx, p, false, settings...); err != nil {
		return nil, none, err
	}
	spec, err := s.specOf(p, o, looked)
	if err != nil {
		return nil, none, err
	}
	spec.NoMerge = o.NoMerge
	if spec.Pulls, err = pullrequest.Settings(p); err != nil {
		return nil, none, err
	}
	return p, spec, p.CheckStart(spec)
}

// caps are the order's caps as settings. Only who may raise them spends more
// than the configuration says.
func caps(cfg *config.Config, o pages.RunOrder) ([]config.Setting, error) {
	switch now := cfg.File.Cost.RunUSD; {
	case o.Tries < 0 || o.Tries > mostIterations:
		return nil, refusal.New("use 1 or more, or leave it empty", "%d is not a number of iterations", o.Tries)
	case o.USD < 0:
		return nil, refusal.New("write dollars, such as 2.50", "%v is not an amount", o.USD)
	case o.USD == 0:
		return nil, nil
	case now != nil && o.USD > *now && !o.MayRaise:
		return nil, refusal.New("name less, or ask an admin", "the project lets a run spend $%.2f, not $%.2f", *now, o.USD)
	}
	return []config.Setting{{Flag: "run_usd", Key: "cost.run_usd", Value: strconv.FormatFloat(o.USD, 'f', -1, 64)}}, nil
}

// specOf is what a run of the project's plan, of a text, or of a plan that was
// drafted for one, is opened with.
func (s Starts) specOf(p *project.Checkout, o pages.RunOrder, looked bool) (orchestrator.Spec, error) {
	flags := config.PolicyFlags{Level: o.Level}
	if o.Draft != "" {
		d, err := s.planOf(p.State, o.Draft)
		if err != nil {
			return orchestrator.Spec{}, err
		}
		spec, _, err := planrun.OfText(p, d.Text, *d.Plan, !looked, flags)
		return spec, err
	}
	if o.Text == "" {
		plan, err := p.Plan()
		if err != nil {
			return orchestrator.Spec{}, err
		}
		spec, _, err := p.Resolve(plan, flags)
		return spec, err
	}
	if err := planrun.CheckText(o.Text); err != nil {
		return orchestrator.Spec{}, err
	}
	spec, _, err := planrun.OfText(p, o.Text, planner.Single(o.Text, o.Tries), false, flags)
	return spec, err
}

// ownStops are where phases ask by a level of their own, and the run would not.
func ownStops(spec orchestrator.Spec) []string {
	var out []string
	run := gates.Explain(spec.Policy).Stops
	for _, ph := range spec.Plan.Phases {
		levels := spec.Settings.Phases[ph.Number].Levels
		for _, halt := range gates.Explain(spec.Bounded(spec.Policy, levels)).Stops {
			if !slices.Contains(run, halt) {
				out = append(out, fmt.Sprintf("phase %s, at its level %s: %s", ph.Number, strings.Join(levels, " and "), halt.When))
			}
		}
	}
	return out
}

func (s Starts) forecast(ctx context.Context, p *project.Checkout, spec orchestrator.Spec) (pages.Forecast, error) {
	out := pages.Forecast{Level: spec.Policy.Preset, USD: spec.Settings.Cost.RunUSD, Commit: spec.Base.Commit, Phases: []pages.ForecastPhase{}, Stops: []string{}}
	if !spec.NoMerge {
		out.Branch = spec.Base.Branch
	}
	for _, ph := range spec.Plan.Phases {
		set := spec.Settings.Phases[ph.Number]
		var criteria []string
		for _, c := range ph.Criteria {
			criteria = append(criteria, c.String())
		}
		out.Phases = append(out.Phases, pages.ForecastPhase{Number: ph.Number, Name: ph.Name, After: ph.DependsOn, Agent: set.Agent, Tries: set.Budget, Verify: set.Verify, What: ph.Reasoning, Criteria: criteria})
	}
	for _, halt := range gates.Explain(spec.Policy).Stops {
		ofIssues := slices.Contains([]gates.Point{gates.PointIntent, gates.PointContext, gates.PointAction, gates.PointPromote}, halt.Point)
		if ofIssues || spec.AnswerYes && gates.AnsweredByYes(halt.Point) {
			continue
		}
		out.Stops = append(out.Stops, halt.When)
	}
	out.Stops = append(out.Stops, ownStops(spec)...)
	out.Notes = p.StartNotes(ctx, s.Machine.Repo, project.StartFacts{Branch: out.Branch})
	if planrun.Unproven(spec) {
		out.Notes = append(out.Notes, "no test command was found: nothing will prove it but the agent's word (set [verify] commands)")
	}
	// What is seen is what is begun, with all that it is opened with.
	body, err := json.Marshal(spec)
	if err != nil {
		return out, fmt.Errorf("sum up what the run will do: %w", err)
	}
	sum := sha256.Sum256(body)
	out.Sum = hex.EncodeToString(sum[:16])
	return out, nil
}
