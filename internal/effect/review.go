package effect

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"forge/internal/work"
	"forge/orchestrator"
)

var errNoReviewers = errors.New("nobody can be asked")

func (m *Machine) review(ctx context.Context, e orchestrator.ReviewEffect, a Attending) orchestrator.Fact {
	c, req := e.Command, e.Request
	if m.Reviewers == nil {
		return orchestrator.Broke{Command: c, Problem: "review: " + errNoReviewers.Error()}
	}
	m.seat(&req, c, a, e.Log)
	most := time.Duration(e.TimeoutSecs) * time.Second
	asked, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	rep, err := m.Reviewers.Review(asked, req)
	switch {
	case ctx.Err() != nil:
		return nil
	case asked.Err() != nil:
		// A silence without an end is no answer.
		rep.Verdict, rep.Why, err = work.VerdictUnknown, fmt.Sprintf("no answer within %s", most), nil
	}
	if err != nil {
		return failed(ctx, c, "review", err)
	}
	return orchestrator.ReviewDone{Command: c, Report: rep}
}

// seat gives whoever judges a folder, a log and what may be seen from there.
func (m *Machine) seat(req *work.ReviewRequest, c orchestrator.Command, a Attending, log string) {
	req.Mark, req.LogPath = a.Mark, m.Layout.Log(req.Run, log)
	req.Dir = filepath.Join(m.Layout.RunDir(req.Run), "reviews", req.Phase+"-"+c.Specialist)
	req.ReadPaths, req.HidePaths = m.Repo.ObjectPaths(), m.hidden()
}

func (m *Machine) arbitrate(ctx context.Context, e orchestrator.ArbiterEffect) orchestrator.Fact {
	c := e.Command
	if m.Reviewers == nil {
		return orchestrator.Broke{Command: c, Problem: "ask the arbiter's model: " + errNoReviewers.Error()}
	}
	most := time.Duration(e.TimeoutSecs) * time.Second
	asked, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	a, err := m.Reviewers.Arbitrate(asked, e.Request)
	switch {
	case ctx.Err() != nil:
		return nil
	case asked.Err() != nil:
		a.Verdict, a.Confidence, a.FixPath, a.Why, err = "", nil, nil, fmt.Sprintf("no answer within %s", most), nil
	}
	if err != nil {
		return failed(ctx, c, "ask the arbiter's model", err)
	}
	return orchestrator.ArbiterDone{Command: c, Answer: a}
}
