package work

import (
	"slices"
	"strings"
)

// HookEvent is a point of a run at which hooks are asked.
type HookEvent string

// The points at which hooks are asked.
const (
	HookBeforeRun       HookEvent = "before_run"
	HookAfterRun        HookEvent = "after_run"
	HookBeforePhase     HookEvent = "before_phase"
	HookAfterPhase      HookEvent = "after_phase"
	HookBeforeIteration HookEvent = "before_iteration"
	HookAfterIteration  HookEvent = "after_iteration"
	HookBeforeVerify    HookEvent = "before_verify"
	HookAfterVerify     HookEvent = "after_verify"
	HookBeforeMerge     HookEvent = "before_merge"
	HookAfterMerge      HookEvent = "after_merge"
	HookOnFailure       HookEvent = "on_failure"
	HookOnStall         HookEvent = "on_stall"
	HookOnQuestion      HookEvent = "on_question"
	HookOnApproval      HookEvent = "on_approval"
	HookAfterCreate     HookEvent = "after_create"
	HookBeforeRemove    HookEvent = "before_remove"
)

// HookEvents lists every point in the order of a run.
func HookEvents() []HookEvent {
	return []HookEvent{
		HookBeforeRun, HookBeforePhase, HookAfterCreate, HookBeforeIteration, HookAfterIteration, HookOnStall, HookOnQuestion,
		HookBeforeVerify, HookAfterVerify, HookOnApproval, HookBeforeMerge, HookAfterMerge, HookAfterPhase, HookOnFailure,
		HookBeforeRemove, HookAfterRun,
	}
}

// ParseHookEvent reads the name of a point, also in the words of the Rust Forge:
// pre_phase and PrePhase are before_phase. ok is false for any other word.
func ParseHookEvent(word string) (event HookEvent, ok bool) {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "") }
	said := plain(word)
	if rest, old := strings.CutPrefix(said, "pre"); old {
		said = "before" + rest
	}
	if rest, old := strings.CutPrefix(said, "post"); old {
		said = "after" + rest
	}

	for _, e := range HookEvents() {
		if plain(string(e)) == said {
			return e, true
		}
	}
	return "", false
}

// OfRun says that the point is one of the run, and of no phase.
func (e HookEvent) OfRun() bool { return e == HookBeforeRun || e == HookAfterRun }

// Holds says that a hook at e can keep work from going on. What has failed
// already cannot be held.
func (e HookEvent) Holds() bool { return e != HookOnFailure }

// Skips says that a hook may leave out what comes after e.
func (e HookEvent) Skips() bool { return e == HookBeforePhase || e == HookBeforeIteration }

// The kinds of hooks.
const (
	HookCommand = "command"
	HookPrompt  = "prompt"
)

// HookTimeoutSecs is how long a hook may take where nothing else is said.
const HookTimeoutSecs = 30

// Hook is something that is asked at a point of a run.
type Hook struct {
	Event HookEvent `json:"event"`
	// Match is a glob of the names of the phases that it is asked in; "" = all.
	Match string `json:"match,omitempty"`
	Kind  string `json:"kind"`
	// Command is run by sh -c with the facts as JSON on its stdin. Prompt is what
	// a model is asked about them.
	Command     string `json:"command,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	Dir         string `json:"dir,omitempty"` // that it runs in, below the checkout's root
	TimeoutSecs int    `json:"timeout_secs"`
	// Outside is the owner's word that it runs without a sandbox, in the
	// owner's own environment.
	Outside bool `json:"outside,omitempty"`
	// At is where it is written, for people: file and line.
	At string `json:"at"`
}

// Label is the hook in a few words, for people.
func (h Hook) Label() string { return string(h.Event) + " of " + h.At }

// Bare is the hook without where it is written: what two machines can compare.
func (h Hook) Bare() Hook {
	h.At = ""
	return h
}

// HookInput is what a hook is told on its stdin, as JSON. The names are part of
// what users write programs against: they may be added to, and keep their meaning.
type HookInput struct {
	Event     HookEvent  `json:"event"`
	Run       string     `json:"run"`
	Phase     *HookPhase `json:"phase,omitempty"`
	Iteration int        `json:"iteration,omitempty"`
	Attempt   int        `json:"attempt,omitempty"`
	// Commit is what is judged, Base what it began from. Folder is where the
	// phase's files lie, to be read; of after_create to be written as well.
	Commit string `json:"commit,omitempty"`
	Base   string `json:"base,omitempty"`
	Folder string `json:"folder,omitempty"`
	// About says in words what the point is about: why a phase failed, what is
	// asked, what verify said.
	About string `json:"about,omitempty"`
	// PromiseFound says that the last iteration claims to be done.
	PromiseFound bool `json:"promise_found,omitempty"`
}

// HookPhase is a phase as a hook is told of it.
type HookPhase struct {
	Number  string `json:"number"`
	Name    string `json:"name"`
	Promise string `json:"promise"`
	Budget  int    `json:"budget"`
	Spent   int    `json:"spent"`
}

// HookRequest is one hook to be asked.
type HookRequest struct {
	Run     string          `json:"run"`
	Hook    Hook            `json:"hook"`
	Input   HookInput       `json:"input"`
	Commit  string          `json:"commit"` // whose files it runs among: never an agent's
	Phase   string          `json:"phase,omitempty"`
	Sandbox SandboxSettings `json:"sandbox"`

	// What a machine has of its own; empty in an effect.
	Dir     string   `json:"dir,omitempty"`
	Mark    string   `json:"mark,omitempty"`
	LogPath string   `json:"log_path,omitempty"`
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	Hide    []string `json:"hide,omitempty"`
}

// HookReport is what came of asking a hook. It judges nothing: what does not
// say how it ended is no word to go on.
type HookReport struct {
	Exit *int `json:"exit,omitempty"` // nil = it did not end by itself
	// Ended says what kept it from answering: a limit, a signal, a program that
	// is not there, a model without a usable answer. "" = nothing did.
	Ended   string `json:"ended,omitempty"`
	Out     string `json:"out,omitempty"`
	Err     string `json:"err,omitempty"`
	Cut     bool   `json:"cut,omitempty"` // there was more of Out than is kept
	Millis  int64  `json:"millis,omitempty"`
	Sandbox string `json:"sandbox,omitempty"`
	Model   string `json:"model,omitempty"`
	Usage   *Usage `json:"usage,omitempty"` // of a model; nil = none was asked
}

// HookAction is what follows from what a hook said.
type HookAction string

// What may follow. Everything that a hook may say or leave unsaid comes to one
// of them.
const (
	HookGo      HookAction = "continue"
	HookBlock   HookAction = "block"
	HookSkip    HookAction = "skip"
	HookModify  HookAction = "modify"
	HookApprove HookAction = "approve"
	HookReject  HookAction = "reject"
)

// HookActions lists every action.
func HookActions() []HookAction {
	return []HookAction{HookGo, HookBlock, HookSkip, HookModify, HookApprove, HookReject}
}

// Passes says that the work goes on. What is not known does not.
func (a HookAction) Passes() bool {
	return slices.Contains([]HookAction{HookGo, HookModify, HookApprove}, a)
}

// HookDueData is the payload of hook.due: hooks are to be asked at a point.
type HookDueData struct {
	Event HookEvent `json:"event"`
	Key   string    `json:"key"` // tells the times apart at which a point is come to
	About string    `json:"about,omitempty"`
}

// HookStartedData is the payload of hook.started.
type HookStartedData struct {
	Command CommandID `json:"command"`
	Event   HookEvent `json:"event"`
	Hook    string    `json:"hook"` // its label
}

// HookFinishedData is the payload of hook.finished.
type HookFinishedData struct {
	Command CommandID  `json:"command"`
	Event   HookEvent  `json:"event"`
	Hook    string     `json:"hook"`
	Action  HookAction `json:"action"`
	Why     string     `json:"why,omitempty"`
	// Tell is what the agent hears in its next prompt; Output is what the hook
	// printed, clipped.
	Tell   string `json:"tell,omitempty"`
	Output string `json:"output,omitempty"`
	Exit   *int   `json:"exit,omitempty"`
	Millis int64  `json:"millis,omitempty"`
	Model  string `json:"model,omitempty"`
	Usage  *Usage `json:"usage,omitempty"`
}
