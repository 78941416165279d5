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

// stalledRun is a run that nobody takes.
type stalledRun struct{ oneRun }

const stalledWhy = "no worker takes from queue <q>"

func (r stalledRun) Runs(ctx context.Context, limit int, after string) ([]web.Run, error) {
	all, err := r.oneRun.Runs(ctx, limit, after)
	for i := range all {
		all[i].State, all[i].Stalled = "running", stalledWhy
	}
	return all, err
}

// That nobody takes what a run needs done is on its page and in the list.
func TestStalledRunOnPages(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Plan:     work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Site.Change("demo", func(p *web.Project) { p.Runs = stalledRun{oneRun{st}} })
	owner := w.Owner()
	for _, path := range []string{"/p/demo/runs", "/p/demo/runs/r-1", "/p/demo/runs/r-1/now"} {
		if page := owner.Get(path).Body; strings.Count(page, "no worker takes from queue &lt;q&gt;") != 1 {
			t.Errorf("%s does not say that nobody takes it, once", path)
		}
	}
	w.Site.Change("demo", func(p *web.Project) { p.Runs = oneRun{st} })
	if page := owner.Get("/p/demo/runs/r-1").Body; strings.Contains(page, "Nobody works on it") {
		t.Error("it is said of a run that somebody works on")
	}
}
