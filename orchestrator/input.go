package orchestrator

import (
	"time"

	"forge/internal/work"
)

// Input is one fact that enters the core, with the time at which it does.
type Input struct {
	Now time.Time
	Day Day // consumed today, where a cap of the day is set
	Fact
}

// Fact is what happened: one of the types below.
type Fact interface{ fact() }

// Opened opens a run.
type Opened struct {
	Inline *Spec
	Blob   string
	// Core is the Version of who opens it; "" = not noted.
	Core string `json:",omitempty"`
}

// Resumed lets a process go on with a run that another one left.
type Resumed struct {
	RunResumedData
	// Reopen opens the next attempt of failed and skipped phases.
	Reopen bool
}

// Began says that a command is being carried out from now on.
type Began struct{ Command Command }

// FolderDone is the end of a folder command.
type FolderDone struct {
	Command Command
	Setup   work.CommandsReport
}

// IterationDone is the end of an iteration.
type IterationDone struct {
	Command  Command
	Report   work.IterationReport
	Snapshot work.Snapshot
	Markers  []string // files that still hold conflict markers
	Todos    *work.TodoCheck
	Size     *work.ChangeSize `json:",omitempty"` // of the work of a try so far; nil = unknown
}

// TellDone is the end of a tell command.
type TellDone struct {
	Command Command
	Report  work.TellReport
}

// VerifyDone is the end of a verify command.
type VerifyDone struct {
	Command Command
	Report  work.CommandsReport
	// Evidence is what the change does to evidence. A proof of the tree itself
	// counts for nothing without it.
	Evidence *work.EvidenceReport
	// Hidden is what the owner's hidden checks said; nil = they were not asked.
	Hidden *work.HiddenReport
	// Pages is how the pages of the project look; nil = nobody looked.
	Pages  *work.PagesReport
	Millis int64
	// Key names what was asked. Before is the record that stands for a run of the
	// commands; nil = they ran, on accepted work where Filled says so.
	Key    work.ProofKey
	Before *work.ProvenBefore
	Filled bool
	// Rides is the verify that stands for the commands, of a member of a train.
	Rides work.CommandID
}

// ControlDone is the end of a control command.
type ControlDone struct {
	Command Command
	Report  work.ControlReport
}

// ReviewDone is the end of a review command.
type ReviewDone struct {
	Command Command
	Report  work.ReviewReport
}

// ArbiterDone is the end of an arbiter command.
type ArbiterDone struct {
	Command Command
	Answer  work.ArbiterAnswer
}

// VoteDone is the end of a vote command.
type VoteDone struct {
	Command Command
	Report  work.VoteReport
}

// MergeDone is the end of a merge command.
type MergeDone struct {
	Command Command
	Result  MergeFinishedData
}

// LandDone is the end of a land command.
type LandDone struct {
	Command Command
	Commit  string
	Empty   bool
	// On a code host: the tree of Commit, and why nothing was merged.
	Tree    string
	Refused *work.PullTrouble
	// Before are those that landed before it, in the same move.
	Before []Landed
}

// PublishDone is the end of a publish command.
type PublishDone struct {
	Command Command
	Result  PullPublished
}

// ReadDone is the end of a pull command.
type ReadDone struct {
	Command Command
	Reading PullReading
}

// CloseDone is the end of a close command.
type CloseDone struct {
	Command Command
	Trouble *work.PullTrouble // the pull request may be open still
}

// DeliverDone is the end of a deliver command.
type DeliverDone struct {
	Command  Command
	Delivery work.Delivery
}

// TogetherDone is the end of a command that handed over one of several repositories.
type TogetherDone struct {
	Command Command
	Why     string // it did not come to it; "" = it did
	Undo    string // command that takes a move back, for a person
	// Made is the merge of the result with its target, and Tree what that holds.
	Made, Tree string
	ResultPulled
}

// Broke says that a command could not be carried out: neither yes nor no.
type Broke struct {
	Command Command
	Problem string
	// Short is what the machine ran out of, in words; "" when nothing did. That
	// says nothing about the work: the run stops, and can be resumed.
	Short string
}

// Answered is a person's answer to a checkpoint.
type Answered struct{ work.Answer }

// Overdue says that the time of checkpoints is over and nobody answered them:
// their records are closed, and take no answer any more.
type Overdue struct{ Checkpoints []string }

// Tick says that time has passed.
type Tick struct{}

// Stop asks the run to end: nothing new is started.
type Stop struct {
	Outcome work.RunOutcome
	Reason  string
}

// Drained says that nothing is being carried out any more after a stop, or
// that nobody is there to answer what the run waits for.
type Drained struct{}

// settled asks what follows from the state alone.
type settled struct{}

func (Opened) fact()        {}
func (Resumed) fact()       {}
func (Began) fact()         {}
func (FolderDone) fact()    {}
func (IterationDone) fact() {}
func (TellDone) fact()      {}
func (VerifyDone) fact()    {}
func (ControlDone) fact()   {}
func (ReviewDone) fact()    {}
func (ArbiterDone) fact()   {}
func (VoteDone) fact()      {}
func (MergeDone) fact()     {}
func (LandDone) fact()      {}
func (PublishDone) fact()   {}
func (ReadDone) fact()      {}
func (CloseDone) fact()     {}
func (DeliverDone) fact()   {}
func (TogetherDone) fact()  {}
func (Broke) fact()         {}
func (Answered) fact()      {}
func (Overdue) fact()       {}
func (Tick) fact()          {}
func (Stop) fact()          {}
func (Drained) fact()       {}
func (settled) fact()       {}

// ResultOf is the command that a fact is the result of; not every fact is one.
func ResultOf(f Fact) (of work.CommandID, is bool) {
	r, is := f.(interface{ of() Command })
	if !is {
		return "", false
	}
	return r.of().ID, true
}

func (f FolderDone) of() Command    { return f.Command }
func (f IterationDone) of() Command { return f.Command }
func (f TellDone) of() Command      { return f.Command }
func (f VerifyDone) of() Command    { return f.Command }
func (f ControlDone) of() Command   { return f.Command }
func (f ReviewDone) of() Command    { return f.Command }
func (f ArbiterDone) of() Command   { return f.Command }
func (f VoteDone) of() Command      { return f.Command }
func (f MergeDone) of() Command     { return f.Command }
func (f LandDone) of() Command      { return f.Command }
func (f PublishDone) of() Command   { return f.Command }
func (f ReadDone) of() Command      { return f.Command }
func (f CloseDone) of() Command     { return f.Command }
func (f DeliverDone) of() Command   { return f.Command }
func (f TogetherDone) of() Command  { return f.Command }
func (f Broke) of() Command         { return f.Command }

// Step names what a command does.
type Step string

const (
	StepBase    Step = "verify-base"
	StepFolder  Step = "folder"
	StepIterate Step = "iterate"
	StepTell    Step = "tell"
	StepVerify  Step = "verify"
	StepControl Step = "control"
	StepReview  Step = "review"
	StepArbiter Step = "arbiter"
	StepVote    Step = "vote"
	StepMerge   Step = "merge"
	StepLand    Step = "land"
	StepTrain   Step = "train"
	StepRest    Step = "rest"
	StepDeliver Step = "deliver"
	StepPublish Step = "publish"
	StepPull    Step = "pull"
	StepClose   Step = "close"
	StepHook    Step = "hook"
	StepWait    Step = "wait"
	// Of a run of several repositories, in place of deliver: the result of one is
	// put beside its target, is merged with a target that went on, and proven so, its
	// target is moved, or moved back.
	StepPrepare  Step = "prepare"
	StepUpdate   Step = "update"
	StepMove     Step = "move"
	StepTakeBack Step = "take-back"
	// And where it is proposed on a code host: its pull request is opened, names the
	// others, and is looked at.
	StepPropose Step = "propose"
	StepLink    Step = "link"
	StepLook    Step = "look"
)

// Command is something to be done now. Its id is deterministic, so that the
// same command after a crash is recognised.
type Command struct {
	ID        work.CommandID
	Step      Step
	Phase     string
	Iteration int
	Attempt   int

	Kind       IterationKind // iterate
	On         work.VerifyOn // verify
	Commit     string        // verify, review, land, deliver: what it is about
	Specialist string        // review, vote
	Checkpoint string        // publish
	Message    string        // tell
	Until      time.Time     // wait
	Repository string        `json:",omitempty"` // that it is carried out in; "" = the home
}
