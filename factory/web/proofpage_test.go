package web_test

import (
	"context"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// provenDesk says of every checkpoint what it was proven with.
type provenDesk struct {
	web.Questions
	record work.ProofRecord
}

func (d provenDesk) Judged(ctx context.Context, id string) (web.Judged, error) {
	j, err := d.Questions.Judged(ctx, id)
	j.From, j.To = "aaa", "bbb"
	j.Records, j.InDoubt = map[string]work.ProofRecord{"01": d.record}, d.record.Doubts
	return j, err
}

// oneChange is a repository with one change to one file.
type oneChange struct{ web.Cockpit }

func (oneChange) Change(context.Context, string, string) (review.Change, error) {
	return review.Change{Files: []review.File{{Path: "calc.go", Status: review.Modified, OldMode: "100644", NewMode: "100644"}}}, nil
}

// Cockpit, run and issue say what a proof is worth, its doubts with the lines
// that they are about.
func TestProofStandsOnPages(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Plan: work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}}, Issue: &work.IssueBrief{ID: 1, Title: "Wish"},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	record := work.VerifyFinishedData{On: work.OnSnapshot, OK: true, Touched: []string{"calc_test.go"}}.Of([]string{"go test ./..."})
	record = record.With(work.VerifyFinishedData{On: work.OnTrusted, OK: true})
	record.Control = &work.ControlReport{Runners: []work.RunnerReport{{Name: "go test", Accounted: true, Passed: 12, Planted: 3}}}
	record.Doubts = []work.Doubt{
		{Kind: work.DoubtUnproven, Path: "calc.go", Line: 2, What: "the body of Half can be <b>taken out</b>"},
		{Kind: work.DoubtWeakened, Path: "calc_test.go", Line: 5, What: "test TestAdd says less"},
	}
	st.Phases["01"].Record, st.Doubts = record, record.Doubts
	w.Site.Change("demo", func(p *web.Project) {
		p.Runs, p.Cockpit, p.Questions = oneRun{st}, oneChange{p.Cockpit}, provenDesk{p.Questions, record}
	})
	w.Put(w.Issue("Wish", work.ColumnReady), func(i *work.Issue) { i.Column, i.Run = work.ColumnInReview, "r-1" })
	// The desk that the pages ask is the one that was wrapped.
	var desk *webtest.Questions
	w.Site.Change("demo", func(p *web.Project) { desk = p.Questions.(provenDesk).Questions.(*webtest.Questions) })
	desk.Put(work.Checkpoint{ID: "r-1.1", Run: "r-1", Kind: "evidence", Points: []string{"evidence"}, Question: "Land it?", Revision: 1, Status: work.CheckpointPending})

	owner := w.Owner()
	everywhere := []string{
		"verified; 12 tests passed by name in go test; 3 of 3 tests made wrong noticed; 2 doubts", "<dt>put back</dt><dd>calc_test.go</dd>",
		"green on its product with the evidence that a person last accepted", "&lt;b&gt;taken out&lt;/b&gt;", "calc.go:2", "calc_test.go:5",
		"<dt>evidence weakened</dt>", "Request changes to have them back",
	}
	for _, path := range []string{"/p/demo/runs/r-1", "/p/demo/issues/1", "/p/demo/checkpoints/r-1.1"} {
		a := owner.Get(path)
		if a.Status != 200 {
			t.Fatalf("%s: %d\n%s\n%s", path, a.Status, a.Body, w.Log)
		}
		for _, want := range everywhere {
			if !strings.Contains(a.Body, want) {
				t.Errorf("%s: without %q:\n%s", path, want, a.Body)
			}
		}
	}

	page := owner.Get("/p/demo/checkpoints/r-1.1").Body
	if want := `<a class="mono" href="/p/demo/checkpoints/r-1.1/file?path=calc.go" data-open="calc.go">calc.go:2</a>`; !strings.Contains(page, want) {
		t.Errorf("the doubt leads to no line of the change:\n%s", page)
	}
	if strings.Contains(page, `data-open="calc_test.go">calc_test.go:5`) {
		t.Error("a doubt leads to a file that the change does not show")
	}
	if strings.Index(page, "calc.go:2") < strings.Index(page, "<h2>Doubts</h2>") {
		t.Error("doubts do not stand under Doubts")
	}
}
