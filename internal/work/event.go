package work

import (
	"encoding/json"
	"fmt"
	"time"

	"forge/internal/stuck"
)

// EventVersion is the version of the envelope and of every payload written by
// this program. Older ones are brought up by upcasters when read.
const EventVersion = 1

// MaxEventBytes bounds the payload of an event; what is longer is a blob.
const MaxEventBytes = 16 << 10

// Event is one line of a run's journal: a fact or a decision, never undone.
type Event struct {
	V         int             `json:"v"`
	Seq       int64           `json:"seq"` // dense from 1 within the run
	Time      time.Time       `json:"time"`
	Run       string          `json:"run"`
	Kind      EventKind       `json:"kind"`
	Phase     string          `json:"phase,omitempty"`
	Iteration int             `json:"iteration,omitempty"`
	Attempt   int             `json:"attempt,omitempty"`
	Data      json.RawMessage `json:"data"`
}

// EventKind names what happened. Kinds may be added; none changes its meaning.
type EventKind string

const (
	RunStarted         EventKind = "run.started"
	RunResumed         EventKind = "run.resumed"
	RunStopping        EventKind = "run.stopping"
	RunFinished        EventKind = "run.finished"
	PhaseStarted       EventKind = "phase.started"
	PhaseReopened      EventKind = "phase.reopened"
	PhaseFinished      EventKind = "phase.finished"
	PhaseMerged        EventKind = "phase.merged"
	GateDecided        EventKind = "gate.decided"
	FolderStarted      EventKind = "folder.started"
	FolderFinished     EventKind = "folder.finished"
	IterationStarted   EventKind = "iteration.started"
	IterationFinished  EventKind = "iteration.finished"
	VerifyStarted      EventKind = "verify.started"
	VerifyFinished     EventKind = "verify.finished"
	ControlStarted     EventKind = "control.started"
	ControlFinished    EventKind = "control.finished"
	ReviewStarted      EventKind = "review.started"
	ReviewFinished     EventKind = "review.finished"
	ArbiterStarted     EventKind = "arbiter.started"
	ArbiterFinished    EventKind = "arbiter.finished"
	ArbiterDecided     EventKind = "arbiter.decided"
	MergeStarted       EventKind = "merge.started"
	MergeFinished      EventKind = "merge.finished"
	LandStarted        EventKind = "land.started"
	TrainStarted       EventKind = "train.started" // phases that wait for their turn are merged as one batch
	TrainFinished      EventKind = "train.finished"
	TrainDecided       EventKind = "train.decided"
	SubPhaseSpawned    EventKind = "subphase.spawned"
	SubPhaseFolded     EventKind = "subphase.folded"
	TriesBegan         EventKind = "tries.began" // a phase is tried several times side by side
	TryStopped         EventKind = "try.stopped"
	TryChosen          EventKind = "try.chosen"
	CouncilBegan       EventKind = "council.began" // workers judge each other's tries
	VoteStarted        EventKind = "vote.started"
	VoteFinished       EventKind = "vote.finished"
	SynthesisBegan     EventKind = "synthesis.began" // a try that is made out of the others
	CheckpointOpened   EventKind = "checkpoint.opened"
	CheckpointAnswered EventKind = "checkpoint.answered"
	CheckpointOverdue  EventKind = "checkpoint.expired"
	OutageBegan        EventKind = "outage.began"
	OutageEnded        EventKind = "outage.ended"
	AgentSwitched      EventKind = "agent.switched" // another of a phase's agents goes on
	RestStarted        EventKind = "rest.started"
	RestFinished       EventKind = "rest.finished"
	DeliverStarted     EventKind = "deliver.started"
	DeliverFinished    EventKind = "deliver.finished"
	TogetherStarted    EventKind = "together.started" // one step of handing several repositories over
	TogetherFinished   EventKind = "together.finished"
	TogetherDecided    EventKind = "together.decided"
	PhaseAdded         EventKind = "phase.added"
	JobDecided         EventKind = "job.decided"
	PolicyChanged      EventKind = "policy.changed"
	PhaseTold          EventKind = "phase.told"
	TellStarted        EventKind = "tell.started"
	TellFinished       EventKind = "tell.finished"
	RewindAsked        EventKind = "phase.rewind_asked"
	PhaseRewound       EventKind = "phase.rewound"
	CriteriaAnswered   EventKind = "criteria.answered"
	CriterionEvidenced EventKind = "criterion.evidenced"
	PromotionDecided   EventKind = "promotion.decided"
	PublishBegan       EventKind = "publish.started"
	PublishFinished    EventKind = "publish.finished"
	PullDue            EventKind = "pull.due"
	PullStarted        EventKind = "pull.started"
	PullFinished       EventKind = "pull.finished"
	PullDecided        EventKind = "pull.decided"
	LandRefused        EventKind = "land.refused"
	CloseStarted       EventKind = "close.started"
	CloseFinished      EventKind = "close.finished"
	LandingBegan       EventKind = "landing.began"
	LandingStarted     EventKind = "landing.started"
	LandingFinished    EventKind = "landing.finished"
	LandingDecided     EventKind = "landing.decided"
	HookDue            EventKind = "hook.due"
	HookStarted        EventKind = "hook.started"
	HookFinished       EventKind = "hook.finished"
	Warned             EventKind = "warned"
)

// PhaseOutcome is how a phase ended.
type PhaseOutcome string

const (
	PhaseDone      PhaseOutcome = "done"
	PhaseFailed    PhaseOutcome = "failed"
	PhaseSkipped   PhaseOutcome = "skipped"
	PhaseCancelled PhaseOutcome = "cancelled"
)

// Reason is why a phase failed or was skipped.
type Reason string

const (
	ReasonBudgetExhausted   Reason = "budget_exhausted"
	ReasonStale             Reason = "stale"
	ReasonBlocked           Reason = "blocked" // the agent named the same blocker again
	ReasonAgentFailed       Reason = "agent_failed"
	ReasonAgentHung         Reason = "agent_hung"
	ReasonVerifyFailed      Reason = "verify_failed"
	ReasonReviewFailed      Reason = "review_failed"
	ReasonReviewUnknown     Reason = "review_unknown"
	ReasonEvidenceChanged   Reason = "evidence_changed"
	ReasonProofDisturbed    Reason = "proof_disturbed"
	ReasonReadonlyViolation Reason = "readonly_violation"
	ReasonMergeConflict     Reason = "merge_conflict"
	ReasonCostLimit         Reason = "cost_limit"
	ReasonSetupFailed       Reason = "setup_failed"
	ReasonTriesFailed       Reason = "tries_failed" // no try of it is proven
	ReasonHook              Reason = "hook"         // a hook did not say that it goes on
	ReasonRejected          Reason = "rejected"
	ReasonInternal          Reason = "internal"
	ReasonDependencyFailed  Reason = "dependency_failed"
	ReasonUser              Reason = "user"
)

// RunOutcome is how a process left a run. Only completed, failed and cancelled
// are final; the others can be resumed.
type RunOutcome string

const (
	RunCompleted   RunOutcome = "completed"
	RunFailed      RunOutcome = "failed"
	RunFrozen      RunOutcome = "frozen"
	RunLimit       RunOutcome = "limit"
	RunCancelled   RunOutcome = "cancelled"
	RunInterrupted RunOutcome = "interrupted"
)

// RunSpent is what a run took so far.
type RunSpent struct {
	USD     *float64      // nil = some of it is unknown
	Lasting time.Duration // from its beginning to its last event
}

// Final says that nothing of the run is left to do.
func (o RunOutcome) Final() bool {
	return o == RunCompleted || o == RunFailed || o == RunCancelled
}

// Proof says what a phase's "done" rests on.
type Proof string

const (
	ProofVerified Proof = "verified"
	ProofClaim    Proof = "claim"  // no verify commands: only the agent's word
	ProofWaived   Proof = "waived" // [verify] none = true
)

// CommandID is the deterministic name of an effect:
// run/phase/attempt/iteration/step.
type CommandID string

// The payloads. Every effect's started and finished event carries its command id.

// IterationStartedData is the payload of iteration.started.
type IterationStartedData struct {
	Command  CommandID `json:"command"`
	Agent    string    `json:"agent"`
	Session  string    `json:"session,omitempty"` // continued
	Prompt   string    `json:"prompt,omitempty"`  // why this prompt: full, feedback, pivot, fix, resolve, final
	Told     []string  `json:"told,omitempty"`    // messages of people that the prompt holds
	Lessons  []string  `json:"lessons,omitempty"` // that people kept and the prompt holds, by id
	Fix      bool      `json:"fix,omitempty"`     // outside the budget
	Reserved *float64  `json:"reserved_usd,omitempty"`
}

// IterationFinishedData is the payload of iteration.finished.
type IterationFinishedData struct {
	Command   CommandID  `json:"command"`
	Outcome   Outcome    `json:"outcome"`
	Detail    string     `json:"detail,omitempty"`
	Changed   bool       `json:"changed"`
	Files     int        `json:"files"`
	Signals   Signals    `json:"signals"`
	Claims    []string   `json:"claims,omitempty"`
	Usage     Usage      `json:"usage"`
	Total     Usage      `json:"total"`
	Snapshot  string     `json:"snapshot,omitempty"`
	Tree      string     `json:"tree,omitempty"`
	Fix       bool       `json:"fix,omitempty"`
	Session   string     `json:"session,omitempty"`
	Lost      bool       `json:"session_lost,omitempty"`
	Denied    []string   `json:"denied,omitempty"`
	Dropped   []string   `json:"dropped,omitempty"`
	ExitCode  *int       `json:"exit_code"`
	Left      int        `json:"left_behind,omitempty"`
	Sandbox   string     `json:"sandbox,omitempty"`
	ResetAt   *time.Time `json:"reset_at,omitempty"`
	Message   string     `json:"message,omitempty"`
	Heard     []string   `json:"heard,omitempty"`     // messages of people that it was given midway, by their ids
	Conflicts []string   `json:"conflicts,omitempty"` // files that still hold conflict markers
	// Todos is what a job's todos say in the snapshot; nil outside a job.
	Todos *TodoCheck `json:"todos,omitempty"`
	// Size is how much the work of a try changes so far; nil = unknown, or no try.
	Size *ChangeSize `json:"size,omitempty"`
	// Network is what it asked of the network, where that is bounded to hosts.
	Network []HostUse `json:"network,omitempty"`
	// Trace is what was seen of it beside; nil = nothing, as of an older Forge.
	Trace *stuck.Trace `json:"trace,omitempty"`
}

// HostUse is what became of one host and port that a program asked for: refused,
// or opened with so many bytes.
type HostUse struct {
	Host    string `json:"host"`
	Refused int64  `json:"refused,omitempty"`
	Opened  int64  `json:"opened,omitempty"`
	Sent    int64  `json:"sent,omitempty"`
	Got     int64  `json:"got,omitempty"`
}

// Refusals are the hosts that were refused, with how often, in the order of uses.
func Refusals(uses []HostUse) []string {
	var out []string
	for _, u := range uses {
		switch {
		case u.Refused == 1:
			out = append(out, u.Host)
		case u.Refused > 1:
			out = append(out, fmt.Sprintf("%s (%d times)", u.Host, u.Refused))
		}
	}
	return out
}

// VerifyOn says on what tree verify ran.
type VerifyOn string

// OfBase says that it ran on the base of the run, before any work.
func (on VerifyOn) OfBase() bool { return on == OnBase || on == OnWarm }

const (
	OnSnapshot  VerifyOn = "snapshot"
	OnMerged    VerifyOn = "merged"
	OnBase      VerifyOn = "base"
	OnWarm      VerifyOn = "warm"      // the base, for what the commands leave in caches: it says nothing of the work
	OnProtected VerifyOn = "protected" // the evidence of the phase's base, the commit's product
	OnTrusted   VerifyOn = "trusted"   // the evidence that a person last accepted, the commit's product
	// OnTrustedNew is OnTrusted with those files as the commit has them of which
	// nobody knows whether they are product or evidence, new ones among them.
	OnTrustedNew VerifyOn = "trusted_new"
	// OnTrustedChanged is OnTrustedNew without the new ones.
	OnTrustedChanged VerifyOn = "trusted_changed"
	// OnProtectedChanged is to OnProtected what OnTrustedChanged is to OnTrusted.
	OnProtectedChanged VerifyOn = "protected_changed"
	// OnParts is the commit's product with the evidence that parts of the work were
	// proven with: its sub-phases, and what it was before a conflict was resolved.
	OnParts VerifyOn = "parts"
)

// VerifyStartedData is the payload of verify.started.
type VerifyStartedData struct {
	Command CommandID `json:"command"`
	On      VerifyOn  `json:"on"`
	Commit  string    `json:"commit"`
	// Repository is the one that Commit is of; "" = the home.
	Repository string `json:"repository,omitempty"`
}

// VerifyFinishedData is the payload of verify.finished.
type VerifyFinishedData struct {
	ID       CommandID `json:"id"`
	On       VerifyOn  `json:"on"`
	OK       bool      `json:"ok"`
	ExitCode *int      `json:"exit_code"`
	Command  string    `json:"command,omitempty"` // the one that failed, or the last
	TimedOut bool      `json:"timed_out,omitempty"`
	Output   string    `json:"output,omitempty"` // tail of the failing output
	Problem  string    `json:"problem,omitempty"`
	Sandbox  string    `json:"sandbox,omitempty"`
	// Touched are the protected files that the phase changed and no
	// may_change glob covers; Gone the test files of the base that it removed.
	Touched []string `json:"touched,omitempty"`
	Gone    []string `json:"gone,omitempty"`
	// Allowed, in an issue's run, are those that a may_change glob covers.
	Allowed []string `json:"excused,omitempty"`
	// Held says that the change was held against the trusted state as well;
	// without it the event is of an earlier release. Then Floors are the proofs
	// that are due beside this one, and Differs is the evidence that is not the
	// trusted one.
	Held    bool       `json:"held,omitempty"`
	Floors  []VerifyOn `json:"floors,omitempty"`
	Differs []string   `json:"differs,omitempty"`
	New     []string   `json:"new,omitempty"`   // new files that count as evidence: those proofs leave them out
	Parts   []string   `json:"parts,omitempty"` // evidence of parts of the work that is another now
	Doubts  []Doubt    `json:"doubts,omitempty"`
	Notes   []string   `json:"notes,omitempty"` // of evidence and dependencies, for people
	// Hidden is how many checks ran that the owner keeps from agents, HiddenSum
	// tells states of these apart.
	Hidden    int    `json:"hidden,omitempty"`
	HiddenSum string `json:"hidden_sum,omitempty"`
	// Pages are those that the owner has shown for a proof, with their pictures.
	Pages []PageShown `json:"pages,omitempty"`
	// Missing says that the command names a program that is not installed.
	Missing bool `json:"missing,omitempty"`
	// Disturbed says what the commands did to the tree that they judge.
	Disturbed string `json:"disturbed,omitempty"`
	Millis    int64  `json:"millis,omitempty"` // how long it took
	// Key names what was asked and Tree what it was asked about, see ProofKey; ""
	// = they could not be told. Before is the record that stands for a run of the
	// commands: they did not run again. Filled says that they ran on accepted work.
	Key    string        `json:"key,omitempty"`
	Tree   string        `json:"tree,omitempty"`
	Before *ProvenBefore `json:"before,omitempty"`
	Filled bool          `json:"filled,omitempty"`
	// Rides, of a phase that lands in a batch, is the verify of the tree that the
	// branch will hold: it stands for a run of the commands on the phase's own merged
	// tree, which the branch never holds alone.
	Rides CommandID  `json:"rides,omitempty"`
	Time  *ProofTime `json:"time,omitempty"`
	// Ran are the commands that ran, in order, with their times; of many the
	// first ones.
	Ran []CommandTime `json:"ran,omitempty"`
	// ReadOnly is how much of the evidence the commands could only read; null =
	// there was none, or the event is of an earlier release.
	ReadOnly *ReadOnly `json:"read_only,omitempty"`
}

// CommandTime is how one verify command ended, and how long it took.
type CommandTime struct {
	Command string `json:"command"`
	OK      bool   `json:"ok"`
	Millis  int64  `json:"millis,omitempty"` // 0 = nobody knows
}

// ControlFinishedData is the payload of control.finished: how much the proof
// is worth. It ends what a control.started began, whose payload is that of
// verify.started.
type ControlFinishedData struct {
	ID      CommandID `json:"id"`
	Problem string    `json:"problem,omitempty"` // why the proof counts for nothing
	// Refutes is the key of the verify that later ones are not spared by.
	Refutes string `json:"refutes,omitempty"`
	ControlReport
}

// RestFinishedData is the payload of rest.finished: what came of the controls of
// a phase that there was no time for at its claim. Its event names the phase.
type RestFinishedData struct {
	ControlFinishedData
	// Failed is why they could not be tried; "" = they were.
	Failed string `json:"failed,omitempty"`
}

// GateDecidedData is the payload of gate.decided: every decision, also "went on".
type GateDecidedData struct {
	Gate     string `json:"gate"`
	Decision string `json:"decision"`
	By       string `json:"by"` // strategy:name, person:name, rule:name
	// To is the stage that it leads the phase to, or the run, where a decision of
	// that gate may lead somewhere; events of earlier versions lack it.
	To      string   `json:"to,omitempty"`
	Policy  string   `json:"policy,omitempty"`
	Passed  []string `json:"passed,omitempty"`
	Failed  []string `json:"failed,omitempty"`
	Facts   string   `json:"facts,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Comment string   `json:"comment,omitempty"` // a person's words, for the agent
	Commit  string   `json:"commit,omitempty"`  // that the work goes on from: a person's edits
	// Conflicts are the files in which Commit holds both sides with markers.
	Conflicts []string `json:"conflicts,omitempty"`
}

// PhaseFinishedData is the payload of phase.finished.
type PhaseFinishedData struct {
	Outcome    PhaseOutcome `json:"outcome"`
	Reason     Reason       `json:"reason,omitempty"`
	Cause      string       `json:"cause,omitempty"` // the phase that failed first
	Detail     string       `json:"detail,omitempty"`
	Iterations int          `json:"iterations"`
	Proof      Proof        `json:"proof,omitempty"`
}

// RunFinishedData is the payload of run.finished.
type RunFinishedData struct {
	Outcome RunOutcome `json:"outcome"`
	Reason  string     `json:"reason,omitempty"`
	Branch  string     `json:"branch,omitempty"`
	Commit  string     `json:"commit,omitempty"`
	CostUSD *float64   `json:"cost_usd"` // nil when any part is unknown
}
