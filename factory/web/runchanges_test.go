package web_test

import (
	"context"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
	"forge/orchestrator"
)

// noCode has no file of any commit.
type noCode struct{ web.Code }

func (noCode) File(context.Context, string, string) ([]byte, error) { return nil, fs.ErrNotExist }

// The change of a run is shown while it works, while it waits and after it landed;
// a page that has seen it is told only of a later one.
func TestChangesOfARun(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Base: work.Base{Commit: "aaa"}, Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}}, Issue: &work.IssueBrief{ID: 1, Title: "Wish"},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	st.Head = "aaa"
	w.Site.Change("demo", func(p *web.Project) { p.Runs, p.Cockpit, p.Code = oneRun{st}, oneChange{p.Cockpit}, noCode{} })
	w.Put(w.Issue("Wish", work.ColumnReady), func(i *work.Issue) { i.Column, i.Run = work.ColumnInProgress, "r-1" })
	owner := w.Owner()
	says := func(path, want string) {
		t.Helper()
		if a := owner.Get(path); a.Status != 200 || !strings.Contains(a.Body, want) {
			t.Errorf("%s: %d, without %q:\n%s", path, a.Status, want, a.Body)
		}
	}
	says("/p/demo/runs/r-1/changes", "Nothing is changed yet")
	ph := st.Phases["01"]
	ph.Base, ph.Last = "aaa", "bbb"
	says("/p/demo/runs/r-1/changes", `seen=bbb"`)
	says("/p/demo/runs/r-1/changes", "calc.go")
	says("/p/demo/runs/r-1/file?path=calc.go", "Side by side")
	if a := owner.Get("/p/demo/runs/r-1/changes?seen=bbb"); a.Status != 204 {
		t.Errorf("what was seen is sent again: %d", a.Status)
	}
	st.Head = "ccc"
	says("/p/demo/runs/r-1/changes?seen=bbb", `seen=ccc"`)
	st.Delivery = &work.Delivery{Commit: "ddd"}
	says("/p/demo/runs/r-1/changes", `seen=ddd"`)
	if a := owner.Get("/p/demo/runs/r-1/file?path=other.go"); a.Status != 404 {
		t.Errorf("a file that is none of the change: %d", a.Status)
	}

	// How long it took stands on its own page, and on that of its issue.
	says("/p/demo/runs/r-1", "<span>42 s</span>")
	says("/p/demo/issues/1", "<span>42 s</span>")

	// The card of its issue says what happens.
	ph.Stage, ph.Iteration, ph.Budget, ph.History = orchestrator.StageIterate, 2, 8, []string{"iteration 1: ok, \x1b[31m2 files"}
	says("/p/demo/issues/1/live", "at work · iteration 2 of 8")
	says("/p/demo/issues/1/live", `href="/p/demo/runs/r-1"`)
	if a := owner.Get("/p/demo/issues/1/live"); strings.Contains(a.Body, "\x1b") {
		t.Error("a card shows what acts on a terminal")
	}
}

// Of a run of several repositories every one is shown, by its name.
func TestChangesInSeveralRepositories(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Base: work.Base{Commit: "aaa"}, Repositories: []work.Repository{{Name: "api", Base: work.Base{Commit: "a0"}}},
		Plan:     work.Plan{Phases: []work.Phase{{Number: "01", Name: "server", Promise: "P", Repository: "api"}, {Number: "02", Name: "client", Promise: "Q", DependsOn: []string{"01"}}}},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}, "02": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	st.Head, st.Beside["api"] = "bbb", "a1"
	w.Site.Change("demo", func(p *web.Project) { p.Runs, p.Cockpit, p.Code = oneRun{st}, oneChange{p.Cockpit}, noCode{} })
	owner := w.Owner()
	changes := owner.Get("/p/demo/runs/r-1/changes").Body
	for _, want := range []string{`data-file="api:calc.go"`, `data-file="home:calc.go"`, "file?path=api%3acalc.go", `seen=a1bbb"`} {
		if !strings.Contains(changes, want) {
			t.Errorf("without %q:\n%s", want, changes)
		}
	}
	if a := owner.Get("/p/demo/runs/r-1/file?path=api:calc.go"); a.Status != 200 {
		t.Errorf("the file of api: %d", a.Status)
	}
	if a := owner.Get("/p/demo/runs/r-1/file?path=lib:calc.go"); a.Status != 404 {
		t.Errorf("a file of a repository that the run does not have: %d", a.Status)
	}
}

// What an agent printed is shown as the conversation that it is; nothing of it is
// markup.
func TestConversationOfARun(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}}, Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Site.Change("demo", func(p *web.Project) { p.Runs = oneRun{st} })
	page := w.Owner().Get("/p/demo/runs/r-1/output?phase=01&iteration=1").Body
	for _, want := range []string{"I <strong>look</strong> at it.", "<strong>Bash</strong>", "go test", "failed: &lt;b&gt;red&lt;/b&gt;, 2 lines", "thinks", "try again", "3 other lines: <span class=\"mono\">npm &lt;warn&gt;</span>", "raw=1"} {
		if !strings.Contains(page, want) {
			t.Errorf("without %q:\n%s", want, page)
		}
	}
	for _, not := range []string{"<b>red</b>", "DONE", "7 other"} {
		if strings.Contains(page, not) {
			t.Errorf("with %q:\n%s", not, page)
		}
	}
}

// A link brings lines into the word to an agent, and only what names a file; the change
// that is a phase's own names its phase, since lines are quoted from its last snapshot.
func TestLinesComeWithALink(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Base: work.Base{Commit: "aaa"}, Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Site.Change("demo", func(p *web.Project) { p.Runs, p.Cockpit, p.Code = oneRun{st}, oneChange{p.Cockpit}, noCode{} })
	st.Head = "aaa"
	st.Phases["01"].Base, st.Phases["01"].Last = "aaa", "bbb"
	owner := w.Owner()
	for asked, want := range map[string]string{
		"calc.go:3-8": ">calc.go:3-8</textarea>", "calc.go:0": "></textarea>", "../calc.go:1": "></textarea>", "a.go:1\nb.go:2": "></textarea>",
		"</textarea><script>:1": ">&lt;/textarea&gt;&lt;script&gt;:1</textarea>",
	} {
		page := owner.Get("/p/demo/runs/r-1?with=" + url.QueryEscape(asked)).Body
		_, field, _ := strings.Cut(page, `id="tell-with"`)
		if !strings.Contains(field, want) || strings.Contains(field, "<script>:") {
			t.Errorf("%q: %.200s", asked, field)
		}
	}
	if page := owner.Get("/p/demo/runs/r-1/changes").Body; !strings.Contains(page, `data-phase="01"`) {
		t.Errorf("the phase is not named: %s", page)
	}
	st.Head = "bbb"
	if page := owner.Get("/p/demo/runs/r-1/changes").Body; strings.Contains(page, `data-phase=`) {
		t.Errorf("a phase is named beside what was merged: %s", page)
	}
}
