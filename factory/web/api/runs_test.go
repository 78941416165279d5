package api_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/api"
	"forge/internal/work"
	"forge/orchestrator"
)

func TestRunsAndJobs(t *testing.T) {
	w := newWorld(t)
	ports := w.site.ports["p"]
	ports.addRun("r1", false)
	for range 3 {
		ports.append("r1", w.now, work.PhaseStarted)
	}
	w.v1("GET", "/projects/p/runs", "").is(200, "").has(`"id":"r1"`)
	w.v1("GET", "/projects/p/runs/r1", "").is(200, "").has(`"run":"r1"`, `"policy":"review"`, `"number":"1"`, `"cost_usd":`)
	w.v1("GET", "/projects/p/runs/nope", "").is(404, "unknown_run")
	w.v1("GET", "/projects/p/runs/r1/events?limit=2", "").is(200, "").has(`"next":2`)
	w.v1("GET", "/projects/p/runs/r1/events?after=2", "").is(200, "").has(`"seq":3`)
	out := w.v1("GET", "/projects/p/runs/r1/phases/1/iterations/1/output", "").is(200, "")
	if strings.Contains(out.body, "<script") || !strings.Contains(out.body, `\u003cscript`) {
		t.Errorf("output %s", out.body)
	}
	w.v1("GET", "/projects/p/runs/r1/phases/x/iterations/1/output", "").is(422, "invalid")
	w.v1("POST", "/projects/p/runs/r1/level", `{"level":"nope"}`).is(422, "invalid")
	w.v1("POST", "/projects/p/runs/r1/level", `{"level":"full"}`).is(200, "")
	if got := ports.levels[len(ports.levels)-1]; got != "full by api" {
		t.Errorf("the level is recorded as %q", got)
	}
	w.ask("viewer", "POST", api.Prefix+"/projects/p/runs/r1/messages", `{"text":"use tabs"}`).is(403, "forbidden")
	w.v1("POST", "/projects/p/runs/r1/messages", `{"text":""}`).is(422, "invalid")
	w.v1("POST", "/projects/p/runs/r1/messages", `{"anew":true}`).is(200, "").has(`"anew":true`)
	w.ask("reviewer", "POST", api.Prefix+"/projects/p/runs/r1/messages", `{"phase":"1","text":"use tabs","now":true}`).is(200, "").has(`"state":"queued"`, `"iteration":2`)
	w.v1("POST", "/projects/p/runs/r1/messages", `{"text":"use tabs","with":[{"path":"main.go","from":3,"to":8},{"path":"notes.txt","text":"mine"}]}`).is(200, "")
	if want := []work.Attached{{Path: "main.go", From: 3, To: 8}, {Path: "notes.txt", Text: "mine"}}; !reflect.DeepEqual(ports.attached, want) {
		t.Errorf("with it goes %+v, want %+v", ports.attached, want)
	}
	w.v1("POST", "/projects/p/runs/r1/messages", `{"text":"use tabs","with":[{"path":"a","lines":3}]}`).is(422, "invalid")
	w.v1("GET", "/projects/p/jobs/r1", "").is(404, "unknown_job")
	w.v1("POST", "/projects/p/jobs/r1/cancel", "").is(404, "unknown_job")

	const jobs = "/projects/p/jobs"
	for _, bad := range []string{
		`{"description":" "}`, `{"description":"a","expert":"nobody"}`, `{"description":"a","level":"x"}`, `{"description":"a","data_sources":["x"]}`,
		`{"description":"a","documents":{"../x":""}}`, `{"description":"a","documents":{".env":""}}`, `{"description":"a","documents":{"a/b":""}}`, `{"description":"a","documents":{"a\nb":""}}`,
	} {
		w.v1("POST", jobs, bad).is(422, "invalid")
	}
	if len(ports.orders) != 0 {
		t.Fatalf("a job was started: %+v", ports.orders)
	}
	w.v1("POST", jobs, `{"description":"do","expert":"coder","documents":{"a.md":"aGVsbG8="},"data_sources":["wiki"]}`).is(200, "").has(`"run":"job-1"`)
	if o := ports.orders[0]; o.By != "the admin" || string(o.Documents["a.md"]) != "hello" {
		t.Errorf("order %+v", o)
	}
	if list := w.v1("GET", jobs, "").is(200, "").has("job-1"); strings.Contains(list.body, "r1") {
		t.Errorf("a run among the jobs: %s", list.body)
	}
	w.v1("GET", jobs+"/choices", "").is(200, "").has("coder", "wiki", "partial")
	w.v1("POST", jobs+"/job-1/cancel", "").is(200, "").has(`"outcome":"cancelled"`, `"state":"finished"`)
	w.v1("POST", jobs+"/job-1/cancel", "").is(409, "refused")
	w.v1("POST", "/projects/p/runs/r1/cancel", "").is(200, "")
	if strings.Join(ports.cancelled, " ") != "job-1 r1" {
		t.Errorf("cancelled %v", ports.cancelled)
	}
}

// TestWhatPagesShow: a job with its documents, the figures, and every file of
// what is judged. One run is asked for by its name, however many there are.
func TestWhatPagesShow(t *testing.T) {
	w := newWorld(t)
	ports := w.site.ports["p"]
	ports.addRun("j1", true)
	job := decode[api.ShownJob](w.v1("GET", "/projects/p/jobs/j1", "").is(200, ""))
	if p := job.Papers; job.Run != "j1" || p.Commit != "ccc" || p.Plan != "# <b>Plan</b>" || len(p.Todos) != 2 || p.Todos[1].State != "open" || len(p.Todos[1].Needs) != 1 || p.Documents == nil {
		t.Errorf("shown %+v", job)
	}
	if ports.asked == 0 || ports.paged != 0 {
		t.Errorf("%d single runs and %d lists were read for one", ports.asked, ports.paged)
	}
	w.v1("POST", "/projects/p/issues", `{"title":"a","column":"ready"}`).is(200, "")
	f := decode[web.Figures](w.v1("GET", "/projects/p/figures", "").is(200, ""))
	if len(f.Weeks) != 12 || f.RunsCounted != 1 || f.LeadMedian != nil || f.PerChangeUSD != nil || f.Agents == nil {
		t.Errorf("figures %+v", f)
	}
	ports.open(work.Checkpoint{ID: "c1", Run: "j1", Kind: "final", Revision: 1, Status: work.CheckpointPending, OpenedAt: w.now})
	const tree = "/projects/p/checkpoints/c1/tree"
	w.v1("GET", tree, "").is(200, "").has(`"commit":"bbb"`, `"files":["main.go"]`)
	w.v1("GET", tree+"?side=from&after=7", "").is(200, "").has(`"commit":"aaa"`, `"files":[]`)
	w.v1("GET", "/projects/p/checkpoints/nope/tree", "").is(404, "unknown_checkpoint")
}

// TestARunTellsWhatItsPageShows: reviews, findings, tokens, money and delivery,
// and nothing of them as zero that nobody knows.
func TestARunTellsWhatItsPageShows(t *testing.T) {
	w := newWorld(t)
	ports := w.site.ports["p"]
	ports.addRun("r1", false)
	p := &orchestrator.View{Number: "1", Stage: orchestrator.StageFinished, Ending: orchestrator.Ending{Outcome: work.PhaseFailed, Reason: work.ReasonReviewFailed, Detail: "<i>two</i> findings"}, Merging: orchestrator.Merging{Files: 3}}
	p.Plan.Name, p.Set.Agent, p.Set.Model = "build", "claude", "m"
	p.Set.Reviewers = []work.Specialist{{Name: "security", Gating: true}, {Name: "taste"}, {Name: "late"}}
	p.Usage = orchestrator.Ledger{USD: 0.5, Tokens: 700}
	p.Review.Attempts = 2
	p.Review.Of = map[string]*orchestrator.Opinion{
		"taste":    {Verdict: work.VerdictWarn, Findings: []work.Finding{{Severity: work.SeverityMinor, Issue: "long"}}},
		"security": {Verdict: work.VerdictFail, Why: "a hole", Findings: []work.Finding{{Specialist: "security", Severity: work.SeverityCritical, File: "a.go", Line: 7, Issue: "open"}}},
		"late":     {}, // has not answered yet
	}
	ports.state = &orchestrator.State{
		Run: "r1", Spec: orchestrator.Spec{Issue: &work.IssueBrief{ID: 12}}, Phases: map[string]*orchestrator.Phase{"1": {View: *p}}, Order: []string{"1"},
		Reason: "phase 1", Sandbox: "bubblewrap", Ledger: orchestrator.Ledger{USD: 1.5, Tokens: 900, UnknownUSD: 1, UnknownTokens: 2},
		Delivery: &work.Delivery{Branch: "forge/run-r1", Commit: "abc", Next: "git merge forge/run-r1"},
	}
	got := decode[api.Status](w.v1("GET", "/projects/p/runs/r1", "").is(200, "").has(`"cost_usd":null`, `"findings":[{"specialist":"security"`))
	if got.Issue != 12 || got.Reason != "phase 1" || got.Sandbox != "bubblewrap" || got.Delivery == nil || got.Delivery.Next != "git merge forge/run-r1" {
		t.Errorf("the run: %+v", got)
	}
	if got.Spent != (api.Spent{UnknownUSD: 1, Tokens: 900, UnknownTokens: 2}) {
		t.Errorf("it used %+v", got.Spent)
	}
	one := got.Phases[0]
	if one.Spent.CostUSD == nil || *one.Spent.CostUSD != 0.5 || one.Spent.Tokens != 700 || one.Agent != "claude" || one.Model != "m" || one.Files != 3 || one.Fixes != 2 || one.Detail == "" {
		t.Errorf("its phase: %+v", one)
	}
	if want := []web.Review{{Name: "security", Verdict: work.VerdictFail, Why: "a hole", Gating: true}, {Name: "taste", Verdict: work.VerdictWarn}}; !slices.Equal(one.Reviews, want) {
		t.Errorf("reviews %+v", one.Reviews)
	}
	if f := one.Findings; len(f) != 2 || f[0].File != "a.go" || f[0].Line != 7 || f[1].Specialist != "taste" || f[1].Issue != "long" {
		t.Errorf("findings %+v", f)
	}
}

// TestTheRunOfAnIssueIsItsIssues: cancelled by its name, its issue is cancelled,
// as from its page.
func TestTheRunOfAnIssueIsItsIssues(t *testing.T) {
	w := newWorld(t)
	ports := w.site.ports["p"]
	w.v1("POST", "/projects/p/issues", `{"title":"a"}`).is(200, "")
	ports.addRun("i1-x", false)
	ports.rows[0].Issue = 1
	w.v1("POST", "/projects/p/runs/i1-x/cancel", "").is(200, "")
	w.v1("GET", "/projects/p/issues/1", "").is(200, "").has(`"state":"cancelled"`)
	if len(ports.cancelled) != 0 {
		t.Errorf("cancelled beside it: %v", ports.cancelled)
	}
}

// What a run changed in each of its repositories is told beside what it changed at home.
func TestChangesOfSeveralRepositories(t *testing.T) {
	w := newWorld(t)
	ports := w.site.ports["p"]
	ports.addRun("r1", false)
	st, err := orchestrator.NewState("r1", orchestrator.Spec{
		Plan:         work.Plan{Phases: []work.Phase{{Number: "01", Name: "a", Promise: "A", Repository: "lib"}, {Number: "02", Name: "b", Promise: "B"}}},
		Repositories: []work.Repository{{Name: "lib", Base: work.Base{Commit: "lib0"}}}, Base: work.Base{Commit: "home0"},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {Budget: 1}, "02": {Budget: 1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ports.state = st
	w.v1("GET", "/projects/p/runs/r1/changes", "").is(200, "")
	st.Head, st.Beside = "home1", map[string]string{"lib": "lib0"}
	if out := w.v1("GET", "/projects/p/runs/r1/changes", "").is(200, "").has(`"to":"home1"`, `"repository":"home"`); strings.Contains(out.body, "lib0") {
		t.Errorf("a repository in which nothing landed is told: %s", out.body)
	}
	st.Beside["lib"] = "lib1"
	w.v1("GET", "/projects/p/runs/r1/changes", "").is(200, "").has(`"repository":"lib","from":"lib0","to":"lib1","diff":`, `"repository":"home","from":"home0","to":"home1"`)
}
