package orchestrator

import (
	"cmp"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// The gates beside those of the policy: rules that the core itself decides.
const (
	PointBaseline = "baseline"
	gateClaim     = "claim"
	gateMerge     = "merge"
	gateEvidence  = "evidence"
	gateReview    = "review"
	gateArbiter   = "arbiter"
)

// The decisions that move a phase on.
const (
	decideGo        = "go"
	decideAsk       = "ask"
	decideStop      = "stop"
	decidePivot     = "pivot"
	decideContinue  = "continue"
	decideApprove   = "approve"
	decideReject    = "reject"
	decideClaimed   = "claimed"
	decideNone      = "not_claimed"
	decideNothing   = "nothing_to_land"
	decideAgain     = "verify_again"
	decideChanged   = "changed"
	decideDisturbed = "disturbed"
	decideLand      = "land"
	decideReverify  = "verify"
	decideResolve   = "resolve"
	decideRework    = "rework"
	decideReview    = "review"
	decideArbiter   = "arbiter"
	decideFix       = "fix"
	decideAskAgain  = "ask_again"
)

const (
	reopenFinal  = "final"
	reopenResume = "resume"
)

func applyGate(s *State, p *Phase, e work.Event, d work.GateDecidedData) {
	if p == nil {
		applyRunGate(s, d)
		return
	}
	if isAsk(d.Gate) {
		s.applyAsk(p, d)
		return
	}
	if d.Gate == gateMessage {
		s.applyMessage(p, d)
		return
	}
	if d.Comment != "" {
		p.Comments = append(p.Comments, d.Comment)
	}
	if isStop(d.Gate) {
		s.applyStop(p, d)
		return
	}
	switch d.Gate {
	case gateEdit:
		if d.Decision == decideGo && d.Commit != "" && p.Stage != StageFinished {
			p.Last, p.Tree, p.Reset = d.Commit, "", true
			if len(d.Conflicts) > 0 {
				p.Marked = d.Conflicts // else what is looked for stays so
			}
			if p.Reworking {
				s.Final.Taken = append(slices.Clip(s.Final.Taken), d.Commit)
			}
		}
	case string(gates.PointPhaseTransition):
		switch d.Decision {
		case decideGo:
			p.Stops, p.Stage = nil, StageTurn
			s.Turns = append(s.Turns, p.Number)
		case decideRework:
			p.happened("%s asked for changes: %s", strings.TrimPrefix(d.By, "person:"), text.FirstLine(text.Plain(d.Comment), 200))
			p.SentBack++
			p.Stops, p.Kind, p.Stage = nil, IterationRework, StageGate
		}
	case string(gates.PointIteration):
		switch d.Decision {
		case decideGo:
			p.Stage = StageIterate
		case decideApprove:
			p.Allowed, p.Stage = p.Iteration+1, StageGate
		}
	case gateClaim:
		p.Judged.Claim = ClaimNone
		if d.Decision != decideClaimed {
			p.Judged.Obstacle = d.Reason
			if d.Reason == judgedAlready {
				problem, output, _ := strings.Cut(p.Proving.RedOutput, "\n")
				p.Judged.Obstacle += obstacleOf(": "+problem, problem, output)
				p.Verified = p.Proving.RedOutput
				p.note("You claimed the same tree again, which verify was red on. Change it first.")
			}
			if s.ofJob(p) {
				p.note("The phase is not at its end: %s", d.Reason)
				if p.Kind == IterationWork { // a fix that comes to nothing takes back nothing
					p.Complete = nil
				}
			}
			return
		}
		p.Judged.Claim = ClaimMade
		p.Asking.Due = nil
		switch {
		case len(p.Set.Verify) > 0:
			p.Stage = StageVerify
			return
		default:
			p.Proof = s.byWord()
		}
		p.Stage = s.afterProof(p)
	case string(gates.PointStale):
		if d.Decision == decideAsk {
			return
		}
		p.Judged.Stalling = false
		evidence := p.verdict().Evidence
		p.steered()
		p.Blocked = gates.BlockerTracker{}
		p.Stage = StageJudge
		if d.Decision == decidePivot {
			p.Stale.Pivoted = true
			p.Pivot = s.pivotText(evidence)
			p.Session = ""
		}
	case string(gates.PointSubPhase):
		if d.Decision != decideApprove && d.Decision != decideReject {
			return
		}
		if len(p.Requests) > 0 {
			if d.Decision == decideReject {
				p.note("The sub-phase %q was not spawned: %s", p.Requests[0].Name, d.Reason)
			}
			p.Requests = p.Requests[1:]
		}
		p.Stage = StageJudge
	case gateEvidence:
		if d.Decision == decideChanged && s.reviews(p) && p.Stage == StageEvidence {
			p.Review.Evidence = d.Reason
			p.Stage = s.afterProof(p)
		}
	case gateReview, gateArbiter, string(gates.PointFindings):
		s.applyReviewGate(p, e.Time, d)
	case gateMerge:
		if p.Merge == nil {
			return
		}
		switch d.Decision {
		case decideLand:
			p.Stage = s.toLand(p)
		case decideReverify:
			p.Stage = StageReverify
		case decideReview:
			p.Stage = s.afterProof(p)
		case decideResolve:
			p.Kind, p.Reset = IterationResolve, true
			p.Stage = StageGate
		case decideRework:
			// The merged tree is red: the phase goes on from it.
			p.Base, p.Last, p.Tree, p.Reset = p.Merge.Head, p.Merge.Commit, p.Merge.Tree, true
			s.releaseTurn(p)
			p.Stage = StageGate
		}
	}
}

// byWord is the proof of what no command proves.
func (s *State) byWord() work.Proof {
	if s.Spec.Settings.Verify.None {
		return work.ProofWaived
	}
	return work.ProofClaim
}

// pivotText is the pivot prompt with what was seen before it.
func (s *State) pivotText(evidence string) string {
	prompt := cmp.Or(s.Spec.Settings.Stale.PivotPrompt, gates.DefaultPivotPrompt)
	if evidence == "" {
		return prompt
	}
	return "What Forge saw: " + evidence + "\n\n" + prompt
}

func applyRunGate(s *State, d work.GateDecidedData) {
	switch d.Gate {
	case PointBaseline:
		if d.Decision == decideGo {
			s.Baseline.Stage = BaselinePassed
		}
	case gateJob:
		s.Final.Stage = FinalDeliver
	case string(gates.PointFinal), string(gates.PointPromote), string(gates.PointEvidence):
		switch d.Decision {
		case decideGo:
			s.Final.Stage = FinalDeliver
			s.Final.Approved, _ = strings.CutPrefix(d.By, "person:")
			if !strings.HasPrefix(d.By, "person:") {
				s.Final.Approved = ""
			}
		case decideReject:
			s.Final.Stage, s.Final.Rejected = FinalDeliver, d.Reason
			if s.Final.Rejected == "" {
				s.Final.Rejected = "rejected by " + d.By
			}
		}
	}
}

func applyDelivered(s *State, _ *Phase, _ work.Event, d DeliverFinishedData) {
	if s.Final.Stage == FinalDeliver {
		s.Final.Stage = FinalOver
		s.Final.Tries++
		s.Delivery = &d.Delivery
	}
}

func applyMergeFinished(s *State, p *Phase, _ work.Event, d MergeFinishedData) {
	if p.Stage != StageTurn {
		return
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
	s.Head, s.LastMerged = d.Commit, p.Number
	p.Files, p.Landed = d.Files, true
	s.releaseTurn(p)
	if d.Pull == 0 {
		s.leavePull(p, "Forge went on without this.")
	}
	p.Pull = nil
	p.Stage = StageLanded
}
