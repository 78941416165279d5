package web_test

import (
	"context"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
	"forge/orchestrator"
)

// drivenRun is a run that a process goes on with.
type drivenRun struct{ oneRun }

func (r drivenRun) Runs(ctx context.Context, most int, after string) ([]web.Run, error) {
	list, err := r.oneRun.Runs(ctx, most, after)
	list[0].State = "running"
	return list, err
}

// The pages of a run and of its issue, and the card, say how far a message to a
// working agent has come, and whether it reaches it midway.
func TestToldOnPages(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}}, Issue: &work.IssueBrief{ID: 1, Title: "Wish"},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}, Agents: map[string]work.AgentSettings{"a": {Listens: true}, "b": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Site.Change("demo", func(p *web.Project) { p.Runs, p.Cockpit = drivenRun{oneRun{st}}, oneChange{p.Cockpit} })
	w.Put(w.Issue("Wish", work.ColumnReady), func(i *work.Issue) { i.Column, i.Run = work.ColumnInProgress, "r-1" })
	owner, ph := w.Owner(), st.Phases["01"]
	ph.Stage, ph.Begun, ph.Iteration, ph.Budget, ph.Command = orchestrator.StageIterate, true, 2, 8, "r-1/01/1/2/iterate"
	for name, c := range map[string]struct {
		agent   string
		message orchestrator.Message
		want    string
	}{
		"to one that listens":         {"a", orchestrator.Message{}, "queued: its agent gets it while it works on iteration 2"},
		"to one that did not take it": {"a", orchestrator.Message{Missed: ph.Command}, "queued: its agent reads it with its next prompt, of iteration 3"},
		"to one that does not listen": {"b", orchestrator.Message{}, "queued: its agent reads it with its next prompt, of iteration 3"},
		"urgent":                      {"a", orchestrator.Message{Now: true}, "queued: the iteration is ended, and iteration 3 begins with it"},
		"it has it":                   {"a", orchestrator.Message{With: 2, Midway: true}, "delivered, while its agent works on iteration 2"},
		"in a prompt":                 {"b", orchestrator.Message{With: 2}, "delivered, with the prompt of iteration 2"},
		"seen midway":                 {"a", orchestrator.Message{With: 1, Midway: true, Read: true}, "seen, while its agent worked on iteration 1"},
		"seen":                        {"b", orchestrator.Message{With: 1, Read: true}, "seen, with the prompt of iteration 1"},
	} {
		c.message.ID, c.message.By, c.message.Text = "m1", "ann", "use <b>tabs</b>"
		ph.Set.Agent, ph.Messages = c.agent, []orchestrator.Message{c.message}
		for path, also := range map[string]string{"/p/demo/runs/r-1": "use &lt;b&gt;tabs&lt;/b&gt;", "/p/demo/runs/r-1/now": "by ann", "/p/demo/issues/1": "use &lt;b&gt;tabs&lt;/b&gt;", "/p/demo/issues/1/live": "message: "} {
			a := owner.Get(path)
			if a.Status != 200 || !strings.Contains(a.Body, c.want) || !strings.Contains(a.Body, also) || strings.Contains(a.Body, "<b>tabs") {
				t.Errorf("%s: %s: %d, without %q:\n%s", name, path, a.Status, c.want, a.Body)
			}
		}
	}
	ph.Messages = nil
	if a := owner.Get("/p/demo/runs/r-1"); strings.Contains(a.Body, "Said to its agents") {
		t.Error("nobody said anything")
	}
}
