package web_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
	"forge/orchestrator"
)

// kept are pictures by name; what else is kept must not be given out.
type kept map[string]string

func (k kept) Picture(_ context.Context, name string) ([]byte, error) {
	if data, ok := k[name]; ok {
		return []byte(data), nil
	}
	return nil, errors.New("no such blob")
}

// landed are pages that were shown when a result was to land.
type landed struct {
	kept
	pages []work.PageShown
}

func (l landed) Landing(context.Context, string) ([]work.PageShown, error) { return l.pages, nil }

// Pages that a proof shows stand where the run is looked at and where somebody is
// asked, and their pictures are given out by the names that the proof has alone.
func TestPagesOfAProofAreShown(t *testing.T) {
	t.Parallel()
	name := func(s string) string { return strings.Repeat(s, 32) }
	w := webtest.New(t)
	st, err := orchestrator.NewState("r-1", orchestrator.Spec{
		Plan:     work.Plan{Phases: []work.Phase{{Number: "01", Name: "first", Promise: "P"}}},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	record := work.VerifyFinishedData{On: work.OnSnapshot, OK: true, Pages: []work.PageShown{
		{URL: "http://localhost:1/", Before: name("a1"), After: name("b2"), Marked: name("c3"), Moving: name("d4"), Width: 390, Height: 844, Changed: 12, Of: 48, Steps: 2, New: []string{"<script>x"}, NewAll: 1, Say: true},
		{URL: "http://localhost:1/new", After: name("e5"), Unlike: "nothing listens", Width: 390, Height: 844},
	}}.Of([]string{"make test"})
	st.Phases["01"].Record = record
	pictures := kept{name("a1"): "before", name("b2"): "after", name("c3"): "marked", name("d4"): "moving", name("e5"): "new", name("07"): "lands", name("f6"): "a prompt"}
	w.Site.Change("demo", func(p *web.Project) {
		p.Runs, p.Cockpit, p.Questions, p.Pictures = oneRun{st}, oneChange{p.Cockpit}, provenDesk{p.Questions, record}, landed{pictures, []work.PageShown{{URL: "http://localhost:1/last", After: name("07"), Width: 390, Height: 844}}}
	})
	var desk *webtest.Questions
	w.Site.Change("demo", func(p *web.Project) { desk = p.Questions.(provenDesk).Questions.(*webtest.Questions) })
	desk.Put(work.Checkpoint{ID: "r-1.1", Run: "r-1", Kind: "evidence", Points: []string{"evidence"}, Question: "Land it?", Revision: 1, Status: work.CheckpointPending})

	owner := w.Owner()
	for _, path := range []string{"/p/demo/runs/r-1", "/p/demo/checkpoints/r-1.1"} {
		a := owner.Get(path)
		for _, want := range []string{
			`data-picture="/p/demo/runs/r-1/pictures/` + name("a1") + `"`, `data-picture="/p/demo/runs/r-1/pictures/` + name("b2") + `" width="390" height="844"`,
			`data-picture="/p/demo/runs/r-1/pictures/` + name("c3") + `"`, `data-picture="/p/demo/runs/r-1/pictures/` + name("d4") + `"`, "What differs: 25.0 %",
			"1 error new: &lt;script&gt;x", "nothing to compare it with: nothing listens", "2 pages shown, 1 looking different",
		} {
			if a.Status != 200 || !strings.Contains(a.Body, want) {
				t.Errorf("%s: %d, without %q:\n%s", path, a.Status, want, a.Body)
			}
		}
	}
	if a := owner.Get("/p/demo/runs/r-1"); !strings.Contains(a.Body, "As it lands: the page <span class=\"mono\">http://localhost:1/last") || !strings.Contains(a.Body, `data-picture="/p/demo/runs/r-1/pictures/`+name("07")) {
		t.Errorf("the pages of the landing are missing:\n%s", a.Body)
	}
	for picture, want := range map[string]int{name("07"): 200, name("a1"): 200, name("e5"): 200, name("f6"): 404, name("00"): 404, "x": 404, "..%2f..%2fkey": 404} {
		a := owner.Get("/p/demo/runs/r-1/pictures/" + picture)
		if a.Status != want || want == 200 && (a.Body != pictures[picture] || a.Header.Get("Content-Type") != "image/png") {
			t.Errorf("picture %s: %d %v %q, want %d", picture, a.Status, a.Header, a.Body, want)
		}
	}
}
