package agent

import (
	"context"
	"io"
	"slices"
	"time"

	"forge/internal/redact"
	"forge/internal/work"
)

// kind is what the package needs to know of one sort of agent. A new kind is a
// file with these, and a line in kinds.
type kind struct {
	facts  Facts
	launch func(setting) (launch, error)
	detect func(ctx context.Context, a work.AgentSettings, e environ) Detection
	// fields are what is read of its events, steps is what an event tells of
	// the conversation; nil where all output is the agent's word.
	fields func() map[string]field
	steps  func(event) []work.Step
}

func kinds() map[string]kind {
	return map[string]kind{
		"acp":      {facts: acpFacts(), launch: launchACP, detect: detectACP, fields: acpFields, steps: acpSteps},
		"claude":   {facts: claudeFacts(), launch: launchClaude, detect: detectClaude, fields: claudeFields, steps: claudeSteps},
		"codex":    {facts: codexFacts(), launch: launchCodex, detect: detectCodex, fields: codexFields, steps: codexSteps},
		"exec":     {facts: Facts{MCP: true}, launch: launchExec, detect: detectExec},
		"gemini":   {facts: geminiFacts(), launch: launchGemini, detect: detectGemini, fields: geminiFields, steps: geminiSteps},
		"opencode": {facts: opencodeFacts(), launch: launchOpencode, detect: detectOpencode, fields: opencodeFields, steps: opencodeSteps},
		"script":   {facts: scriptFacts(), launch: launchScript, detect: detectScript, fields: scriptFields, steps: scriptSteps},
	}
}

// Kinds lists the kinds of agents that can be run, sorted.
func Kinds() []string {
	var out []string
	for name := range kinds() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Facts are what a kind of agent can do, and what it needs to see.
type Facts struct {
	Continues   bool     // a session can be continued
	ReportsCost bool     // usage comes with money
	Listens     bool     // it may take what a person says while it works; whether it does, it says then
	ReadOnly    bool     // its write tools can be switched off; without, the tree check alone holds it
	MCP         bool     // it can be given a server of tools for an iteration
	TurnLimit   string   // how the user bounds the turns of an iteration, "" = it has no such limit
	Tried       string   // the version that Forge is tested with, "" = none, or of its own
	LoginFiles  []string // files it logs in with, below the home folder
	SecretEnv   []string // variables with secrets that it is given
	Env         []string // other variables that it is given
	// Endpoints are the hosts of its own service, as in sandbox.network. Those of
	// variables that name another one come to them.
	Endpoints []string
	// Instructions are the names of the files of a project that instruct it, in
	// whatever folder they stand, and of folders that hold such, with a "/" behind.
	Instructions []string
}

// names are the variables that the kind is given.
func (f Facts) names() []string { return append(slices.Clone(f.SecretEnv), f.Env...) }

// FactsOf returns the facts of a kind; ok is false when there is no such kind.
func FactsOf(name string) (facts Facts, ok bool) {
	k, ok := kinds()[name]
	return k.facts, ok
}

// setting is all that a kind gets to prepare an iteration.
type setting struct {
	req        work.IterationRequest
	live       *live
	told       *hearing
	environ    environ
	red        *redact.Redactor
	sandboxed  bool
	executable string // Forge's own program, "" = the running one
	tools      *offer // what the agent is given; nil = nothing
}

// launch is how an iteration is started and read.
type launch struct {
	path  string   // absolute
	args  []string // without argv[0]
	names []string // variables let through from Forge's environment
	set   []string // name=value, weaker than what the user's settings set
	stdin string
	input io.Reader // in the place of stdin; nil = stdin
	// hand gives the program what a person says while it works, under the id of
	// the message; nil = it takes nothing.
	hand func(id, words string) error

	// What the sandbox must show beside the phase folder.
	read, write []string
	readFiles   map[string]string // inside path → outside path
	readOnly    bool              // shows the phase folder itself read-only

	// begin starts the conversation with a program that has to be talked to,
	// once it runs; the stream's finish waits for what it starts. ending
	// asks the program to end before Forge ends it, see proc.Spec.Ending.
	// postResult, when it is shorter than the limit, takes its place.
	begin      func(ctx context.Context)
	ending     func(ctx context.Context)
	postResult time.Duration

	// instead is asked once the program has ended: what is to be started in its
	// place, when it was of no use and has done nothing; nil = nothing.
	instead func(setting) (l launch, ok bool, err error)

	startsAtOnce bool // no event is needed to know that it has started
	stream       stream
	// stderr reads standard error as well, in a goroutine that is not the
	// stream's; nil = nobody does. It never fails.
	stderr io.Writer
}

// stream reads what the agent prints. Write is called from one goroutine and
// never fails; finish is called once, after the last Write.
type stream interface {
	Write(p []byte) (int, error)
	// finish judges an agent that ended by itself or after its result, and
	// reports words, usage and session in any case. Limits, caps and
	// cancelling are judged by the caller.
	finish(e ending) work.IterationReport
}

// ending is how the process ended.
type ending struct {
	code     *int   // nil when ended by a signal
	signal   string // its name, "" = none
	byItself bool   // not ended by Forge: code and signal are its own word
	stderr   string // the end of it, without secrets
}

// failed says in one line how a process that ended by itself failed, "" when
// it exited with 0.
func (e ending) failed() string {
	switch {
	case !e.byItself || e.code != nil && *e.code == 0:
		return ""
	case e.code == nil:
		return withLastLine("the agent was ended by signal "+e.signal, e.stderr)
	default:
		return withLastLine(exitText(*e.code), e.stderr)
	}
}
