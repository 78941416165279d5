package effect

import (
	"context"
	"errors"

	"forge/orchestrator"
)

// pullTogether carries out one step of handing over by pull requests, at the code
// host of m's repository. What the host does not do is in the fact, and why.
func (m *Machine) pullTogether(ctx context.Context, e orchestrator.TogetherEffect, home *Machine) orchestrator.Fact {
	c, req := e.Command, *e.Pull
	done := orchestrator.TogetherDone{Command: c}
	if m.Results == nil {
		done.Why = "its code host cannot be asked here: forge host doctor in that repository says why"
		return done
	}
	var err error
	switch c.Step {
	case orchestrator.StepPrepare:
		if err = m.Repo.Deliver(ctx, e.Branch, c.Commit); err == nil {
			done.Onto, done.Why, err = m.Results.Aims(ctx, req)
		}
	case orchestrator.StepPropose, orchestrator.StepLink:
		done.ResultPulled, done.Why, err = m.Results.Propose(ctx, req)
	case orchestrator.StepLook:
		done.ResultPulled, done.Why, err = m.Results.See(ctx, req)
	case orchestrator.StepMove:
		if done.Why, err = standsBefore(ctx, e, home); done.Why != "" || err != nil {
			break
		}
		if len(e.Accepts) > 0 {
			err = m.Evidence.Accept(ctx, e.Run, e.Accepts)
		}
		if err == nil {
			done.ResultPulled, done.Why, err = m.Results.Merge(ctx, req)
		}
	default:
		err = errors.New("it is no step of that")
	}
	if err != nil {
		return broke(c, string(c.Step)+" "+orchestrator.Called(c.Repository), err)
	}
	return done
}
