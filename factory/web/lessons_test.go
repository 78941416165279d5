package web_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
)

// school is a project that keeps one lesson, with a run that proposes another one.
type school struct {
	kept, proposed []web.TaughtLesson
	outside        bool
	did            []string
}

func (s *school) Kept(context.Context) ([]web.TaughtLesson, error) { return s.kept, nil }

func (s *school) Proposed(_ context.Context, run string) (web.ProposedLessons, error) {
	if run == "" {
		run = "r2"
	}
	return web.ProposedLessons{Run: run, Outside: s.outside, Lessons: s.proposed}, nil
}

func (s *school) Keep(_ context.Context, run, id, by string) error {
	if id != "b2" {
		return web.NoLesson()
	}
	s.did = append(s.did, "kept "+id+" of "+run+" by "+by)
	s.proposed[0].IsKept = true
	return nil
}

func (s *school) Unlearn(_ context.Context, id string) error {
	if id != "a1" {
		return web.NoLesson()
	}
	s.did, s.kept = append(s.did, "unlearned "+id), nil
	return nil
}

// Lessons are seen by whoever sees the project; an admin keeps and unlearns them.
func TestLessonsPage(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	on := &school{
		kept:     []web.TaughtLesson{{ID: "a1", Text: "run <make> gen first", File: "Makefile", Gone: true, Run: "r1", Phase: "02", Commit: "abc1234", Agent: "claude", Kept: "ann", IsKept: true, Told: []string{"r3"}}},
		proposed: []web.TaughtLesson{{ID: "b2", Text: "tests want TZ=UTC", Run: "r2", Phase: "01", Agent: "codex"}}, outside: true,
	}
	w.Site.Change("demo", func(p *web.Project) { p.Lessons = on })
	owner := w.Owner()
	if page := owner.Get("/p/demo").Body; !strings.Contains(page, `href="/p/demo/lessons"`) {
		t.Error("the board does not lead there")
	}
	page := owner.Get("/p/demo/lessons").Body
	for _, want := range []string{
		"run &lt;make&gt; gen first", "Makefile", "told to nobody", `/p/demo/runs/r1`, "phase 02", "abc1234", "by claude", "ann", `/p/demo/runs/r3`,
		"tests want TZ=UTC", "Proposed in run", "Read each", "Keep", "Unlearn",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}

	operator := w.User("uo", web.RoleOperator, "demo")
	if a := operator.Get("/p/demo/lessons"); a.Status != 200 || strings.Contains(a.Body, "<button aria-label=\"Keep") || strings.Contains(a.Body, "Unlearn") {
		t.Errorf("an operator: %d", a.Status)
	}
	for _, word := range []string{"keep", "unlearn"} {
		if a := operator.Send("/p/demo/lessons/"+word, url.Values{"id": {"b2"}, "run": {"r2"}}); a.Status != 403 {
			t.Errorf("an operator may %s: %d", word, a.Status)
		}
	}
	if len(on.did) > 0 {
		t.Fatalf("an operator did %q", on.did)
	}

	owner.Send("/p/demo/lessons/keep", url.Values{"id": {"b2"}, "run": {"r2"}})
	owner.Send("/p/demo/lessons/unlearn", url.Values{"id": {"a1"}})
	if got := strings.Join(on.did, "; "); !strings.HasPrefix(got, "kept b2 of r2 by ") || !strings.HasSuffix(got, "; unlearned a1") {
		t.Errorf("done: %s", got)
	}
	if page := owner.Get("/p/demo/lessons?run=r2").Body; !strings.Contains(page, "No lessons are kept") || strings.Contains(page, "aria-label=\"Keep") {
		t.Error("what was done is not shown")
	}
	if a := owner.Send("/p/demo/lessons/keep", url.Values{"id": {"c3"}, "run": {"r2"}}); a.Status != 404 {
		t.Errorf("one that is not there: %d", a.Status)
	}
	if a := owner.Send("/p/demo/lessons/sing", url.Values{}); a.Status != 404 {
		t.Errorf("another word: %d", a.Status)
	}
}
