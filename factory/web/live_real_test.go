//go:build real

package web_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
	"forge/orchestrator"
)

// talkingRun is a run whose agent is at work: how far it is can be changed.
type talkingRun struct {
	oneRun
	calls     *atomic.Int32
	iteration *atomic.Int32
	cost      *atomic.Int32 // cents
}

func (r talkingRun) State(context.Context, string) (*orchestrator.State, error) {
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}}, Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}}})
	if err != nil {
		return nil, err
	}
	p := st.Phases["01"]
	p.Stage, p.Begun, p.Iteration, p.Budget = orchestrator.StageIterate, true, int(r.iteration.Load()), 3
	st.Ledger.USD = float64(r.cost.Load()) / 100
	return st, nil
}

func (r talkingRun) Conversation(_ context.Context, _, _ string, iteration, _, _ int) ([]work.Turn, error) {
	turns := make([]work.Turn, r.calls.Load())
	for n := range turns {
		turns[n] = work.Turn{Kind: work.TurnTool, Tool: "Bash", About: fmt.Sprintf("step %d of iteration %d", n+1, iteration), Text: "done", Lines: 1, Ended: true}
	}
	return turns, nil
}

// What a person opened while an agent works stays open and where it is, whatever the
// agent says next and whatever is heard of its run; its next iteration is shown anew.
func TestRealWorkIsWatchedInABrowser(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	run := talkingRun{oneRun{}, new(atomic.Int32), new(atomic.Int32), new(atomic.Int32)}
	st, err := run.State(t.Context(), "r-1")
	if err != nil {
		t.Fatal(err)
	}
	run.st = st
	run.calls.Store(1)
	run.iteration.Store(1)
	w.Site.Change("demo", func(p *web.Project) { p.Runs = run })
	b := w.Browser()
	b.SignIn()
	b.GoTo("/p/demo/runs/r-1")
	const first = `document.querySelector(".output-room details.talk-tool")`
	b.Until(first + `.textContent.includes("step 1 of iteration 1")`)
	b.Click(".output-room details.talk-tool summary")
	b.Until(first + `.open`)
	b.JS(first+`.mine = true`, nil)

	run.calls.Store(2)
	b.Until(`document.querySelectorAll(".output-room details.talk-tool").length === 2`)
	b.Until(first + `.open && ` + first + `.mine`)
	run.cost.Store(123)
	b.JS(`document.body.dispatchEvent(new Event("run"))`, nil)
	b.Until(`document.querySelector("#now").textContent.includes("1.23")`)
	b.Until(first + `.open && ` + first + `.mine`)
	run.calls.Store(3) // it is followed still
	b.Until(`document.querySelectorAll(".output-room details.talk-tool").length === 3`)

	run.iteration.Store(2)
	b.JS(`document.body.dispatchEvent(new Event("run"))`, nil)
	b.Until(first + `.textContent.includes("step 1 of iteration 2") && !` + first + `.open`)
	b.Until(`document.querySelectorAll(".output-room").length === 1`)
	b.Quiet()
}
