package web_test

import (
	"context"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// telling keeps what it was told.
type telling struct {
	web.Questions
	said []work.Message
	by   string
	door string
}

func (d *telling) Tell(_ context.Context, run string, m work.Message, by, door string) (work.Told, error) {
	if strings.TrimSpace(m.Text) == "" && !m.Anew {
		return work.Told{}, &web.Complaint{Status: 422, What: "The message is empty.", Fix: "Say it."}
	}
	d.said, d.by, d.door = append(d.said, m), by, door
	return work.Told{Run: run, Phase: m.Phase, State: work.MessageQueued}, nil
}

// Who may answer may say something to a working agent, from the page of its run.
func TestTellAnAgentOnPages(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	d := &telling{}
	w.Site.Change("demo", func(p *web.Project) { d.Questions, p.Questions = p.Questions, d })
	rita, vera := w.User("rita", web.RoleReviewer, "demo"), w.User("vera", web.RoleViewer, "demo")
	say := url.Values{"phase": {"01"}, "text": {"use tabs"}, "now": {"1"}}
	if a := vera.Send("/p/demo/runs/r1/tell", say); a.Status != 403 || len(d.said) != 0 {
		t.Errorf("a viewer: %d, %v", a.Status, d.said)
	}
	if a := rita.Post("/p/demo/runs/r1/tell", say); a.Status != 403 || len(d.said) != 0 {
		t.Errorf("without the form's token: %d, %v", a.Status, d.said)
	}
	if a := rita.Send("/p/demo/runs/r1/tell", say); a.Status != 303 && a.Status != 200 {
		t.Errorf("a reviewer: %d %s", a.Status, a.Body)
	}
	if len(d.said) != 1 || !reflect.DeepEqual(d.said[0], work.Message{Phase: "01", Text: "use tabs", Now: true}) || d.by != "rita" || d.door != "web" {
		t.Errorf("said: %+v by %s through %s", d.said, d.by, d.door)
	}
	if a := rita.Send("/p/demo/runs/r1/tell", url.Values{"phase": {"01"}, "text": {" "}}); a.Status != 422 || !strings.Contains(a.Body, "The message is empty.") {
		t.Errorf("an empty one: %d %s", a.Status, a.Body)
	}
	if a := rita.Send("/p/demo/runs/r1/tell", url.Values{"phase": {"01"}, "text": {""}, "anew": {"1"}}); a.Status >= 400 || len(d.said) != 2 || !d.said[1].Anew {
		t.Errorf("a new session: %d %s, %+v", a.Status, a.Body, d.said)
	}
	with := url.Values{"phase": {"01"}, "text": {"use tabs"}, "with": {"main.go:3-8\r\n\r\n notes.txt \r\n"}}
	want := []work.Attached{{Path: "main.go", From: 3, To: 8}, {Path: "notes.txt"}}
	if a := rita.Send("/p/demo/runs/r1/tell", with); a.Status >= 400 || len(d.said) != 3 || !reflect.DeepEqual(d.said[2].Attached, want) {
		t.Errorf("with lines: %d %s, %+v", a.Status, a.Body, d.said)
	}
	with.Set("with", "main.go:3-8\n../secret")
	if a := rita.Send("/p/demo/runs/r1/tell", with); a.Status != 422 || !strings.Contains(a.Body, "../secret: it is no path") || len(d.said) != 3 {
		t.Errorf("with a file outside: %d %s, %+v", a.Status, a.Body, d.said)
	}
}
