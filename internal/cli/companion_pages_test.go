package cli

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	pages "forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/fakemodel"
	"forge/internal/work"
)

// talked waits until a conversation's last question has its answer.
func (w *siteWorld) talked(t *testing.T, run string, turns int) work.Talk {
	t.Helper()
	p, err := w.Site.Project(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		talk, err := p.Companion.Talk(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(talk.Turns); n == turns && talk.Turns[n-1].Over {
			return talk
		}
		if time.Now().After(end) {
			t.Fatalf("never %d answers: %+v\nserver: %s", turns, talk, w.Log)
		}
	}
}

// The pages ask, show and settle with the rights of who is signed in, and only where
// the form is their own.
func TestTheCompanionOnPages(t *testing.T) {
	t.Parallel()
	w := withTalker(t, fakemodel.Service{Turns: []fakemodel.Turn{
		calls(tool("propose_comment", map[string]any{"path": "main.go", "line": 3, "text": "Call it b."}), tool("propose_level", map[string]any{"level": "full"})),
		{Text: "See main.go:3 and [this](https://evil.example)."},
		calls(tool("propose_comment", map[string]any{"path": "main.go", "line": 3, "text": "Call it c."}), tool("propose_level", map[string]any{"level": "full"}), tool("propose_edit", map[string]any{"path": "main.go", "old": "a", "new": "b"})),
		{Text: "Two of them I may not."},
	}}, "")
	s := withPages(t, w.world)
	owner, rosa, viewer := s.Owner(), s.User("rosa", pages.RoleReviewer, "demo"), s.User("vera", pages.RoleViewer, "demo")
	at, of := "/p/demo/companion", "?run="+w.run
	form := func(more ...string) url.Values {
		v := url.Values{"run": {w.run}}
		for n := 0; n+1 < len(more); n += 2 {
			v.Set(more[n], more[n+1])
		}
		return v
	}
	s.has(owner, "/p/demo/runs/"+w.run, `hx-get="`+at+of+`"`, "Open the conversation")
	s.has(owner, "/p/demo/checkpoints/"+w.run+".1", `hx-get="`+at+of+`"`)
	s.has(owner, "/p/demo", `hx-get="`+at+`?run="`)
	s.has(owner, at+of, "Nothing was asked yet", `name="question"`)
	s.has(viewer, at+of, "You may read this, and not ask.")

	if a := viewer.Send(at+"/ask", form("question", "What?")); a.Status != 403 {
		t.Errorf("a viewer asks: %d", a.Status)
	}
	if a := owner.Post(at+"/ask", form("question", "What?")); a.Status != 403 {
		t.Errorf("asked by a form of another site: %d", a.Status)
	}
	if a := owner.Send(at+"/ask", form("question", " ")); a.Status != 422 {
		t.Errorf("nothing is asked: %d %s", a.Status, a.Body)
	}
	if a := owner.Send(at+"/ask", url.Values{"run": {"260101-none"}, "question": {"x"}}); a.Status != 404 {
		t.Errorf("asked about no run: %d", a.Status)
	}
	if a := owner.Send(at+"/ask", form("question", "Rename <b>a</b>")); a.Status != 303 {
		t.Fatalf("ask: %d %s", a.Status, a.Body)
	}
	talk := s.talked(t, w.run, 1)
	body := s.has(viewer, at+of, "Rename &lt;b&gt;a&lt;/b&gt;", `/p/demo/checkpoints/`+w.run+`.1/blob?path=main.go#L3`, "this (https://evil.example)", "takes the role reviewer", "takes the role admin")
	if strings.Contains(body, "/confirm") || strings.Contains(body, `href="https://evil`) {
		t.Error("a viewer is offered what is not theirs, or a link leads out")
	}
	comment, level := talk.Turns[0].Proposals[0].N, talk.Turns[0].Proposals[1].N
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for name, a := range map[string]webtest.Answer{
		"a viewer confirms":               viewer.Send(at+"/confirm", form("proposal", number(comment))),
		"a viewer dismisses":              viewer.Send(at+"/dismiss", form("proposal", number(comment))),
		"a reviewer changes a level":      rosa.Send(at+"/confirm", form("proposal", number(level))),
		"a form of another site confirms": owner.Post(at+"/confirm", form("proposal", number(comment))),
		"there is none of that number":    owner.Send(at+"/confirm", form("proposal", "99")),
		"of another conversation":         owner.Send(at+"/confirm", url.Values{"run": {""}, "proposal": {number(comment)}}),
	} {
		if a.Status != 422 && a.Status != 403 {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if cp := w.point(t, w.room(t)); len(cp.Comments) != 0 {
		t.Fatalf("refused confirmations did something: %+v", cp)
	}
	if a := rosa.Send(at+"/confirm", form("proposal", number(comment))); a.Status != 303 {
		t.Errorf("a reviewer comments: %d %s", a.Status, a.Body)
	}
	if a := owner.Send(at+"/confirm", form("proposal", number(comment))); a.Status != 422 || !strings.Contains(a.Body, "done by rosa") {
		t.Errorf("confirmed twice: %d %s", a.Status, a.Body)
	}
	if cp := w.point(t, w.room(t)); len(cp.Comments) != 1 || cp.Comments[0].By != "rosa" {
		t.Errorf("the question has %+v", cp.Comments)
	}

	// What she could not confirm is not proposed to her.
	if a := rosa.Send(at+"/ask", form("question", "And now?")); a.Status != 303 {
		t.Fatalf("ask: %d %s", a.Status, a.Body)
	}
	talk = s.talked(t, w.run, 2)
	if last := talk.Turns[1]; len(last.Proposals) != 1 || last.Proposals[0].Kind != work.ProposeComment || len(last.Calls) != 2 || !strings.Contains(last.Calls[0].Refused, "takes the role admin") {
		t.Errorf("a reviewer was proposed %+v, refused %+v", last.Proposals, last.Calls)
	}
	sent := w.model.Requests("talk")
	if last := string(sent[len(sent)-1].Body); strings.Contains(last, `"propose_level"`+`,"description"`) || !strings.Contains(last, `"propose_comment"`) {
		t.Error("a reviewer's model is offered what she may not")
	}
}

// A server that ends stops the answers that are under way, and they are said to be.
func TestAnAnswerIsStoppedWithItsServer(t *testing.T) {
	t.Parallel()
	w := withTalker(t, fakemodel.Service{Turns: []fakemodel.Turn{{Fault: fakemodel.Fault{Hang: true}, Repeat: -1}}}, "")
	s := withPages(t, w.world)
	owner := s.Owner()
	if a := owner.Send("/p/demo/companion/ask", url.Values{"run": {w.run}, "question": {"What?"}}); a.Status != 303 {
		t.Fatalf("ask: %d %s", a.Status, a.Body)
	}
	s.has(owner, "/p/demo/companion?run="+w.run, "answering")
	if a := owner.Send("/p/demo/companion/ask", url.Values{"run": {w.run}, "question": {"And?"}}); a.Status != 409 {
		t.Errorf("a second question beside the first: %d", a.Status)
	}
	s.Server.Close()
	if talk := s.talked(t, w.run, 1); !strings.Contains(talk.Turns[0].Failed, "stopped") {
		t.Errorf("it ended with %+v", talk.Turns[0])
	}
}
