package orchestrator

import (
	"forge/internal/work"

	"forge/internal/text"
)

// Where every phase is to have a pull request, one that nobody has to look at
// is proposed when its turn to land has come, and merged right after. What the
// host will not have is asked about like anything else that it refuses.

// proposed is the pull request that p gets before it lands; nil = none, or it
// has one.
func (s *State) proposed(p *Phase) *Pull {
	if s.Spec.Pulls == nil || !s.Spec.Pulls.Always || p.Parent != "" || p.Stage != StageLand || p.Merge.Files == 0 {
		return nil
	}
	switch u := p.Pull; {
	case u == nil:
		return &Pull{Branch: s.pullBranch(p, p.PullRev+1)}
	case u.Number == 0 && u.Lost == "" && u.Merged == "":
		return u
	}
	return nil
}

// pendingLand is what is to be done to land p.
func (s *State) pendingLand(p *Phase) (Command, bool) {
	if s.proposed(p) == nil {
		return s.pendingStep(p)
	}
	c := Command{Phase: p.Number, Iteration: p.Iteration, Attempt: p.PullTries + 1, Step: StepPublish, Commit: p.Last}
	if p.Pull != nil && p.Pull.Publishing != nil {
		c.Commit, c.Checkpoint = p.Pull.Publishing.Commit, p.Pull.Publishing.Checkpoint
	}
	c.ID = s.id(p.Number, c.Attempt, c.Iteration, string(c.Step)+"-"+text.Short(c.Commit))
	return c, true
}

// notProposed decides what follows where the host would not have it.
func (d *decision) notProposed(f PublishDone, t *work.PullTrouble) {
	if t.Kind == work.HostNoChanges {
		d.pullDecided(d.s.Phases[f.Command.Phase], PullDecidedData{Decision: decidePlain, Reason: "what it changes is there already", Lost: t.What})
		return
	}
	d.landRefused(LandDone{Command: f.Command, Refused: t})
}
