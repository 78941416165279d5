package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"forge/internal/eval"
	"forge/internal/llm"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
)

// run is one trial at work.
type run struct {
	p           *project.Checkout
	t           *eval.Trial
	cases       []eval.Case
	specialists map[string]work.Specialist
	client      *llm.Client        // nil where nobody can be asked
	agent       *runs.CaseReviewer // nil where none is asked
	hand        []eval.Same        // what a person said before
	cost        work.Cost
	reached     string // the limit that ended it
}

// Options are what a trial is asked for with.
type Options struct {
	Setup    eval.Setup
	Recorded bool   // look at recorded answers although there is a model
	Model    string // of the service in [llm]; "" = those of the roles
	Reviewer string // agent:NAME is asked instead of the service, with Model; "" = none
	Judge    string // the model that says whether a finding means what is expected, "" = none
	ByHand   string // the file in which a person says so, "" = none
	Resume   string // the trial to go on with, "" = a new one
}

// Ended is how far a trial came.
type Ended struct {
	Trial   *eval.Trial
	File    string // where it is stored
	Cases   int    // that it asks about
	Stopped bool   // the context was cancelled
	Reached string // the limit that ended it, "" = none
}

// ErrLimited says that the model is limited at the moment; nothing was asked.
var ErrLimited = errors.New("the model is limited at the moment; nothing was asked")

// Run asks about every case, one after the other, and stores each answer before
// the next question: what was paid for is kept.
func Run(ctx context.Context, p *project.Checkout, o Options) (end *Ended, failed error) {
	r := &run{p: p, specialists: map[string]work.Specialist{}, cost: work.Cost(p.Config.File.Cost)}
	var err error
	if r.client, err = p.Model(); err != nil {
		return nil, err
	}
	if r.client != nil {
		defer r.client.Close()
	}
	if o.Resume != "" {
		err = r.takeUp(o)
	} else {
		err = r.begin(o)
	}
	if err != nil {
		return nil, err
	}
	if r.byAgent() && len(r.pending()) > 0 {
		done, err := r.openAgent(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { failed = errors.Join(failed, done()) }()
		r.sayAgent(ctx)
	}
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	err = r.ask(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		return r.end(err != nil)
	}
	return nil, err
}

// begin opens a trial.
func (r *run) begin(o Options) (err error) {
	for flag, dir := range map[string]string{"answers": o.Setup.Answers, "prompts": o.Setup.Prompts} {
		// A name that is mistyped would be a folder in which nothing stands.
		if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
			return refusal.New("name a folder, as docs/eval.md says", "--%s: %s is no folder", flag, dir)
		}
	}
	if r.cases, err = casesOf(o.Setup); err != nil {
		return err
	}
	r.t = &eval.Trial{
		V: eval.TrialVersion, ID: r.p.NewRunID(), Started: r.p.Now().UTC().Truncate(time.Second), Asked: eval.AskedRecord, Judge: eval.JudgePlace,
		Setup: o.Setup, Usage: eval.Nothing(), JudgeUsage: eval.Nothing(), Outcomes: []eval.Outcome{},
	}
	if err := r.prompts(); err != nil {
		return err
	}
	replay := o.Recorded || o.Setup.Answers != ""
	switch {
	case o.Reviewer != "":
		r.t.Asked, r.t.Model = eval.AskedAgent, strings.TrimSpace(o.Reviewer+" "+o.Model)
		r.t.Setup.Reviewer, r.t.Setup.Model = o.Reviewer, o.Model
	case !replay && r.client != nil:
		r.t.Asked = eval.AskedLLM
		r.t.Model, r.t.Arbiter = o.Model, o.Model
		if o.Model == "" {
			r.t.Model, r.t.Arbiter = r.client.ModelFor(llm.RoleReviewer), r.client.ModelFor(llm.RoleArbiter)
		}
		if r.t.Model == "" || r.t.Arbiter == "" {
			return refusal.New("set llm.model, or give --model NAME or --recorded", "[llm] names no model for the reviewers or the arbiter")
		}
	case o.Model != "":
		return refusal.New("set llm.base_url in .forge/forge.toml", "--model %s: [llm] names no service to ask", text.FirstLine(o.Model, 60))
	case o.Setup.Record != "":
		return refusal.New("set llm.base_url in .forge/forge.toml", "--record: [llm] names no service to ask")
	}
	if err := r.judgeBy(o); err != nil {
		return err
	}
	if r.t.Asked == eval.AskedRecord && r.t.Judge == eval.JudgePlace {
		for _, c := range r.cases {
			rec, err := recordOf(r.t.Setup, c)
			if err != nil {
				return err
			}
			if rec != nil && len(rec.Same) > 0 {
				r.t.Judge = eval.JudgeRecord
			}
		}
	}
	if r.t.Asked == eval.AskedRecord && !replay {
		if name := r.p.Config.File.Reviews.Agent; name != nil && *name != "" {
			r.p.Log.Warn("this project is reviewed by an agent, which nobody asks now", "agent", *name, "to ask it", "forge eval --reviewer agent:"+*name)
		}
		r.p.Log.Info("no model is set in [llm]: recorded answers are looked at, and nobody is asked")
	}
	return nil
}

// prompts finds the reviewers' prompts and their hashes.
func (r *run) prompts() error {
	hashes := map[string]string{}
	for _, c := range r.cases {
		if _, done := hashes[c.Specialist]; done {
			continue
		}
		s, err := specialistOf(r.p, c.Specialist, r.t.Setup.Prompts)
		if err != nil {
			return err
		}
		r.specialists[c.Specialist], hashes[c.Specialist] = s, eval.PromptHash(s)
	}
	if r.t.Prompts == nil {
		r.t.Prompts = hashes
		return nil
	}
	for _, c := range r.cases {
		if name := c.Specialist; r.t.Find(c.Name) == nil && r.t.Prompts[name] != hashes[name] {
			return refusal.New("put it back, or start anew: forge eval", "the prompt of %s has changed since trial %s began", name, r.t.ID)
		}
	}
	return nil
}

func (r *run) judgeBy(o Options) error {
	switch {
	case o.Judge != "":
		if r.client == nil {
			return refusal.New("set llm.base_url in .forge/forge.toml", "--judge %s: [llm] names no service to ask", text.FirstLine(o.Judge, 60))
		}
		r.t.Judge, r.t.JudgeModel = eval.JudgeModel, o.Judge
	case o.ByHand != "":
		r.t.Judge, r.t.HandFile = eval.JudgeHand, o.ByHand
	}
	return nil
}

// takeUp goes on with a trial.
func (r *run) takeUp(o Options) (err error) {
	if r.t, err = Pick(r.p, o.Resume); err != nil {
		return err
	}
	if r.cases, err = casesOf(r.t.Setup); err != nil {
		return err
	}
	if changed := r.t.Changed(r.cases); changed != "" {
		return refusal.New("put them back, or start anew: forge eval", "cases of trial %s have changed since: %s", r.t.ID, text.FirstLine(changed, 300))
	}
	if err := r.prompts(); err != nil {
		return err
	}
	if r.t.Asked == eval.AskedLLM && r.client == nil && len(r.pending()) > 0 {
		return refusal.New("set llm.base_url again", "trial %s asks the model %s, and [llm] names no service", r.t.ID, r.t.Model)
	}
	return r.judgeBy(o)
}

func (r *run) pending() []eval.Case {
	return slices.DeleteFunc(slices.Clone(r.cases), func(c eval.Case) bool { return r.t.Find(c.Name) != nil })
}

// check finds out, before anything is spent, whether it can be asked and
// counted, and says about how much it will be.
func (r *run) check(ctx context.Context) error {
	if r.t.HandFile != "" {
		var err error
		if r.hand, err = readHand(r.t.HandFile); err != nil {
			return err
		}
	}
	pending := r.pending()
	var models []string
	if r.t.Asked == eval.AskedLLM {
		for _, c := range pending {
			m := r.t.Model
			if c.Ruling != nil {
				m = r.t.Arbiter
			}
			if !slices.Contains(models, m) {
				models = append(models, m)
			}
		}
	}
	asked := len(models) > 0
	if r.t.Judge == eval.JudgeModel && !slices.Contains(models, r.t.JudgeModel) {
		models = append(models, r.t.JudgeModel)
	}
	if len(models) == 0 {
		return nil
	}
	m, _, err := r.p.Config.Model()
	if err != nil {
		return err
	}
	if r.cost.RunUSD != nil && !m.Priced() {
		return refusal.New("set usd_per_mtok_in and usd_per_mtok_out in [llm], or remove cost.run_usd", "cost.run_usd is set, and nothing says what the model costs")
	}
	if err := r.p.Probe(ctx, r.client, models); err != nil {
		var trouble *llm.Trouble
		if errors.Is(err, context.Canceled) || !errors.As(err, &trouble) {
			return err
		}
		if trouble.Kind == llm.RateLimited && trouble.Passes() {
			r.p.Log.Warn(ErrLimited.Error(), "why", trouble.What)
			return ErrLimited
		}
		return refusal.New(trouble.Fix, "the model cannot be asked: %s", trouble.What)
	}
	if !asked {
		return nil
	}
	n, in, out := eval.Estimate(ctx, pending, func(name string) work.Specialist { return r.specialists[name] })
	usd := "unknown: [llm] has no price"
	if m.Priced() {
		about := (float64(in)**m.USDPerMTokIn + float64(out)**m.USDPerMTokOut) / 1e6
		usd = fmt.Sprintf("about %.2f", about)
		if limit := r.cost.RunUSD; limit != nil && about > *limit {
			r.p.Log.Warn("the estimate is above cost.run_usd: it will stop there, and can go on later", "run_usd", *limit)
		}
	}
	r.p.Log.Info("asking about the cases", "model", r.t.Model, "questions", n, "tokens_in", in, "tokens_out", out, "usd", usd)
	if r.t.Judge == eval.JudgeModel {
		r.p.Log.Info("beside that, one short question for each finding at an expected place", "model", r.t.JudgeModel)
	}
	return nil
}
