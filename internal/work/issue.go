package work

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Column is where an issue stands on the board.
type Column string

const (
	ColumnBacklog    Column = "backlog"
	ColumnReady      Column = "ready"
	ColumnInProgress Column = "in_progress" // claimed; also while it waits at a gate
	ColumnInReview   Column = "in_review"   // finished work that a person looks at
	ColumnDone       Column = "done"        // landed
)

// Columns are all columns, as the board shows them from left to right.
func Columns() []Column {
	return []Column{ColumnBacklog, ColumnReady, ColumnInProgress, ColumnInReview, ColumnDone}
}

// Priority is how much an issue matters. It orders nothing by itself: the
// order within a column does.
type Priority string

const (
	PriorityLow    Priority = "low"
	PriorityNormal Priority = "normal"
	PriorityHigh   Priority = "high"
	PriorityUrgent Priority = "urgent"
)

// Priorities are all priorities, the lowest first.
func Priorities() []Priority {
	return []Priority{PriorityLow, PriorityNormal, PriorityHigh, PriorityUrgent}
}

// IssueState says what an issue does in its column, beside standing there. ""
// is nothing special.
type IssueState string

const (
	IssueWaits     IssueState = "waits"  // for a person
	IssueFailed    IssueState = "failed" // its run did; it stays where it is
	IssueCancelled IssueState = "cancelled"
)

// Issue is one card of a board: what is wanted, where it stands, and what became
// of it so far.
type Issue struct {
	Project string `json:"project"`
	ID      int64  `json:"id"` // from 1 within its project; 0 = not stored yet
	// Version counts the changes of an issue from 1. A change names the version
	// that it was made from, and is refused when there is a newer one.
	Version int64 `json:"version"`

	Title       string      `json:"title"`
	Description string      `json:"description,omitempty"` // Markdown
	Criteria    []Criterion `json:"criteria"`
	// CriteriaGiven is the highest number that a criterion ever had: what was
	// recorded for one that was taken away never counts for another.
	CriteriaGiven int      `json:"criteria_given"`
	Priority      Priority `json:"priority"`
	Labels        []string `json:"labels"`          // sorted, each once
	Needs         []int64  `json:"needs"`           // issues of the same project that have to be done first, sorted
	Level         string   `json:"level,omitempty"` // name of a policy; "" = as the factory is configured
	// Budget is how many tries each phase of its runs gets; 0 = as configured.
	Budget int `json:"budget,omitempty"`
	// Target is the branch that its result is for; "" = as its labels say or the factory
	// is configured.
	Target string `json:"target,omitempty"`

	Column Column     `json:"column"`
	Rank   string     `json:"rank"` // place within the column: smaller is higher up
	State  IssueState `json:"state,omitempty"`
	Reason string     `json:"reason,omitempty"` // of State, one line
	Hold   []string   `json:"hold"`             // why it is in review instead of done
	Run    string     `json:"run,omitempty"`    // that works or worked on it
	After  string     `json:"after,omitempty"`  // the run whose result Run goes on from; "" = it began anew
	Parent int64      `json:"parent,omitempty"` // the issue that it is a part of; 0 = none
	Origin string     `json:"origin,omitempty"` // by which the factory knows a part again that it made
	Branch string     `json:"branch,omitempty"` // given at the first claim
	Pull   *IssuePull `json:"pull,omitempty"`   // that its result is looked at in; nil = none

	// Source is the tracker's issue that it came from, or the task of another board's
	// file or the pull request that it was called for on (see Imported), "" = the board
	// itself. What somebody wrote elsewhere always runs in a sandbox, if the server's
	// owner does not say otherwise.
	Source string `json:"source,omitempty"`

	Author  string    `json:"author"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
}

// ImportedSource begins the source of an issue that came from the file of another
// board, or from a call on a pull request. No tracker is called so.
const ImportedSource = "import:"

// PullSource begins the source of an issue that was called for on a pull request, whose
// number follows.
const PullSource = ImportedSource + "pull/"

// WaitsByReason says that the reason of i says in words that it waits: its state
// beside that would say the same twice.
func (i Issue) WaitsByReason() bool {
	return i.State == IssueWaits && strings.HasPrefix(i.Reason, string(i.State))
}

// Imported says that an issue came from the file of another board or from a call on
// a pull request: somebody wrote it elsewhere, and there is no tracker to ask whether
// it is still wanted.
func (i Issue) Imported() bool { return strings.HasPrefix(i.Source, ImportedSource) }

// IssuePull is the pull request of an issue's result. It is never changed, only
// replaced.
type IssuePull struct {
	Number int64  `json:"number"`
	URL    string `json:"url,omitempty"`
	// Host is the repository that it is one of, see PullSettings.
	Host string `json:"host,omitempty"`
	// Shown is the result, a commit, that people are shown there.
	Shown string `json:"shown,omitempty"`
}

// Criterion is one condition that an issue's result is held against.
type Criterion struct {
	ID   string `json:"id"` // c1, c2, …; one that was taken away is not given again
	Text string `json:"text"`
}

// Number is the number in a criterion's id; 0 when it has none.
func (c Criterion) Number() int {
	n, err := strconv.Atoi(strings.TrimPrefix(c.ID, "c"))
	if err != nil {
		return 0
	}
	return n
}

// IssueEntry is one line of an issue's history.
type IssueEntry struct {
	Seq    int64         `json:"seq"`   // grows through a project's history
	Issue  int64         `json:"issue"` // 0 = the board as a whole
	At     time.Time     `json:"at"`
	By     string        `json:"by"`
	Door   string        `json:"door"` // cli, web, factory
	Action IssueAction   `json:"action"`
	Note   string        `json:"note,omitempty"`
	Fields []FieldChange `json:"fields"` // empty when the issue was added
}

// IssueAction is what was done to an issue.
type IssueAction string

const (
	IssueAdded      IssueAction = "added"
	IssueEdited     IssueAction = "edited"
	IssueMoved      IssueAction = "moved"
	IssueCancel     IssueAction = "cancelled"
	IssueRetried    IssueAction = "retried"
	IssueClaimed    IssueAction = "claimed"
	IssueLanded     IssueAction = "landed"     // its result is in the target branch
	IssueAsked      IssueAction = "asked"      // a person is asked, or something else is waited for
	IssueNotDone    IssueAction = "failed"     // its run, or landing its result, failed
	IssuePromoted   IssueAction = "promoted"   // any of these, in the history of earlier releases
	IssueRebalanced IssueAction = "rebalanced" // a column got new rank keys, its order stayed
)

// FieldChange is what one field was and is, as text.
type FieldChange struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// BoardProject is a project that has a board.
type BoardProject struct {
	ID      string    `json:"id"`   // never changes
	Root    string    `json:"root"` // its checkout
	Created time.Time `json:"created"`
}

// BoardGraph is what the issues of a project need of each other.
type BoardGraph struct {
	// Revision counts the changes of needs. A change of needs is judged on one
	// revision and refused on another: two changes that are fine alone may make
	// a cycle together.
	Revision int64
	Needs    map[int64][]int64 // every issue of the project is a key
}

// IssueChange is one issue as it is to become, and the line that says so.
type IssueChange struct {
	// Version is the one that it was made from; ID and Version 0 = a new issue.
	// Rank "" keeps the stored one and the column.
	Issue Issue
	// Low and High are the keys that Rank was put between, "" = the ends of the
	// column. When others are next to it by now, the change is refused.
	Low, High string
	Entry     IssueEntry
}

// RankChange moves one issue to another key of the same column.
type RankChange struct {
	Issue    int64
	From, To string
}

// BoardChange is what becomes true of one project's board at one moment: all of
// it or nothing.
type BoardChange struct {
	Project string
	Issues  []IssueChange
	// Graph is the revision that changed needs were judged on; nil when no
	// needs change.
	Graph *int64
	// Ranks gives the issues of one column other keys in the same order. It
	// makes no new versions: nothing that a person sees is changed.
	Ranks []RankChange
	// Board is the history's line about Ranks; nil without them.
	Board *IssueEntry
}

// IssueFilter says which issues of a project are meant; empty fields let all
// through.
type IssueFilter struct {
	Project string
	Column  Column
	Label   string
	Search  string // in title or description; ASCII letters in either case
}

var (
	// ErrNoIssue: there is no such issue on the board.
	ErrNoIssue = errors.New("unknown issue")
	// ErrStale: the board changed since it was read. Nothing was written.
	ErrStale = errors.New("changed meanwhile")
)
