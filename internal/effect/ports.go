package effect

import (
	"context"

	"forge/internal/work"
	"forge/orchestrator"
)

// Agents runs one iteration of an agent. What the agent did wrong is in the
// report; an error means that Forge could not run it at all. Cancelling ctx
// ends the agent's whole process tree before Iterate returns. It may be called
// for several phases at once.
type Agents interface {
	Iterate(ctx context.Context, req work.IterationRequest, watch func(work.Activity)) (work.IterationReport, error)
}

// Listeners hands agents that work on an iteration in this process what people say.
// That one did not take it, or is not here, is in the report. It waits for the
// agent, until ctx ends.
type Listeners interface {
	Tell(ctx context.Context, req work.TellRequest) work.TellReport
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
	// Size is how much differs between two commits.
	Size(ctx context.Context, from, to string) (work.ChangeSize, error)
	Deliver(ctx context.Context, branch, commit string) error
	FastForward(ctx context.Context, base work.Base, commit string) (work.Delivery, error)
	Anchor(ctx context.Context, run string, count int64, head string) error
	// Strip is one commit on base that holds the content of commit without a
	// folder; base itself when nothing else differs.
	Strip(ctx context.Context, commit, base, folder, message, ref string) (string, error)
	ObjectPaths() []string
}

// Targets moves the branches that results of several repositories are meant for.
// Every method may be repeated after a crash.
type Targets interface {
	// InTheWay is why the target could not be moved now; "" = it could.
	InTheWay(ctx context.Context, base work.Base, commit string) (why string, err error)
	// WentOn is where the target is that has grown out of base since, and does not hold
	// commit; "" = it is there, was set back, or holds it.
	WentOn(ctx context.Context, base work.Base, commit string) (onto string, err error)
	// MergeCommit is a merge in the user's name, kept by ref.
	MergeCommit(ctx context.Context, tree string, parents []string, message, ref string) (string, error)
	// Stands says that a branch holds a commit.
	Stands(ctx context.Context, branch, commit string) (bool, error)
	// TakeBack moves the target back, or says why it stays.
	TakeBack(ctx context.Context, base work.Base, commit string) (why string, err error)
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

// Pages shows the pages of a project in a browser. That one could not be shown is in
// the report; an error means that Forge could not do its own part.
type Pages interface {
	Show(ctx context.Context, req work.PagesRequest, watch func(work.Activity)) (work.PagesReport, error)
}

// Evidence holds changes against the evidence that proofs rest on.
type Evidence interface {
	// Judge says what a change does to evidence, and which proofs follow.
	Judge(ctx context.Context, req work.EvidenceRequest) (work.EvidenceReport, error)
	// Mix is a commit with the product of req.Commit and the evidence of a
	// floor.
	Mix(ctx context.Context, req work.EvidenceRequest, floor work.VerifyOn) (string, error)
	// Fixed are the files of a commit that decide its proof and are as the trusted
	// state has them, and those that are as req.Base has them.
	Fixed(ctx context.Context, req work.EvidenceRequest, commit string) (trusted, earlier []string, err error)
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

// Council asks workers what they think of each other's changes, and shows changes
// to who makes one out of them. That there is no usable vote is in the report; an
// error means that Forge could not do its own part. Both may be called at once.
type Council interface {
	Vote(ctx context.Context, req work.VoteRequest) (work.VoteReport, error)
	// Shown is the change from base to commit as text of at most most bytes.
	Shown(ctx context.Context, base, commit string, most int) (string, error)
}

// Todos reads a job's todos in a commit. That they cannot be used is in the
// check; an error means that the commit could not be read.
type Todos interface {
	Todos(ctx context.Context, commit string) (work.TodoCheck, error)
	// KeepFeedback is a commit that holds what people said in the job's documents,
	// and its tree; commit itself where that does, with no tree. ref keeps it.
	KeepFeedback(ctx context.Context, commit string, said []work.JobFeedback, ref string) (kept, tree string, err error)
}

// Host is the code host on which people look at boundaries. What the host did
// not do is in the results; an error means that Forge could not do its own
// part. Every method may be repeated after a crash.
type Host interface {
	// Publish makes the branches there what they should be, and sees to it that
	// there is one pull request. A commit that is not among Known is never
	// overwritten.
	Publish(ctx context.Context, req orchestrator.PullPublish) (orchestrator.PullPublished, error)
	// Read says what has become of a pull request and its branch.
	Read(ctx context.Context, req orchestrator.PullRead) (orchestrator.PullReading, error)
	// Land lets the host squash the branch into the run's, when it holds the
	// judged commit, and the result is the proven tree.
	Land(ctx context.Context, req orchestrator.PullLand) (orchestrator.PullLanded, error)
	// Close closes a pull request where there is one that is open, and says why
	// on it, once.
	Close(ctx context.Context, req orchestrator.PullClose) (*work.PullTrouble, error)
}

// Results is the code host on which one part of the result of several repositories is
// proposed and merged. Why a host did not do something is in why; an error means that
// Forge could not do its own part. Every method may be repeated after a crash.
type Results interface {
	// Aims is why the result cannot be proposed as it is: the target there is not where
	// it was proven; onto is where it went on to. "" = it can.
	Aims(ctx context.Context, req orchestrator.ResultPull) (onto, why string, err error)
	// Propose sees to it that there is one pull request, which names the others that
	// are known.
	Propose(ctx context.Context, req orchestrator.ResultPull) (is orchestrator.ResultPulled, why string, err error)
	// See is why it cannot be merged now; "" = it can, or it is merged already.
	See(ctx context.Context, req orchestrator.ResultPull) (is orchestrator.ResultPulled, why string, err error)
	// Merge lets the host merge it, where See finds nothing in the way.
	Merge(ctx context.Context, req orchestrator.ResultPull) (is orchestrator.ResultPulled, why string, err error)
	// Holds says that a branch there holds a commit.
	Holds(ctx context.Context, branch, commit string) (bool, error)
}
