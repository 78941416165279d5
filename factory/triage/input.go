package triage

import (
	"time"

	"forge/gates"
	"forge/internal/work"
)

// Input is one fact that enters the core, with the time at which it does.
type Input struct {
	Now time.Time
	Fact
}

// Fact is what happened: one of the types below.
type Fact interface{ fact() }

// Opened opens a thread. Inline is its Spec where an event can hold it, else
// Blob names it.
type Opened struct {
	Inline *Spec
	Blob   string
}

// Resumed lets a process go on with a thread that another one left. Policy is
// what binds the issue by now, with its Bound; nil = as before.
type Resumed struct {
	By     string
	Policy *gates.Policy
}

// Began says that a command is about to be carried out. Accounts are, for an
// inference, those of the issue and of all its parents without what this
// thread consumed.
type Began struct {
	Command  Command
	Accounts []gates.InferenceAccount
}

// Answer is the end of an inference. Problem says why there is nothing to use.
// Levels are the policies that parts of an action name, by name; one that is
// not there is none.
type Answer struct {
	Command Command
	JSON    []byte
	Problem string
	// Passing says that the same question may be answered a while later, with
	// nobody mending anything; ResetAt when, where the service says so.
	Passing bool
	ResetAt *time.Time
	Tries   int // 2 when the answer could not be used after it was sent back once
	Model   string
	Usage   work.Usage
	Request string
	Answer  string
	Levels  map[string]gates.Policy
}

// Spawned is the end of the creation of a part.
type Spawned struct {
	Command Command
	Issue   int64
	Problem string
}

// Cleaned is the end of a clean-up.
type Cleaned struct {
	Command   Command
	Cancelled []int64
	Problem   string
}

// Answered is a person's answer to a checkpoint. Levels as for Answer.
type Answered struct {
	work.Answer
	Levels map[string]gates.Policy
}

// Dismissed says that nobody wants the work any more, whatever it waits for.
type Dismissed struct{ By, Why string }

// Overdue says that nobody answered this checkpoint in time, and that its record
// is closed.
type Overdue struct{ Checkpoint string }

// Drained says that nothing more is done by this process.
type Drained struct {
	Outcome work.RunOutcome
	Reason  string
}

// settled asks what follows from the state alone.
type settled struct{}

func (Opened) fact()    {}
func (Resumed) fact()   {}
func (Began) fact()     {}
func (Answer) fact()    {}
func (Spawned) fact()   {}
func (Cleaned) fact()   {}
func (Answered) fact()  {}
func (Dismissed) fact() {}
func (Overdue) fact()   {}
func (Drained) fact()   {}
func (settled) fact()   {}
