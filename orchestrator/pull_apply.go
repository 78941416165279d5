package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

func applyPublishStarted(s *State, p *Phase, _ work.Event, d PublishStarted) {
	if u := s.proposed(p); u != nil && p.Pull == nil {
		p.Pull = u
		p.PullRev++
	}
	if u := p.Pull; u != nil && u.Publishing == nil {
		u.Publishing = &d
		u.knows(d.Commit)
	}
}

func applyPublishFinished(_ *State, p *Phase, _ work.Event, d PublishFinishedData) {
	u := p.Pull
	if u == nil || u.Publishing == nil || u.Publishing.Command != d.Command {
		return
	}
	was := *u.Publishing
	u.Publishing = nil
	p.PullTries++
	u.Trouble = d.Trouble
	if d.Trouble != nil {
		u.Refused = was.Checkpoint
		return
	}
	u.Number, u.URL, u.Commit, u.Checkpoint, u.Refused, u.Owed = d.Number, d.URL, was.Commit, was.Checkpoint, "", nil
	u.Answers = nil
}

func applyPullDue(_ *State, p *Phase, _ work.Event, d PullDueData) {
	if p.Pull != nil {
		p.Pull.Due, p.Pull.Read, p.Stage = &d, nil, StagePull
	}
}

func applyPullFinished(_ *State, p *Phase, _ work.Event, d PullFinishedData) {
	if p.Pull != nil && p.Stage == StagePull && p.Pull.Read == nil {
		p.PullTries++
		p.Pull.Read = &d.PullReading
	}
}

func applyPullDecided(s *State, p *Phase, _ work.Event, d PullDecidedData) {
	u := p.Pull
	if d.Decision == decideProve {
		s.reprove(p, d)
		return
	}
	if u == nil {
		return
	}
	r := u.Read
	if !d.Rework {
		u.Read = nil // where people's commits are taken along, the answer follows
	}
	switch d.Decision {
	case decideLook:
		u.Due, p.Stage = nil, StagePull
	case decideAsk:
		u.Looked, u.Lost, p.Stage = p.Last, d.Lost, StageProven
		if d.Reason != "" {
			u.Told = d.Reason
		}
	case decidePlain:
		u.Lost = d.Lost
	case decideAskAgain:
		u.Told, u.Lost, u.Due, u.Looked, p.Stage = d.Reason, d.Lost, nil, p.Last, StageProven
		u.Approved = ""
		u.Rounds++
	case decideGo:
		if u.Due != nil && d.Status == work.CheckpointApproved {
			u.Answered = u.Due.Checkpoint.ID
		}
		u.Told, u.Approved, u.Due = "", p.Last, nil
		if d.Status != work.CheckpointApproved {
			u.Approved = ""
		}
		if r != nil {
			u.hears(r, d.Status)
			if r.Trouble == nil {
				u.Lost = r.Lost // people may have put it back
			}
		}
	case decideTake:
		s.take(p, r, d)
	}
}

// hears notes which comments are acted upon: all, where the agent is told of
// them; else those alone that the answer rests on, so that the others are still
// there when it comes to a rework after all.
func (u *Pull) hears(r *PullReading, status work.CheckpointStatus) {
	u.Last = r.Reviews
	heard := r.Reviews
	if status == work.CheckpointChangesRequested {
		heard = slices.Concat(r.Reviews, r.Heard)
		u.Owed, u.Answers = r.Threads, nil
	}
	for _, id := range heard {
		if !slices.Contains(u.Heard, id) {
			u.Heard = append(slices.Clip(u.Heard), id)
		}
	}
}

// take makes people's commits, or their merge, what the phase goes on from.
func (s *State) take(p *Phase, r *PullReading, d PullDecidedData) {
	u := p.Pull
	if r == nil {
		return
	}
	u.Rounds++
	u.Told = ""
	commit := r.Commit
	if d.Merged {
		commit, u.Merged = r.Merged, r.Merged
	} else {
		u.knows(r.Head)
		p.happened("%s pushed to the branch, which is part of it now: %s", orSomebody(r.By), text.ClipJSON(strings.Join(r.Files, ", "), 200))
		p.note("%s pushed to your branch. Their changes are in your folder, they stay: %s", orSomebody(r.By), strings.Join(r.Files, ", "))
		if len(r.Conflicts) > 0 {
			p.Conflict = &Conflict{Head: r.Head, Commit: commit, Files: r.Conflicts}
			u.Approved = ""
			if !d.Rework {
				u.Due, p.Kind, p.Stage = nil, IterationRework, StageGate
			}
			return
		}
	}
	same := r.Tree != "" && r.Tree == p.Tree
	p.Last, p.Tree, p.Reset = commit, r.Tree, true
	if r.Todos != nil {
		p.took(r.Todos)
	}
	u.Approved, u.Taken, u.By = "", commit, r.By
	if d.Approved {
		u.Approved = commit
		u.hears(r, work.CheckpointApproved)
	} else {
		u.Due = nil
	}
	switch {
	case d.Rework:
		// Where changes are requested, the agent goes on from them.
	case same:
		p.Stage = StageProven
	default:
		p.Judged = Judged{Claim: ClaimNone}
		s.move(p, s.toProve(p))
	}
}

// resolves notes what an iteration left of a conflict that it began with.
func (p *Phase) resolves(d work.IterationFinishedData) {
	if d.Snapshot == "" {
		return
	}
	if c := p.Conflict; c != nil {
		if p.Pull != nil {
			p.Pull.Told = "what people pushed conflicted with the agent's work; the agent resolved that, and nobody has looked at it"
		}
		p.Marked, p.Conflict = c.Files, nil
	}
	if len(d.Conflicts) == 0 {
		p.Marked = nil
	}
}

// toProve is where content that nobody has proven yet goes.
func (s *State) toProve(p *Phase) Stage {
	if len(p.Set.Verify) > 0 {
		return StageVerify
	}
	return s.afterProof(p)
}

func orSomebody(by []string) string {
	if len(by) == 0 {
		return "Somebody"
	}
	return strings.Join(by, ", ")
}

func applyLandRefused(s *State, p *Phase, _ work.Event, d LandRefusedData) {
	u := p.Pull
	if u == nil || p.Stage != StageLand {
		return
	}
	u.Told, u.Approved, u.Due = tellTrouble(d.Trouble), "", nil
	u.Rounds++
	if d.Trouble.Passes || d.Trouble.Kind == work.HostRetargeted {
		// The same approval may answer again, once what kept it away is over.
		u.Heard = slices.DeleteFunc(slices.Clone(u.Heard), func(id string) bool { return slices.Contains(u.Last, id) })
	}
	base := p.Merge.Head
	s.releaseTurn(p)
	p.Stage = StageProven
	if d.Commit != "" {
		u.Merged, u.Taken = d.Commit, d.Commit
		p.Base, p.Last, p.Tree, p.Reset = base, d.Commit, d.Tree, true
		p.Judged = Judged{Claim: ClaimNone}
		s.move(p, s.toProve(p))
	}
}

func tellTrouble(t work.PullTrouble) string {
	if t.Fix == "" {
		return t.What
	}
	return fmt.Sprintf("%s; %s", t.What, t.Fix)
}

// toLand is where a merged tree goes that is proven. One that an agent resolved
// conflicts in is nothing that a person has looked at: the pull request shows it
// first.
func (s *State) toLand(p *Phase) Stage {
	if !p.Pull.live() || !p.Merge.Resolved {
		return StageLand
	}
	return StageProven
}

// showAgain takes a merged tree back to where people look at it.
func (s *State) showAgain(p *Phase) {
	p.Base, p.Last, p.Tree, p.Reset = p.Merge.Head, p.Merge.Commit, p.Merge.Tree, true
	s.releaseTurn(p)
	p.Kind, p.Pull.Approved = p.ownKind(), ""
	p.Pull.Told = "the base has moved and conflicted with this; the agent resolved that, and nobody has looked at it"
}
