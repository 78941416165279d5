package orchestrator

import (
	"fmt"
	"slices"

	"forge/internal/text"
	"forge/internal/work"
)

// Pending says what is to be done now. It is derived from the state and never
// stored: a command that is under way is pending until its result is applied.
func Pending(s *State) []Command {
	if !s.Live {
		return nil
	}
	if s.Stopping != nil {
		return s.pendingCloses()
	}
	if c, due, held := s.pendingHook(nil); due {
		return []Command{c}
	} else if held {
		return nil
	}
	var out []Command
	if s.Baseline.Stage == BaselineDue {
		return []Command{s.baseCommand()}
	}
	if s.Baseline.Stage != BaselinePassed {
		return nil
	}
	granted := s.granted()
	for _, n := range s.working {
		if s.Phases[n].Stage == StageAsked || !granted[s.place(s.Phases[n]).Number] {
			continue
		}
		out = append(out, s.pendingOf(s.Phases[n])...)
	}
	// A wait holds no place, and what people are to see is shown to them at once.
	for _, n := range s.working {
		if p := s.Phases[n]; p.Stage == StageAsked {
			out = append(out, s.pendingOf(p)...)
		}
	}
	for _, p := range s.idle() {
		if c, due, _ := s.pendingHook(p); due {
			out = append(out, c)
		}
	}
	if c, due := s.pendingTrain(); due {
		out = append(out, c)
	}
	if c, due := s.pendingRest(); due {
		out = append(out, c)
	}
	if c, due := s.pendingTogether(); due {
		out = append(out, c)
	} else if s.Final.Stage == FinalDeliver && s.Together == nil {
		out = append(out, s.deliverCommand())
	}
	return append(out, s.pendingCloses()...)
}

// The run's own commands are counted, so that a late result of an earlier one
// is not taken for that of a later.
func (s *State) baseCommand() Command {
	c := Command{ID: s.id("", s.Baseline.Tries+1, 0, string(StepBase)), Step: StepBase, On: work.OnBase, Commit: s.BaseOf(s.Baseline.Repository).Commit, Repository: s.Baseline.Repository}
	if s.warmsUp(s.Baseline.Repository) {
		c.On = work.OnWarm
	}
	return c
}

func (s *State) deliverCommand() Command {
	return Command{ID: s.id("", s.Final.Tries+1, 0, string(StepDeliver)), Step: StepDeliver, Commit: s.Head}
}

// granted are the nodes that have one of the max_parallel places: those that
// came up first. One that was answered lines up again at the end; the one that
// merges goes before all, since those at their turn wait for it.
func (s *State) granted() map[string]bool {
	granted, places := map[string]bool{}, max(s.Spec.Settings.MaxParallel, 1)
	if p := s.Phases[s.Merger]; p != nil && s.holds(p) && slices.Contains(s.working, s.Merger) {
		granted[s.Merger] = true
	}
	if s.Train != nil {
		for _, n := range s.Train.Members {
			if p := s.Phases[n]; s.holds(p) && slices.Contains(s.working, n) {
				granted[n] = true
			}
		}
	}
	for _, n := range s.working {
		if p := s.Phases[n]; s.holds(p) && len(granted) < places {
			granted[n] = true
		}
	}
	return granted
}

func (s *State) pendingOf(p *Phase) []Command {
	if c, due, held := s.pendingHook(p); due {
		return []Command{c}
	} else if held {
		return nil
	}
	switch p.Stage {
	case StageReview:
		return s.pendingReviews(p)
	case StageCouncil:
		return s.pendingVotes(p)
	case StageArbiter:
		return s.pendingArbiter(p)
	case StageAsked, StagePull:
		if c, ok := s.pendingPull(p); ok {
			return []Command{c}
		}
		return nil
	}
	pending := s.pendingStep
	if p.Stage == StageLand {
		pending = s.pendingLand
	}
	c, ok := pending(p)
	if !ok {
		return nil
	}
	if m, due := s.pendingTell(p); due {
		return []Command{c, m}
	}
	return []Command{c}
}

func (s *State) pendingStep(p *Phase) (Command, bool) {
	try := p.Tries[p.Iteration]
	if p.Iteration == 0 {
		try = p.Reopened + 1 // what it brought along is proven anew
	}
	c := Command{Phase: p.Number, Iteration: p.Iteration, Attempt: max(try, 1)}
	rides := s.Train.has(p.Number)
	if rides && !s.aboard(p) {
		return c, false
	}
	switch p.Stage {
	case StageFolder:
		c.Step, c.Commit = StepFolder, p.Last
		c.Attempt = p.Reopened + 1
	case StageIterate:
		c.Step, c.Kind, c.Commit = StepIterate, p.Kind, p.Last
		if !p.Begun {
			c.Iteration = p.Iteration + 1
			c.Attempt = p.Tries[c.Iteration] + 1
		}
	case StageOutage:
		c.Step, c.Until = StepWait, p.Outage.Until
	case StageVerify:
		c.Step, c.On, c.Commit = StepVerify, work.OnSnapshot, p.Last
	case StageEvidence:
		c.Step, c.On, c.Commit = StepVerify, p.floor(), p.judgedCommit()
	case StageControl:
		c.Step, c.On, c.Commit = StepControl, work.OnSnapshot, p.judgedCommit()
		if p.Merge != nil {
			c.On = work.OnMerged
		}
	case StageReverify, StageTrain:
		c.Step, c.On, c.Commit = StepVerify, work.OnMerged, p.Merge.Commit
	case StageTurn:
		if !s.hasTurn(p) {
			return c, false
		}
		c.Step, c.Commit = StepMerge, p.Last
	case StageLand:
		c.Step, c.Commit = StepLand, p.Merge.Commit
	default:
		return c, false
	}
	step := string(c.Step)
	if c.Step == StepVerify || c.Step == StepControl {
		step += "-" + string(c.On)
	}
	if c.Step == StepWait {
		step += fmt.Sprintf("-%d", p.Outage.Tries)
	}
	if p.Review.Commit != "" && c.Commit != "" && c.Step != StepIterate {
		// A reviewed phase may merge more than once in one iteration.
		step += "-" + text.Short(c.Commit)
	}
	if rides {
		// It may be asked the same again when it goes alone, or with others.
		step += fmt.Sprintf("-b%d", s.Train.Number)
	}
	if p.Pull != nil && c.Step != StepIterate {
		// So may one with a pull request, also the very same commit.
		step += fmt.Sprintf("-p%d-%s", p.Pull.Rounds, text.Short(c.Commit))
	}
	c.ID = s.id(p.Number, c.Attempt, c.Iteration, step)
	return c, true
}

// hasTurn says that p is the one to merge now: one at a time per run, in the
// order in which the phases were proven. One that lost its place to another
// while it waited for a person lets that one go first.
func (s *State) hasTurn(p *Phase) bool {
	if s.Merger != "" {
		return s.Merger == p.Number
	}
	if s.Train != nil || len(s.nextTrain()) > 0 {
		return false
	}
	granted := s.granted()
	for _, n := range s.Turns {
		if granted[n] {
			return n == p.Number
		}
	}
	return false
}

func (s *State) id(phase string, attempt, iteration int, step string) work.CommandID {
	if phase == "" {
		phase = "run"
	}
	return work.CommandID(fmt.Sprintf("%s/%s/%d/%d/%s", s.Run, phase, attempt, iteration, step))
}

// expects says whether the result of c is still awaited: a late or doubled
// result is not. What was under way when a stop came still counts.
func (s *State) expects(c Command) bool {
	if c.Step == StepClose {
		return s.leavingBy(c.ID) >= 0
	}
	if c.Step == StepRest {
		rest, due := s.pendingRest()
		return due && c.ID == rest.ID
	}
	if c.Step == StepTrain {
		train, due := s.pendingTrain()
		return due && c.ID == train.ID
	}
	if p := s.Phases[c.Phase]; p != nil {
		return slices.ContainsFunc(s.pendingOf(p), func(w Command) bool { return w.ID == c.ID })
	}
	switch c.Step {
	case StepHook:
		hook, due, _ := s.pendingHook(nil)
		return due && c.Phase == "" && c.ID == hook.ID
	case StepBase:
		return s.Baseline.Stage == BaselineDue && c.ID == s.baseCommand().ID
	case StepDeliver:
		return s.Final.Stage == FinalDeliver && s.Together == nil && c.ID == s.deliverCommand().ID
	case StepPrepare, StepUpdate, StepPropose, StepLink, StepLook, StepMove, StepTakeBack:
		together, due := s.pendingTogether()
		return due && c.ID == together.ID
	}
	return false
}
