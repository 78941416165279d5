package web_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
	"forge/orchestrator"
)

// starts keeps what it was asked for.
type starts struct {
	sum    string
	begun  []web.RunOrder
	looked []web.RunOrder
}

func (s *starts) Forecast(_ context.Context, o web.RunOrder) (web.Forecast, error) {
	s.looked = append(s.looked, o)
	return web.Forecast{Sum: s.sum, Level: "interactive", Branch: "main", Commit: "0123456789abcdef", Notes: []string{"<note>"},
		Phases: []web.ForecastPhase{{Number: "1", Name: "<name>", Agent: "dry", Tries: 8, Verify: []string{"make test"}}}}, nil
}

func (s *starts) Begin(_ context.Context, o web.RunOrder) (string, error) {
	if o.Seen != s.sum {
		return "", work.ErrStale
	}
	s.begun = append(s.begun, o)
	return "w-1", nil
}

func (*starts) Again(*orchestrator.State) web.RunOrder { return web.RunOrder{} }

// What a run will do is said before it is begun; what is begun is what was said.
func TestBeginARunOnPages(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	if a := w.Owner().Get("/p/demo/runs/new"); a.Status != 404 {
		t.Errorf("where no run is begun: %d", a.Status)
	}
	s := &starts{sum: "one"}
	w.Site.Change("demo", func(p *web.Project) { p.Starts = s })
	otto, anna := w.User("otto", web.RoleOperator, "demo"), w.User("anna", web.RoleAdmin, "demo")
	order := func(more ...string) url.Values {
		f := url.Values{"from": {"text"}, "text": {"Add\r\nit"}, "usd": {"2.5"}, "tries": {"3"}}
		for n := 0; n < len(more); n += 2 {
			f.Set(more[n], more[n+1])
		}
		return f
	}

	a := otto.Send("/p/demo/runs/forecast", order())
	for _, want := range []string{"&lt;name&gt;", "&lt;note&gt;", "make test", "at most 8 tries", "merged into <strong>main</strong>", `name="seen" value="one"`, ">Begin the run<", "it does not wait for you"} {
		if a.Status != 200 || !strings.Contains(a.Body, want) {
			t.Errorf("the forecast lacks %q: %d\n%s", want, a.Status, a.Body)
		}
	}
	if len(s.looked) != 1 || s.looked[0].Text != "Add\nit" || s.looked[0].USD != 2.5 || s.looked[0].Tries != 3 || s.looked[0].MayRaise || len(s.begun) != 0 {
		t.Fatalf("looked for %+v, begun %+v", s.looked, s.begun)
	}

	for name, c := range map[string]struct {
		form   url.Values
		status int
		want   string
	}{
		"not looked at": {order(), 422, "Look at it first."},
		"changed since": {order("seen", "none"), 409, "Look at it once more."},
		"no text":       {order("text", " ", "seen", "one"), 422, "Nothing says what is to be done."},
		"no amount":     {order("usd", "NaN", "seen", "one"), 422, "Write dollars"},
		"no tries":      {order("tries", "many", "seen", "one"), 422, "Write 1 or more"},
		"a level":       {order("level", "full", "seen", "one"), 403, "takes the role admin"},
	} {
		if a := otto.Send("/p/demo/runs", c.form); a.Status != c.status || !strings.Contains(a.Body, c.want) || len(s.begun) != 0 {
			t.Errorf("%s: %d, begun %+v\n%s", name, a.Status, s.begun, a.Body)
		}
	}
	if a := w.User("vera", web.RoleReviewer, "demo").Send("/p/demo/runs", order("seen", "one")); a.Status != 403 || len(s.begun) != 0 {
		t.Errorf("a reviewer begins a run: %d", a.Status)
	}
	if a := anna.Send("/p/demo/runs", order("seen", "one", "level", "full")); a.Status != 303 || len(s.begun) != 1 || s.begun[0].Level != "full" || !s.begun[0].MayRaise || s.begun[0].By != "anna" {
		t.Errorf("an admin begins it: %d, %+v", a.Status, s.begun)
	}
}
