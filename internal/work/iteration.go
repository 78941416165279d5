package work

import (
	"math"
	"time"

	"forge/internal/stuck"
)

// Outcome says how one iteration ended.
type Outcome string

const (
	OutcomeOK                Outcome = "ok"
	OutcomeAgentFailed       Outcome = "agent_failed"
	OutcomeRateLimited       Outcome = "rate_limited"
	OutcomeStartTimeout      Outcome = "start_timeout"
	OutcomeIdleTimeout       Outcome = "idle_timeout"
	OutcomeIterationTimeout  Outcome = "iteration_timeout"
	OutcomePostResult        Outcome = "post_result"
	OutcomeInterrupted       Outcome = "interrupted"
	OutcomeCancelled         Outcome = "cancelled"
	OutcomeTold              Outcome = "told" // ended, so that the next one begins with what a person said
	OutcomeReadonlyViolation Outcome = "readonly_violation"
	OutcomeCostLimit         Outcome = "cost_limit"
)

// Hung says that the agent had to be ended because it did not end by itself
// and had not given its result.
func (o Outcome) Hung() bool {
	return o == OutcomeStartTimeout || o == OutcomeIdleTimeout || o == OutcomeIterationTimeout
}

// KeepsClaim says that a promise said in the iteration counts.
func (o Outcome) KeepsClaim() bool { return o == OutcomeOK || o == OutcomePostResult }

// Usage is what an iteration consumed. nil = unknown, never 0 by default.
type Usage struct {
	InputTokens  *int64   `json:"input_tokens"`
	OutputTokens *int64   `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd"`
}

// Clean turns negative and non-finite values into unknown.
func (u Usage) Clean() Usage {
	if u.InputTokens != nil && *u.InputTokens < 0 {
		u.InputTokens = nil
	}
	if u.OutputTokens != nil && *u.OutputTokens < 0 {
		u.OutputTokens = nil
	}
	if u.CostUSD != nil && (*u.CostUSD < 0 || math.IsNaN(*u.CostUSD) || math.IsInf(*u.CostUSD, 0)) {
		u.CostUSD = nil
	}
	return u
}

// Tokens is the sum of both directions; ok is false when either is unknown or
// absurd.
func (u Usage) Tokens() (n int64, ok bool) {
	if u.InputTokens == nil || u.OutputTokens == nil {
		return 0, false
	}
	n = *u.InputTokens + *u.OutputTokens
	return n, n >= 0 // a sum that overflows is not known
}

// IterationRequest is everything an agent needs for one iteration.
type IterationRequest struct {
	Run       string
	Phase     string
	PhaseName string
	Iteration int // from 1
	Attempt   int // from 1
	Level     string

	Agent      AgentSettings
	Model      string
	Permission PermissionMode
	Verify     []string // the commands an unsandboxed agent may run in standard mode
	Limits     Limits

	Dir     string // phase folder
	Prompt  string
	Session string // session to continue, "" = a new one
	// Before is the cumulative usage of Session as the agent last reported
	// it; kinds that report cumulatively subtract it.
	Before Usage

	Mark    string // value of FORGE_LEASE in every process of the attempt
	LogPath string // file that receives the raw, redacted output
	// TimesPath receives when the parts of that output came; "" = nobody keeps it.
	TimesPath string
	Sandbox   SandboxSettings
	// ReadPaths are shown read-only inside the sandbox (git objects).
	ReadPaths []string
	// HidePaths must not be visible inside the sandbox (state folder).
	HidePaths []string
	// MCP gives the agent Forge's own tools, within its phase.
	MCP bool `json:",omitempty"`
	// CostUSD and Tokens end the iteration when its usage passes them.
	CostUSD *float64
	Tokens  *int64
}

// IterationReport is what came of it. "The agent gave up" is a report; only
// "we could not run it at all" is an error.
type IterationReport struct {
	Outcome  Outcome  `json:"outcome"`
	Detail   string   `json:"detail,omitempty"`  // one line for a person: why this outcome
	ExitCode *int     `json:"exit_code"`         // nil when ended by a signal or never started
	Message  string   `json:"message,omitempty"` // tail of the last assistant message
	Signals  Signals  `json:"signals"`           // of all of the agent's words
	Claims   []string `json:"claims,omitempty"`  // promises in the last message
	Usage    Usage    `json:"usage"`             // of this iteration
	Total    Usage    `json:"total"`             // as the agent reported it, possibly cumulative
	Session  string   `json:"session,omitempty"` // to continue with; "" = cannot be continued
	// SessionLost says that the session to continue was refused.
	SessionLost bool       `json:"session_lost,omitempty"`
	Denied      []string   `json:"denied,omitempty"` // permissions refused to the agent
	ResetAt     *time.Time `json:"reset_at,omitempty"`
	LeftBehind  int        `json:"left_behind,omitempty"` // processes ended after the agent's exit
	Network     []HostUse  `json:"network,omitempty"`     // what it asked of the network, where that is bounded to hosts
	Sandbox     string     `json:"sandbox"`               // bubblewrap, landlock, none
	Heard       []string   `json:"heard,omitempty"`       // messages that its model was given midway, by their ids
	// Trace is what the agent did, by digests; nil where its kind does not tell.
	Trace *stuck.Trace `json:"trace,omitempty"`
	// Short is what the machine ran out of while the agent worked. It is never recorded.
	Short string `json:"-"`
	// Whole is the last assistant message, up to 256 KB from its end. It is
	// never recorded.
	Whole string `json:"-"`
}

// Activity is one sign of life of a running agent, for the live view.
type Activity struct {
	Phase     string
	Iteration int
	Kind      string // "text", "tool", "usage", "retry", "verify", "setup", ActivityCold
	Text      string // redacted, one line, at most 200 bytes
	Usage     Usage
}

// BasePhase stands in the place of a phase where the base of a run is proven.
const BasePhase = "base"

// LandingPhase stands there where a result is proven as what a target would hold.
const LandingPhase = "landing"

// ActivityCold is the kind of an activity that says why the next one takes long:
// its proof begins with empty caches, and fills them.
const ActivityCold = "cold"

// SetupRequest asks for a fresh folder to be made ready for work.
type SetupRequest struct {
	Phase    string
	Dir      string
	Checkout string // the user's checkout: source of copy and link
	Settings Worktree
	Sandbox  SandboxSettings
	Caches   Caches
	Hide     []string
	Mark     string
}

// VerifyRequest asks for Commands to be run on Commit in a verify folder.
type VerifyRequest struct {
	Phase    string
	Dir      string // verify folder of the phase, made when missing
	Checkout string // the user's checkout: source of copy and link
	Commit   string
	Commands []string
	// TimeoutSecs of each command.
	TimeoutSecs int
	Worktree    Worktree
	Sandbox     SandboxSettings
	Env         []string // names let through, as for the phase's agent, without credentials
	Hide        []string
	Mark        string
	LogPath     string
	OneHome     bool     // the commands share a home
	MayWrite    []string // globs of tracked files that they may change
	Caches      Caches
	// Accepted says that Commit holds nothing but accepted work: what its
	// commands leave in caches of tools is lent to later proofs.
	Accepted bool
	// Evidence are files of Commit that decide the proof and are as the trusted
	// state has them, Earlier those that are as earlier work of the run brought
	// them: the commands can only read them, where the sandbox can see to that.
	// Base is the commit that the run began with; where it is Commit itself, the
	// commands are tried once more if they are red like that.
	Evidence []string
	Earlier  []string
	Base     string
	// Asked says that a control of the same tree follows: a command that is a test
	// runner's own call says in the same run which tests passed.
	Asked bool
}

// Caches says which caches of tools commands are lent.
type Caches struct {
	Off  bool     `json:"off,omitempty"`  // none
	Also []string `json:"also,omitempty"` // beside those of known tools, in the words of [verify] cache
}

// IsZero says that nothing was said about caches: a list without anything in it
// is what none at all is.
func (c Caches) IsZero() bool { return !c.Off && len(c.Also) == 0 }

// HiddenRequest asks for the checks that the project's owner keeps from agents.
// Verify says on what and how; its commands are not used.
type HiddenRequest struct {
	Verify    VerifyRequest
	PhaseName string
	Folders   []string // absolute
	Whole     bool     // it is of a whole result: every check counts, whatever phase it is about
}

// HiddenReport is what came of hidden checks, in words that an agent may hear.
type HiddenReport struct {
	Ran       int    // checks that ran
	Red       string // what the owner says about the one that is red, "" = none is
	Disturbed string
	Sum       string // tells states of the checks apart
}
