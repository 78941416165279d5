package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"forge/internal/agent"
	"forge/internal/git"
	"forge/internal/llm"
	"forge/internal/project"
	"forge/internal/work"
	"forge/review"
)

// reviewDesk asks the specialists and the arbiter's model of a run. That nobody
// gives a usable answer is in the report; an error means that Forge itself
// could not show the change or keep what was said.
type reviewDesk struct {
	repo   *git.Store
	agents agentRunner
	model  *llm.Client // nil where no service is named
	blobs  blobStore
}

// agentRunner is what reviews need of internal/agent.
type agentRunner interface {
	Iterate(ctx context.Context, req work.IterationRequest, watch func(work.Activity)) (work.IterationReport, error)
}

var _ agentRunner = (*agent.Agents)(nil)

// blobStore is what reviews need of the journal.
type blobStore interface {
	PutBlob(ctx context.Context, data []byte) (string, error)
}

// Review asks one specialist about what differs between req.Base and
// req.Commit; where req.Since is set, about the files alone whose content is
// not as it was there.
func (v *reviewDesk) Review(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
	change, err := v.change(ctx, req.Base, req.Commit)
	if err != nil {
		return work.ReviewReport{}, err
	}
	if req.Since != "" {
		moved, err := v.repo.Differ(ctx, req.Since, req.Commit)
		if err != nil {
			return work.ReviewReport{}, err
		}
		if change = change.Only(moved); len(change.Files) == 0 {
			return work.ReviewReport{Specialist: req.Specialist.Name, Verdict: work.VerdictPass, Why: "nothing it reviewed has changed", Usage: nothingUsed()}, nil
		}
	}
	in := review.Input{
		Specialist: req.Specialist, PhaseName: req.PhaseName, Summary: req.Summary, Change: change, CostUSD: req.CostUSD, Tokens: req.Tokens, Criteria: req.Criteria,
		Content: func(ctx context.Context, path string) ([]byte, error) { return v.repo.Show(ctx, req.Commit, path) },
	}
	m, done, err := v.who(ctx, req, &in)
	if err != nil {
		return work.ReviewReport{}, err
	}
	if m == nil {
		return work.ReviewReport{Specialist: req.Specialist.Name, Verdict: work.VerdictUnknown, Why: "nobody can be asked: " + done, Usage: nothingUsed()}, nil
	}
	keep := v.keeper(ctx)
	in.Keep = keep.put
	report := review.Review(ctx, m, in)
	if a, ok := m.(*agentReviewer); ok {
		keep.err = errors.Join(keep.err, a.close())
	}
	return report, keep.err
}

// who answers; nil, and why, when nobody does.
func (v *reviewDesk) who(ctx context.Context, req work.ReviewRequest, in *review.Input) (review.Model, string, error) {
	if req.By == project.ByModel {
		if v.model == nil {
			return nil, "no model service is named in [llm]", nil
		}
		in.PartTokens = partTokens(v.model)
		return llmModel{client: v.model, role: llm.RoleReviewer, model: req.Model}, "", nil
	}
	if name := reviewAgent(req.By); name != "" {
		commit, err := v.withRulesOf(ctx, req.Base, req.Commit)
		if err != nil {
			return nil, "", err
		}
		return &agentReviewer{repo: v.repo, agents: v.agents, req: req, commit: commit}, "", nil
	}
	return nil, "no reviewer is set", nil
}

// Arbitrate asks the arbiter's model.
func (v *reviewDesk) Arbitrate(ctx context.Context, req work.ArbiterRequest) (work.ArbiterAnswer, error) {
	if v.model == nil {
		return work.ArbiterAnswer{Why: "no model service is named in [llm]", Usage: nothingUsed()}, nil
	}
	change, err := v.change(ctx, req.Base, req.Commit)
	if err != nil {
		return work.ArbiterAnswer{}, err
	}
	keep := v.keeper(ctx)
	a := review.Judge(ctx, llmModel{client: v.model, role: llm.RoleArbiter, model: req.Model}, review.JudgeInput{Request: req, Change: change, Keep: keep.put})
	return a, keep.err
}

func (v *reviewDesk) change(ctx context.Context, base, commit string) (review.Change, error) {
	text, cut, err := v.repo.ReviewDiff(ctx, base, commit)
	if err != nil {
		return review.Change{}, err
	}
	c, err := review.ParseChange(text, cut)
	if err != nil {
		return review.Change{}, fmt.Errorf("read the change from %s to %s: %w", base, commit, err)
	}
	return c, nil
}

func (v *reviewDesk) keeper(ctx context.Context) *blobKeeper {
	return &blobKeeper{ctx: ctx, to: v.blobs}
}

// blobKeeper puts blobs away for a caller that has no use for errors.
type blobKeeper struct {
	ctx context.Context // of the one review that it lives for
	to  blobStore
	mu  sync.Mutex
	err error
}

func (k *blobKeeper) put(data []byte) string {
	// Also when the review was cancelled: what was paid for is on record.
	sum, err := k.to.PutBlob(context.WithoutCancel(k.ctx), data)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = errors.Join(k.err, err)
	return sum
}

// nothingUsed is known usage of nothing: nobody was asked.
func nothingUsed() work.Usage {
	var tokens int64
	var usd float64
	return work.Usage{InputTokens: &tokens, OutputTokens: &tokens, CostUSD: &usd}
}

// partTokens leaves half of the context for what stands beside the change.
func partTokens(c *llm.Client) int { return min(review.DefaultPartTokens, c.ContextTokens()/2) }

// llmModel asks the service of [llm].
type llmModel struct {
	client *llm.Client
	role   string
	model  string // "" = the role's
}

func (m llmModel) Ask(ctx context.Context, q review.Question) (review.Reply, error) {
	rep, err := m.client.Ask(ctx, llm.Question{
		Role: m.role, Model: m.model, System: q.System, User: q.User, Name: q.Name, Schema: q.Schema,
		Check: func(answer []byte) []string {
			if err := q.Check(answer); err != nil {
				return []string{err.Error()}
			}
			return nil
		},
	})
	return review.Reply{JSON: rep.JSON, Usage: rep.Usage, Model: rep.Model, Request: rep.Request, Answer: rep.Answer}, err
}
