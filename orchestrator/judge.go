package orchestrator

import (
	"fmt"
	"strings"
	"time"

	"forge/gates"
	"forge/internal/stuck"
	"forge/internal/text"
	"forge/internal/work"
)

// After so many in a row a phase fails.
const (
	maxFailedRow = 3
	maxHungRow   = 2
)

// judge decides what follows from an iteration, in this order: outcome,
// readonly, claim and verify, sub-phases, stale check, budget.
func (d *decision) judge(p *Phase) {
	switch p.Judged.Outcome {
	case outcomeSetup:
		d.finish(p, work.PhaseFailed, work.ReasonSetupFailed, p.Judged.Detail)
		return
	case outcomeEvidence:
		detail := tellFloor(p.floor()) + ": " + p.tellEvidence()
		d.rule(p.Number, gateEvidence, decideChanged, detail)
		d.finish(p, work.PhaseFailed, work.ReasonEvidenceChanged, detail)
		return
	case outcomeDisturbed:
		d.rule(p.Number, gateEvidence, decideDisturbed, p.Judged.Detail)
		d.finish(p, work.PhaseFailed, work.ReasonProofDisturbed, p.Judged.Detail)
		return
	case work.OutcomeReadonlyViolation:
		d.finish(p, work.PhaseFailed, work.ReasonReadonlyViolation, p.Judged.Detail)
		return
	case work.OutcomeCancelled:
		d.finish(p, work.PhaseCancelled, "", p.Judged.Detail)
		return
	case work.OutcomeRateLimited:
		d.outage(p)
		return
	case work.OutcomeCostLimit:
		if p.Judged.Claim == ClaimDue {
			d.rule(p.Number, gateClaim, decideNone, "the iteration was ended at its cost limit")
			d.run(work.RunStopping, RunStoppingData{Outcome: work.RunLimit, Reason: "the cost limit of an iteration of phase " + p.Number + " was reached"})
			return
		}
	}
	if len(p.Stops) > 0 && !p.claiming() {
		// What is claimed is proven first: then the stop and the gates before
		// the merge share one record.
		if !d.passStops(p) {
			d.stop(p)
		}
		return
	}
	if d.asks(p) {
		return
	}
	if p.FailedRow < maxFailedRow && p.HungRow < maxHungRow && !p.Judged.Missing && d.hears(p) {
		return
	}
	if p.Kind.Free() {
		d.judgeFree(p)
		return
	}
	if p.Merge != nil {
		d.judgeRedMerge(p)
		return
	}
	switch {
	case p.FailedRow >= maxFailedRow:
		d.finish(p, work.PhaseFailed, work.ReasonAgentFailed, fmt.Sprintf("the agent failed %d times in a row: %s", p.FailedRow, p.Judged.Detail))
	case p.HungRow >= maxHungRow:
		d.finish(p, work.PhaseFailed, work.ReasonAgentHung, fmt.Sprintf("the agent hung %d times in a row: %s", p.HungRow, p.Judged.Detail))
	case p.Judged.Missing:
		d.finish(p, work.PhaseFailed, work.ReasonVerifyFailed, p.obstacle())
	case p.Judged.Claim == ClaimDue && p.claims():
		d.claim(p)
	case len(p.Requests) > 0:
		d.subPhase(p)
	case p.Judged.Stalling && (p.Blocked.Same != "" || p.verdict().State == stuck.Stuck):
		d.stale(p)
	case p.Spent >= p.Budget:
		d.finish(p, work.PhaseFailed, work.ReasonBudgetExhausted, fmt.Sprintf("%d of %d iterations used; %s", p.Spent, p.Budget, p.obstacle()))
	default:
		d.mayIterate(p)
	}
}

// obstacle is what stood between the last iteration and the end of the phase.
func (p *Phase) obstacle() string {
	switch {
	case p.Judged.Obstacle != "":
		return p.Judged.Obstacle
	case !p.Judged.Outcome.KeepsClaim():
		return fmt.Sprintf("the last one ended %s: %s", p.Judged.Outcome, p.Judged.Detail)
	}
	return fmt.Sprintf("the last message does not say the promise %q", text.ClipJSON(strings.TrimSpace(p.Plan.Promise), 100))
}

// otherPromise says what was promised and what is to be.
func (p *Phase) otherPromise(said string) string {
	return fmt.Sprintf("the last message says the promise %q instead of %q", text.ClipJSON(said, 100), text.ClipJSON(strings.TrimSpace(p.Plan.Promise), 100))
}

func (d *decision) claim(p *Phase) {
	if d.s.ofJob(p) {
		d.claimJob(p)
		return
	}
	promise := strings.TrimSpace(p.Plan.Promise)
	said, one := work.Claim(p.Judged.Claims)
	switch {
	case len(p.Judged.Markers) > 0:
		d.rule(p.Number, gateClaim, decideNone, tellMarkers(p))
	case !one:
		d.rule(p.Number, gateClaim, decideNone, "the last message holds different promises")
	case p.Proving.Red != "" && p.Proving.Red == p.Tree:
		d.rule(p.Number, gateClaim, decideNone, judgedAlready)
	case said != promise:
		d.rule(p.Number, gateClaim, decideNone, p.otherPromise(said))
	default:
		d.rule(p.Number, gateClaim, decideClaimed, "the promise stands in the last message")
	}
}

// claiming says that the iteration is about to be proven.
func (p *Phase) claiming() bool {
	switch {
	case p.Judged.Claim != ClaimDue || p.Kind == IterationResolve || p.Asking.questions():
		return false
	case p.Kind.Free():
		return p.badFree() == ""
	}
	return p.Merge == nil && p.claims()
}

// claims says that the agent claims the end of the phase, or of the job.
func (p *Phase) claims() bool { return len(p.Judged.Claims) > 0 || p.Complete != nil }

// badFree is why an iteration outside the budget came to nothing; "" when it
// did not.
func (p *Phase) badFree() string {
	switch {
	case !p.Judged.Outcome.KeepsClaim():
		return fmt.Sprintf("the iteration ended %s: %s", p.Judged.Outcome, p.Judged.Detail)
	case len(p.Judged.Markers) > 0:
		return tellMarkers(p)
	case p.Judged.Claim == ClaimNone:
		return "verify fails: " + text.FirstLine(text.Plain(p.Verified), 200)
	case p.Todos != "" && p.Kind != IterationResolve:
		return p.unborne()
	}
	return ""
}

func tellMarkers(p *Phase) string {
	return "conflict markers are left in " + strings.Join(p.Judged.Markers, ", ")
}

// judgeFree judges an iteration outside the budget: nobody waits for a new
// promise, and there is no second one.
func (d *decision) judgeFree(p *Phase) {
	bad := p.badFree()
	if p.Kind == IterationResolve {
		switch {
		case bad != "":
			d.finish(p, work.PhaseFailed, work.ReasonMergeConflict, bad)
		case len(p.Set.Verify) > 0:
			d.rule(p.Number, gateMerge, decideReverify, "the conflict was resolved, so the merged tree has to be proven")
		case d.s.toReview(p):
			d.rule(p.Number, gateMerge, decideReview, "the conflict was resolved, so the merged tree has to be reviewed")
		default:
			d.rule(p.Number, gateMerge, decideLand, "the conflict was resolved, and there are no verify commands")
		}
		return
	}
	switch {
	case bad != "" && p.Kind == IterationFix:
		d.rule(p.Number, gateReview, decideArbiter, "the fix came to nothing: "+bad)
	case len(p.Judged.Markers) > 0:
		d.finish(p, work.PhaseFailed, work.ReasonMergeConflict, bad)
	case bad != "":
		d.finish(p, work.PhaseFailed, work.ReasonVerifyFailed, bad)
	default:
		d.rule(p.Number, gateClaim, decideClaimed, "a "+string(p.Kind)+" that was asked for needs no new promise")
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

// The waits between two tries of a provider that names no reset time.
const (
	firstOutageWait = 30 * time.Second
	mostOutageWait  = 5 * time.Minute
)

func (d *decision) outage(p *Phase) {
	since, tries := d.now, 0
	if p.Outage != nil {
		since, tries = p.Outage.Since, p.Outage.Tries
	}
	wait := mostOutageWait
	if tries < 4 {
		wait = min(firstOutageWait<<tries, mostOutageWait)
	}
	until := d.now.Add(wait)
	if at := p.Judged.ResetAt; at != nil && at.After(d.now) {
		until = *at
	}
	most := time.Duration(d.s.Spec.Settings.OutageWaitSecs) * time.Second
	if until.After(since.Add(most)) {
		d.run(work.RunStopping, RunStoppingData{
			Outcome: work.RunLimit,
			Reason:  fmt.Sprintf("the provider of phase %s is out (%s), longer than agent.outage_wait", p.Number, text.ClipJSON(p.Judged.Detail, 200)),
		})
		return
	}
	d.phase(p.Number, work.OutageBegan, OutageData{Until: until.UTC(), Detail: text.ClipJSON(p.Judged.Detail, 200), Tries: tries + 1})
}

func (d *decision) stale(p *Phase) {
	seen := p.verdict()
	dec := gates.For(d.s.Spec.Policy).OnNoProgress(gates.StaleFacts{
		Phase: p.Number, Threshold: p.Stale.Threshold, Count: p.Stale.Count, Pivoted: p.Stale.Pivoted, Blocker: p.Blocked.Same,
		Pattern: string(seen.Pattern), Evidence: seen.Evidence,
	})
	switch dec.Verdict {
	case gates.Go:
		d.strategy(p.Number, gates.PointStale, decideContinue, dec)
	case gates.Pivot:
		d.strategy(p.Number, gates.PointStale, decidePivot, dec)
	case gates.Ask:
		question, facts := fmt.Sprintf("Phase %s %q made no progress for %d iterations. What now?", p.Number, p.Plan.Name, p.Stale.Count), strings.Join(p.History, "\n")
		if seen.Evidence != "" {
			if p.Stale.Count < p.Stale.Threshold {
				question = fmt.Sprintf("Phase %s %q is stuck. What now?", p.Number, p.Plan.Name)
			}
			facts = seen.Evidence + "\n" + facts
		}
		if blocker := p.Blocked.Same; blocker != "" {
			question = fmt.Sprintf("Phase %s %q is blocked: the agent says again what stops it. What now?", p.Number, p.Plan.Name)
			facts = "What stops it, in its own words: " + blocker + "\n" + facts
		}
		d.open(p, string(gates.PointStale), dec.Failed, question, facts)
	default:
		d.strategy(p.Number, gates.PointStale, decideStop, dec)
		if blocker := p.Blocked.Same; blocker != "" {
			d.finish(p, work.PhaseFailed, work.ReasonBlocked, "two iterations in a row without progress, stopped by the same: "+blocker)
			return
		}
		if seen.Evidence != "" {
			d.finish(p, work.PhaseFailed, work.ReasonStale, "stuck again after the pivot; "+p.obstacle()+"; "+strings.TrimSuffix(seen.Evidence, "."))
			return
		}
		d.finish(p, work.PhaseFailed, work.ReasonStale, fmt.Sprintf("no progress for %d iterations after the pivot; %s", p.Stale.Count, p.obstacle()))
	}
}

// subPhase decides on the first request that waits.
func (d *decision) subPhase(p *Phase) {
	r := p.Requests[0]
	facts := gates.SubPhaseFacts{Parent: p.Number, Name: r.Name, Requested: r.Budget, Remaining: p.Budget - p.Spent, Spawned: p.Spawned}
	if why := d.s.forbidden(p, r); why != "" {
		d.rule(p.Number, string(gates.PointSubPhase), decideReject, why)
		return
	}
	dec := gates.For(d.s.Spec.Policy).MaySpawn(facts)
	switch {
	case dec.Verdict == gates.Go:
		d.strategy(p.Number, gates.PointSubPhase, decideApprove, dec)
		d.spawn(p, r)
	case dec.Verdict == gates.Ask && facts.Requested > facts.Remaining:
		d.rule(p.Number, string(gates.PointSubPhase), decideReject, fmt.Sprintf("it asks for %d iterations, %d are left", facts.Requested, facts.Remaining))
	case dec.Verdict == gates.Ask && d.s.Spec.AnswerYes:
		d.gate(p.Number, string(gates.PointSubPhase), decideApprove, "flag:--yes", dec.Reason)
		d.spawn(p, r)
	case dec.Verdict == gates.Ask:
		d.open(p, string(gates.PointSubPhase), dec.Failed, fmt.Sprintf("Spawn sub-phase %q of phase %s?", r.Name, p.Number), fmt.Sprintf("budget %d of the %d iterations that are left; promise %q\n%s", r.Budget, facts.Remaining, r.Promise, r.Reasoning))
	default:
		d.strategy(p.Number, gates.PointSubPhase, decideReject, dec)
	}
}

// forbidden says why a sub-phase cannot be spawned whatever the policy says.
func (s *State) forbidden(p *Phase, r work.SubPhaseRequest) string {
	switch {
	case p.Parent != "":
		return "sub-phases do not nest"
	case strings.Contains(p.Number, "."):
		return "the phase's own number is already that of a part"
	case p.Spawned >= maxSubPhases:
		return fmt.Sprintf("a phase may spawn at most %d sub-phases", maxSubPhases)
	case r.Budget < 1:
		return "its budget is not a number of iterations"
	}
	plan := work.Plan{Phases: []work.Phase{{Number: "0", Name: r.Name, Promise: r.Promise}}}
	if problems := plan.Check(); len(problems) > 0 {
		return problems[0].What
	}
	promise := strings.TrimSpace(r.Promise)
	for _, n := range s.Order {
		if strings.TrimSpace(s.Phases[n].Plan.Promise) == promise {
			return "its promise is that of phase " + n
		}
	}
	return ""
}

func (d *decision) spawn(p *Phase, r work.SubPhaseRequest) {
	number := ""
	for i := p.Spawned + 1; ; i++ {
		number = fmt.Sprintf("%s.%d", p.Number, i)
		if d.s.Phases[number] == nil {
			break
		}
	}
	d.phase(p.Number, work.SubPhaseSpawned, SubPhaseSpawnedData{Number: number, Request: r})
}
