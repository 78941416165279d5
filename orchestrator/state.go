package orchestrator

import (
	"time"

	"forge/dag"
	"forge/internal/work"
)

// State is a run as its events tell it. It is built by NewState and Apply
// alone; everything that is to be done is derived from it by Pending.
type State struct {
	Run      string
	Spec     Spec
	Seq      int64
	Live     bool            // a process is in it: no run.finished since the last start or resume
	Outcome  work.RunOutcome // of the last run.finished
	Reason   string
	Stopping *RunStoppingData

	Baseline   Baseline
	Head       string   // of the run branch
	LastMerged string   // phase
	Heads      []HeadAt `json:",omitempty"` // what the run branch held, oldest first
	Merger     string   // the phase whose turn it is to merge, "" = free
	Turns      []string // proven phases, in the order in which they were proven
	Train      *Train   `json:",omitempty"` // phases that are merged together, nil = none are
	Trains     int      `json:",omitempty"` // so far
	// Beside are the heads of the run's branches in its other repositories.
	Beside   map[string]string `json:",omitempty"`
	Together *Together         `json:",omitempty"` // how several repositories are handed over; nil = they are not

	Phases map[string]*Phase
	Order  []string // plan order, sub-phases after their parents' spawn
	Open   map[string]*work.Checkpoint
	Asked  int // checkpoints so far, for their ids

	Job      *JobState   // nil = a run of a plan
	Issue    *IssueState `json:",omitempty"` // nil = no issue's run
	Ledger   Ledger
	Time     Took `json:",omitzero"` // while a process drove it
	Final    Final
	Delivery *work.Delivery
	Leaving  []Leaving `json:",omitempty"` // pull requests that are to be closed
	Sandbox  string    // the weakest sandbox any effect ran under
	Unproven bool      // some phase is done by its word alone
	Fresh    bool      `json:",omitempty"` // it was resumed with --fresh
	// Doubts are about what landed in the run. Moves is evidence that was
	// accepted in it. Verdicts are those of trees, by tree and commands.
	Doubts          []work.Doubt         `json:",omitempty"`
	Moves           []work.TrustMove     `json:",omitempty"`
	Rests           []Rest               `json:",omitempty"` // controls that there was no time for, in the order of landing
	Rested          int                  `json:",omitempty"` // how many of them were tried
	Verdicts        map[string]string    `json:",omitempty"`
	Assumed         []Assumption         `json:",omitempty"` // what was decided without knowing
	FollowUps       []FollowUp           `json:",omitempty"` // left for later by who approved
	Proposed        []work.Lesson        `json:",omitempty"` // what its agents say that it taught
	RefusedMessages []RefusedMessage     `json:",omitempty"` // the last messages that nobody reads
	Away            map[string]AwayAgent `json:",omitempty"` // agents whose providers are out
	Hooks           Hooks                `json:",omitzero"`  // of the run

	version  string   // of the policy
	topo     []string // the graph's order
	frontier *dag.Frontier[string]
	skips    []dag.Skip[string] // dependents of what failed, whose finished events are due
	working  []string           // phases that are asked about or under way, in the order in which they came up
}

// Baseline is the verify of the base before the first iteration.
type Baseline struct {
	Stage  BaselineStage
	Output string
	Tries  int // results so far
	// Repository is the one whose base is verified: each has its turn.
	Repository string `json:",omitempty"`
}

// BaselineStage is where the baseline stands.
type BaselineStage string

const (
	BaselineDue    BaselineStage = "due"
	BaselineRed    BaselineStage = "red"
	BaselineAsked  BaselineStage = "asked"
	BaselinePassed BaselineStage = "passed" // green, not needed, or accepted
)

// Final is the end of the run: the gate before the result lands, and landing.
type Final struct {
	Stage    FinalStage
	Revision int // of the result, counted by the times it was judged
	Rejected string
	Note     string   // why the last rework is not in the result
	Tries    int      // deliveries so far
	Approved string   `json:",omitempty"` // who approved the result
	Heard    []string `json:",omitempty"` // what people said of it on a code host, and was acted upon
	// Owed are the threads there that the agent has not answered yet, and Said
	// its last words since then, by phase. Rounds are the answers.
	Owed   []string          `json:",omitempty"`
	Said   map[string]string `json:",omitempty"`
	Rounds []Round           `json:",omitempty"`
	// Answers are what it said in single threads of Owed; From is the result that
	// people spoke of.
	Answers map[string]string `json:",omitempty"`
	From    string            `json:",omitempty"`
	// Taken are commits that people put on the result and that are in it now.
	Taken []string `json:",omitempty"`
}

// FinalStage is where the end of the run stands.
type FinalStage string

const (
	FinalNone    FinalStage = ""
	FinalAsked   FinalStage = "asked"
	FinalDeliver FinalStage = "deliver"
	FinalOver    FinalStage = "over"
)

// Stage is where a phase stands. docs/states.md draws the transitions.
type Stage string

const (
	StageWaiting  Stage = "waiting"  // for its dependencies
	StageReady    Stage = "ready"    // start gate is due
	StageAsked    Stage = "asked"    // a person is asked
	StageFolder   Stage = "folder"   // its folder is being made
	StageGate     Stage = "gate"     // the next iteration's gate is due
	StageIterate  Stage = "iterate"  // the agent works
	StageOutage   Stage = "outage"   // the provider is out; a timer runs
	StageJudge    Stage = "judge"    // what came of the iteration is being judged
	StageSub      Stage = "subphase" // a sub-phase is under way
	StageTries    Stage = "tries"    // it is being tried several times side by side
	StageCouncil  Stage = "council"  // its proven tries are judged by each other's workers
	StageVerify   Stage = "verify"
	StageEvidence Stage = "evidence" // verify again with the evidence of the trusted state and of the base
	StageControl  Stage = "control"  // test runners are asked what the proof is worth
	StageReview   Stage = "review"   // specialists look at the proven tree
	StageArbiter  Stage = "arbiter"  // what follows from the reviews is being decided
	StageProven   Stage = "proven"   // gates before the merge are due
	StageTurn     Stage = "turn"     // waits for its turn to merge, then merges
	StageTrain    Stage = "train"    // merged with others in a batch, whose tree is being verified
	StageMerged   Stage = "merged"   // the merged tree is known: verify it, resolve it, or land it
	StageReverify Stage = "reverify" // verify on the merged tree
	StageLand     Stage = "land"
	StagePull     Stage = "pull"   // its pull request is being read before anything follows
	StageLanded   Stage = "landed" // on the run branch; finished event is due
	StageFinished Stage = "finished"
)

// Stages lists every stage in the order of a phase's way.
func Stages() []Stage {
	return []Stage{StageWaiting, StageReady, StageAsked, StageFolder, StageGate, StageIterate, StageOutage, StageJudge,
		StageSub, StageTries, StageCouncil, StageVerify, StageEvidence, StageControl, StageReview, StageArbiter, StageProven, StageTurn, StageTrain, StageMerged, StageReverify, StageLand, StagePull, StageLanded, StageFinished}
}

// IterationKind says what an iteration is for.
type IterationKind string

const (
	IterationWork    IterationKind = "work"
	IterationResolve IterationKind = "resolve" // of a merge conflict, outside the budget
	IterationRework  IterationKind = "rework"  // asked for at the final gate, outside the budget
	IterationFix     IterationKind = "fix"     // of what reviews found, outside the budget
)

// Free says that the iteration does not count against the budget and needs no
// new promise.
func (k IterationKind) Free() bool { return k != IterationWork }

// Phase is one phase of the run, or a sub-phase of one.
type Phase struct {
	View
	Hooks Hooks `json:",omitzero"`

	// What the core alone goes by, by topic (phase.go). As JSON all of it stands side
	// by side.
	Rewinding
	Briefing
	Watching
	Evidencing
	Requesting
	Contending
	Boarding
	Pushing
}

// Judged are the facts of the iteration that is being judged.
type Judged struct {
	Outcome  work.Outcome
	Detail   string
	Claims   []string
	Claim    ClaimStage
	Markers  []string
	ResetAt  *time.Time
	Stalling bool // the stale check of this iteration is still due
	// Obstacle is why its claim was none, or was refuted.
	Obstacle string `json:",omitempty"`
	// Missing says that no agent can mend that: a program is not installed.
	Missing bool `json:",omitempty"`
}

// ClaimStage says how far the claim of an iteration is judged.
type ClaimStage string

const (
	ClaimDue  ClaimStage = "due"
	ClaimNone ClaimStage = "none"
	ClaimMade ClaimStage = "made"
)

// Outage is a provider that does not answer.
type Outage struct {
	Since time.Time
	Until time.Time
	Tries int
}

// merged says that work of p is in the result already, so that what is under
// way is a rework asked for at the final gate.
func (p *Phase) merged() bool { return p.Reworking && p.Landed }
