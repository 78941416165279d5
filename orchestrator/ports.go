package orchestrator

import (
	"context"
	"time"

	"forge/internal/work"
)

// Agents runs one iteration of an agent. What the agent did wrong is in the
// report; an error means that Forge could not run it at all. Cancelling ctx
// ends the agent's whole process tree before Iterate returns. It may be called
// for several phases at once.
type Agents interface {
	Iterate(ctx context.Context, req work.IterationRequest, watch func(work.Activity)) (work.IterationReport, error)
}

// Repo is Forge's own repository and the way into the user's. Every method
// may be repeated after a crash. Folders are used by one caller at a time.
type Repo interface {
	OpenFolder(ctx context.Context, dir, commit string) error
	ResetFolder(ctx context.Context, dir, commit string) error
	Snapshot(ctx context.Context, dir, parent, ref, message string) (work.Snapshot, error)
	ConflictFolder(ctx context.Context, dir, ours, theirs string) ([]string, error)
	HasMarkers(ctx context.Context, commit string, paths []string) ([]string, error)
	Merge(ctx context.Context, ours, theirs string) (work.Merged, error)
	CommitTree(ctx context.Context, tree string, parents []string, message, ref string) (string, error)
	Squash(ctx context.Context, tree, parent, message, ref string) (string, error)
	Changes(ctx context.Context, from, to string) ([]work.FileChange, error)
	Deliver(ctx context.Context, branch, commit string) error
	FastForward(ctx context.Context, base work.Base, commit string) (work.Delivery, error)
	Anchor(ctx context.Context, run string, count int64, head string) error
	// Strip is one commit on base that holds the content of commit without a
	// folder; base itself when nothing else differs.
	Strip(ctx context.Context, commit, base, folder, message, ref string) (string, error)
	ObjectPaths() []string
}

// Checks runs the project's own commands. A red command is a report; an error
// means that it could not be judged, and counts as neither red nor green.
type Checks interface {
	Setup(ctx context.Context, req work.SetupRequest) (work.CommandsReport, error)
	Verify(ctx context.Context, req work.VerifyRequest, watch func(work.Activity)) (work.CommandsReport, error)
	// Control asks test runners what a green proof is worth. What they could
	// not be asked is in the report; an error means that nothing was learned.
	Control(ctx context.Context, req work.ControlRequest, watch func(work.Activity)) (work.ControlReport, error)
	// Hidden runs the checks that the project's owner keeps from agents.
	Hidden(ctx context.Context, req work.HiddenRequest) (work.HiddenReport, error)
	// Links are the outside targets of the links that Setup makes, which an
	// agent's sandbox has to show.
	Links(ctx context.Context, checkout string, w work.Worktree) ([]string, error)
}

// Evidence holds changes against the evidence that proofs rest on.
type Evidence interface {
	// Judge says what a change does to evidence, and which proofs follow.
	Judge(ctx context.Context, req work.EvidenceRequest) (work.EvidenceReport, error)
	// Mix is a commit with the product of req.Commit and the evidence of a
	// floor.
	Mix(ctx context.Context, req work.EvidenceRequest, floor work.VerifyOn) (string, error)
	// Accept records, for the run, evidence that somebody who may accepted. It
	// may be repeated.
	Accept(ctx context.Context, run string, moves []work.TrustMove) error
}

// Reviewers ask the specialists and the arbiter's model. That there is no usable
// answer is a report; an error means that Forge could not do its own part.
// Both may be called for several phases and specialists at once.
type Reviewers interface {
	Review(ctx context.Context, req work.ReviewRequest) (work.ReviewReport, error)
	Arbitrate(ctx context.Context, req work.ArbiterRequest) (work.ArbiterAnswer, error)
}

// Todos reads a job's todos in a commit. That they cannot be used is in the
// check; an error means that the commit could not be read.
type Todos interface {
	Todos(ctx context.Context, commit string) (work.TodoCheck, error)
}

// Batch is what one step of the core writes, in one transaction.
type Batch struct {
	Events   []work.Event
	Opened   []work.Checkpoint
	Consumed []int64 // inbox rows that the events answer
	Expire   bool    // the run is over: what is still open is held for ever
	Usage    []UsageEntry
	Began    []Attempt // effects whose processes may be running from now on
	Over     []Attempt // effects whose processes are gone
}

// Attempt names the processes of one effect by their mark.
type Attempt struct {
	Command work.CommandID
	Mark    string
}

// UsageEntry is what an iteration consumed, for the caps of the day.
type UsageEntry struct {
	Command work.CommandID
	USD     *float64
	Tokens  *int64
}

// Inbox is an answer that a door wrote.
type Inbox struct {
	ID     int64
	Answer work.Answer
}

// Journal is the run's record, held by lease: every call fails once the lease
// is lost. Append is one durable transaction.
type Journal interface {
	Append(ctx context.Context, b Batch) error
	Head(ctx context.Context) (count int64, hash string, err error)
	Inbox(ctx context.Context) ([]Inbox, error)
	// Expire closes those of the checkpoints whose time is over at now and that
	// nobody answered, durably, and returns the ones that are closed so: they
	// take no answer any more, whoever asks. One that was answered has its row
	// in the inbox.
	Expire(ctx context.Context, checkpoints []string, now time.Time) ([]string, error)
	// Changed says whether another process wrote since the last call.
	Changed(ctx context.Context) (bool, error)
	Heartbeat(ctx context.Context) error
	// Attempts are the marks of effects that began and are not over: those of
	// a process that died.
	Attempts(ctx context.Context) ([]Attempt, error)
	// Day is what the whole project consumed today (UTC).
	Day(ctx context.Context) (Day, error)
}

// Processes ends every process that carries a mark, and returns when none is
// left.
type Processes interface {
	End(ctx context.Context, mark string) error
}

// Watcher sees a run as it goes: the terminal, plain log lines, the JSON
// stream. It is called from one goroutine and must not block for long.
type Watcher interface {
	Events(evs []work.Event, s *State)
	Activity(a work.Activity)
}
