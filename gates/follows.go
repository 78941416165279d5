package gates

// Follows is what comes of an answer, in a sentence for each; "" = nothing is
// known of it. Verb is what saying yes does, in two or three words.
type Follows struct {
	Verb     string `json:"verb"`
	Approved string `json:"approved"`
	Changes  string `json:"changes_requested"`
	Rejected string `json:"rejected"`
}

// FollowsOf is what comes of an answer at a point. Where Choices are more than
// the three answers, their labels say it, and nothing is said here. ofIssue says
// that a result is asked about that belongs to an issue.
func FollowsOf(pt Point, ofIssue bool) Follows {
	const again = "The agent does it again with your comments, and you are asked again."
	const failed = "The phase fails; nothing of it is merged."
	landed := Follows{"Approve and land it", "The result is merged into its target branch, unless something is in the way.", again, "Nothing is merged: the work stays on its own branch, and the run fails."}
	if ofIssue {
		landed.Rejected = "Nothing is merged: the work stays on its own branch, and the issue stays in review."
	}
	switch pt {
	case PointPhaseStart:
		return Follows{"Start it", "The agent begins this phase.", "The agent begins, with your comment.", "The phase is skipped, and so is what depends on it."}
	case PointIteration:
		return Follows{"Go on", "The agent is called once more.", "The agent is called once more, with your comment.", failed}
	case PointFindings:
		return Follows{"Accept as it is", "The phase goes on although the reviewers object.", "The agent mends what you name, and it is reviewed again.", failed}
	case PointPhaseTransition:
		return Follows{"Approve and merge", "The phase is merged into the run's branch, and what depends on it begins.", again, failed}
	case PointEvidence:
		landed.Approved = "The result is merged, and the tests in it are what later work is held against."
		return landed
	case PointFinal, PointFinalOutput, PointPromote:
		return landed
	case PointPlanInitial, PointPlanLater:
		return Follows{"Approve the plan", "The job is done by this plan.", "The agent plans again with your comments, and you are asked again.", "The job is cancelled."}
	case PointTactical:
		return Follows{"Approve and go on", "What was done is merged, and the job goes on.", "The agent plans again with your comments, on the work that is not merged.", "The job is cancelled; what was merged before is kept."}
	case PointQuestion:
		return Follows{"Answer", "The agent goes on with your answer.", "The agent goes on with your comment as the answer.", "The agent decides by itself, and writes down what it assumed."}
	case PointDecompose:
		return Follows{"Approve the parts", "The parts are done one after the other, each proven, then the phase as a whole.", "The agent proposes other parts, with your comments, and you are asked again.", "The phase is not split; the agent goes on with it as one."}
	case PointBlocker:
		return Follows{"Answer", "The agent goes on with what you say.", "The agent goes on with your comment.", "The phase fails as blocked; nothing of it is merged."}
	case PointIntent, PointContext, PointAction, PointStale, PointSubPhase, PointTries, AnyCheckpoint:
		return Follows{}
	}
	if pt.isCheckpoint() {
		return Follows{"Approve", "The agent goes on.", "The agent does this step again with your comment.", "The step is stopped; the agent reads why."}
	}
	return Follows{}
}
