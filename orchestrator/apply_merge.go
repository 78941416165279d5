package orchestrator

import (
	"slices"

	"forge/internal/work"
)

func applyDelivered(s *State, _ *Phase, _ work.Event, d DeliverFinishedData) {
	if s.Final.Stage == FinalDeliver {
		s.Final.Stage = FinalOver
		s.Final.Tries++
		s.Delivery = &d.Delivery
	}
}

func applyMergeFinished(s *State, p *Phase, _ work.Event, d MergeFinishedData) {
	if d.Train > 0 {
		s.boarded(p, d)
		return
	}
	if p.Stage != StageTurn {
		return
	}
	if len(d.Conflicts) > 0 {
		p.proven(p.Base, p.Last) // whoever resolves them may not take back its tests
	}
	p.Merge = &d
	p.Files = d.Files
	p.Stage = StageMerged
}

func applyMerged(s *State, p *Phase, _ work.Event, d PhaseMergedData) {
	if p.Stage != StageLand {
		return
	}
	s.Issue.landed(p, s.reviews(p), d.Empty)
	s.landDoubts(p, d.Commit)
	s.setHead(p.Plan.Repository, d.Commit)
	s.LastMerged = p.Number
	s.Heads = append(slices.Clip(s.Heads), HeadAt{p.Number, d.Commit})
	p.Files, p.Landed = d.Files, true
	p.snapsMerged()
	p.goneAlone()
	s.arrives(p)
	s.releaseTurn(p)
	if d.Pull == 0 {
		s.leavePull(p, "Forge went on without this.")
	}
	p.Pull = nil
	p.Stage = StageLanded
}
