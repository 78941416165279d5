package temporal

import (
	"encoding/json"
	"time"

	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// Input is what a run's workflow begins with. State is the run as it was folded
// from the journal by a program of Core: the history of a workflow never has to
// hold, or to read, what came before it.
type Input struct {
	Project string
	Run     string
	Core    string // version of the core that State was written by
	State   []byte
	First   json.RawMessage `json:",omitempty"` // Opened or Resumed; none = it goes on from an earlier part
	Queues  Queues
	Times   Times
	// Requires are what a phase's effects need of a worker, by phase; "" is for
	// all others.
	Requires map[string][]string `json:",omitempty"`
	// Answers says that somebody may answer while the run waits.
	Answers bool
	// Deadline ends the run with outcome limit; zero = none.
	Deadline time.Time `json:",omitzero"`
	// Carried is what one part of a long run tells the next.
	Carried *Carried `json:",omitempty"`
}

// Carried is what the state does not hold and a later part of the run needs.
type Carried struct {
	Head    orchestrator.Head
	Heard   []int64           // rows of the inbox that were fed and may come again
	Hosts   map[string]string // of a phase's folder
	Reason  *orchestrator.Stop
	Part    int
	Waiting string // what no worker took so far
}

// Times are how long the engine waits for what.
type Times struct {
	// Beat is how long a worker may be silent about an effect; then nobody knows
	// what became of it.
	Beat time.Duration
	// Effect is how long an effect may take at all; its own limits are shorter.
	Effect time.Duration
	// Host is how long an effect waits for the host that has its folder.
	Host time.Duration
	// Unserved is after how long the run says that no worker takes an effect.
	Unserved time.Duration
	// MaxEvents is the length of a history at which the run goes on in a new one.
	MaxEvents int
}

// Usual are the times that are configured nowhere.
func Usual() Times {
	return Times{Beat: 30 * time.Second, Effect: 24 * time.Hour, Host: 2 * time.Minute, Unserved: 45 * time.Second, MaxEvents: 2000}
}

// maxBytes is the size of a history at which the run goes on in a new one.
const maxBytes = 5 << 20

// Ended is how a workflow ended its run.
type Ended struct {
	Outcome work.RunOutcome
	Reason  string
	CostUSD *float64
}

// At names the record that an activity works on.
type At struct{ Project, Run string }

// AppendInput is one batch, with what has to be the end of the record before it.
type AppendInput struct {
	At
	Base  string // commit that the run began with
	After orchestrator.Head
	Batch engine.Batch
}

// Begun is what a process finds when it takes a run up.
type Begun struct {
	Head  orchestrator.Head
	Left  []engine.Attempt // ended now
	Inbox []engine.Inbox
}

// DoInput is one effect to carry out.
type DoInput struct {
	At
	Effect json.RawMessage
	Mark   string
	Beat   time.Duration
	// Patience is how long it goes on after the server was away, without being asked for.
	Patience time.Duration `json:",omitempty"`
}

// Done is what came of an effect. Without a fact it has to be done again.
type Done struct {
	Host  string
	Fact  json.RawMessage `json:",omitempty"`
	Short string          `json:",omitempty"` // what the machine ran out of
}

// EndInput are the marks of processes that nobody answers for any more.
type EndInput struct {
	At
	Left     []engine.Attempt
	Stop     bool          `json:",omitempty"` // what still goes on is ended, not waited for
	Beat     time.Duration `json:",omitempty"`
	Patience time.Duration `json:",omitempty"`
}

// Left is what those came to that had not died.
type Left struct {
	Done []DoneOf `json:",omitempty"`
}

// DoneOf is what one effect came to.
type DoneOf struct {
	Command work.CommandID
	Done    Done
}

// ExpireInput are checkpoints whose time may be over.
type ExpireInput struct {
	At
	Checkpoints []string
	Now         time.Time
}

// Standing is where a workflow stands, as it is asked by query.
type Standing struct {
	Part     int
	Effects  []EffectStanding
	Unserved string // a sentence, when something waits for a worker for too long
	Move     string `json:",omitempty"` // version of the core that it goes on with as soon as it can
}

// EffectStanding is one effect that is under way.
type EffectStanding struct {
	Command work.CommandID
	Queue   string
	Since   time.Time
}

// Names of what a workflow takes.
const (
	WorkflowName = "forge-run"
	answerUpdate = "answer"
	stopSignal   = "stop"
	moveSignal   = "move"
	causeQuery   = "cause"
	standQuery   = "standing"
)
