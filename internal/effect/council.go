package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forge/internal/work"
	"forge/orchestrator"
)

// vote asks one worker of a council. An answer that does not come is no vote.
func (m *Machine) vote(ctx context.Context, e orchestrator.VoteEffect, a Attending) orchestrator.Fact {
	c, req := e.Command, e.Request
	if m.Council == nil {
		return orchestrator.Broke{Command: c, Problem: "ask the council: " + errNoReviewers.Error()}
	}
	m.seat(&req.ReviewRequest, c, a, e.Log)
	most := time.Duration(e.TimeoutSecs) * time.Second
	asked, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	rep, err := m.Council.Vote(asked, req)
	switch {
	case ctx.Err() != nil:
		return nil
	case asked.Err() != nil:
		rep, err = work.VoteReport{Why: fmt.Sprintf("no answer within %s", most), Usage: rep.Usage}, nil
	}
	if err != nil {
		return failed(ctx, c, "ask the council", err)
	}
	return orchestrator.VoteDone{Command: c, Report: rep}
}

// showCouncil puts the changes that one is to be made out of into the prompts that
// begin a session.
func (m *Machine) showCouncil(ctx context.Context, e *orchestrator.IterateEffect, req *work.IterationRequest) error {
	if len(e.Council) == 0 {
		return nil
	}
	if m.Council == nil {
		return errors.New("nobody can")
	}
	told, err := e.ShowChanges(func(commit string, most int) (string, error) {
		return m.Council.Shown(ctx, e.Opening.Base, commit, most)
	})
	if err != nil {
		return err
	}
	if e.Fresh += told; req.Session == "" {
		req.Prompt += told
	}
	return nil
}
