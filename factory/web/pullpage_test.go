package web_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"time"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
	"forge/orchestrator"
)

// oneRun is a project with one run.
type oneRun struct{ st *orchestrator.State }

func (r oneRun) Runs(context.Context, int, string) ([]web.Run, error) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return []web.Run{{ID: r.st.Run, State: "frozen", Created: began, Updated: began.Add(42 * time.Second)}}, nil
}

func (r oneRun) Run(_ context.Context, id string) (web.Run, error) {
	if id != r.st.Run {
		return web.Run{}, fs.ErrNotExist
	}
	return web.Run{ID: id, State: "frozen"}, nil
}

func (r oneRun) State(_ context.Context, id string) (*orchestrator.State, error) {
	if id != r.st.Run {
		return nil, fs.ErrNotExist
	}
	return r.st, nil
}

func (oneRun) Events(context.Context, string, int64, int) ([]work.Event, error) { return nil, nil }

func (oneRun) Conversation(context.Context, string, string, int, int, int) ([]work.Turn, error) {
	return []work.Turn{
		{Kind: work.TurnSaid, Text: "I **look** at it. <promise>DONE</promise>"}, {Kind: work.TurnTool, Tool: "Bash", About: "go test", Text: "<b>red</b>", Lines: 2, Ended: true, Failed: true},
		{Kind: work.TurnThought, Text: "hm", Lines: 1}, {Kind: work.TurnNotice, Text: "try again"}, {Kind: work.TurnOther, Lines: 3, About: "npm <warn>"}, {Kind: work.TurnOther, Lines: 7},
	}, nil
}

func (oneRun) Output(context.Context, string, string, int, int, int) ([]byte, error) {
	return nil, nil
}

// The pull requests of a phase and of an issue stand on the pages of run, issue
// and checkpoint; one that leads elsewhere is named and not linked.
func TestPullRequestsStandOnPages(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}}, Issue: &work.IssueBrief{ID: 1, Title: "Wish"},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	st.Phases["01"].Pull = &orchestrator.Pull{Number: 7, URL: "https://git.example.com/o/r/pulls/7"}
	w.Site.Change("demo", func(p *web.Project) { p.Runs, p.HostURL = oneRun{st}, "https://git.example.com" })
	i := w.Issue("Wish", work.ColumnReady)
	w.Put(i, func(i *work.Issue) {
		i.Column, i.Run, i.Pull = work.ColumnInReview, "r-1", &work.IssuePull{Number: 9, URL: "https://git.example.com/o/r/pulls/9"}
	})
	w.Questions().Put(work.Checkpoint{ID: "r-1.1", Run: "r-1", Kind: "ckpt.phase_transition", Phase: "01", Question: "Merge?", Revision: 1, Status: work.CheckpointPending})
	owner := w.Owner()
	const phase, issue = `<a href="https://git.example.com/o/r/pulls/7" rel="noreferrer">pull request #7</a>`, `<a href="https://git.example.com/o/r/pulls/9" rel="noreferrer">pull request #9</a>`
	for path, want := range map[string][]string{"/p/demo/runs/r-1": {phase, issue}, "/p/demo/runs/r-1/now": {phase, issue}, "/p/demo/issues/1": {issue}, "/p/demo/checkpoints/r-1.1": {phase, issue}} {
		a := owner.Get(path)
		for _, text := range want {
			if a.Status != 200 || !strings.Contains(a.Body, text) {
				t.Errorf("%s: %d, without %s:\n%s\n%s", path, a.Status, text, a.Body, w.Log)
			}
		}
	}
	w.Site.Change("demo", func(p *web.Project) { p.HostURL = "https://elsewhere.example" })
	for _, path := range []string{"/p/demo/runs/r-1", "/p/demo/issues/1", "/p/demo/checkpoints/r-1.1"} {
		if a := owner.Get(path); !strings.Contains(a.Body, "pull request #") || strings.Contains(a.Body, `href="https://git.example.com`) {
			t.Errorf("%s links to another host:\n%s", path, a.Body)
		}
	}
}
