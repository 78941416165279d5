package draft

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/interview"
	"forge/internal/planner"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/work"
)

// Plan has the plan written by the agent, as the text of its file: one that
// extends existing, where that is not nil. model is the agent's, "" = its own.
func Plan(ctx context.Context, p *project.Checkout, model, spec string, existing *work.Plan) ([]byte, error) {
	return planIn(ctx, p, model, spec, existing, p.Config.Besides())
}

// OneRepository is Plan for work in the home alone.
func OneRepository(ctx context.Context, p *project.Checkout, spec string) ([]byte, error) {
	return planIn(ctx, p, "", spec, nil, nil)
}

func planIn(ctx context.Context, p *project.Checkout, model, spec string, existing *work.Plan, beside []string) ([]byte, error) {
	by, err := newAuthor(ctx, p, model, "plan", planner.FileName)
	if err != nil {
		return nil, err
	}
	defer by.close()
	p.Log.Info("drafting a plan", "agent", by.set.Phases["0"].Agent)
	text, err := planner.Draft(ctx, by, planner.Request{Spec: spec, Existing: existing, Verify: by.set.Verify.Commands, Beside: beside}, func(text []byte) []string {
		return problemsOf(p, text, existing, spec, beside)
	})
	var bad *planner.DraftError
	switch {
	case errors.As(err, &bad):
		return nil, refusal.New("say more in the spec, or write the plan by hand; the draft is in "+KeepRefused(p, bad.Text), "%v", bad)
	case errors.Is(err, planner.ErrNoDraft):
		return nil, refusal.New("ask again, or another agent", "%v", err)
	}
	return text, err
}

// newAuthor is an agent that writes a file in a folder of its own. model is the
// agent's, "" = its own.
func newAuthor(ctx context.Context, p *project.Checkout, model, what, file string) (*author, error) {
	e, err := p.Machine(ctx)
	if err != nil {
		return nil, err
	}
	one := config.NewPlan(work.Plan{Phases: []work.Phase{{Number: "0", Name: what, Promise: "PLAN", Model: model}}})
	set, err := config.Resolve(p.Config, one, config.Facts{Kinds: project.AgentKinds()})
	if err != nil {
		return nil, err
	}
	if err := p.CheckAgents(ctx, set); err != nil {
		return nil, err
	}
	if err := p.CheckSandbox(ctx, e, set.Sandbox); err != nil {
		return nil, err
	}
	return &author{p: p, e: e, set: set, dir: filepath.Join(p.State, "drafts", p.NewRunID()), what: what, file: file}, nil
}

// problemsOf is everything wrong with a draft: of the file, and of what
// would become of the plan with it.
func problemsOf(p *project.Checkout, text []byte, existing *work.Plan, spec string, beside []string) []string {
	graph := project.CheckGraph
	if existing != nil {
		graph = nil
	}
	plan, problems := parse(p, text, graph)
	if len(problems) > 0 {
		return problems
	}
	if n := len(plan.Phases); n > planner.MaxPhases {
		return []string{fmt.Sprintf("the plan has %d phases; at most %d are taken", n, planner.MaxPhases)}
	}
	var missing []string
	for _, ph := range plan.Phases {
		if ph.Repository != "" && !slices.Contains(beside, ph.Repository) {
			missing = append(missing, fmt.Sprintf("phase %s works in the repository %q, which it may not: there are %q beside this one", ph.Number, ph.Repository, beside))
		}
	}
	for _, c := range interview.Unclaimed(spec, plan.Plan) {
		missing = append(missing, fmt.Sprintf("no phase is held against %q: give it to the phase that reaches it, word for word", c))
	}
	if existing == nil || len(missing) > 0 {
		return missing
	}
	whole, err := json.Marshal(planner.Extend(*existing, plan.Plan))
	if err != nil {
		return []string{err.Error()}
	}
	_, problems = parse(p, whole, project.CheckGraph)
	return problems
}

// parse reads a draft; graph is nil where its dependencies cannot be
// judged yet, because they may name phases of the plan that it extends.
func parse(p *project.Checkout, text []byte, graph func(work.Plan) []work.Problem) (*config.Plan, []string) {
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

// Finish is the plan that would be written of a draft.
func Finish(p *project.Checkout, text []byte, existing *work.Plan, spec string) (*config.Plan, error) {
	plan, problems := parse(p, text, nil)
	if len(problems) > 0 {
		return nil, &planner.DraftError{Problems: problems, Text: text}
	}
	whole := plan.Plan
	if existing != nil {
		whole = planner.Extend(*existing, plan.Plan)
	}
	whole.SpecHash, whole.GeneratedAt = SpecHash(spec), p.Now().UTC().Format(time.RFC3339)
	return config.NewPlan(whole), nil
}

// SpecHash tells whether a plan was made from a spec.
func SpecHash(spec string) string {
	sum := sha256.Sum256([]byte(spec))
	return hex.EncodeToString(sum[:])
}

// OfText is the plan that the agent drafts for a text that somebody wants done:
// tame, with so many iterations for each phase, 0 = as drafted.
func OfText(ctx context.Context, p *project.Checkout, words string, tries int) (none work.Plan, err error) {
	body, err := Plan(ctx, p, "", words, nil)
	if err != nil {
		return none, err
	}
	plan, err := Finish(p, body, nil, words)
	if err != nil {
		return none, err
	}
	return withTries(Tame(plan.Plan), tries), nil
}

// OfSpec is such a plan for the spec in the project's own file: its criteria, which
// the owner wrote or said yes to, stay with what shows them.
func OfSpec(ctx context.Context, p *project.Checkout, spec string, tries int) (none work.Plan, err error) {
	body, err := Plan(ctx, p, "", spec, nil)
	if err != nil {
		return none, err
	}
	plan, err := Finish(p, body, nil, spec)
	if err != nil {
		return none, err
	}
	return withTries(keepCriteria(plan.Plan, spec), tries), nil
}

// keepCriteria is a plan made tame, with those of its criteria that stand in the
// spec, to the letter.
func keepCriteria(plan work.Plan, spec string) work.Plan {
	owned := interview.CriteriaOf(spec)
	criteria := make([][]work.Acceptance, len(plan.Phases))
	for n, ph := range plan.Phases {
		criteria[n] = slices.DeleteFunc(slices.Clone(ph.Criteria), func(a work.Acceptance) bool {
			return a.Test == "" && !slices.Contains(owned, a.String())
		})
	}
	tame := Tame(plan)
	for n := range tame.Phases {
		tame.Phases[n].Criteria = criteria[n]
	}
	return tame
}

func withTries(tame work.Plan, tries int) work.Plan {
	for n := range tame.Phases {
		if tries > 0 {
			tame.Phases[n].Budget = tries
		}
	}
	return tame
}

// Tame takes out of a plan that nobody looked at what is the owner's to say:
// who works with which rights, what proves it, what it may change of that. Of
// criteria only those stay that ask for a test: it gives no right to change one.
func Tame(plan work.Plan) work.Plan {
	for n, ph := range plan.Phases {
		shown := slices.DeleteFunc(slices.Clone(ph.Criteria), func(a work.Acceptance) bool { return a.Test == "" })
		plan.Phases[n] = work.Phase{
			Criteria: shown, Number: ph.Number, Name: ph.Name, Promise: ph.Promise, Budget: ph.Budget, Reasoning: ph.Reasoning, DependsOn: ph.DependsOn, PhaseType: ph.PhaseType, Repository: ph.Repository,
		}
	}
	return plan
}
