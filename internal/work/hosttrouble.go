package work

import (
	"errors"
	"time"
)

// HostKind says what kept a code host from doing what it was asked.
type HostKind string

const (
	HostUnreachable  HostKind = "unreachable"   // no answer, 5xx, or an answer that broke off
	HostWrong        HostKind = "wrong_host"    // what answers there is no such host
	HostRateLimited  HostKind = "rate_limited"  // see After
	HostUnauthorized HostKind = "unauthorized"  // the token is missing, wrong or expired
	HostMissingScope HostKind = "missing_scope" // see Scopes
	HostNoRepository HostKind = "no_repository" // it does not exist, or is hidden from the token
	HostArchived     HostKind = "archived"
	HostForbidden    HostKind = "forbidden" // the account has not the right
	HostProtected    HostKind = "protected" // a rule of the branch: approvals, checks, who may push
	HostNotYet       HostKind = "not_yet"   // the host is still working: ask again in a moment
	HostRefused      HostKind = "refused"   // for good, for another reason
	HostNoChanges    HostKind = "no_changes"
	HostUnrelated    HostKind = "unrelated" // the histories have no common commit
	HostConflict     HostKind = "conflict"
	HostPullClosed   HostKind = "closed"
	HostPullMerged   HostKind = "merged"
	HostNoPull       HostKind = "no_pull"
	HostBranchGone   HostKind = "branch_gone"
	HostBranchExists HostKind = "branch_exists" // with other content, or proposed by somebody else
	HostHeadMoved    HostKind = "head_moved"
	HostBaseMoved    HostKind = "base_moved"
	HostRetargeted   HostKind = "retargeted" // a pull request is for another branch than it was opened for
	HostTooLarge     HostKind = "too_large"
)

// HostTrouble is the error of everything that a code host did not do. It holds
// no secret that the adapter knows.
type HostTrouble struct {
	Kind   HostKind
	Do     string        // what was asked, such as "merge pull request 3"
	What   string        // one line for people
	Fix    string        // the way out, "" = none is known
	Scopes []string      // that the token lacks
	After  time.Duration // what the host asks to wait, 0 = it does not say
	Status int           // of HTTP, 0 = none
	Err    error         // cause, may be nil
}

// Error is one line.
func (t *HostTrouble) Error() string {
	if t.Do == "" {
		return t.What
	}
	return t.Do + ": " + t.What
}

// Unwrap is the cause.
func (t *HostTrouble) Unwrap() error { return t.Err }

// Passes says that the same request may be answered a while later without
// anybody mending anything.
func (t *HostTrouble) Passes() bool {
	return t.Kind == HostUnreachable || t.Kind == HostRateLimited || t.Kind == HostNotYet
}

// HostKindOf is the kind of the trouble in err; "" when there is none.
func HostKindOf(err error) HostKind {
	var t *HostTrouble
	if errors.As(err, &t) {
		return t.Kind
	}
	return ""
}
