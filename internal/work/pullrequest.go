package work

import (
	"time"

	"forge/internal/text"
)

// PullState is what has become of a pull request.
type PullState string

const (
	PullOpen   PullState = "open"
	PullMerged PullState = "merged"
	PullClosed PullState = "closed" // without a merge
)

// Mergeability is what a code host says about merging. Only Mergeable is a yes.
type Mergeability string

const (
	MergeUnknown   Mergeability = "unknown"
	MergeComputing Mergeability = "computing" // ask again in a moment
	Mergeable      Mergeability = "mergeable"
	MergeConflict  Mergeability = "conflict"
	MergeBlocked   Mergeability = "blocked" // approvals, checks or rights are missing
)

// CheckState is what all checks of a commit say together.
type CheckState string

const (
	ChecksNone    CheckState = "none"
	ChecksPending CheckState = "pending"
	ChecksPassed  CheckState = "passed"
	ChecksFailed  CheckState = "failed"
	ChecksUnknown CheckState = "unknown"
)

// PullProposal is the pull request that there should be.
type PullProposal struct {
	// Marker is the id of the work, the same each time. It is written into the
	// body, and finds the pull request again whatever died in between.
	Marker string
	Branch string // holds what is proposed
	Base   string // branch that it is proposed for
	Title  text.Title
	Body   text.Markdown // without the marker
	// Number is the one that it was the last time, 0 = not known. Merged by
	// somebody, wherever, it stays the one.
	Number int64
}

// PullPicture is a picture that a pull request shows: a PNG, and its sha256.
type PullPicture struct {
	Sum  string
	Data []byte
}

// PullNotes are comments on lines of a pull request that decide nothing. Key is
// the same each time.
type PullNotes struct {
	Number int64
	Key    string
	Commit string        // whose lines they are
	Body   text.Markdown // above them
	Lines  []PullNote
}

// PullNote is one of them.
type PullNote struct {
	Path string
	Line int // of the new side
	Body text.Markdown
	// Trace is by which it is found again, one word of letters, digits, dots and
	// dashes; "" = it is not looked for.
	Trace string
	// Fix is what mends it, as hosts offer it to be committed; nil = nothing does.
	Fix *PullFix
}

// Last is the last line that a note is about.
func (n PullNote) Last() int {
	if n.Fix == nil {
		return n.Line
	}
	return n.Line + max(len(n.Fix.Was), 1) - 1
}

// PullFix takes the place of the lines from that of a note on.
type PullFix struct {
	Was []string // those lines, as they are
	Now string   // "" takes them out
}

// HostIssue is an issue as somebody wrote it.
type HostIssue struct {
	Number int64
	Title  string
	Body   string // clipped to MaxCommentBytes
}

// PullRequest is one as the host has it.
type PullRequest struct {
	Number      int64     `json:"number"`
	URL         string    `json:"url,omitempty"` // for people
	State       PullState `json:"state"`
	Marker      string    `json:"marker,omitempty"` // "" = none in its body
	Branch      string    `json:"branch"`
	Base        string    `json:"base"`
	Head        string    `json:"head"`                // commit of the branch as the host last saw it
	BaseHead    string    `json:"base_head,omitempty"` // commit of the base, "" = not known
	Title       string    `json:"title"`
	Body        string    `json:"body,omitempty"` // as written, with the marker
	Author      string    `json:"author"`
	MergeCommit string    `json:"merge_commit,omitempty"` // only when merged
	MergedBy    string    `json:"merged_by,omitempty"`
	BranchGone  bool      `json:"branch_gone,omitempty"`
	Updated     time.Time `json:"updated"`
}

// PullVerdict is what one review says.
type PullVerdict string

const (
	PullApproved         PullVerdict = "approved"
	PullChangesRequested PullVerdict = "changes_requested"
	PullCommented        PullVerdict = "commented"
	PullVerdictUnknown   PullVerdict = "unknown" // a word that Forge does not know
)

// PullReview is one submitted review.
type PullReview struct {
	ID        string      `json:"id"`
	By        string      `json:"by"`
	Verdict   PullVerdict `json:"verdict"`
	Body      string      `json:"body,omitempty"`
	Commit    string      `json:"commit"` // the head that was looked at
	At        time.Time   `json:"at"`
	Dismissed bool        `json:"dismissed,omitempty"`
	Stale     bool        `json:"stale,omitempty"`      // the branch has moved since
	MayDecide bool        `json:"may_decide,omitempty"` // By may write to the repository
	Own       bool        `json:"own,omitempty"`        // by an account of Forge's: never counts
}

// PullComment is one comment, clipped to MaxCommentBytes.
type PullComment struct {
	ID      string    `json:"id"`
	By      string    `json:"by"`
	Body    string    `json:"body"`
	At      time.Time `json:"at"`
	Clipped bool      `json:"clipped,omitempty"` // the end of Body is missing
	Own     bool      `json:"own,omitempty"`
}

// PullThread is what was said at one place of a file.
type PullThread struct {
	ID       string        `json:"id"`     // of its first comment
	Review   string        `json:"review"` // that it came with
	Path     string        `json:"path"`
	Line     int           `json:"line,omitempty"`     // in the new file, 0 = none
	OldLine  int           `json:"old_line,omitempty"` // in the old file, 0 = none
	Commit   string        `json:"commit,omitempty"`   // that the lines belong to
	Hunk     string        `json:"hunk,omitempty"`     // of the diff, clipped as a comment is
	Resolved bool          `json:"resolved,omitempty"`
	Comments []PullComment `json:"comments"` // oldest first, never empty
}

// MaxCommentBytes is what is kept of a comment, a review or a hunk.
const MaxCommentBytes = 64 << 10

// PullLook is all that a pull request says at one moment.
type PullLook struct {
	PullRequest
	Mergeable Mergeability
	Why       string // of a Mergeable that is blocked or unknown, one line
	Checks    CheckState
	CI        PullChecks   // of the head, where Forge has failed checks mended
	Reviews   []PullReview // oldest first
	Threads   []PullThread
	Comments  []PullComment // on the whole, oldest first
	// Writers are those of the people who said something, in whatever way, who
	// may write to the repository.
	Writers []string
}

// PullMerge asks for a squash merge.
type PullMerge struct {
	Number int64
	// Branch and Base are the names that it was opened with. People may point it
	// elsewhere on the host; then it is not merged.
	Branch string
	Base   string
	Head   string // the reviewed commit; anything else is not merged
	// BaseHead is the commit of the base that the result was verified on; ""
	// does not ask. Hosts have no guard for it: it is looked at just before.
	BaseHead string
	Title    text.Title
	Message  string // below the title, Forge's own
}

// PullSquashed is what a merge made.
type PullSquashed struct {
	Commit string
	// Parent is what the commit was put on, "" = not known. When it is not the
	// BaseHead that was asked for, the base moved in the last moment.
	Parent string
}

// PullHints are the pull requests worth a look.
type PullHints struct {
	Numbers []int64 // each once
	Cursor  string  // to be given the next time
}

// HostAccount is whose a token is.
type HostAccount struct {
	Name   string
	Scopes []string // of the token; nil = the host does not say
}

// HostAccess is what a token may do with the repository.
type HostAccess struct {
	Account   HostAccount
	Missing   []string // scopes that the token needs and does not have
	Repo      string   // owner/name, as the host spells it
	Default   string   // branch
	Empty     bool
	Archived  bool
	Push      bool
	Admin     bool // may make webhooks
	Protected bool // the base has a rule
	Approvals int  // that the rule asks for
	Checks    []string
	Squash    bool // squash merges are switched on
	NoPulls   bool // pull requests are switched off
}
