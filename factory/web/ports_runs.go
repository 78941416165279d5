package web

import (
	"context"

	"forge/orchestrator"
)

// RunOrder is what a run is begun with.
type RunOrder struct {
	Text    string  // what is to be done; "" = the project's own plan
	Level   string  // "" = as configured
	USD     float64 // most that it may spend, in dollars; 0 = as configured
	Tries   int     // of each phase of a text; 0 = as configured
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
	Tries  int      `json:"tries" doc:"At most."`
	Verify []string `json:"verify" doc:"Commands that have to pass; none = the agent's word counts."`
}

// Starts begins runs of a project's plan, or of a text. May be called by many at
// once.
type Starts interface {
	// Forecast says what a run of the order will do, and does nothing.
	Forecast(ctx context.Context, o RunOrder) (Forecast, error)
	// Begin opens the run, which the server drives; it returns its id. It is
	// work.ErrStale where the forecast is not the one that was seen.
	Begin(ctx context.Context, o RunOrder) (string, error)
	// Again is the order by which a run would do the same once more.
	Again(st *orchestrator.State) RunOrder
}
