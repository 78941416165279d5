package orchestrator

import (
	"fmt"

	"forge/internal/work"
)

// The steps that a phase takes without a gate.

// outcomeStep ends a phase whose iteration came to something that nothing can
// follow.
func outcomeStep() gate { return gate{stages: []Stage{StageJudge}, decide: (*decision).judgeOutcome} }

func (d *decision) judgeOutcome(p *Phase) bool {
	switch p.Judged.Outcome {
	case outcomeSetup:
		d.finish(p, work.PhaseFailed, work.ReasonSetupFailed, p.Judged.Detail)
	case work.OutcomeReadonlyViolation:
		d.finish(p, work.PhaseFailed, work.ReasonReadonlyViolation, p.Judged.Detail)
	case work.OutcomeCancelled:
		d.finish(p, work.PhaseCancelled, "", p.Judged.Detail)
	case work.OutcomeRateLimited:
		d.outage(p)
	case work.OutcomeCostLimit:
		if p.Judged.Claim != ClaimDue {
			return false
		}
		d.rule(p.Number, gateClaim, decideNone, "the iteration was ended at its cost limit")
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunLimit, Reason: "the cost limit of an iteration of phase " + p.Number + " was reached"})
	default:
		return false
	}
	return true
}

// limitStep ends a phase whose agent failed or hung too often, or that lacks
// what no agent can give it.
func limitStep() gate { return gate{stages: []Stage{StageJudge}, decide: (*decision).judgeLimits} }

func (d *decision) judgeLimits(p *Phase) bool {
	switch {
	case p.Kind.Free() || !p.atItsLimit():
		return false
	case p.FailedRow >= maxFailedRow:
		d.finish(p, work.PhaseFailed, work.ReasonAgentFailed, fmt.Sprintf("the agent failed %d times in a row: %s", p.FailedRow, p.Judged.Detail))
	case p.HungRow >= maxHungRow:
		d.finish(p, work.PhaseFailed, work.ReasonAgentHung, fmt.Sprintf("the agent hung %d times in a row: %s", p.HungRow, p.Judged.Detail))
	default:
		d.finish(p, work.PhaseFailed, work.ReasonVerifyFailed, p.obstacle())
	}
	return true
}

// atItsLimit says that no further iteration of p makes sense.
func (p *Phase) atItsLimit() bool {
	return p.FailedRow >= maxFailedRow || p.HungRow >= maxHungRow || p.Judged.Missing
}

// budgetStep ends a phase whose iterations are used up.
func budgetStep() gate { return gate{stages: []Stage{StageJudge}, decide: (*decision).judgeBudget} }

func (d *decision) judgeBudget(p *Phase) bool {
	used := p.Spent >= p.Budget
	if used {
		d.finish(p, work.PhaseFailed, work.ReasonBudgetExhausted, fmt.Sprintf("%d of %d iterations used; %s", p.Spent, p.Budget, p.obstacle()))
	}
	return used
}

// outageStep ends the wait for a provider that was out.
func outageStep() gate {
	return gate{stages: []Stage{StageOutage}, decide: func(d *decision, p *Phase) bool {
		if !d.now.Before(p.Outage.Until) {
			d.phase(p.Number, work.OutageEnded, OutageData{Tries: p.Outage.Tries})
		}
		return true
	}}
}

func foldStep() gate {
	return gate{stages: []Stage{StageSub}, decide: func(d *decision, p *Phase) bool { d.fold(p); return true }}
}

// fold takes a finished sub-phase back into its parent.
func (d *decision) fold(p *Phase) {
	child := d.s.Phases[p.Child]
	if child == nil || child.Stage != StageFinished {
		return
	}
	data := SubPhaseFoldedData{Number: child.Number, Outcome: child.Outcome, Reason: child.Reason, Spent: child.Spent}
	if child.Outcome == work.PhaseDone {
		data.Commit = child.Last
	}
	d.phase(p.Number, work.SubPhaseFolded, data)
}

// partStep gives a proven sub-phase back to its parent.
func partStep() gate {
	return gate{stages: []Stage{StageProven}, decide: func(d *decision, p *Phase) bool {
		if p.Parent == "" {
			return false
		}
		d.finish(p, work.PhaseDone, "", "")
		return true
	}}
}

// askedStep decides what has to be known of a pull request before anybody is
// asked about it.
func askedStep() gate { return gate{stages: []Stage{StageProven}, decide: (*decision).beforeAsking} }

func pullStep() gate {
	return gate{stages: []Stage{StagePull}, decide: func(d *decision, p *Phase) bool { d.pulled(p); return true }}
}

func landedStep() gate {
	return gate{stages: []Stage{StageLanded}, decide: func(d *decision, p *Phase) bool {
		d.finish(p, work.PhaseDone, "", "")
		return true
	}}
}
