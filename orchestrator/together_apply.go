package orchestrator

import "forge/internal/work"

// What the steps of handing several repositories over leave in the state.

func applyTogetherDecided(s *State, _ *Phase, _ work.Event, d TogetherDecidedData) {
	t := s.Together
	if t == nil {
		return
	}
	switch t.Stage, t.Why = d.To, d.Why; d.To {
	case TogetherPrepare, TogetherPropose, TogetherLook:
		t.lookAgain()
	case TogetherUpdating:
		t.Updates++
	}
}

func applyTogetherFinished(s *State, _ *Phase, _ work.Event, d TogetherFinishedData) {
	t := s.Together
	if t == nil {
		return
	}
	at, step, due := t.next()
	if !due || step != d.Step || Called(t.Of[at].Repository) != d.Repository {
		return
	}
	t.Tries++
	one := &t.Of[at]
	one.Why, one.Undo = d.Why, d.Undo
	if step == StepUpdate {
		one.updated(d, s.proposes())
		return
	}
	if s.proposes() && step != StepPrepare {
		one.pulled(d)
		return
	}
	one.State = togetherStates[step][d.OK]
	one.behind(d)
}

// togetherStates is where a step leaves a repository, by whether it came to it. A
// constant table.
var togetherStates = map[Step]map[bool]TogetherState{
	StepPrepare:  {true: TogetherReady, false: TogetherKept},
	StepMove:     {true: TogetherMoved, false: TogetherKept},
	StepTakeBack: {true: TogetherTaken, false: TogetherStuck},
}

// togetherAgain goes on forward with a hand-over that was held.
func (s *State) togetherAgain() {
	t := s.Together
	if t != nil && s.proposes() {
		t.pullsAgain()
		return
	}
	if t == nil {
		return
	}
	if t.Updates = 0; t.Stage != TogetherHeld {
		return
	}
	t.Stage, t.Why = TogetherMove, ""
	for i := range t.Of {
		o := &t.Of[i]
		if o.Why = ""; o.State == TogetherStuck {
			o.State = TogetherMoved
		}
		if o.State != TogetherMoved {
			o.State = TogetherReady
		}
	}
}
