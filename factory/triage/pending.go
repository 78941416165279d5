package triage

import (
	"fmt"

	"forge/gates"
	"forge/internal/work"
)

// Step is what a command does.
type Step string

// The steps.
const (
	StepInfer   Step = "infer"
	StepSpawn   Step = "spawn"
	StepCleanup Step = "cleanup"
)

// Command is an effect that is due. Its id is the same each time it is.
type Command struct {
	ID     work.CommandID
	Step   Step
	Target gates.Point // of StepInfer
	Part   int         // of StepSpawn, from 1
	Key    string      // of StepSpawn: by which the board knows the part again
	Sub    SubIssue
}

// Pending says what is to be done now; ok is false when nothing is: the thread
// waits for a person, or is over.
func Pending(s *State) (c Command, ok bool) {
	if !s.Live || s.Open != nil {
		return Command{}, false
	}
	if s.Dismissed != "" {
		if s.Cleanup.Done || s.Cleanup.Problem != "" || len(s.Children) == 0 {
			return Command{}, false
		}
		return Command{ID: s.id("", max(s.Cleanup.Tries, 1), string(StepCleanup)), Step: StepCleanup}, true
	}
	at := s.At()
	if at == len(s.Stages) {
		return s.nextPart()
	}
	st := &s.Stages[at]
	if s.Spec.Who != ByModel || s.Nobody != "" || st.Value != nil || st.Judged != "" || st.Unusable >= maxUnusable {
		return Command{}, false
	}
	target := gates.Targets()[at]
	if s.combines() {
		target = Combined
	}
	if s.Call != nil {
		return Command{ID: s.Call.Command, Step: StepInfer, Target: s.Call.Target}, true
	}
	return Command{ID: s.id(string(target), s.Calls+1, string(StepInfer)), Step: StepInfer, Target: target}, true
}

// combines says that the next call asks for all three: the policy wants it and
// nothing has been inferred or said yet.
func (s *State) combines() bool {
	return s.Policy.CombinedInference && s.Stages[0].Value == nil && len(s.Stages[0].Notes) == 0 && !s.Stages[0].Confirmed &&
		s.Stages[1].Value == nil && s.Stages[2].Value == nil
}

func (s *State) nextPart() (Command, bool) {
	v := s.Stages[2].Value
	n := len(s.Children)
	if v == nil || n >= len(v.SubIssues) || s.Stuck != "" || s.Enough {
		return Command{}, false
	}
	c := Command{ID: s.id("action", n+1, string(StepSpawn)), Step: StepSpawn, Part: n + 1, Key: fmt.Sprintf("%s/%d", s.Thread, n+1), Sub: v.SubIssues[n]}
	return c, true
}

// id is run/stage/-/number/step.
func (s *State) id(stage string, n int, step string) work.CommandID {
	return work.CommandID(fmt.Sprintf("%s/%s/1/%d/%s", s.Thread, stage, n, step))
}
