package orchestrator

import (
	"fmt"
	"slices"

	"forge/gates"
	"forge/internal/work"
)

// missing is what the schedules are there for and did not reach.
func (c *coverage) missing() (missing []string) {
	for _, s := range Stages() {
		if !c.stages[s] && s != StagePull && s != StageTrain && s != StageTries && s != StageCouncil {
			missing = append(missing, fmt.Sprintf("no phase reached stage %s", s))
		}
	}
	for _, k := range []work.EventKind{
		work.RunStarted, work.RunResumed, work.RunStopping, work.RunFinished, work.PhaseStarted, work.PhaseReopened, work.PhaseFinished, work.PhaseMerged,
		work.GateDecided, work.FolderStarted, work.FolderFinished, work.IterationStarted, work.IterationFinished, work.VerifyStarted, work.VerifyFinished,
		work.ReviewStarted, work.ReviewFinished, work.ArbiterStarted, work.ArbiterFinished, work.ArbiterDecided, work.MergeStarted, work.MergeFinished, work.LandStarted, work.SubPhaseSpawned, work.SubPhaseFolded, work.CheckpointOpened, work.CheckpointAnswered, work.CheckpointOverdue,
		work.OutageBegan, work.OutageEnded, work.RestStarted, work.RestFinished, work.DeliverStarted, work.DeliverFinished, work.PolicyChanged, work.PhaseTold, work.TellStarted, work.TellFinished, work.PhaseAdded, work.JobDecided, work.Warned,
		work.CriteriaAnswered, work.CriterionEvidenced, work.PromotionDecided,
	} {
		missing = append(missing, unmet(c.kinds, "no schedule reached %s", string(k))...)
	}
	for _, o := range []work.RunOutcome{work.RunCompleted, work.RunFailed, work.RunCancelled, work.RunFrozen, work.RunLimit, work.RunInterrupted} {
		missing = append(missing, unmet(c.outcomes, "no process ended %s", string(o))...)
	}
	// cost_limit ends the run instead.
	missing = append(missing, unmet(c.reasons, "no phase ended for the reason %s",
		work.ReasonBudgetExhausted, work.ReasonStale, work.ReasonBlocked, work.ReasonAgentFailed, work.ReasonAgentHung, work.ReasonVerifyFailed, work.ReasonEvidenceChanged, work.ReasonReviewFailed, work.ReasonReviewUnknown,
		work.ReasonReadonlyViolation, work.ReasonMergeConflict, work.ReasonSetupFailed, work.ReasonRejected, work.ReasonInternal,
		work.ReasonDependencyFailed, work.ReasonUser,
	)...)
	missing = append(missing, unmet(c.faults, "no schedule met %q",
		"crash", "crash before the write", "crash between event and effect", "crash between effect and event", "crash with an answer unwritten",
		"duplicate", "stop", "deadline", "cancelled", "a blocker", "a question", "a lack", "an assumption", "a lesson", "a message", "a message to no phase", "a message without a word", "a huge message", "a message twice", "a message taken as its iteration ended", "a message taken, and nobody knows", "a message that broke on its way", "a message taken and never given", "result after a stop", "broke", "a resource ran out", "days pass", "the clock is set back",
		"silence", "negative usage", "usage that is no number", "absurd usage", "huge text", "unknown outcome", "many sub-phases", "nothing ran", "disturbed",
		"the evidence of a part is another", "a control without time", "tests that were made softer", "a judge that is installed otherwise", "what was left tried", "a deaf test found at the end", "what was left broke",
		"a proposal that cannot be used", "a part done", "a part failed", "a part skipped", "commands of a part that nobody saw",
		"proven before", "a proof of something else", "a proof that is too old", "a proof from the future", "another toolchain",
		"answer for another revision", "answer to an unknown checkpoint", "expired", "unknown answer", "feedback without a word", "doubled answer",
		"todos that cannot be used", "too many or too few todos", "a completion that cannot be read", "two completions", "a checkpoint that cannot be read", "a level that cannot be read", "no usable review", "a review of a phase that is over", "a fail without a finding", "a pass with findings", "files left out", "an unknown severity", "a critical finding accepted without a word",
		"a criterion without evidence", "an unknown criterion", "evidence by verify", "evidence by reviewer", "evidence by person", "promoted Done", "promoted InReview",
		"refused at the door", "asked again", "an answer before the expiry", "an answer heard after the expiry", "expiry of what has none", "crash with an expiry unwritten", "reopened", "resumed when it was over", "resumed after a limit", "resumed after frozen", "resumed after interrupted",
	)...)
	for _, g := range theGates.rows {
		for decision := range g.moves {
			if decision == decideRed {
				continue // see TestSimulationOfTrains
			}
			if !slices.ContainsFunc(g.names, func(name string) bool { return c.gates[name+" "+decision] > 0 }) && g.is == nil {
				missing = append(missing, fmt.Sprintf("gate %q never decided %s", g.names, decision))
			}
		}
	}
	for gate, decisions := range map[string][]string{
		PointBaseline:                      {decideGo, decideAsk, decideStop},
		string(gates.PointPhaseStart):      {decideGo, decideAsk, decideReject, decideStop},
		string(gates.PointIteration):       {decideGo, decideAsk, decideApprove, decideReject, decideStop},
		string(gates.PointStale):           {decideAsk, decideContinue, decidePivot, decideStop},
		string(gates.PointSubPhase):        {decideAsk, decideApprove, decideReject},
		string(gates.PointDecompose):       {decideSplit, decideAsk, decideApprove, decideReject, decideRework},
		string(gates.PointPhaseTransition): {decideGo, decideAsk, decideRework, decideReject, decideStop},
		string(gates.PointFinal):           {decideGo, decideAsk, decideRework, decideReject, decideNothing, decideStop},
		string(gates.PointPromote):         {decideGo, decideAsk, decideRework, decideReject},
		gateClaim:                          {decideClaimed, decideNone},
		gateEvidence:                       {decideChanged, decideAsk, decideGo, decideReject, decideRework},
		gateStop:                           {decideReject},
		gateJob:                            {decideGo},
		string(gates.PointPlanInitial):     {decideGo, decideAsk, decideRework, decideReject, decideStop},
		string(gates.PointPlanLater):       {decideGo, decideAsk, decideRework, decideReject},
		string(gates.PointTactical):        {decideGo, decideAsk, decideRework, decideReject},
		"ckpt.deliverable":                 {decideAsk, decideGo, decideRework, decideReject},
		"ckpt.notes":                       {decideAsk, decideGo, decideRework, decideReject},
		string(gates.PointQuestion):        {decideAsk, decideAnswer, decideAlone, decideRepeat, decideReject, decideStop},
		string(gates.PointBlocker):         {decideAsk, decideAnswer, decideAlone, decideRepeat, decideReject, decideStop},
		gateMessage:                        {decideGo, decideNone, decideRework},
		gateReview:                         {decideReview, decideAskAgain, decideArbiter, decideGo},
		gateArbiter:                        {decideAsk},
		string(gates.PointFindings):        {decideAsk, decideGo, decideFix, decideReject},
		gateMerge:                          {decideLand, decideReverify, decideResolve, decideRework, decideReview},
	} {
		for _, d := range decisions {
			missing = append(missing, unmet(c.gates, "no gate decided %s", gate+" "+d)...)
		}
	}
	return missing
}
