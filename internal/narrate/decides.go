package narrate

import (
	"forge/internal/work"
	"forge/orchestrator"
)

// Decides says that events of a kind say why a run went as it did: the decisions,
// and what they rest on.
func Decides(kind work.EventKind) bool {
	switch kind {
	case
		work.RunStarted, work.RunResumed, work.RunStopping, work.RunFinished,
		work.PhaseStarted, work.PhaseReopened, work.PhaseMerged, work.PhaseFinished,
		work.GateDecided, work.CheckpointOpened, work.CheckpointAnswered, work.CheckpointOverdue, work.PullDecided, work.PolicyChanged, work.PhaseTold, work.TellFinished, work.RewindAsked, work.PhaseRewound,
		work.FolderFinished, work.IterationFinished, work.VerifyFinished, work.ControlFinished, work.RestFinished, work.MergeFinished, work.TrainStarted, work.TrainFinished, work.TrainDecided,
		work.ReviewFinished, work.ArbiterFinished, work.ArbiterDecided,
		work.CriteriaAnswered, work.CriterionEvidenced, work.PromotionDecided,
		work.SubPhaseSpawned, work.SubPhaseFolded, work.TriesBegan, work.TryStopped, work.TryChosen, work.CouncilBegan, work.VoteFinished, work.SynthesisBegan, work.PhaseAdded, work.JobDecided, work.OutageBegan, work.AgentSwitched, work.DeliverFinished, work.TogetherFinished, work.TogetherDecided,
		work.LandingDecided, work.HookFinished, work.Warned:
		return true
	}
	return false
}

// Belongs says that an event is about the phase or a sub-phase of it, or that
// none was named.
func Belongs(s *orchestrator.State, phase string, e work.Event) bool {
	if phase == "" || e.Phase == phase {
		return true
	}
	ph := s.View(e.Phase)
	return ph != nil && ph.Parent == phase
}
