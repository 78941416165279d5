package factory

import (
	"context"
	"time"

	"forge/internal/work"
)

// Triage says what is to be done about a claimed issue before it is planned.
// It may be asked about several issues at once, and again about one after a
// crash: what people and models were asked before must be found, not repeated.
type Triage interface {
	// Triage looks at an issue that is claimed and has no run yet. That people
	// have to be asked is a result, and the wait holds nothing: it is asked
	// again when Answered says so. An error means that nobody can tell now.
	Triage(ctx context.Context, i work.Issue) (Triaged, error)
	// Answered says that what Triage waits for has come. It is asked of every
	// waiting issue without a run whenever the journal changed, so it is cheap.
	Answered(ctx context.Context, i work.Issue) (bool, error)
}

// Triaged is what came of triage. The zero value is no verdict, and holds.
type Triaged struct {
	Verdict Verdict
	// Reason is said on the card, in one line: what is waited for, why it was
	// stopped, what is done.
	Reason string
	// Hints are for whoever plans: the intent, what to look at, the action that
	// was picked. Each is data there, fenced like the issue's own text.
	Hints []string
	Until time.Time // of TriageLater: when it is worth another try
}

// Verdict is where triage sends an issue.
type Verdict string

const (
	TriageReady   Verdict = "ready"   // plan it and run it
	TriageWaits   Verdict = "waits"   // for a person, or for its sub-issues
	TriageLater   Verdict = "later"   // for a service that is away; nothing is wrong with the issue
	TriageStopped Verdict = "stopped" // a person said no: the issue is cancelled
	TriageDone    Verdict = "done"    // its sub-issues did all of it; nothing is run
)

// passThrough is triage where none is configured.
type passThrough struct{}

// NoTriage lets every issue through to its plan.
func NoTriage() Triage { return passThrough{} }

func (passThrough) Triage(context.Context, work.Issue) (Triaged, error) {
	return Triaged{Verdict: TriageReady}, nil
}
func (passThrough) Answered(context.Context, work.Issue) (bool, error) { return false, nil }

// Cards reads a board.
type Cards interface {
	Issues(ctx context.Context, f work.IssueFilter, limit int, after string) ([]work.Issue, error)
	IssueCounts(ctx context.Context, project string) (map[work.Column]int, error)
	Blockers(ctx context.Context, project string, ids []int64) (map[int64][]int64, error)
}

// Claims keeps who works on which issue, for the one process that it claims
// for. A claim and the change of its issue are one durable transaction.
type Claims interface {
	// Claims are those that are held, and those that say when to come back.
	Claims(ctx context.Context, project string) (map[int64]work.IssueClaim, error)
	// Claim takes an issue that stands as seen says: work.ErrStale when it does
	// not any more.
	Claim(ctx context.Context, seen work.IssueClaim, c work.BoardChange) (work.IssueClaim, work.Issue, error)
	// Change changes a claimed issue; work.ErrNotClaimed when it was taken over.
	Change(ctx context.Context, claim work.IssueClaim, c work.BoardChange) (work.Issue, error)
	// End gives a claim back with a last change, nil for none; later as in
	// work.IssueClaim.
	End(ctx context.Context, claim work.IssueClaim, c *work.BoardChange, later time.Time) (work.Issue, error)
	// Keep is the heartbeat; it returns the claims that were taken over.
	Keep(ctx context.Context, claims []work.IssueClaim) (lost []work.IssueClaim, err error)
}

// Standings keeps how the loop of a project is to go on, and who serves it.
type Standings interface {
	Floor(ctx context.Context, project string) (work.Floor, error)
	// SetFloor is refused with work.ErrStale when another version is stored.
	SetFloor(ctx context.Context, project string, f work.Floor) error
	// Serve says that this process works on the board, and why it claims
	// nothing; Leave that it does not any more.
	Serve(ctx context.Context, project, note string) error
	Leave(ctx context.Context, project string) error
	// Changed says whether anything was stored since the last call. It is asked
	// twice a second.
	Changed(ctx context.Context) (bool, error)
}

// Works is how the issues of one project become runs and land. Its methods may
// be called for several issues at once, and all may be repeated after a crash.
type Works interface {
	// Admission says how many issues are taken now, and for which agents. An error
	// says, for people, why nothing can be begun; it holds the whole project, and no
	// issue fails by it.
	Admission(ctx context.Context) (Admission, error)
	// News are what the runs of begun issues have to say since their claims were
	// given back, by issue.
	News(ctx context.Context) (map[int64]News, error)
	// Drive opens the issue's run, or goes on with it, until it ends or
	// freezes, or ctx is cancelled; every process it began has ended then. A run
	// that is over is not driven: Drive says how it ended. ErrHeld when another
	// process drives it.
	Drive(ctx context.Context, o Order) (Ended, error)
	// Land brings the result of the issue's completed run into the target
	// branch, or finds that it is there. That it cannot is a result. shown is
	// called with the pull request that does it, before anything is merged, and
	// nothing is when it fails. unwanted says why nothing is brought there: then
	// it only finds what is there, "" = nothing speaks against it.
	Land(ctx context.Context, i work.Issue, unwanted string, shown func(work.IssuePull) error) (Landed, error)
	// Show lets people see a finished result that waits for one of them, where
	// they look at such. What is not there is no Commit.
	Show(ctx context.Context, i work.Issue, shown func(work.IssuePull) error) (Landed, error)
}

// News is what came of an issue's run while nobody of the factory drove it.
type News struct {
	Answers []work.Answer // that it has not heard yet
	Updated time.Time     // of its last event
	Overdue bool          // a question of it was answered by nobody in time: it is put again
	Over    bool          // it will not go on
	Pull    bool          // its pull request stands differently
	Held    bool          // somebody else drives it
}

// Admission is the limits under which issues of a project are taken.
type Admission struct {
	MaxRunning  int // 0 = nothing may be begun
	MaxInReview int // 0 = no limit
	// Agents are the names of the agents that an issue without a run is worked
	// on with.
	Agents []string
}

// Order is an issue to be worked on.
type Order struct {
	Issue work.Issue
	Hints []string // of triage
	// Again says that a person wants what failed to be tried again. A run that
	// cannot go on, since it was cancelled or its result rejected, is followed
	// by a new one.
	Again bool
	// Finish says that no new run is opened: the issue is not wanted any more
	// where it comes from, and only what people decided of its result counts.
	Finish bool
	// Named is called right before a new run is opened, and nothing is opened
	// when it fails. after is the run whose result it goes on from, "" = it begins
	// anew; pull is that result's pull request, nil = there is none.
	Named func(run, after string, pull *work.IssuePull) error
}

// Ended is how a process left an issue's run.
type Ended struct {
	Outcome work.RunOutcome
	Reason  string // one line, for the card
	Spent   string // time and money, in words; "" = nobody knows
	// Promoted says that the result was decided to be done.
	Promoted bool
	// Promote says that the run is frozen where finished work waits for a
	// person; Rejected that it is over because that person said no. Hold says
	// why such work is not done.
	Promote  bool
	Rejected bool
	Hold     []string
	// Until is when a run at a limit is worth another try; zero = not before a
	// person acts.
	Until time.Time
	// Broken are the agents because of which it failed, Worked those that did
	// what they were asked.
	Broken, Worked []string
	// Exhausted says that it failed since its tries are used up, and nothing else.
	Exhausted bool
	// Retry is the line for the card of what failed and is tried again by itself at
	// Until; "" = it is not.
	Retry string
}

// Landed is what became of a finished result.
type Landed struct {
	Commit string // the target's head that holds it; "" = it is not there
	Target string
	// Hold names why it did not land, in a word for the card, and Reason in a
	// line with the way out. Of what has landed, Reason is what a person has to
	// know.
	Hold, Reason string
	// Waits says that it is tried again by itself, once its pull request stands
	// differently, or at Until.
	Waits bool
	Until time.Time
}
