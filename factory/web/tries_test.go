package web_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// changesBetween has a file for each commit that something changed to.
type changesBetween struct{ web.Cockpit }

func (changesBetween) Change(_ context.Context, from, to string) (review.Change, error) {
	if from == to {
		return review.Change{}, nil
	}
	return review.Change{Files: []review.File{{Path: to + ".go", Status: review.Modified, OldMode: "100644", NewMode: "100644"}}}, nil
}

// The tries that a person chooses from stand in the cockpit, each with what is known
// of it and its own change; one that is not proven is not offered.
func TestTriesInTheCockpit(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Plan:     work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := st.Phases["01"]
	p.Base, p.Last, p.Stage, p.Contest = "base", "base", orchestrator.StageAsked, &orchestrator.Contest{}
	for n, outcome := range map[string]work.PhaseOutcome{"01.1": work.PhaseDone, "01.2": work.PhaseDone, "01.3": work.PhaseFailed} {
		try := &orchestrator.Phase{View: orchestrator.View{Number: n, Parent: "01", Try: 1, Stage: orchestrator.StageFinished, Ending: orchestrator.Ending{Outcome: outcome, Proof: work.ProofVerified}, Workspace: orchestrator.Workspace{Base: "base", Last: "at" + n}}}
		try.Set.Agent = "<b>" + n
		st.Phases[n] = try
	}
	p.Contest.Tries = []string{"01.1", "01.2", "01.3"}
	w.Site.Change("demo", func(p *web.Project) { p.Runs, p.Cockpit, p.Code = oneRun{st}, changesBetween{p.Cockpit}, noCode{} })
	w.Questions().Put(work.Checkpoint{
		ID: "r-1.1", Run: "r-1", Kind: string(gates.PointTries), Phase: "01", Question: "Which try?", Facts: "try 01.1: proven", Revision: 1, Status: work.CheckpointPending,
		Choices: []work.Choice{
			{Name: "try-01.1", Answer: work.CheckpointApproved, Label: "take try 01.1"}, {Name: "try-01.2", Answer: work.CheckpointApproved, Label: "take try 01.2"},
			{Name: "changes", Answer: work.CheckpointChangesRequested, Label: "with changes"}, {Name: "none", Answer: work.CheckpointRejected, Label: "take none"},
		},
	})
	owner := w.Owner()
	page := owner.Get("/p/demo/checkpoints/r-1.1").Body
	for _, want := range []string{
		`class="tries"`, `id="try-01.1"`, "Try 01.1 by &lt;b&gt;01.1", "proven, no findings, size unknown, $0.00 (proposed)", `id="try-01.2"`, "at01.1.go", "at01.2.go",
		"/p/demo/runs/r-1/file?path=at01.2.go&amp;try=01.2&amp;look=inline", `value="approved:try-01.2"`, `value="changes_requested:changes"`, `value="rejected:none"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, `id="try-01.3"`) || strings.Contains(page, "at01.3.go") {
		t.Error("a try that is not proven is offered")
	}
	if a := owner.Get("/p/demo/runs/r-1/file?path=at01.2.go&try=01.2"); a.Status != 200 || !strings.Contains(a.Body, "try=01.2&amp;look=inline") {
		t.Errorf("a file of a try: %d\n%s", a.Status, a.Body)
	}
	if a := owner.Get("/p/demo/runs/r-1/file?path=at01.2.go&try=01.1"); a.Status != 404 {
		t.Errorf("a file of another try: %d", a.Status)
	}
	if a := owner.Send("/p/demo/checkpoints/r-1.1/answer", url.Values{"answer": {"approved:try-01.2"}, "revision": {"1"}}); a.Status != 303 {
		t.Errorf("the answer: %d\n%s", a.Status, a.Body)
	}
}
