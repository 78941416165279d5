package orchestrator

import (
	"forge/gates"
	"forge/internal/work"
)

// View is what readers outside the core see of a phase, by topic. It is a copy, whose lists
// and maps are the phase's own: to be read.
type View struct {
	Number string
	Parent string // "" = a node of the graph
	Try    int    `json:",omitempty"` // of Parent's tries it is this one, from 1; 0 = it is none
	Plan   work.Phase
	Set    work.PhaseSettings
	Stage  Stage

	Ending
	Counting
	Workspace
	Telling
	Staffing
	Judging
	Awaiting
	Merging
	Publishing
	Spending
}

// View is what is seen of a phase outside the core, nil where there is no such phase.
func (s *State) View(number string) *View {
	p := s.Phases[number]
	if p == nil {
		return nil
	}
	seen := p.View
	return &seen
}

// Ending is how a phase ended.
type Ending struct {
	Outcome work.PhaseOutcome
	Reason  work.Reason
	Cause   string
	Detail  string
	Proof   work.Proof
	Said    string `json:",omitempty"` // of its work, by its agent, for people
}

// Counting is the iterations of a phase, and what of its budget they used up.
type Counting struct {
	Iteration int // number of the last iteration, from 1
	Begun     bool
	Command   work.CommandID // of the iteration that has begun
	Spent     int            // iterations of the budget that are used up
	Budget    int
	Tries     map[int]int // attempts so far, by iteration
	Reopened  int
	SentBack  int           `json:",omitempty"` // how often people asked for changes of what was proven
	Kind      IterationKind // of the next or current iteration
	Spawned   int
	Allowed   int // iteration that a person said yes to
}

// Workspace is what a phase works on: the commits of its work.
type Workspace struct {
	Base    string   // commit it began at
	Last    string   // last snapshot
	Tree    string   // of Last
	Rewinds []string `json:",omitempty"` // the wishes to set it back that were met
}

// Telling is what iterations came to, and what people said to the agent.
type Telling struct {
	History  []string  // one line per iteration, the last ones
	Messages []Message `json:",omitempty"` // oldest first
}

// Staffing is which agent is there to do the work.
type Staffing struct {
	Outage   *Outage
	Switches []Switch `json:",omitempty"` // from agent to agent, oldest first
}

// Judging is the claim that is judged, what the work is worth, and what of the evidence
// it touched.
type Judging struct {
	Judged   Judged
	Evidence []string // protected files it touched
	Gone     []string // test files of the base that it removed
	// Record is its last proof, for people; it outlives Proving.
	Record work.ProofRecord `json:",omitzero"`
	Review Review
}

// Awaiting is what a phase waits for: a person, a decision on the end of its job, its
// sub-phase.
type Awaiting struct {
	AskedAt  Stage            // where it stood when a person was asked
	Complete *work.Completion // the agent says that the job is complete
	Child    string           // the sub-phase, "" = none
}

// Merging is what of a phase is in the result.
type Merging struct {
	Merge  *MergeFinishedData
	Files  int  // changed when merged; -1 = not merged
	Landed bool // some work of it is on the run branch
}

// Publishing is where people look at a phase outside.
type Publishing struct {
	Pull *Pull `json:",omitempty"` // nil = no pull request is due
}

// Spending is what a phase took.
type Spending struct {
	Total work.Usage
	Usage Ledger
	Time  Took `json:",omitzero"`
}

// Rewinding is where people want a phase set back to.
type Rewinding struct {
	Reset  bool    // the folder must be set to Last before the next iteration
	Snaps  []Snap  `json:",omitempty"` // what its iterations left, oldest first
	Rewind *Rewind `json:",omitempty"` // a person wants it set back
}

// Briefing is what the next prompt tells the agent of a phase.
type Briefing struct {
	Session  string   // the agent's, to be continued
	Comments []string // of people, for the next prompt
	Notes    []string // feedback for the next prompt
	Verified string   // failing verify output for the next prompt
	Pivot    string   // due in the next prompt only
	Past     Past     `json:",omitzero"` // what a new session is told beside it
	Strategy []string // the agent's own pivots, fed back as directives
}

// Watching is whether the iterations of a phase lead anywhere.
type Watching struct {
	Blockers  []string
	FailedRow int
	HungRow   int
	Progress  gates.ProgressTracker
	Stale     gates.StaleHandler
	Blocked   gates.BlockerTracker `json:",omitzero"`
	Seen      Seen                 `json:",omitzero"`
}

// Evidencing is what of the work of a phase is proven so far.
type Evidencing struct {
	Check *work.TodoCheck // what the job's todos said last
	// Parts are what of its work was proven before it was as a whole.
	Parts   []work.ProvenPart `json:",omitempty"`
	Proving Proving           `json:",omitzero"`
	// Prior is what is known of the proof that a fix would take the place of.
	Prior *PriorProof `json:",omitempty"`
}

// Requesting is what the agent of a phase asked for.
type Requesting struct {
	Requests []work.SubPhaseRequest
	Split    Split              `json:",omitzero"`
	Stops    []work.StopRequest // checkpoints that the agent asked for
	Asking   Asking             `json:",omitzero"`
	Todos    gates.TodoSet      // of a job's phase
	Staged   []string           // of a tactical phase: the todos that it began with and that are not finished
}

// Contending is a phase among the tries of one.
type Contending struct {
	Contest *Contest `json:",omitempty"` // its tries; nil = it is not tried several times
	// Of a try: why it is ended, "" = it is not; how much its work changes.
	Stopped string   `json:",omitempty"`
	Size    *TrySize `json:",omitempty"`
}

// Boarding is the way of a phase into the result: in trains with others or alone, again
// after a conflict or a rework.
type Boarding struct {
	// Boarded is the last train that it was in, and Alone why it goes alone since
	// then. Red is what is known of its merged tree, Rode says that the train has
	// asked what it is asked about its own change, and BeforeTrain is its proof before.
	Boarded     int          `json:",omitempty"`
	Alone       string       `json:",omitempty"`
	Red         *RedMerge    `json:",omitempty"`
	Rode        bool         `json:",omitempty"`
	BeforeTrain *BeforeTrain `json:"Ashore,omitempty"`
	Unseen      bool         `json:",omitempty"` // it went on, and no person has looked at it or a later one
	Reworking   bool         // asked for at the final gate
	// Conflict is a conflict that the next iteration begins with. Marked are the
	// files that held a conflict's markers last.
	Conflict *Conflict `json:"Clash,omitempty"`
	Marked   []string  `json:",omitempty"`
}

// Pushing is what was done about its pull request.
type Pushing struct {
	PullRev   int `json:",omitempty"` // branches so far
	PullTries int `json:",omitempty"` // what was done about them so far
	// PushedRed is what people pushed there and verify was red on.
	PushedRed *RedPush `json:",omitempty"`
}
