package orchestrator

import (
	"fmt"
	"strings"
	"time"

	"forge/internal/work"
)

// mostReview is how long one specialist may take, with every part of the change
// and every retry.
const mostReview = 30 * time.Minute

// ReviewEffect asks one specialist. Its fact is ReviewDone. No answer within
// TimeoutSecs is an unknown verdict.
type ReviewEffect struct {
	Command     Command
	Request     work.ReviewRequest
	Log         string // name of the log
	TimeoutSecs int
}

// ArbiterEffect asks the arbiter's model. Its fact is ArbiterDone. No answer
// within TimeoutSecs is an answer without a verdict.
type ArbiterEffect struct {
	Command     Command
	Request     work.ArbiterRequest
	TimeoutSecs int
}

func (s *State) reviewEffect(c Command, p *Phase, day Day) ReviewEffect {
	set := s.Spec.Settings
	o := p.Review.Of[c.Specialist]
	req := work.ReviewRequest{
		Run: s.Run, Phase: p.Number, PhaseName: p.Plan.Name, By: set.Reviews.By, Model: set.Reviews.Model,
		Base: p.Base, Commit: c.Commit, Since: o.since(), Ask: o.Asks + 1, Summary: reviewSummary(s, p),
		Sandbox: set.Sandbox, Limits: set.Limits,
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
	if is := s.Spec.Issue; is != nil {
		req.Criteria = is.Criteria
	}
	req.CostUSD, req.Tokens = s.ceiling(p, day)
	return ReviewEffect{
		Command: c, Request: req, TimeoutSecs: int(mostReview / time.Second),
		Log: fmt.Sprintf("%s-%d-review-%s-%d", p.Number, c.Iteration, c.Specialist, o.Asks+1),
	}
}

func (s *State) arbiterEffect(c Command, p *Phase) ArbiterEffect {
	return ArbiterEffect{Command: c, TimeoutSecs: int(mostReview / time.Second), Request: work.ArbiterRequest{
		Run: s.Run, Phase: p.Number, PhaseName: p.Plan.Name, Model: s.Spec.Settings.Reviews.Arbiter, Base: p.Base, Commit: c.Commit,
		Summary: reviewSummary(s, p), Findings: p.objections(), Attempts: p.Review.Attempts, Most: p.Set.MaxFixes,
	}}
}

func (e ReviewEffect) Of() Command  { return e.Command }
func (e ArbiterEffect) Of() Command { return e.Command }

func (ReviewEffect) effect()  {}
func (ArbiterEffect) effect() {}
