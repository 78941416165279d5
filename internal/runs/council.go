package runs

import (
	"context"
	"errors"

	"forge/internal/work"
	"forge/review"
)

// Vote asks the agent of req what it thinks of the changes of others. It is shown
// them as data, without whose they are; its folder is as it was before all of them.
func (v *Reviewers) Vote(ctx context.Context, req work.VoteRequest) (work.VoteReport, error) {
	in := review.VoteInput{PhaseName: req.PhaseName, Summary: req.Summary}
	for _, commit := range req.Of {
		change, err := v.Change(ctx, req.Base, commit)
		if err != nil {
			return work.VoteReport{}, err
		}
		in.Changes = append(in.Changes, change)
	}
	keep := v.keeper(ctx)
	in.Keep = keep.put
	agent := &agentReviewer{repo: v.Repo, agents: v.Agents, req: req.ReviewRequest, commit: req.Base, holds: "as it was before these changes. You may read in it what you need to judge them."}
	rep := review.Vote(ctx, agent, in)
	return rep, errors.Join(keep.err, agent.close())
}

// Shown is the change from base to commit as reviewers are shown it, within most
// bytes.
func (v *Reviewers) Shown(ctx context.Context, base, commit string, most int) (string, error) {
	change, err := v.Change(ctx, base, commit)
	if err != nil {
		return "", err
	}
	return review.Shown(change, most), nil
}
