package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"forge/internal/agent"
	"forge/internal/git"
	"forge/internal/llm"
	"forge/internal/project"
	"forge/internal/work"
	"forge/review"
)

// Reviewers asks the specialists and the arbiter's model of a run. That nobody
// gives a usable answer is in the report; an error means that Forge itself
// could not show the change or keep what was said.
type Reviewers struct {
	Repo   *git.Store
	Agents agentRunner
	Model  *llm.Client // nil where no service is named
	Blobs  BlobStore
	// Prepare changes what a specialist is asked about, before it is; nil = nothing.
	Prepare func(in *review.Input)
}

// agentRunner is what reviews need of internal/agent.
type agentRunner interface {
	Iterate(ctx context.Context, req work.IterationRequest, watch func(work.Activity)) (work.IterationReport, error)
}

var _ agentRunner = (*agent.Agents)(nil)

// BlobStore is what reviews need of the journal.
type BlobStore interface {
	PutBlob(ctx context.Context, data []byte) (string, error)
}

// Review asks one specialist about what differs between req.Base and
// req.Commit; where req.Since is set, about the files alone whose content is
// not as it was there.
func (v *Reviewers) Review(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
	change, err := v.Change(ctx, req.Base, req.Commit)
	if err != nil {
		return work.ReviewReport{}, err
	}
	if req.Since != "" {
		moved, err := v.Repo.Differ(ctx, req.Since, req.Commit)
		if err != nil {
			return work.ReviewReport{}, err
		}
		if change = change.Only(moved); len(change.Files) == 0 {
			return work.ReviewReport{Specialist: req.Specialist.Name, Verdict: work.VerdictPass, Why: "nothing it reviewed has changed", Usage: NothingUsed()}, nil
		}
	}
	in := review.Input{
		Specialist: req.Specialist, PhaseName: req.PhaseName, Summary: req.Summary, Change: change, CostUSD: req.CostUSD, Tokens: req.Tokens, Criteria: req.Criteria,
		Content: func(ctx context.Context, path string) ([]byte, error) { return v.Repo.Show(ctx, req.Commit, path) },
	}
	if v.Prepare != nil {
		v.Prepare(&in)
	}
	m, done, err := v.who(ctx, req, &in)
	if err != nil {
		return work.ReviewReport{}, err
	}
	if m == nil {
		return work.ReviewReport{Specialist: req.Specialist.Name, Verdict: work.VerdictUnknown, Why: "nobody can be asked: " + done, Usage: NothingUsed()}, nil
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
func (v *Reviewers) who(ctx context.Context, req work.ReviewRequest, in *review.Input) (review.Model, string, error) {
	if req.By == project.ByModel {
		if v.Model == nil {
			return nil, "no model service is named in [llm]", nil
		}
		in.PartTokens = PartTokens(v.Model)
		return LLMModel{Client: v.Model, Role: llm.RoleReviewer, Model: req.Model}, "", nil
	}
	if name := ReviewAgent(req.By); name != "" {
		commit, err := v.withRulesOf(ctx, req.Base, req.Commit)
		if err != nil {
			return nil, "", err
		}
		return &agentReviewer{repo: v.Repo, agents: v.Agents, req: req, commit: commit}, "", nil
	}
	return nil, "no reviewer is set", nil
}

// Arbitrate asks the arbiter's model.
func (v *Reviewers) Arbitrate(ctx context.Context, req work.ArbiterRequest) (work.ArbiterAnswer, error) {
	if v.Model == nil {
		return work.ArbiterAnswer{Why: "no model service is named in [llm]", Usage: NothingUsed()}, nil
	}
	change, err := v.Change(ctx, req.Base, req.Commit)
	if err != nil {
		return work.ArbiterAnswer{}, err
	}
	keep := v.keeper(ctx)
	a := review.Judge(ctx, LLMModel{Client: v.Model, Role: llm.RoleArbiter, Model: req.Model}, review.JudgeInput{Request: req, Change: change, Keep: keep.put})
	return a, keep.err
}

// Change is what commit changes of base, as reviewers are shown it.
func (v *Reviewers) Change(ctx context.Context, base, commit string) (review.Change, error) {
	text, cut, err := v.Repo.ReviewDiff(ctx, base, commit)
	if err != nil {
		return review.Change{}, err
	}
	c, err := review.ParseChange(text, cut)
	if err != nil {
		return review.Change{}, fmt.Errorf("read the change from %s to %s: %w", base, commit, err)
	}
	return c, nil
}

func (v *Reviewers) keeper(ctx context.Context) *blobKeeper {
	return &blobKeeper{ctx: ctx, to: v.Blobs}
}

// blobKeeper puts blobs away for a caller that has no use for errors.
type blobKeeper struct {
	ctx context.Context // of the one review that it lives for
	to  BlobStore
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

// NothingUsed is known usage of nothing: nobody was asked.
func NothingUsed() work.Usage {
	var tokens int64
	var usd float64
	return work.Usage{InputTokens: &tokens, OutputTokens: &tokens, CostUSD: &usd}
}

// PartTokens leaves half of the context for what stands beside the change.
func PartTokens(c *llm.Client) int { return min(review.DefaultPartTokens, c.ContextTokens()/2) }

// LLMModel asks the service of [llm].
type LLMModel struct {
	Client *llm.Client
	Role   string
	Model  string // "" = the role's
}

// Ask asks the model once.
func (m LLMModel) Ask(ctx context.Context, q review.Question) (review.Reply, error) {
	rep, err := m.Client.Ask(ctx, llm.Question{
		Role: m.Role, Model: m.Model, System: q.System, User: q.User, Name: q.Name, Schema: q.Schema,
		Check: func(answer []byte) []string {
			if err := q.Check(answer); err != nil {
				return []string{err.Error()}
			}
			return nil
		},
	})
	return review.Reply{JSON: rep.JSON, Usage: rep.Usage, Model: rep.Model, Request: rep.Request, Answer: rep.Answer}, err
}

// ReviewedBy says who is asked for the reviews.
func ReviewedBy(set work.ReviewSettings) string {
	by := "nobody"
	switch agent, isAgent := strings.CutPrefix(set.By, "agent:"); {
	case isAgent:
		by = "the agent " + agent
	case set.By == project.ByModel:
		by = "the model " + set.Model
	}
	if set.Arbiter != "" {
		by += "; arbiter: the rules and the model " + set.Arbiter
	}
	return by
}
