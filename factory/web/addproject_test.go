package web_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"forge/factory/web"
	"forge/factory/web/webtest"
)

// shelf is folders in memory.
type shelf struct {
	roots []string
	added []string
}

func (s *shelf) Roots() []string { return s.roots }

func (s *shelf) Folders(context.Context) ([]web.Folder, error) {
	if len(s.roots) == 0 {
		return nil, nil
	}
	return []web.Folder{{Path: "/code/<new>", Changed: time.Now()}}, nil
}

func (s *shelf) Add(_ context.Context, path, by string) (string, error) {
	if path != "/code/<new>" {
		return "", web.ErrNoFolder
	}
	s.added = append(s.added, by)
	return "new", nil
}

// Only who is admin of all projects adds one, and only of the folders offered.
func TestAddAProjectOnPages(t *testing.T) {
	t.Parallel()
	s := &shelf{roots: []string{"/code"}}
	w := webtest.New(t, func(c *web.Config) { c.Adds = s })
	owner := w.Owner()
	if a := owner.Get("/"); !strings.Contains(a.Body, `href="/projects/new"`) {
		t.Errorf("no way to add a project:\n%s", a.Body)
	}
	if a := owner.Get("/projects/new"); !strings.Contains(a.Body, `value="/code/&lt;new&gt;"`) || !strings.Contains(a.Body, "It runs nothing of the project") {
		t.Errorf("what may be added: %d\n%s", a.Status, a.Body)
	}
	if a := owner.Send("/projects", url.Values{"path": {"/code/../etc"}}); a.Status != 422 || !strings.Contains(a.Body, "Choose one of these") || len(s.added) != 0 {
		t.Errorf("another folder: %d\n%s", a.Status, a.Body)
	}
	anna := w.User("anna", web.RoleAdmin, "demo")
	if a := anna.Get("/"); strings.Contains(a.Body, "/projects/new") {
		t.Error("an admin of one project is offered to add others")
	}
	if a := anna.Get("/projects/new"); a.Status != 403 || strings.Contains(a.Body, "/code") {
		t.Errorf("an admin of one project sees folders: %d", a.Status)
	}
	if a := anna.Send("/projects", url.Values{"path": {"/code/<new>"}}); a.Status != 403 || len(s.added) != 0 {
		t.Errorf("an admin of one project adds another: %d", a.Status)
	}
	if a := owner.Send("/projects", url.Values{"path": {"/code/<new>"}}); a.Status != 303 || len(s.added) != 1 {
		t.Errorf("the owner adds it: %d\n%s", a.Status, a.Body)
	}
	s.roots = nil
	if a := owner.Get("/projects/new"); !strings.Contains(a.Body, "roots = [") {
		t.Errorf("without roots it is not said how:\n%s", a.Body)
	}
}
