package effect

import (
	"context"
	"errors"

	"forge/internal/work"
	"forge/orchestrator"
)

// together carries out one step of handing several repositories over, in that of m;
// home has the others. What cannot be told is no answer: the step is done again.
func (m *Machine) together(ctx context.Context, e orchestrator.TogetherEffect, home *Machine, a Attending) orchestrator.Fact {
	if e.Update != nil {
		return m.update(ctx, e, a)
	}
	ctx, c := context.WithoutCancel(ctx), e.Command
	if e.Pull != nil {
		return m.pullTogether(ctx, e, home)
	}
	if m.Targets == nil {
		return broke(c, "hand over "+orchestrator.Called(c.Repository), errors.New("this machine moves no targets"))
	}
	done := orchestrator.TogetherDone{Command: c}
	var err error
	switch c.Step {
	case orchestrator.StepPrepare:
		if err = m.Repo.Deliver(ctx, e.Branch, c.Commit); err == nil {
			done.Why, err = m.Targets.InTheWay(ctx, e.Base, c.Commit)
		}
		if err == nil && done.Why != "" {
			done.Onto, err = m.Targets.WentOn(ctx, e.Base, c.Commit)
		}
	case orchestrator.StepMove:
		if done.Why, done.Undo, err = m.moveTarget(ctx, e, home); err == nil && done.Why != "" {
			done.Onto, err = m.Targets.WentOn(ctx, e.Base, c.Commit)
		}
	case orchestrator.StepTakeBack:
		done.Why, err = m.Targets.TakeBack(ctx, e.Base, c.Commit)
	default:
		err = errors.New("it is no step of that")
	}
	if err != nil {
		return broke(c, string(c.Step)+" "+orchestrator.Called(c.Repository), err)
	}
	return done
}

// moveTarget moves the target of m's repository, or says why it stays.
func (m *Machine) moveTarget(ctx context.Context, e orchestrator.TogetherEffect, home *Machine) (why, undo string, err error) {
	if why, err := standsBefore(ctx, e, home); why != "" || err != nil {
		return why, "", err
	}
	if len(e.Accepts) > 0 {
		if err := m.Evidence.Accept(ctx, e.Run, e.Accepts); err != nil {
			return "", "", err
		}
	}
	var moved work.Delivery
	if moved, err = m.Repo.FastForward(ctx, e.Base, e.Command.Commit); err != nil {
		return "", "", err
	}
	if moved.FastForwarded {
		return "", moved.Undo, nil
	}
	// Somebody may have merged it by hand.
	stands, err := m.Targets.Stands(ctx, e.Base.Branch, e.Command.Commit)
	if err != nil || stands {
		return "", "", err
	}
	return moved.Reason, "", nil
}

// standsBefore is which of those that were moved before it does not stand any more,
// "" = all do. They may have been moved by a process that died long ago.
func standsBefore(ctx context.Context, e orchestrator.TogetherEffect, home *Machine) (why string, err error) {
	for _, one := range e.Before {
		other := home
		if one.Repository != "" {
			other = home.Beside[one.Repository]
		}
		var stands bool
		switch {
		case other != nil && e.Pull != nil && other.Results != nil:
			stands, err = other.Results.Holds(ctx, one.Branch, one.Commit)
		case other != nil && e.Pull == nil && other.Targets != nil:
			stands, err = other.Targets.Stands(ctx, one.Branch, one.Commit)
		default:
			return "", errors.New("this machine does not have the repository " + one.Repository)
		}
		if err != nil {
			return "", err
		}
		if !stands {
			return "the result was taken out of " + orchestrator.Called(one.Repository) + " meanwhile", nil
		}
	}
	return "", nil
}
