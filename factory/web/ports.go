// Package web is the factory in a browser: the board, what waits for a person,
// runs and jobs, and the cockpit in which a checkpoint is judged.
package web

import (
	"context"
	"errors"
	"time"

	"forge/factory"
	"forge/internal/search"
	"forge/internal/work"
	"forge/orchestrator"
)

// ErrNoProject says that the server shows no project of that name.
var ErrNoProject = errors.New("unknown project")

// Site is the projects of this server. It may be called by many at once.
type Site interface {
	// Projects are all projects, by name.
	Projects(ctx context.Context) ([]Project, error)
	// Project is the one with that id; ErrNoProject when there is none.
	Project(ctx context.Context, id string) (Project, error)
}

// Project is one project as pages and API see it: who reads and changes what.
// All of it may be called by many at once.
type Project struct {
	ID   string
	Root string
	// HostURL is the address of the code host as people open it; no page links
	// to a pull request elsewhere. "" = there is none.
	HostURL string
	// Board carries changes out; Cards reads.
	Board     factory.Board
	Cards     Cards
	Runs      Runs
	Questions Questions
	Code      Code
	Jobs      Jobs
	// Starts is nil where no run is begun here.
	Starts  Starts
	Floor   Floor
	Cockpit Cockpit
	Edits   Edits
	Watch   Watch
	// Spans says between which commits parts of a run changed something.
	Spans Spans
	// Settings is nil where the configuration is not changed here.
	Settings Settings
	// Search is nil where nothing is looked for.
	Search Search
	// Pictures is nil where no proof keeps any.
	Pictures Pictures
	// Schedules is nil where nothing is put on the board by the clock.
	Schedules Schedules
	// Lessons is nil where nothing is learnt.
	Lessons Lessons
	// LabelsSay is what labels say of how an issue is worked on, a line for each that
	// the project maps; nil where none does.
	LabelsSay func(ctx context.Context, labels []string) ([]string, error)
	// Companion is nil where nobody is talked to.
	Companion Companion
}

// Search finds where something was said, decided or written.
type Search interface {
	// Find answers a question as people type it. One that cannot be understood is an
	// error.
	Find(ctx context.Context, s Sought) (search.Found, error)
}

// Sought is what is looked for, and in what alone.
type Sought struct {
	Said  string
	Limit int
	// Run and Phase bound what is found, whatever is said; "" = they do not.
	Run, Phase string
}

// Watch says what is new in a project, for pages that are open.
type Watch interface {
	// Version is another number after everything that anybody wrote into the
	// project's journal. It is asked often.
	Version(ctx context.Context) (int64, error)
	// BoardEnd is the number of the last line of the board's history.
	BoardEnd(ctx context.Context) (int64, error)
	// BoardLines are lines of the board's history after number after, the
	// oldest first.
	BoardLines(ctx context.Context, project string, after int64, limit int) ([]work.IssueEntry, error)
	// RunEnd is the number of a run's last event.
	RunEnd(ctx context.Context, run string) (int64, error)
}

// Cards reads the board. Methods as those of the journal's store; project is
// Project.Board.Project.
type Cards interface {
	Issue(ctx context.Context, project string, id int64) (work.Issue, error)
	Issues(ctx context.Context, f work.IssueFilter, limit int, after string) ([]work.Issue, error)
	IssueCounts(ctx context.Context, project string) (map[work.Column]int, error)
	IssueHistory(ctx context.Context, project string, id int64, limit int, before int64) ([]work.IssueEntry, error)
	// Blockers are the needs that are not done, Dependents who needs an issue.
	Blockers(ctx context.Context, project string, ids []int64) (map[int64][]int64, error)
	Dependents(ctx context.Context, project string, id int64) ([]int64, error)
	// RunsSpent are what runs took so far: no key = nothing is known of it.
	RunsSpent(ctx context.Context, runs []string) (map[string]work.RunSpent, error)
}

// Run is a line in a list of runs and jobs.
type Run struct {
	ID      string          `json:"id"`
	Job     bool            `json:"job"`
	Issue   int64           `json:"issue,omitempty"`
	State   string          `json:"state"` // running, frozen, interrupted, limit, completed, failed, cancelled
	Outcome work.RunOutcome `json:"outcome,omitempty"`
	Created time.Time       `json:"created"`
	Updated time.Time       `json:"updated"`
	CostUSD *float64        `json:"cost_usd"` // null = unknown
	Stalled string          `json:"stalled,omitempty" doc:"Why nobody takes what it needs done, of a run that several machines drive; absent = somebody does."`
}

// Runs reads runs and jobs.
type Runs interface {
	// Runs are those after the one with the id after, the newest first.
	Runs(ctx context.Context, limit int, after string) ([]Run, error)
	// Run is the one with that id, whole; an fs.ErrNotExist when there is none.
	Run(ctx context.Context, id string) (Run, error)
	// State is a run as its events tell it; the caller must not change it.
	State(ctx context.Context, run string) (*orchestrator.State, error)
	// Events are up to limit events after number after, in order.
	Events(ctx context.Context, run string, after int64, limit int) ([]work.Event, error)
	// Output is the last most bytes of what the agent printed in an iteration,
	// secrets taken out; empty while there is nothing.
	Output(ctx context.Context, run, phase string, iteration, attempt, most int) ([]byte, error)
	// Conversation is the same as the conversation that it is.
	Conversation(ctx context.Context, run, phase string, iteration, attempt, most int) ([]work.Turn, error)
}

// Part is a part of a run: a phase, or one of its iterations, or with neither the
// whole run.
type Part struct {
	Phase     string
	Iteration int // 0 = the whole phase
	Attempt   int // 0 = the last
}

// Span is the change from one commit to another.
type Span struct {
	From, To string
	Title    string // in words
}

// Spans reads which commits a part of a run stands between.
type Spans interface {
	// Spans are those of a part, the oldest first. What has changed nothing yet is
	// a *Complaint.
	Spans(ctx context.Context, run string, of Part) ([]Span, error)
}

// Judged is what a checkpoint asks about, as it was when it was opened.
type Judged struct {
	Checkpoint work.Checkpoint          `json:"checkpoint"`
	Level      string                   `json:"level"`
	From       string                   `json:"from"`   // commit that To is compared with; "" = no change is judged
	To         string                   `json:"to"`     // "" = no change is judged
	Files      []work.FileChange        `json:"files"`  // between From and To
	Words      string                   `json:"words"`  // the agent's last ones
	Doubts     []string                 `json:"doubts"` // findings and the arbiter's, one line each
	Verify     *work.VerifyFinishedData `json:"verify"` // the last one before the question; null = none
	Protected  []string                 `json:"protected"`
	Gone       []string                 `json:"gone"`
	Papers     map[string]string        `json:"papers,omitempty"` // a job's documents by path
	// Records are the last proofs by phase: what ran on what, what was put
	// back, how strong it is. InDoubt is what is in doubt about them.
	Records map[string]work.ProofRecord `json:"records,omitempty" doc:"The last proof of each phase: what ran on what, what was put back, how strong it is."`
	InDoubt []work.Doubt                `json:"in_doubt,omitempty" doc:"Why a proof that is green is worth less than it looks."`
}

// Questions is where what waits for a person is looked at and answered.
type Questions interface {
	Checkpoints(ctx context.Context, run string, status work.CheckpointStatus, limit int, after string) ([]work.Checkpoint, error)
	Judged(ctx context.Context, id string) (Judged, error)
	// Answer gives an answer, with a change of level unless level is "". A
	// refused one is one of work's errors or gates.ErrBadAnswer, and the
	// checkpoint is returned as it is now.
	Answer(ctx context.Context, a work.Answer, level string) (work.Checkpoint, error)
	JudgeFiles(ctx context.Context, id string, revision int, verdicts []work.FileVerdict) (work.Checkpoint, error)
	// SetLevel changes a run's policy from its next boundary on.
	SetLevel(ctx context.Context, run, level, by, door string) error
	// Tell leaves a message for the agent of a phase; without a phase, for the one
	// that is worked on. One that nobody would read is a *Complaint. door is what
	// it came through, for the record.
	Tell(ctx context.Context, run string, m work.Message, by, door string) (work.Told, error)
	// Rewind leaves the wish that a phase goes on from what an iteration left. One
	// that cannot be met is a *Complaint.
	Rewind(ctx context.Context, run string, r work.Rewind, by, door string) (work.Rewound, error)
}

// Code reads what runs made, in Forge's own repository.
type Code interface {
	Diff(ctx context.Context, from, to string) (string, error)
	Files(ctx context.Context, commit string) ([]string, error)
	// File is a file's content; at most 1 MB of it.
	File(ctx context.Context, commit, path string) ([]byte, error)
}

// JobOrder is what a job is started with.
type JobOrder struct {
	Description string            `json:"description"`
	Expert      string            `json:"expert,omitempty"`
	Level       string            `json:"level,omitempty"`
	Documents   map[string][]byte `json:"documents,omitempty"` // by name
	Sources     []string          `json:"sources,omitempty"`
	By          string            `json:"-"`
}

// Jobs starts jobs and ends runs and jobs.
type Jobs interface {
	// Start opens a job, which the server drives; it returns its id.
	Start(ctx context.Context, o JobOrder) (string, error)
	// Cancel ends a run or job: its agents are stopped.
	Cancel(ctx context.Context, run, by string) error
	Experts(ctx context.Context) ([]string, error)
	Sources(ctx context.Context) ([]string, error)
	Levels(ctx context.Context) (Choices, error)
}

// Choice is one of several, with what it means.
type Choice struct{ Value, Says string }

// Choices are what a form lets people choose from.
type Choices []Choice

// Values are the choices by themselves.
func (c Choices) Values() []string {
	out := make([]string, 0, len(c))
	for _, one := range c {
		out = append(out, one.Value)
	}
	return out
}

// Says is what a value means; "" where it is none of them.
func (c Choices) Says(value string) string {
	for _, one := range c {
		if one.Value == value {
			return one.Says
		}
	}
	return ""
}

// Standing is how the loop of a project stands.
type Standing struct {
	Serving  bool    `json:"serving"` // some process works on this board
	Paused   bool    `json:"paused"`  // nothing new is claimed
	Drain    bool    `json:"drain"`   // paused, and the server ends when nothing runs
	Running  []int64 `json:"running"` // issues that are worked on
	InReview int     `json:"in_review"`
	Note     string  `json:"note,omitempty"` // why nothing is claimed, in words
	// Later are issues that are not begun before some time, for a limit they met.
	Later map[int64]time.Time `json:"-"`
	Since time.Time           `json:"since"`
}

// Floor steers the loop that works on the board.
type Floor interface {
	Standing(ctx context.Context) (Standing, error)
	Pause(ctx context.Context, paused bool, by string) error
	Drain(ctx context.Context, by string) error
	// CancelIssue says that nobody shall work on an issue any more, and stops
	// its agents.
	CancelIssue(ctx context.Context, id int64, by factory.By) (work.Issue, error)
}
