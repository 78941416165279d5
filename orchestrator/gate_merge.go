package orchestrator

import (
	"strings"

	"forge/internal/work"
)

const gateMerge = "merge"

func mergeGate() gate {
	return gate{
		names: []string{gateMerge}, stages: []Stage{StageMerged, StageJudge}, decide: (*decision).merges, fold: foldMerge,
		moves: map[string][]Stage{
			decideLand: {StageLand, StageProven}, decideReverify: {StageReverify}, decideReview: {StageReview, StageLand, StageProven},
			decideResolve: {StageGate}, decideRework: {StageGate}, decideRed: {StageJudge},
		},
		leads: leadMerge,
	}
}

// merges decides on a merged tree, or on what an iteration made of one.
func (d *decision) merges(p *Phase) bool {
	switch {
	case p.Stage == StageMerged:
		d.merged(p)
	case p.Kind == IterationResolve:
		d.resolved(p)
	case p.Kind.Free() || p.Merge == nil:
		return false
	default:
		d.judgeRedMerge(p)
	}
	return true
}

// merged decides what follows from the merged tree: land it when it is the
// proven one, prove it again when it is not, resolve a conflict once.
func (d *decision) merged(p *Phase) {
	m := p.Merge
	switch {
	case len(m.Conflicts) > 0:
		d.rule(p.Number, gateMerge, decideResolve, "conflicts in "+strings.Join(m.Conflicts, ", "))
	case p.Red != nil && p.Red.Tree == m.Tree:
		d.rule(p.Number, gateMerge, decideRed, "verify was red on this very tree, in a batch")
	case m.Tree == p.Tree || !m.Moved:
		d.rule(p.Number, gateMerge, decideLand, "the merged tree is the proven one")
	case len(p.Set.Verify) > 0:
		d.rule(p.Number, gateMerge, decideReverify, "the base moved, so the merged tree has to be proven")
	case d.s.toReview(p):
		d.rule(p.Number, gateMerge, decideReview, "the base moved, and the merged tree holds content that nobody reviewed")
	default:
		d.rule(p.Number, gateMerge, decideLand, "the base moved, and there are no verify commands")
	}
}

// resolved decides on what an iteration made of a conflict; there is no second
// one.
func (d *decision) resolved(p *Phase) {
	switch bad := p.badFree(); {
	case bad != "":
		d.finish(p, work.PhaseFailed, work.ReasonMergeConflict, bad)
	case len(p.Set.Verify) > 0:
		d.rule(p.Number, gateMerge, decideReverify, "the conflict was resolved, so the merged tree has to be proven")
	case d.s.toReview(p):
		d.rule(p.Number, gateMerge, decideReview, "the conflict was resolved, so the merged tree has to be reviewed")
	default:
		d.rule(p.Number, gateMerge, decideLand, "the conflict was resolved, and there are no verify commands")
	}
}

// judgeRedMerge decides on a merged tree that fails verify.
func (d *decision) judgeRedMerge(p *Phase) {
	if p.Spent < p.Budget {
		d.rule(p.Number, gateMerge, decideRework, "the merged tree fails verify; the phase goes on from it")
		return
	}
	d.finish(p, work.PhaseFailed, work.ReasonVerifyFailed, "the merged tree fails verify and no iteration is left")
}

func leadMerge(s *State, p *Phase, d work.GateDecidedData) Stage {
	switch {
	case p.Merge == nil:
		return ""
	case d.Decision == decideLand:
		return s.toLand(p)
	case d.Decision == decideRed:
		return StageJudge
	case d.Decision == decideReverify:
		return StageReverify
	case d.Decision == decideReview:
		return s.afterProof(p)
	}
	return StageGate
}

func foldMerge(s *State, p *Phase, d folded) {
	switch {
	case p.Merge == nil:
	case d.Decision == decideRed && p.Red != nil:
		p.Judged.Claim = ClaimNone
		p.Record = work.ProofRecord{Commands: s.proofCommands(p.Number), Ran: []work.ProofRun{{On: work.OnMerged}}}
		s.applyRed(p, work.VerifyFinishedData{On: work.OnMerged, Problem: p.Red.Problem, Output: p.Red.Output, Missing: p.Red.Missing})
	case d.Decision == decideResolve:
		p.Kind, p.Reset = IterationResolve, true
	case d.Decision == decideRework:
		// The merged tree is red: the phase goes on from it.
		p.Base, p.Last, p.Tree, p.Reset = p.Merge.Head, p.Merge.Commit, p.Merge.Tree, true
		s.releaseTurn(p)
	}
}
