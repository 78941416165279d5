package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// Who is nobody yet sends little.
func TestTooMuchFromNobody(t *testing.T) {
	w := webtest.New(t)
	otto := w.User("otto", web.RoleViewer, "demo")
	long := strings.Repeat("x", 5000)
	if a := w.Somebody().Post("/sign-in", url.Values{"pad": {long}, "token": {otto.Token}}); a.Header.Get("Set-Cookie") != "" {
		t.Errorf("a long form signs in: %d", a.Status)
	}
	if a := w.Somebody().Post("/theme", url.Values{"pad": {long}, "theme": {"dark"}}); strings.Contains(a.Header.Get("Set-Cookie"), "dark") {
		t.Errorf("a long form sets the theme: %d", a.Status)
	}
}

// What other handlers add for anybody sees no session.
func TestOpenHandlersSeeNoSession(t *testing.T) {
	w := webtest.New(t)
	seen := "none"
	w.Server.HandleOpen("GET /open", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Get("Cookie") }))
	if a := w.Owner().Get("/open"); a.Status != 200 || seen != "" {
		t.Errorf("%d; the handler sees %q", a.Status, seen)
	}
}

// On the list of projects stand those that a person may see.
func TestProjectsOfOthers(t *testing.T) {
	w := webtest.New(t)
	w.AddProject("secret")
	if a := w.User("vera", web.RoleViewer, "demo").Get("/"); a.Status != 200 && a.Status != 303 || strings.Contains(a.Body, "secret") {
		t.Errorf("%d: %s", a.Status, a.Body)
	}
	if a := w.Owner().Get("/"); !strings.Contains(a.Body, "secret") {
		t.Errorf("the owner does not see it: %s", a.Body)
	}
}

// talk notes who takes comments back.
type talk struct {
	web.Cockpit
	by []string
}

func (c *talk) DropComment(_ context.Context, id string, _, _ int, by string) (work.Checkpoint, error) {
	c.by = append(c.by, by)
	return work.Checkpoint{ID: id}, nil
}

// Levels are an admin's to choose wherever a form has one, and only an admin
// takes back what others said.
func TestWhatTakesAnAdmin(t *testing.T) {
	w := webtest.New(t)
	said := &talk{}
	w.Site.Change("demo", func(p *web.Project) { p.Cockpit = said })
	w.Questions().Put(work.Checkpoint{ID: "cp1", Run: "r1", Kind: "final", Status: work.CheckpointPending, Revision: 1, OpenedAt: time.Now()})
	otto, anna := w.User("otto", web.RoleOperator, "demo"), w.User("anna", web.RoleAdmin, "demo")
	level := func(form url.Values) url.Values {
		form.Set("level", "full")
		return form
	}
	if a := otto.Send("/p/demo/jobs", level(url.Values{"description": {"do"}})); a.Status != http.StatusForbidden {
		t.Errorf("an operator chooses a job's level: %d", a.Status)
	}
	if a := anna.Send("/p/demo/jobs", level(url.Values{"description": {"do"}})); a.Status == http.StatusForbidden {
		t.Errorf("an admin may not choose a job's level: %s", a.Body)
	}
	answer := url.Values{"answer": {"approved"}, "revision": {"1"}}
	if a := otto.Send("/p/demo/checkpoints/cp1/answer", level(answer)); a.Status != http.StatusForbidden {
		t.Errorf("an operator changes the level with an answer: %d", a.Status)
	}
	if j, _ := w.Questions().Judged(t.Context(), "cp1"); j.Checkpoint.Status != work.CheckpointPending {
		t.Errorf("it was answered: %s", j.Checkpoint.Status)
	}
	if a := anna.Send("/p/demo/checkpoints/cp1/answer", level(answer)); a.Status != http.StatusSeeOther {
		t.Errorf("an admin changes the level with an answer: %d: %s", a.Status, a.Body)
	}
	for _, p := range []*webtest.Person{otto, anna} {
		p.Send("/p/demo/checkpoints/cp1/uncomment", url.Values{"comment": {"1"}, "revision": {"1"}, "path": {"a"}})
	}
	if len(said.by) != 2 || said.by[0] != "otto" || said.by[1] != "" {
		t.Errorf("comments are taken back as %q", said.by)
	}
}
