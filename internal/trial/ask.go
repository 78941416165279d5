package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"forge/internal/eval"
	"forge/internal/llm"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// ask goes through the cases that are left. The error is the context's where
// it was ended.
func (r *run) ask(ctx context.Context) error {
	for _, c := range r.pending() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.over() {
			return nil
		}
		o, done, err := r.one(ctx, c)
		if err == nil && done {
			r.t.Outcomes = append(r.t.Outcomes, o)
			r.t.Score(r.cases, r.hand)
			say := r.p.Log.Debug
			if r.asks() {
				say = r.p.Log.Info
			}
			say(r.t.Find(c.Name).String(), "case", fmt.Sprintf("%d/%d", len(r.t.Outcomes), len(r.cases)))
		}
		if err != nil {
			return err
		}
		if err := save(r.p, r.t); err != nil {
			return err
		}
		if r.reached != "" {
			return nil
		}
	}
	// A model may be asked about pairs of cases that were answered before.
	for _, c := range r.cases {
		o := r.t.Find(c.Name)
		if o == nil {
			continue
		}
		if err := r.same(ctx, c, o); err != nil {
			return err
		}
		if r.reached != "" {
			return nil
		}
	}
	return ctx.Err()
}

// over says that a limit is reached.
func (r *run) over() bool {
	if r.client == nil && r.agent == nil {
		return false
	}
	usd, tokens, ok := left(r.t.Ledger, r.cost)
	switch {
	case !ok:
		r.reached = "there is a limit in [cost], and an answer did not say what it cost: set cost.iteration_usd, or iteration_tokens, which such an answer counts as"
	case usd != nil && *usd <= 0, tokens != nil && *tokens <= 0:
		r.reached = "the limit of [cost] is reached; it may be raised"
	default:
		return false
	}
	return true
}

// one asks about a case. It is not done when it was broken off, by the user or
// a limit: then it is asked again when the trial goes on.
func (r *run) one(ctx context.Context, c eval.Case) (o eval.Outcome, done bool, err error) {
	m, rec, drop, err := r.who(ctx, c)
	if err != nil {
		return o, false, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	began := r.p.Now()
	if c.Ruling != nil {
		o = eval.AskArbiter(ctx, m, c)
	} else {
		o = eval.AskReviewer(ctx, m, c, r.specialists[c.Specialist], r.limits())
	}
	if r.asks() && (o.Ruling == nil || o.Ruling.Asked) {
		took := max(r.p.Now().Sub(began).Milliseconds(), 0)
		o.Millis = &took
	}
	r.t.Usage = eval.Spent(r.t.Usage, o.Usage)
	r.t.Ledger.Add(o.Usage)
	if err := ctx.Err(); err != nil {
		return o, false, errors.Join(err, save(r.p, r.t))
	}
	recorder, asks := m.(*eval.Recorder)
	if asks && r.outage(recorder.Last()) || o.Verdict == work.VerdictUnknown && r.over() {
		return o, false, nil
	}
	if r.t.Judge == eval.JudgeRecord && rec != nil {
		o.Same = rec.Same
	}
	if err := r.same(ctx, c, &o); err != nil {
		return o, false, err
	}
	if asks && r.t.Setup.Record != "" {
		name := o.Model
		if name == "" {
			name = r.t.Model
		}
		if err := writeRecord(r.t.Setup.Record, c.Name, recorder.Record(name, o.Same)); err != nil {
			return o, false, err
		}
	}
	return o, true, nil
}

// outage says that the service answers nobody at the moment. That says nothing
// about the model: the case is asked again when the trial goes on.
func (r *run) outage(err error) bool {
	if r.awayAgent(err) {
		return true
	}
	switch llm.KindOf(err) {
	case llm.RateLimited, llm.Unreachable, llm.Unauthorized:
		r.reached = "the service answers nobody: " + text.FirstLine(err.Error(), 300)
		return true
	}
	return false
}

// who answers about a case. The arbiter's model is nil where the rules decide
// alone.
func (r *run) who(ctx context.Context, c eval.Case) (m review.Model, rec *eval.Recorded, done func() error, err error) {
	done = func() error { return nil }
	if r.byAgent() {
		m, done, err = r.before(ctx, c)
		return m, nil, done, err
	}
	if r.t.Asked == eval.AskedLLM {
		m := runs.LLMModel{Client: r.client, Role: llm.RoleReviewer, Model: r.t.Model}
		if c.Ruling != nil {
			m.Role, m.Model = llm.RoleArbiter, r.t.Arbiter
		}
		return eval.NewRecorder(m), nil, done, nil
	}
	rec, err = recordOf(r.t.Setup, c)
	return eval.NewPlayer(rec), rec, done, err
}

// limits is what is left for one case.
func (r *run) limits() eval.Limits {
	var out eval.Limits
	if !r.asks() {
		return out
	}
	if r.t.Asked == eval.AskedLLM {
		out.PartTokens = runs.PartTokens(r.client)
	}
	out.CostUSD, out.Tokens, _ = left(r.t.Ledger, r.cost)
	return out
}

// same has the model that judges say which findings mean what is expected,
// where nobody has yet.
func (r *run) same(ctx context.Context, c eval.Case, o *eval.Outcome) error {
	if r.t.Judge != eval.JudgeModel || o.Ruling != nil {
		return nil
	}
	m := runs.LLMModel{Client: r.client, Role: llm.RoleReviewer, Model: r.t.JudgeModel}
	for _, pair := range eval.NearPairs(c, o.Findings) {
		if slices.ContainsFunc(o.Same, func(s eval.Same) bool { s.Same = nil; return s == pair }) {
			continue
		}
		if r.over() {
			return nil
		}
		said, used := eval.AskSame(ctx, m, c, pair, o.Findings)
		r.t.JudgeUsage = eval.Spent(r.t.JudgeUsage, used)
		r.t.Ledger.Add(used)
		if err := ctx.Err(); err != nil {
			return errors.Join(err, save(r.p, r.t))
		}
		if said.Same != nil {
			o.Same = append(o.Same, said)
		}
	}
	return nil
}

// end scores and stores the trial.
func (r *run) end(stopped bool) (*Ended, error) {
	var hand []eval.Same
	var err error
	if r.t.Judge == eval.JudgeHand {
		if hand, err = readHand(r.t.HandFile); err != nil {
			return nil, err
		}
		open, err := writeHand(r.t.HandFile, eval.HandPairs(r.t, r.cases, hand))
		if err != nil {
			return nil, err
		}
		if open > 0 {
			r.p.Log.Warn("pairs wait for your word", "open", open, "file", r.t.HandFile, "then", "forge eval --resume "+r.t.ID)
		}
	}
	r.t.Score(r.cases, hand)
	if left := len(r.pending()); left == 0 && !stopped && r.reached == "" {
		now := r.p.Now().UTC().Truncate(time.Second)
		r.t.Ended = &now
	}
	if err := save(r.p, r.t); err != nil {
		return nil, err
	}
	return &Ended{Trial: r.t, File: file(r.p, r.t), Cases: len(r.cases), Stopped: stopped, Reached: r.reached}, nil
}
