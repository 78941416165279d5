package landing

import (
	"fmt"
	"time"

	"forge/factory"
	"forge/internal/work"
)

// Stage is where a try stands.
type Stage string

const (
	StageNone  Stage = ""
	StageLook  Stage = "look"  // how target and pull request stand is being read
	StageProve Stage = "prove" // what the target would be is being proven
	StageLand  Stage = "land"  // the target is being moved
	StageCheck Stage = "check" // what the host merged is being held against what was proven
	StageTidy  Stage = "tidy"  // landed; its branch on the host is due to go
	StageOver  Stage = "over"
)

// State is the landing of one run's result, as the run's events tell it.
type State struct {
	Run string
	Seq int64     // of the run's journal
	At  time.Time // of the last event about its landing

	Of    BeganData // the try that is under way, or was the last
	Stage Stage
	Row   int // tries in a row in which something moved
	Look  *Look
	Proof *Proof
	Made  *Made
	Check *Check

	Last   *DecidedData // the decision that ended a try last
	Handed *Handed
	Away   int          // waits in a row for what passes by itself
	Landed *DecidedData // it is there
	Mark   *Mark
	Probes []Probe `json:",omitempty"` // what trees of batches came to, oldest first
}

// Handed is what another run was wanted for.
type Handed struct {
	Hold, Onto, At string
	Times          int // in a row
}

// Mark is how the pull request stood when it was acted upon.
type Mark struct {
	Mark string
	Show bool // while people were asked
}

// NewState is the landing of a run before its first event.
func NewState(run string) *State { return &State{Run: run} }

// Step names what a command does.
type Step string

const (
	StepLook  Step = "look"
	StepProve Step = "prove"
	StepProbe Step = "probe" // in a batch
	StepLand  Step = "land"
	StepCheck Step = "check"
	StepTidy  Step = "tidy"
)

// Command is what is to be done now. Its id is the same each time, and another one
// with each try.
type Command struct {
	ID     work.CommandID
	Step   Step
	Commit string
}

// Pending says what is to be done now; ok is false when nothing is.
func Pending(s *State) (c Command, ok bool) {
	switch s.Stage {
	case StageLook:
		c = Command{Step: StepLook, Commit: s.Of.Result}
	case StageProve:
		c = Command{Step: StepProve, Commit: s.at()}
	case StageLand:
		c = Command{Step: StepLand, Commit: s.Proof.Commit}
	case StageCheck:
		c = Command{Step: StepCheck, Commit: s.merged()}
	case StageTidy:
		c = Command{Step: StepTidy, Commit: s.at()}
	default:
		return c, false
	}
	c.ID = work.CommandID(fmt.Sprintf("%s/landing/%d/1/%s", s.Run, s.Of.Try, c.Step))
	return c, true
}

// at is the commit that is to land: what the branch of the pull request holds, or
// the result itself.
func (s *State) at() string {
	if s.Look != nil && s.Look.Pull != nil && s.Look.Pull.At != "" {
		return s.Look.Pull.At
	}
	return s.Of.Result
}

// merged is what the host says that it merged to.
func (s *State) merged() string {
	if s.Made != nil {
		return s.Made.Commit
	}
	if s.Look != nil && s.Look.Pull != nil {
		return s.Look.Pull.Commit
	}
	return ""
}

// proven is the tree that a merge has to come to, "" = none is known.
func (s *State) proven() string {
	if s.Made != nil && s.Proof != nil {
		return s.Proof.Tree
	}
	if s.Look != nil {
		return s.Look.Tree
	}
	return ""
}

// Outcome is what the last try came to, as the board needs to know it. It says
// nothing while one is under way.
func (s *State) Outcome() factory.Landed {
	d := s.Last
	if s.Landed != nil {
		d = s.Landed
	}
	if d == nil || s.Stage != StageOver && s.Stage != StageTidy {
		return factory.Landed{}
	}
	return factory.Landed{Commit: d.Commit, Target: d.Target, Hold: d.Hold, Reason: d.Reason, Waits: d.Waits, Until: d.Until}
}

// Again says that another run is to go on from the result.
func (s *State) Again() bool {
	return s.Landed == nil && s.Last != nil && s.Last.Decision == DecideAgain
}

// Seen is how a pull request stood when somebody looked at it.
type Seen struct {
	Mark string
	Show bool // while people were asked
	At   time.Time
	// Odd says that it stands otherwise than one that was just shown to people.
	Odd bool
}

// News says that a pull request stands otherwise than when it was acted upon. What
// was seen before that is none.
func (s *State) News(seen Seen) bool {
	if !seen.At.After(s.At) {
		return false
	}
	if m := s.Mark; m != nil && m.Show == seen.Show {
		return seen.Mark != m.Mark
	}
	return seen.Odd
}
