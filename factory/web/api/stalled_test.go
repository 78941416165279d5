package api_test

import (
	"context"
	"testing"

	"forge/factory/web"
	"forge/factory/web/api"
	"forge/internal/work"
	"forge/orchestrator"
)

// stalledRuns has one run.
type stalledRuns struct {
	runs
	st *orchestrator.State
}

// runs leaves a name free that a field of web.Runs' own name would take.
type runs interface{ web.Runs }

func (r stalledRuns) State(context.Context, string) (*orchestrator.State, error) { return r.st, nil }

// noQuestions is a desk on which nothing waits.
type noQuestions struct{ web.Questions }

func (noQuestions) Checkpoints(context.Context, string, work.CheckpointStatus, int, string) ([]work.Checkpoint, error) {
	return nil, nil
}

// shown are the pages of a landing.
type shown struct{ web.Pictures }

func (shown) Landing(_ context.Context, run string) ([]work.PageShown, error) {
	return []work.PageShown{{URL: "http://localhost:1/" + run}}, nil
}

// Programs are told what was shown of the pages when the result was to land.
func TestStatusOfShownLanding(t *testing.T) {
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}}, Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := api.StatusOf(t.Context(), web.Project{Runs: stalledRuns{st: st}, Questions: noQuestions{}, Pictures: shown{}}, web.Run{ID: "r-1"})
	if err != nil || len(got.Landing) != 1 || got.Landing[0].URL != "http://localhost:1/r-1" {
		t.Errorf("it is told %+v, %v", got.Landing, err)
	}
}

// Programs are told that nobody takes what a run needs done.
func TestStatusOfStalledRun(t *testing.T) {
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}}, Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := api.StatusOf(t.Context(), web.Project{Runs: stalledRuns{st: st}, Questions: noQuestions{}}, web.Run{ID: "r-1", State: "running", Stalled: "no worker"})
	if err != nil || got.Stalled != "no worker" || got.State != "running" {
		t.Errorf("it is told %+v, %v", got, err)
	}
}
