package web_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
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
	mu     sync.Mutex // feeds read drafts beside requests
	drafts []web.Draft
	forked []string

	answered []string
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

func (s *starts) Fork(_ context.Context, run string, r work.Rewind, by string) (string, error) {
	s.forked = append(s.forked, fmt.Sprintf("%s %s %d.%d %q by %s", run, r.Phase, r.Iteration, r.Attempt, r.Text, by))
	return "w-2", nil
}

func (s *starts) Draft(_ context.Context, o web.RunOrder) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drafts = append(s.drafts, web.Draft{ID: "d-1", Text: o.Text, Tries: o.Tries, By: o.By, State: web.DraftUnderWay})
	return "d-1", nil
}

func (s *starts) Drafts(context.Context) ([]web.Draft, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.drafts), nil
}

// begins has one draft alone, of which nothing is answered yet.
func (s *starts) begins(d web.Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drafts, s.answered = []web.Draft{d}, nil
}

// heard are the answers so far.
func (s *starts) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answered)
}

// become changes a draft.
func (s *starts) become(n int, change func(*web.Draft)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.drafts[n])
}

func (s *starts) Drafted(ctx context.Context, id string) (web.Draft, error) {
	all, _ := s.Drafts(ctx)
	for _, d := range all {
		if d.ID == id {
			return d, nil
		}
	}
	return web.Draft{}, web.ErrNoDraft
}

func (s *starts) AnswerDraft(_ context.Context, id, question, words string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := slices.IndexFunc(s.drafts, func(d web.Draft) bool { return d.ID == id })
	if n < 0 {
		return web.ErrNoDraft
	}
	if s.drafts[n].Question != question {
		return work.ErrStale
	}
	s.answered = append(s.answered, words)
	s.drafts[n].State, s.drafts[n].Question = web.DraftUnderWay, ""
	return nil
}

func (s *starts) DropDraft(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drafts = nil
	return nil
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
	for _, want := range []string{"&lt;name&gt;", "&lt;note&gt;", "make test", "at most 8 iterations", "merged into <strong>main</strong>", `name="seen" value="one"`, ">Begin the run<", "it does not wait for you"} {
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

// A plan is drafted first where that is asked for: no run begins before a person has
// seen its phases, and the run is of that draft.
func TestDraftAPlanOnPages(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	s := &starts{sum: "one"}
	w.Site.Change("demo", func(p *web.Project) { p.Starts = s })
	otto := w.User("otto", web.RoleOperator, "demo")
	a := otto.Send("/p/demo/runs/forecast", url.Values{"from": {"draft"}, "text": {"Add\r\n<it>"}, "usd": {"2.5"}, "tries": {"3"}})
	if a.Status != 303 || !strings.HasPrefix(a.Header.Get("Location"), "/p/demo/drafts/d-1?") || len(s.looked)+len(s.begun) != 0 {
		t.Fatalf("%d %s, looked at %v, begun %v", a.Status, a.Header.Get("Location"), s.looked, s.begun)
	}
	at := a.Header.Get("Location")
	if a := otto.Get(at); !strings.Contains(a.Body, "The agent drafts a plan") || !strings.Contains(a.Body, "&lt;it&gt;") || !strings.Contains(a.Body, "every 2s") || strings.Contains(a.Body, "Begin the run") {
		t.Errorf("under way: %d\n%s", a.Status, a.Body)
	}
	if a := otto.Get("/p/demo/runs/new"); !strings.Contains(a.Body, `href="/p/demo/drafts/d-1"`) {
		t.Errorf("the draft is not found again:\n%s", a.Body)
	}

	s.become(0, func(d *web.Draft) { d.State, d.Problem = web.DraftFailed, "<nobody> could" })
	if a := otto.Get(at); !strings.Contains(a.Body, "&lt;nobody&gt; could") || strings.Contains(a.Body, "Begin the run") || strings.Contains(a.Body, "every 2s") {
		t.Errorf("failed: %d\n%s", a.Status, a.Body)
	}
	s.become(0, func(d *web.Draft) { d.State = web.DraftReady })
	a = otto.Get(at)
	for _, want := range []string{"The plan is drafted.", "&lt;name&gt;", `name="draft" value="d-1"`, `name="usd" value="2.5"`, `name="seen" value="one"`, "Begin the run"} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("ready, without %q:\n%s", want, a.Body)
		}
	}
	if o := s.looked[len(s.looked)-1]; o.Draft != "d-1" || o.USD != 2.5 {
		t.Errorf("the forecast is of %+v", o)
	}
	a = otto.Send("/p/demo/runs", url.Values{"from": {"draft"}, "draft": {"d-1"}, "usd": {"2.5"}, "seen": {"one"}})
	if a.Status != 303 || len(s.begun) != 1 || s.begun[0].Draft != "d-1" {
		t.Errorf("begun: %d %+v\n%s", a.Status, s.begun, a.Body)
	}
	if a := otto.Send("/p/demo/drafts/d-1/drop", nil); a.Status != 303 || len(s.drafts) != 0 {
		t.Errorf("dropped: %d, %v", a.Status, s.drafts)
	}
	if a := otto.Get(at); a.Status != 404 {
		t.Errorf("a draft that is gone: %d", a.Status)
	}
	if a := w.User("vera", web.RoleReviewer, "demo").Get("/p/demo/drafts/d-1"); a.Status != 403 {
		t.Errorf("a reviewer: %d", a.Status)
	}
}
