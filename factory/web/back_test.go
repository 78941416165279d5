package web_test

import (
	"context"
	"net/url"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// setting keeps what was to be set back.
type setting struct {
	web.Questions
	back []work.Rewind
	by   string
}

func (d *setting) Rewind(_ context.Context, run string, r work.Rewind, by, _ string) (work.Rewound, error) {
	d.back, d.by = append(d.back, r), by
	return work.Rewound{Run: run, Phase: r.Phase}, nil
}

// Who may answer sets a phase back; who begins runs forks one.
func TestGoOnFromAnIterationOnPages(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	d, s := &setting{}, &starts{}
	w.Site.Change("demo", func(p *web.Project) { d.Questions, p.Questions, p.Starts = p.Questions, d, s })
	otto, rita, vera := w.User("otto", web.RoleOperator, "demo"), w.User("rita", web.RoleReviewer, "demo"), w.User("vera", web.RoleViewer, "demo")
	form := url.Values{"phase": {"01"}, "iteration": {"2"}, "attempt": {"1"}, "text": {"not so"}}

	if a := rita.Post("/p/demo/runs/r1/rewind", form); a.Status != 403 || len(d.back) != 0 {
		t.Errorf("without the form's token: %d, %v", a.Status, d.back)
	}
	if a := vera.Send("/p/demo/runs/r1/rewind", form); a.Status != 403 || len(d.back) != 0 {
		t.Errorf("a viewer sets back: %d, %v", a.Status, d.back)
	}
	if a := rita.Send("/p/demo/runs/r1/fork", form); a.Status != 403 || len(s.forked) != 0 {
		t.Errorf("a reviewer forks: %d, %v", a.Status, s.forked)
	}
	rita.Send("/p/demo/runs/r1/rewind", form)
	if len(d.back) != 1 || d.back[0] != (work.Rewind{Phase: "01", Iteration: 2, Attempt: 1, Text: "not so"}) || d.by != "rita" {
		t.Errorf("set back: %+v by %s", d.back, d.by)
	}
	otto.Send("/p/demo/runs/r1/fork", form)
	if want := `r1 01 2.1 "not so" by otto`; len(s.forked) != 1 || s.forked[0] != want {
		t.Errorf("forked: %q, want %q", s.forked, want)
	}
	for _, wrong := range []string{"iteration=x&phase=01", "iteration=-1&phase=01", "iteration=1"} {
		values, _ := url.ParseQuery(wrong)
		if a := rita.Send("/p/demo/runs/r1/rewind", values); a.Status != 400 {
			t.Errorf("%s: %d", wrong, a.Status)
		}
	}
}
