package host

import (
	"context"

	"forge/internal/text"
	"forge/internal/work"
)

// Host is one repository on a code host, as Forge uses it: all that an adapter
// can do. There is no method that some have and others lack; one whose host does
// not know what a method is about does nothing, or says so in its error. What
// holds for every adapter is in the suite of hosttest.
//
// An error is a *work.HostTrouble wherever the host said something. Every method
// that changes something may be called again after its answer was lost.
type Host interface {
	// Access is what the account may do in the repository, and what the branch
	// base asks of whoever merges into it; base "" is the default branch.
	Access(ctx context.Context, base string) (work.HostAccess, error)

	// Push makes a branch point at commit when it points at old now; old "" means
	// that it must not exist. What somebody else pushed is never overwritten.
	Push(ctx context.Context, branch, commit, old string) error
	// Fetch brings a branch into Forge's own repository, with ref pointing at it.
	// The commit is "" when the branch is gone.
	Fetch(ctx context.Context, branch, ref string) (commit string, err error)
	// Head is the commit of a branch, "" when it is gone.
	Head(ctx context.Context, branch string) (string, error)
	// Heads are those of branches by their names, read at one moment; one that is
	// gone has none.
	Heads(ctx context.Context, branches ...string) (map[string]string, error)
	// DeleteBranch deletes a branch that still points at head.
	DeleteBranch(ctx context.Context, branch, head string) error

	// OpenPull opens the pull request of a marker, or brings it up to date.
	OpenPull(ctx context.Context, p work.PullProposal) (work.PullRequest, error)
	// Pull is the state of a pull request, from one request.
	Pull(ctx context.Context, number int64) (work.PullRequest, error)
	// Look is everything about it: state, reviews that count, threads, checks.
	Look(ctx context.Context, number int64) (work.PullLook, error)
	// Verdicts is Look without what people said in words: what decides, at the
	// cost of two requests where Look takes one for each review.
	Verdicts(ctx context.Context, number int64) (work.PullLook, error)
	// Checks is how the checks of a commit stand, by their names.
	Checks(ctx context.Context, commit string) (work.PullChecks, error)
	// CheckLog is a failed check with the step that failed and the end of its log,
	// as it was where the host has none.
	CheckLog(ctx context.Context, c work.PullCheck) (work.PullCheck, error)
	// RetargetedBy is who changed the target of a pull request last, "" where the
	// host does not tell.
	RetargetedBy(ctx context.Context, number int64) (who string)
	// Merge squashes the branch into its base, when both are where m says.
	Merge(ctx context.Context, m work.PullMerge) (work.PullSquashed, error)
	// LandsTogether says that several pull requests for a branch ("" = the default one)
	// may land in one push of it, and be marked as merged then.
	LandsTogether(ctx context.Context, base string) (bool, error)
	// MarkMerged marks a pull request as merged by a commit that its base holds.
	MarkMerged(ctx context.Context, number int64, commit string) error
	// ClosePull closes it and says why, under key.
	ClosePull(ctx context.Context, number int64, p work.PullProposal, key string, why text.Markdown) error

	// Comment says something on a pull request, once for each key.
	Comment(ctx context.Context, number int64, key string, body text.Markdown) error
	// Acknowledge lets whoever wrote a comment on the whole of a pull request see that
	// it was heard, by a sign at it. It may be called again.
	Acknowledge(ctx context.Context, number int64, c work.PullComment) error
	// Pictures makes the pictures of a pull request be these: what is there is not put
	// there again, and earlier ones of Forge's go where the host lets go of them.
	// Their addresses are in the same order; a host that takes none gives none.
	Pictures(ctx context.Context, number int64, all []work.PullPicture) (addresses []string, err error)
	// Reply says it in a thread.
	Reply(ctx context.Context, number int64, t work.PullThread, key string, body text.Markdown) error
	// Note says at their lines what reviewers found, as the reviewing account. It
	// approves and refuses nothing.
	Note(ctx context.Context, n work.PullNotes) error
	// Settle says in a thread of Forge's own why it is over, once for each key, and
	// marks it as resolved where the host can.
	Settle(ctx context.Context, number int64, t work.PullThread, key string, why text.Markdown) error
	// Issue is an issue of the repository. The trouble is HostRefused where the host
	// has none.
	Issue(ctx context.Context, number int64) (work.HostIssue, error)

	// Changed are the pull requests with news since a cursor; "" is from now on.
	Changed(ctx context.Context, cursor string) (work.PullHints, error)
	// EnsureHook makes the host send its events to address, signed with secret.
	// The trouble is HostRefused where the host sends none.
	EnsureHook(ctx context.Context, address, secret string) (id int64, err error)
	// TestHook makes the host send one event now.
	TestHook(ctx context.Context, id int64) error
}
