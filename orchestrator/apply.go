package orchestrator

import (
	"encoding/json"
	"fmt"
	"slices"

	"forge/dag"
	"forge/gates"
	"forge/internal/work"
)

// NewState is a run before its first event.
func NewState(run string, spec Spec) (*State, error) {
	if spec.Issue != nil && spec.Job != nil {
		return nil, fmt.Errorf("open run %s: an issue is worked on by a plan, not by a job", run)
	}
	s := &State{
		Run: run, Spec: spec, Head: spec.Base.Commit,
		Phases: map[string]*Phase{}, Open: map[string]*work.Checkpoint{},
		Baseline: Baseline{Stage: BaselinePassed}, version: spec.Policy.Version(),
	}
	if s.Issue = newIssue(spec); s.Issue != nil {
		s.Final.Heard = spec.Issue.Heard
		s.Final.owes(spec.Issue.Threads, s.Head)
		if w := spec.Issue.Pushed; w != nil {
			s.Final.Taken = []string{w.Commit}
		}
		if c := spec.Issue.Conflict; c != nil {
			s.Final.Taken = []string{c.Result}
		}
	}
	if s.Job = newJob(spec); s.Job != nil {
		s.Head = spec.Job.Start
	}
	if err := s.repositories(); err != nil {
		return nil, err
	}
	s.firstBaseline()
	graph, err := dag.New(Nodes(spec.Plan, spec.Settings))
	if err != nil {
		return nil, fmt.Errorf("build the graph of run %s: %w", run, err)
	}
	s.frontier, s.topo = graph.Frontier(), graph.Order()
	for _, ph := range spec.Plan.Phases {
		set, ok := spec.Settings.Phases[ph.Number]
		if !ok {
			return nil, fmt.Errorf("run %s has no settings for phase %s", run, ph.Number)
		}
		s.Phases[ph.Number] = s.newPhase(ph, set, "")
		s.Order = append(s.Order, ph.Number)
	}
	if len(spec.Only) > 0 {
		keep := map[string]bool{}
		for _, n := range spec.Only {
			keep[n] = true
		}
		for _, n := range s.topo {
			if keep[n] {
				continue
			}
			if err := s.frontier.LeaveOut(n); err != nil {
				return nil, fmt.Errorf("leave out phase %s: %w", n, err)
			}
			p := s.Phases[n]
			p.Stage, p.Outcome, p.Reason, p.Proof = StageFinished, work.PhaseDone, work.ReasonUser, work.ProofWaived
		}
	}
	if spec.Fork != nil {
		if err := s.fork(spec.Fork); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *State) newPhase(ph work.Phase, set work.PhaseSettings, parent string) *Phase {
	p := &Phase{View: View{
		Number:   ph.Number,
		Parent:   parent,
		Plan:     ph,
		Set:      set,
		Stage:    StageWaiting,
		Counting: Counting{Budget: set.Budget, Tries: map[int]int{}, Kind: IterationWork},
		Merging:  Merging{Files: -1},
	}}
	p.Stale = gates.NewStaleHandler(s.policyOf(p), s.Spec.Settings.Stale.Threshold)
	return p
}

// Apply folds one event into the state. It is total: an event that does not
// fit (a duplicate, a later one of an unknown kind) changes nothing but Seq.
// It never decides, so that replaying an old journal never decides anew.
func Apply(s *State, e work.Event) error {
	if e.Seq != s.Seq+1 {
		return fmt.Errorf("apply event %d of run %s: %d was due", e.Seq, s.Run, s.Seq+1)
	}
	s.Seq = e.Seq
	if apply, ok := appliers[e.Kind]; ok {
		if err := apply(s, s.Phases[e.Phase], e); err != nil {
			return fmt.Errorf("apply event %d (%s) of run %s: %w", e.Seq, e.Kind, s.Run, err)
		}
	}
	s.clock(s.Phases[e.Phase], e)
	return nil
}

// applier folds one kind; p is the event's phase, nil where it names none.
type applier func(s *State, p *Phase, e work.Event) error

// appliers is a constant table.
var appliers = map[work.EventKind]applier{
	work.RunStarted:         func(s *State, _ *Phase, _ work.Event) error { s.Live = true; return nil },
	work.RunResumed:         with(applyResumed),
	work.RunStopping:        with(applyStopping),
	work.RunFinished:        with(applyRunFinished),
	work.GateDecided:        with(theGates.apply),
	work.PolicyChanged:      with(applyPolicyChanged),
	work.PhaseTold:          with(applyTold),
	work.TellFinished:       with(ofPhase(applyTellFinished)),
	work.RewindAsked:        with(applyRewindAsked),
	work.PhaseRewound:       with(ofPhase(applyRewound)),
	work.PhaseAdded:         with(applyPhaseAdded),
	work.JobDecided:         with(applyJobDecided),
	work.CheckpointOpened:   with(applyOpened),
	work.CheckpointAnswered: with(applyAnswered),
	work.CheckpointOverdue:  with(applyOverdue),
	work.CriteriaAnswered:   with(ofPhase(applyCriteria)),
	work.CriterionEvidenced: with(applyEvidenced),
	work.PromotionDecided:   with(applyPromotion),
	work.VerifyFinished:     with(applyVerified),
	work.HookDue:            with(applyHookDue),
	work.HookFinished:       with(applyHookFinished),
	work.ControlFinished:    with(ofPhase(applyControlled)),
	work.RestFinished:       with(ofPhase(applyRested)),
	work.DeliverFinished:    with(applyDelivered),
	work.TogetherStarted:    with(applyTogetherStarted),
	work.TogetherFinished:   with(applyTogetherFinished),
	work.TogetherDecided:    with(applyTogetherDecided),
	work.PhaseStarted:       with(ofPhase(applyPhaseStarted)),
	work.PhaseReopened:      with(ofPhase(applyReopened)),
	work.PhaseFinished:      with(ofPhase(applyPhaseFinished)),
	work.FolderFinished:     with(ofPhase(applyFolder)),
	work.IterationStarted:   with(ofPhase(applyIterationStarted)),
	work.IterationFinished:  with(ofPhase(applyIterationFinished)),
	work.ReviewStarted:      with(ofPhase(applyReviewStarted)),
	work.ReviewFinished:     with(ofPhase(applyReviewFinished)),
	work.ArbiterStarted:     with(ofPhase(applyArbiterStarted)),
	work.ArbiterFinished:    with(ofPhase(applyArbiterFinished)),
	work.ArbiterDecided:     with(ofPhase(applyArbiterDecided)),
	work.OutageBegan:        with(ofPhase(applyOutage)),
	work.AgentSwitched:      with(ofPhase(applySwitched)),
	work.OutageEnded:        with(ofPhase(func(s *State, p *Phase, _ work.Event, _ OutageData) { p.Stage = StageGate })),
	work.SubPhaseSpawned:    with(ofPhase(applySpawned)),
	work.SubPhaseFolded:     with(ofPhase(applyFolded)),
	work.TriesBegan:         with(ofPhase(applyTriesBegan)),
	work.TryStopped:         with(ofPhase(applyTryStopped)),
	work.TryChosen:          with(ofPhase(applyTryChosen)),
	work.CouncilBegan:       with(ofPhase(applyCouncilBegan)),
	work.VoteStarted:        with(ofPhase(applyVoteStarted)),
	work.VoteFinished:       with(ofPhase(applyVoteFinished)),
	work.SynthesisBegan:     with(ofPhase(applySynthesisBegan)),
	work.MergeStarted:       with(ofPhase(func(s *State, p *Phase, _ work.Event, _ EffectData) { s.takeTurn(p) })),
	work.MergeFinished:      with(ofPhase(applyMergeFinished)),
	work.TrainStarted:       with(applyTrainStarted),
	work.TrainFinished:      with(applyTrainFinished),
	work.TrainDecided:       with(applyTrainDecided),
	work.VerifyStarted:      with(trainBegan),
	work.ControlStarted:     with(trainBegan),
	work.PhaseMerged:        with(ofPhase(applyMerged)),
	work.PublishBegan:       with(ofPhase(applyPublishStarted)),
	work.PublishFinished:    with(ofPhase(applyPublishFinished)),
	work.PullDue:            with(ofPhase(applyPullDue)),
	work.PullFinished:       with(ofPhase(applyPullFinished)),
	work.PullDecided:        with(ofPhase(applyPullDecided)),
	work.LandRefused:        with(ofPhase(applyLandRefused)),
	work.CloseFinished:      with(applyClosed),
}

func with[T any](f func(*State, *Phase, work.Event, T)) applier {
	return func(s *State, p *Phase, e work.Event) error {
		var d T
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return fmt.Errorf("read its data: %w", err)
		}
		f(s, p, e, d)
		return nil
	}
}

// ofPhase drops events of phases that the run does not have.
func ofPhase[T any](f func(*State, *Phase, work.Event, T)) func(*State, *Phase, work.Event, T) {
	return func(s *State, p *Phase, e work.Event, d T) {
		if p != nil {
			f(s, p, e, d)
		}
	}
}

func applyResumed(s *State, _ *Phase, _ work.Event, d RunResumedData) {
	s.Live, s.Outcome = true, ""
	s.hooksAgain()
	s.Fresh = s.Fresh || d.Fresh
	// A run that was being cancelled when its process died stays cancelled.
	if s.Stopping != nil && !s.Stopping.Outcome.Final() {
		s.Stopping = nil
	}
	s.closesAgain()
	s.togetherAgain()
	s.Ledger.forfeit()
	if d.AcceptUnknown {
		s.Ledger.accept()
	}
	if d.Cost != nil {
		s.Spec.Settings.Cost = *d.Cost
	}
	if d.MaxPhases > 0 && s.Spec.Job != nil {
		job := *s.Spec.Job
		job.MaxPhases = d.MaxPhases
		s.Spec.Job = &job
	}
	for n, b := range d.Budgets {
		if p := s.Phases[n]; p != nil {
			p.Budget = b
		}
	}
	if s.Baseline.Stage == BaselineRed {
		s.Baseline.Stage = BaselineDue
	}
	s.Away = nil // resuming asks every provider again, whatever it said last
	for _, n := range s.working {
		p := s.Phases[n]
		p.Usage.forfeit()
		if d.AcceptUnknown {
			p.Usage.accept()
		}
		p.Reset = true
		p.takeBack()
		p.Review.takeBack()
		p.Contest.takeBack()
		if p.Stage == StageOutage || p.Stage == StageJudge && p.Judged.Outcome == work.OutcomeRateLimited {
			// Resuming asks the provider again, whatever it said last.
			p.Stage = StageGate
		}
		p.Outage = nil
		if p.Pull != nil {
			p.Pull.Refused = ""
		}
	}
}

// takeBack forgets an iteration that has begun and not finished: it runs again
// under the same number, when its gate finds that there is money for it.
func (p *Phase) takeBack() {
	if p.Begun {
		p.Begun = false
		p.Iteration--
		if p.Past.Anew {
			p.Past.Anew, p.Session = false, "" // what was asked for during it holds for the next try
		}
	}
	if p.Stage == StageIterate {
		p.Stage = StageGate
	}
}

func applyRunFinished(s *State, _ *Phase, _ work.Event, d work.RunFinishedData) {
	s.Live, s.Outcome, s.Reason, s.Stopping = false, d.Outcome, d.Reason, nil
	if d.Outcome.Final() {
		s.Hooks.Ends++
		s.Open = map[string]*work.Checkpoint{}
	}
}

func applyOpened(s *State, p *Phase, _ work.Event, cp work.Checkpoint) {
	s.Asked++
	s.Open[cp.ID] = &cp
	s.hooksOf(p).Opened++
	switch {
	case p != nil:
		if p.Stage == StageReady || p.Stage == StageWaiting {
			s.enter(p)
		}
		if p.Stage != StageAsked {
			p.AskedAt, p.Stage = p.Stage, StageAsked
		}
		s.propose(p)
		if isStop(cp.Kind) && p.Merge != nil {
			// It goes on from the merged tree, and holds up nobody's merge.
			p.Base, p.Last, p.Tree, p.Reset = p.Merge.Head, p.Merge.Commit, p.Merge.Tree, true
			p.Kind = IterationRework
			s.releaseTurn(p)
		}
	case cp.Kind == PointBaseline:
		s.Baseline.Stage = BaselineAsked
	default:
		s.Final.Stage = FinalAsked
		s.Final.Revision = cp.Revision
	}
}

// applyAnswered closes a checkpoint. Its phase lines up behind those that are
// under way, so that it displaces none of them.
func applyAnswered(s *State, p *Phase, _ work.Event, d CheckpointAnsweredData) {
	if d.Refused != "" {
		return
	}
	delete(s.Open, d.ID)
	s.keepFollowUps(p, d)
	if p == nil {
		s.Final.Heard = append(slices.Clip(s.Final.Heard), d.Heard...)
		if d.Status == work.CheckpointChangesRequested {
			s.Final.owes(d.Threads, s.Head)
		}
	}
	s.lineUp(p)
}

// lineUp puts a phase that waited for a person behind those that are under way.
func (s *State) lineUp(p *Phase) {
	for ; p != nil; p = s.Phases[p.Parent] {
		s.leave(p)
		s.enter(p)
	}
}

// enter makes p one of the phases that settle looks at.
func (s *State) enter(p *Phase) {
	for _, n := range s.working {
		if n == p.Number {
			return
		}
	}
	s.working = append(s.working, p.Number)
}

func (s *State) leave(p *Phase) {
	for i, n := range s.working {
		if n == p.Number {
			s.working = append(s.working[:i:i], s.working[i+1:]...)
			return
		}
	}
}

func (s *State) takeTurn(p *Phase) {
	s.Merger = p.Number
	s.dropTurn(p)
}

func (s *State) dropTurn(p *Phase) {
	for i, n := range s.Turns {
		if n == p.Number {
			s.Turns = append(s.Turns[:i:i], s.Turns[i+1:]...)
			return
		}
	}
}

func (s *State) releaseTurn(p *Phase) {
	s.alights(p)
	s.dropTurn(p)
	if s.Merger == p.Number {
		s.Merger = ""
	}
	p.Merge = nil
}
