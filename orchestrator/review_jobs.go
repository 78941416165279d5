package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"forge/internal/work"
)

// mostReview is how long one specialist may take, with every part of the change
// and every retry.
const mostReview = 30 * time.Minute

var errNoReviewers = errors.New("nobody can be asked")

func (r *session) reviewJob(c Command, p *Phase, mark string, day Day) func(context.Context) Fact {
	set := r.s.Spec.Settings
	o := p.Review.Of[c.Specialist]
	req := work.ReviewRequest{
		Run: r.s.Run, Phase: p.Number, PhaseName: p.Plan.Name, By: set.Reviews.By, Model: set.Reviews.Model,
		Base: p.Base, Commit: c.Commit, Since: o.since(), Ask: o.Asks + 1, Summary: reviewSummary(r.s, p), Mark: mark,
		Dir:     filepath.Join(r.Layout.RunDir(r.s.Run), "reviews", p.Number+"-"+c.Specialist),
		LogPath: r.Layout.Log(r.s.Run, fmt.Sprintf("%s-%d-review-%s-%d", p.Number, c.Iteration, c.Specialist, o.Asks+1)),
		Sandbox: set.Sandbox, Limits: set.Limits, ReadPaths: r.Repo.ObjectPaths(), HidePaths: []string{r.Layout.State},
	}
	if p.Merge != nil {
		req.Base = p.Merge.Head
	}
	for _, sp := range p.Set.Reviewers {
		if sp.Name == c.Specialist {
			req.Specialist = sp
		}
	}
	if name, ok := strings.CutPrefix(set.Reviews.By, "agent:"); ok {
		req.Agent = set.Agents[name]
	}
	if is := r.s.Spec.Issue; is != nil {
		req.Criteria = is.Criteria
	}
	req.CostUSD, req.Tokens = r.s.ceiling(p, day)
	return func(ctx context.Context) Fact {
		if r.Reviewers == nil {
			return Broke{Command: c, Problem: "review: " + errNoReviewers.Error()}
		}
		asked, cancel := context.WithTimeout(ctx, mostReview)
		defer cancel()
		rep, err := r.Reviewers.Review(asked, req)
		switch {
		case ctx.Err() != nil:
			return nil
		case asked.Err() != nil:
			// A silence without an end is no answer.
			rep.Verdict, rep.Why, err = work.VerdictUnknown, fmt.Sprintf("no answer within %s", mostReview), nil
		}
		if err != nil {
			return failed(ctx, c, "review", err)
		}
		return ReviewDone{Command: c, Report: rep}
	}
}

func (r *session) arbiterJob(c Command, p *Phase) func(context.Context) Fact {
	req := work.ArbiterRequest{
		Run: r.s.Run, Phase: p.Number, PhaseName: p.Plan.Name, Model: r.s.Spec.Settings.Reviews.Arbiter, Base: p.Base, Commit: c.Commit,
		Summary: reviewSummary(r.s, p), Findings: p.objections(), Attempts: p.Review.Attempts, Most: p.Set.MaxFixes,
	}
	return func(ctx context.Context) Fact {
		if r.Reviewers == nil {
			return Broke{Command: c, Problem: "ask the arbiter's model: " + errNoReviewers.Error()}
		}
		asked, cancel := context.WithTimeout(ctx, mostReview)
		defer cancel()
		a, err := r.Reviewers.Arbitrate(asked, req)
		switch {
		case ctx.Err() != nil:
			return nil
		case asked.Err() != nil:
			a.Verdict, a.Confidence, a.FixPath, a.Why, err = "", nil, nil, fmt.Sprintf("no answer within %s", mostReview), nil
		}
		if err != nil {
			return failed(ctx, c, "ask the arbiter's model", err)
		}
		return ArbiterDone{Command: c, Answer: a}
	}
}

// differs are the files of a phase's change whose content in the merged commit
// is not what was reviewed in last.
func (r *session) differs(ctx context.Context, head, last, merged string) ([]string, error) {
	change, err := r.Repo.Changes(ctx, head, merged)
	if err != nil {
		return nil, err
	}
	moved, err := r.Repo.Changes(ctx, last, merged)
	if err != nil {
		return nil, err
	}
	other := map[string]bool{}
	for _, f := range moved {
		other[f.Path] = true
	}
	var out []string
	for _, f := range change {
		if other[f.Path] {
			out = append(out, f.Path)
		}
	}
	return out, nil
}
