package factory

import (
	"fmt"

	"forge/internal/work"
)

// Where a project has a code host, a finished result is proposed there, and is
// done once it is merged. What follows from how its pull request stands is
// decided here.

// PullHead is what the branch of a pull request holds.
type PullHead string

const (
	HeadResult    PullHead = "result" // what the run proved
	HeadPeople    PullHead = "people" // that, and commits of people on top
	HeadGone      PullHead = "gone"   // there is no such branch
	HeadOther     PullHead = "other"  // it was forced to something else
	HeadConflicts PullHead = "parted" // commits of people that conflict with a newer result
)

// PullSeen is how the pull request of a finished result stands. The zero value
// says nothing, and holds.
type PullSeen struct {
	Number int64          `json:"number"`
	State  work.PullState `json:"state"`
	Head   PullHead       `json:"head,omitempty"`
	// Approved says that people who may decide have approved the very commit
	// that the branch points at, and nobody of them is against it.
	Approved bool `json:"approved,omitempty"`
	// Reviewed says that specialists look at what the result's run makes.
	Reviewed bool `json:"reviewed,omitempty"`
	// Against is who asks for changes that nobody has worked on yet.
	Against   string            `json:"against,omitempty"`
	Mergeable work.Mergeability `json:"mergeable,omitempty"`
	Why       string            `json:"why,omitempty"` // of Mergeable
	// Checks are those of the commit that the branch points at.
	Checks work.ChecksSeen `json:"checks,omitzero"`
}

// PullStep is what is to be done about a pull request.
type PullStep string

const (
	PullWait  PullStep = "wait"  // for people, or for the host
	PullMerge PullStep = "merge" // prove what the branch holds on the target as it is now, and let the host merge just that
	PullTake  PullStep = "take"  // people have merged it: prove what came of it
	PullAgain PullStep = "again" // a run of its own goes on from the branch
)

// Why a finished result waits on its host, for the card.
const (
	HoldHost        = "host_unreachable"
	HoldPullClosed  = "pull_closed"
	HoldPullBranch  = "pull_branch"
	HoldPullPushed  = "pull_pushed"
	HoldPullChanges = "pull_changes"
	HoldPullBlocked = "pull_blocked"
	HoldPullChecks  = "pull_checks"
)

// Why a finished result is not in its target, for the card.
const (
	HoldLandingConflict = "landing_conflict"
	HoldLandingRed      = "landing_red"
	HoldTargetOut       = "target_checked_out" // and something of a person's is in the way
	HoldTogether        = "not_together"       // it lands in several repositories or in none, and could not in all
	HoldLandingMoves    = "landing_moves"      // in each of many tries
	HoldShort           = "ran_out"            // of room on the disk, or what else the machine has
)

// NextOfPull decides what is done with a result that was decided to be done.
// hold and reason, with the way out, go with PullWait and PullAgain.
func NextOfPull(p PullSeen) (step PullStep, hold, reason string) {
	wait := func(hold, format string, args ...any) (PullStep, string, string) {
		return PullWait, hold, fmt.Sprintf("pull request %d ", p.Number) + fmt.Sprintf(format, args...)
	}
	switch {
	case p.State == work.PullMerged:
		return PullTake, "", ""
	case p.State == work.PullClosed:
		return wait(HoldPullClosed, "was closed: reopen it there")
	case p.State != work.PullOpen:
		return wait(HoldPullBlocked, "is in a state that Forge does not know")
	case p.Head == HeadGone:
		return wait(HoldPullBranch, "has lost its branch: restore it there")
	case p.Head == HeadConflicts:
		_, hold, reason = wait(HoldPullPushed, "has commits of people that conflict with what the agent did meanwhile: once that is approved or sent back, the agent takes both together")
		return PullAgain, hold, reason
	case p.Head != HeadResult && p.Head != HeadPeople:
		return wait(HoldPullBranch, "has a branch that does not grow out of the result: push the result back")
	case p.Against != "":
		_, hold, reason = wait(HoldPullChanges, "is sent back by %s", p.Against)
		return PullAgain, hold, reason
	case p.Head == HeadPeople && !p.Approved:
		return wait(HoldPullPushed, "has commits that Forge has not made: approve it there as it is, or take them back")
	case p.Head == HeadPeople && p.Reviewed:
		// The machine's reviewers have not looked at them.
		_, hold, reason = wait(HoldPullPushed, "has commits of people, approved as they are: a run proves and reviews them")
		return PullAgain, hold, reason
	}
	// Where a person approved this very commit and the host takes it as it is, its
	// checks were known. A conflict is mended first: the checks are of a commit
	// that will not be.
	if p.Mergeable != work.MergeConflict && !(p.Approved && p.Mergeable == work.Mergeable) {
		mend, why := p.Checks.Next()
		if mend && p.Head == HeadPeople {
			return wait(HoldPullChecks, "is not as it should be: %s, on what people pushed: push what mends it, or ask for changes (/forge fix)", why)
		}
		if mend {
			_, hold, reason = wait(HoldPullChecks, "is not as it should be: %s: a run mends that", why)
			return PullAgain, hold, reason
		}
		if why != "" && (len(p.Checks.Failed) > 0 || p.Mergeable != work.Mergeable) {
			return wait(HoldPullChecks, "is not as it should be: %s", why)
		}
	}
	switch p.Mergeable {
	case work.Mergeable, work.MergeConflict, work.MergeComputing:
		// Of conflicts git tells more; hosts have one word for them and for
		// that they are still computing.
		return PullMerge, "", ""
	}
	return wait(HoldPullBlocked, "may not be merged yet, says the host: %s", orElse(p.Why, "it does not say why"))
}
