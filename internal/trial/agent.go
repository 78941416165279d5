package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"forge/internal/eval"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// byAgent says that the trial asks an agent.
func (r *run) byAgent() bool { return r.t.Asked == eval.AskedAgent }

// asks says that somebody is asked, who takes money and time.
func (r *run) asks() bool { return r.t.Asked != eval.AskedRecord }

// openAgent makes what asking the agent of the trial takes. done drops it.
func (r *run) openAgent(ctx context.Context) (done func() error, err error) {
	dir, err := os.MkdirTemp("", "forge-eval-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, refusal.New("set TMPDIR to a folder that can be written", "make a folder for the agent: %v", err)
	}
	done = func() error { return os.RemoveAll(dir) }
	if r.agent, err = runs.OpenCaseReviewer(ctx, r.p, r.t.Setup.Reviewer, r.t.Setup.Model, r.t.ID, dir); err != nil {
		return nil, errors.Join(err, done())
	}
	return done, nil
}

// before is the agent before a case, as far as it is to be asked about it: in a run
// no agent is the arbiter.
func (r *run) before(ctx context.Context, c eval.Case) (m review.Model, done func() error, err error) {
	if c.Ruling != nil {
		return nil, func() error { return nil }, nil
	}
	most := r.limits()
	a, done, err := r.agent.Of(ctx, r.specialists[c.Specialist], c.Content, most.CostUSD, most.Tokens)
	if err != nil {
		return nil, nil, err
	}
	return eval.NewRecorder(a), done, nil
}

// awayAgent says that an agent is limited, or cannot begin, at the moment: that says
// nothing about how good it is.
func (r *run) awayAgent(err error) bool {
	var ended *runs.AgentEnded
	if !errors.As(err, &ended) || ended.Outcome != work.OutcomeRateLimited && ended.Outcome != work.OutcomeStartTimeout {
		return false
	}
	r.reached = "the agent answers nobody: " + text.FirstLine(err.Error(), 300)
	return true
}

// sayAgent says what will be asked, before anything is.
func (r *run) sayAgent(ctx context.Context) {
	pending := r.pending()
	n, in, out := 0, int64(0), int64(0)
	for _, c := range pending {
		if c.Ruling == nil {
			one, more, back := eval.Estimate(ctx, []eval.Case{c}, func(name string) work.Specialist { return r.specialists[name] })
			n, in, out = n+one, in+more, out+back
		}
	}
	r.p.Log.Info("asking about the cases", "reviewer", r.t.Model, "questions", n, "tokens_in", fmt.Sprintf("at least %d", in), "tokens_out", fmt.Sprintf("at least %d", out), "usd", "as the agent reports it")
}
