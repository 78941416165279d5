package web

import (
	"context"
	"errors"
	"time"

	texts "forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// RunOrder is what a run is begun with.
type RunOrder struct {
	Text    string  // what is to be done; "" = the project's own plan
	Draft   string  // id of the plan that was drafted for a text, "" = none: Text is that draft's
	Level   string  // "" = as configured
	USD     float64 // most that it may spend, in dollars; 0 = as configured
	Tries   int     // iterations of each phase of a text; 0 = as configured
	NoMerge bool    // the result stays on its own branch
	// MayRaise lets it spend more than the configuration says.
	MayRaise bool
	// Seen is the sum of the forecast that was looked at; "" = none was.
	Seen string
	By   string
}

// Forecast is what a run will do.
type Forecast struct {
	Phases []ForecastPhase `json:"phases"`
	Level  string          `json:"level"`
	Stops  []string        `json:"stops" doc:"When it waits for a person."`
	USD    *float64        `json:"run_usd" doc:"Most that it may spend; null = there is no such cap."`
	Branch string          `json:"branch,omitempty" doc:"What the result is merged into; absent = nothing."`
	Commit string          `json:"commit" doc:"What it starts from."`
	Notes  []string        `json:"notes" doc:"What a person should know before."`
	Sum    string          `json:"sum" doc:"For seen: the run begins only where its forecast is still this one."`
}

// ForecastPhase is a phase that a run will have.
type ForecastPhase struct {
	Number string   `json:"number"`
	Name   string   `json:"name"`
	After  []string `json:"after"`
	Agent  string   `json:"agent"`
	Tries  int      `json:"tries" doc:"Iterations, at most."`
	Verify []string `json:"verify" doc:"Commands that have to pass; none = the agent's word counts."`
	// What is what the phase is for, in the words of who planned it.
	What string `json:"what,omitempty" doc:"What it is for."`
	// Criteria are what it is held against, each with what shows it.
	Criteria []string `json:"criteria,omitempty" doc:"What it is held against, each with what shows it."`
}

// Draft is a plan that the agent drafts for a text, or an interview that waits.
type Draft struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind" enum:"plan,kept,spec,design" doc:"A plan, one that forge generate kept, or what an interview comes to."`
	Text    string    `json:"text"`
	Tries   int       `json:"tries,omitempty" doc:"Iterations of each phase; absent = as drafted."`
	By      string    `json:"by"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero" doc:"Absent while it is drafted."`
	State   string    `json:"state" enum:"drafting,ready,failed,interrupted,asks"`
	Problem string    `json:"problem,omitempty" doc:"Why there is no plan."`
	Fix     string    `json:"fix,omitempty"`
	// Question is what an interview asks.
	Question string   `json:"question,omitempty" doc:"What an interview asks; fix is the command that answers."`
	Choices  []string `json:"choices,omitempty"`
}

// Plans says that a run can be begun with it, once it is ready.
func (d Draft) Plans() bool { return d.Kind == "" || d.Kind == "plan" }

// waits says that a person is to do something about it.
func (d Draft) waits() bool { return d.State != DraftUnderWay }

// Title is its text on one line.
func (d Draft) Title() string { return texts.OneLine(d.Text, 80) }

// The states of a draft.
const (
	DraftUnderWay    = "drafting"
	DraftReady       = "ready"       // a run can be begun with it
	DraftFailed      = "failed"      // Problem says why
	DraftInterrupted = "interrupted" // the server ended meanwhile
	DraftAsks        = "asks"        // of an interview: a question is open
)

// ErrNoDraft says that there is no such draft, or none any more.
var ErrNoDraft = errors.New("no such draft of a plan")

// Starts begins runs of a project's plan, or of a text. May be called by many at
// once.
type Starts interface {
	// Forecast says what a run of the order will do, and does nothing.
	Forecast(ctx context.Context, o RunOrder) (Forecast, error)
	// Begin opens the run, which the server drives; it returns its id. It is
	// work.ErrStale where the forecast is not the one that was seen.
	Begin(ctx context.Context, o RunOrder) (string, error)
	// Fork opens a run that goes on from what an iteration of another one left, and
	// has it driven; it returns its id.
	Fork(ctx context.Context, run string, r work.Rewind, by string) (string, error)
	// Draft has the agent draft a plan for the order's text, which takes minutes and
	// money; it returns the draft's id at once. Nothing else is begun.
	Draft(ctx context.Context, o RunOrder) (string, error)
	// Drafts are the drafts that no run was begun with, the newest first.
	Drafts(ctx context.Context) ([]Draft, error)
	// Drafted is one of them, or ErrNoDraft.
	Drafted(ctx context.Context, id string) (Draft, error)
	// AnswerDraft answers what an interview asks, "" lets the agent decide, and has the
	// agent go on; it returns at once. It is work.ErrStale where the question is not
	// asked any more.
	AnswerDraft(ctx context.Context, id, question, words string) error
	// DropDraft ends a draft, and forgets it.
	DropDraft(ctx context.Context, id string) error
	// Again is the order by which a run would do the same once more.
	Again(st *orchestrator.State) RunOrder
}
