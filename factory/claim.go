package factory

import (
	"time"

	"forge/internal/work"
)

// LeaseTimeout is how long after its last heartbeat a claim still holds.
const LeaseTimeout = 30 * time.Second

// Lease is who works on a claimed issue.
type Lease struct {
	Owner     string
	Heartbeat time.Time
	Dead      bool // the owner is known not to run any more
}

// holds says that nobody else may have the issue now. A heartbeat in the future
// (the clock was set back) holds too: when in doubt, an issue is not taken.
func (l *Lease) holds(now time.Time) bool {
	return l != nil && !l.Dead && now.Sub(l.Heartbeat) <= LeaseTimeout
}

// ProjectState is how a project stands when an issue is to be claimed.
type ProjectState struct {
	Now         time.Time
	Paused      bool // or draining: nothing new is begun
	Running     int  // issues that are worked on
	MaxRunning  int  // 0 = nothing may be begun
	InReview    int  // issues in column in_review
	MaxInReview int  // 0 = no limit
	// Answered says that what the issue waits for has come.
	Answered bool
}

// NoClaim says why an issue is not claimed; "" = it is.
type NoClaim string

// The reasons, in the order in which they are looked for.
const (
	NoClaimColumn   NoClaim = "not_ready"
	NoClaimStopped  NoClaim = "stopped" // failed or cancelled, until a person says retry
	NoClaimWaits    NoClaim = "waits"   // for a person
	NoClaimHeld     NoClaim = "held"    // somebody works on it
	NoClaimPaused   NoClaim = "paused"
	NoClaimNeeds    NoClaim = "needs"
	NoClaimRunning  NoClaim = "max_running"
	NoClaimInReview NoClaim = "max_in_review"

	// Said by the loop, which knows more than the board.
	NoClaimLater   NoClaim = "later"   // it met a limit, and its time has not come
	NoClaimBreaker NoClaim = "breaker" // an agent that it needs failed too often
	NoClaimSlot    NoClaim = "slot"    // as many of its kind are worked on as may be

	// Said of an issue that comes from elsewhere.
	NoClaimAsking   NoClaim = "asking"              // whether it is wanted there
	NoClaimOrigin   NoClaim = "tracker_unreachable" // nobody can say whether it is
	NoClaimUnwanted NoClaim = "unwanted"            // it is not
)

// MayClaim decides whether an issue may be claimed now: a ready one whose needs
// are done, one in progress or in review that waited and was answered, or one
// whose owner is gone (it was begun, so limits do not count). needs are the
// columns of what it needs; what is missing there is not done. lease is the
// claim that is stored and was not given back, nil = none.
func MayClaim(i work.Issue, lease *Lease, needs map[int64]work.Column, s ProjectState) NoClaim {
	// In review there is nothing to do, unless its owner was gone in the middle
	// of doing it.
	begun := i.Column == work.ColumnInProgress || i.Column == work.ColumnInReview && (s.Answered || lease != nil)
	switch {
	case i.Column != work.ColumnReady && !begun:
		return NoClaimColumn
	case stopped(i):
		return NoClaimStopped
	case i.State != "" && !(s.Answered && i.State == work.IssueWaits):
		return NoClaimWaits // an unknown state holds as well
	case lease.holds(s.Now):
		return NoClaimHeld
	case s.Paused:
		return NoClaimPaused
	case begun:
		return ""
	}
	for _, need := range i.Needs {
		if needs[need] != work.ColumnDone {
			return NoClaimNeeds
		}
	}
	switch {
	case s.Running >= s.MaxRunning:
		return NoClaimRunning
	case s.MaxInReview != 0 && s.InReview >= s.MaxInReview:
		return NoClaimInReview
	}
	return ""
}
