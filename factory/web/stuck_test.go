package web_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// What stands still is in the inbox, once, whether it asks or not.
func TestInboxShowsWhatStandsStill(t *testing.T) {
	w := webtest.New(t)
	put := func(title string, change func(*work.Issue)) {
		w.Put(w.Issue(title, work.ColumnReady), func(i *work.Issue) {
			i.Column = work.ColumnInProgress
			change(i)
		})
	}
	put("Failed one", func(i *work.Issue) { i.State, i.Reason = work.IssueFailed, "phase 02 ran out of iterations" })
	put("Silent one", func(i *work.Issue) { i.State, i.Reason = work.IssueWaits, "no model" })
	put("Asks by its run", func(i *work.Issue) { i.State, i.Run = work.IssueWaits, "r-1" })
	put("Asks in triage", func(i *work.Issue) { i.State = work.IssueWaits })
	put("Cancelled one", func(i *work.Issue) { i.State = work.IssueCancelled })
	put("Goes on", func(*work.Issue) {})
	open := func(id, run string) {
		w.Questions().Put(work.Checkpoint{ID: id, Run: run, Kind: "final", Question: "Question " + id, Status: work.CheckpointPending, Revision: 1, OpenedAt: time.Now()})
	}
	open("cp1", "r-1")
	open("cp2", "triage-4-1")
	owner := w.Owner()
	body := owner.Get("/inbox").Body
	for text, want := range map[string]int{
		"Failed one": 1, "phase 02 ran out of iterations": 1, "Silent one": 1, "Question cp1": 1, "Question cp2": 1,
		"Asks by its run": 0, "Asks in triage": 0, "Cancelled one": 0, "Goes on": 0, `href="/p/demo/issues/1"`: 1,
	} {
		if got := strings.Count(body, text); got != want {
			t.Errorf("the inbox has %q %d times, want %d:\n%s", text, got, want, body)
		}
	}
	if got := owner.Get("/inbox/count").Body; !strings.Contains(got, ">4<") {
		t.Errorf("the inbox counts %s", got)
	}
	// Who cannot retry it sees it as another's.
	if body := w.User("vera", web.RoleViewer, "demo").Get("/inbox").Body; !strings.Contains(body, "Nothing waits for you") || !strings.Contains(body, "for the operator") {
		t.Errorf("a viewer's inbox:\n%s", body)
	}
	// The card of what triage asks leads to the question.
	if board := owner.Get("/p/demo").Body; !strings.Contains(board, `href="/p/demo/checkpoints/cp2"`) {
		t.Errorf("the board does not lead to what triage asks:\n%s", board)
	}
	// It is heard of without a checkpoint, too.
	desk := listen(t, w, owner, "", web.QuestionsTopic("demo"))
	w.Put(w.Issue("Fails later", work.ColumnReady), func(i *work.Issue) { i.Column, i.State = work.ColumnInProgress, work.IssueFailed })
	for got := ""; got != `{"waiting":7}`; { // two checkpoints, five issues that stand still
		got = desk.next("desk")
	}
}

// Drafts that wait are in the inbox of who may begin them, and are heard of.
func TestInboxShowsDrafts(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	s := &starts{drafts: []web.Draft{
		{ID: "d-1", Kind: "plan", Text: "Still <drafted>", State: web.DraftUnderWay},
		{ID: "d-2", Kind: "plan", Text: "Ready <plan>", State: web.DraftReady},
		{ID: "d-3", Kind: "plan", Text: "Failed plan", State: web.DraftFailed, Problem: "the <agent> wrote none"},
		{ID: "interview-spec", Kind: "spec", Text: "A wish", State: web.DraftAsks, Question: "Which <names>?", Choices: []string{"<short>"}, Fix: "forge interview --answer"},
	}}
	w.Site.Change("demo", func(p *web.Project) { p.Starts = s })
	otto := w.User("otto", web.RoleOperator, "demo")
	body := otto.Get("/inbox").Body
	for text, want := range map[string]int{
		"Still &lt;drafted&gt;": 0, "Ready &lt;plan&gt;": 1, "begin it or drop it": 1, "Failed plan": 1, "the &lt;agent&gt; wrote none": 1,
		"Which &lt;names&gt;?": 1, `href="/p/demo/drafts/interview-spec"`: 1,
	} {
		if got := strings.Count(body, text); got != want {
			t.Errorf("the inbox has %q %d times, want %d:\n%s", text, got, want, body)
		}
	}
	if got := otto.Get("/inbox/count").Body; !strings.Contains(got, ">3<") {
		t.Errorf("the inbox counts %s", got)
	}
	if body := w.User("vera", web.RoleViewer, "demo").Get("/inbox").Body; strings.Contains(body, "/drafts/") {
		t.Errorf("a viewer, who may see no draft:\n%s", body)
	}
	page := otto.Get("/p/demo/drafts/interview-spec").Body
	for _, want := range []string{"The agent asks:", "Which &lt;names&gt;?", "&lt;short&gt;", "forge interview --answer", "Drop this draft", `action="/p/demo/drafts/interview-spec/answer"`} {
		if !strings.Contains(page, want) || strings.Contains(page, "Begin the run") || strings.Contains(page, "Show what it will do") {
			t.Errorf("the page of an interview lacks %q, or begins a run:\n%s", want, page)
		}
	}
	desk := listen(t, w, otto, "", web.QuestionsTopic("demo"))
	s.become(0, func(d *web.Draft) { d.State = web.DraftReady })
	w.Issue("Something is written", work.ColumnReady)
	for got := ""; got != `{"waiting":4}`; {
		got = desk.next("desk")
	}
}

// What an interview asks is answered on its page: in words, by a choice, or not at
// all, and only while it is asked.
func TestAnswerAnInterviewOnAPage(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	s := &starts{}
	w.Site.Change("demo", func(p *web.Project) { p.Starts = s })
	otto, vera := w.User("otto", web.RoleOperator, "demo"), w.User("vera", web.RoleReviewer, "demo")
	const path = "/p/demo/drafts/interview-spec"
	for name, c := range map[string]struct {
		form   url.Values
		status int
		words  []string
		want   string
	}{
		"words":          {url.Values{"question": {"Which?"}, "answer": {"long ones"}, "choice": {"short"}}, 303, []string{"long ones"}, ""},
		"a choice":       {url.Values{"question": {"Which?"}, "answer": {" "}, "choice": {"short"}}, 303, []string{"short"}, ""},
		"the agent":      {url.Values{"question": {"Which?"}, "choice": {"short"}, "decide": {"1"}}, 303, []string{""}, ""},
		"nothing":        {url.Values{"question": {"Which?"}}, 422, nil, "Nothing is answered."},
		"asked no more":  {url.Values{"question": {"How many?"}, "answer": {"two"}}, 409, nil, "not asked any more"},
		"another person": {url.Values{"question": {"Which?"}, "answer": {"two"}}, 403, nil, ""},
	} {
		s.begins(web.Draft{ID: "interview-spec", Kind: "spec", Text: "A wish", State: web.DraftAsks, Question: "Which?", Choices: []string{"short"}})
		who := otto
		if c.status == 403 {
			who = vera
		}
		a := who.Send(path+"/answer", c.form)
		if a.Status != c.status || !slices.Equal(s.heard(), c.words) || !strings.Contains(a.Body, c.want) {
			t.Errorf("%s: %d, heard %q\n%s", name, a.Status, s.heard(), a.Body)
		}
		if c.status == 303 {
			if page := otto.Get(path).Body; !strings.Contains(page, "The agent reads your answer") || !strings.Contains(page, "every 2s") {
				t.Errorf("%s: the page after it:\n%s", name, page)
			}
		}
	}
}

// A ready card says why it is not begun, and another word as soon as there is
// another reason.
func TestReadyCardsSayWhyTheyWait(t *testing.T) {
	w := webtest.New(t)
	w.Issue("Ready one", work.ColumnReady)
	w.Issue("Blocked one", work.ColumnReady, func(i *work.Issue) { i.Needs = []int64{1} })
	w.Issue("Put off one", work.ColumnReady)
	w.Issue("Not ready", work.ColumnBacklog)
	owner := w.Owner()
	stands := func(s web.Standing) (card func(id string) string) {
		w.Floor().Set(s)
		w.Issue("something is written", work.ColumnBacklog)
		body := owner.Get("/p/demo").Body
		return func(id string) string {
			_, rest, _ := strings.Cut(body, `id="card-`+id+`"`)
			text, _, _ := strings.Cut(rest, "</li>")
			return text
		}
	}
	later := map[int64]time.Time{3: time.Now().Add(time.Hour)}
	for _, c := range []struct {
		standing   web.Standing
		one, three string
	}{
		{web.Standing{}, "Nothing works on this board", "Nothing works on this board"},
		{web.Standing{Serving: true}, "", ""},
		{web.Standing{Serving: true, Running: []int64{9}}, "Waits for its turn", "Waits for its turn"},
		{web.Standing{Serving: true, Paused: true}, "Not begun: the factory is paused", "Not begun: the factory is paused"},
		{web.Standing{Serving: true, Drain: true, Paused: true}, "draining", "draining"},
		{web.Standing{Serving: true, Note: "agent claude failed in 3 runs in a row", Later: later}, "Not begun: agent claude failed in 3 runs in a row", "Put off until "},
	} {
		card := stands(c.standing)
		for id, want := range map[string]string{"1": c.one, "3": c.three} {
			got := card(id)
			if want == "" && strings.Contains(got, "◌") || !strings.Contains(got, want) {
				t.Errorf("%+v: card %s lacks %q:\n%s", c.standing, id, want, got)
			}
		}
		for _, id := range []string{"2", "4"} {
			if got := card(id); strings.Contains(got, "◌") || got == "" {
				t.Errorf("%+v: card %s says why it is not begun, which is another reason:\n%s", c.standing, id, got)
			}
		}
	}
	if body := owner.Get("/p/demo/issues/1").Body; !strings.Contains(body, "agent claude failed in 3 runs in a row") {
		t.Errorf("the issue's page does not say so:\n%s", body)
	}
	// An open board hears of it.
	board := listen(t, w, owner, "", web.BoardTopic("demo"), web.FloorTopic("demo"))
	w.Issue("seen before", work.ColumnBacklog)
	for m := read(t, board.next("board")); m.Issue == 0; m = read(t, board.next("board")) {
	}
	w.Floor().Set(web.Standing{Serving: true, Paused: true})
	p, _ := w.Site.Project(t.Context(), "demo")
	if _, err := p.Board.Move(t.Context(), 4, work.ColumnDone, factory.Place{At: factory.Top}, factory.By{Name: "somebody", Door: "cli"}); err != nil {
		t.Fatal(err)
	}
	board.next("floor")
	for m := read(t, board.next("board")); m.Action != "floor"; m = read(t, board.next("board")) {
	}
	if body := owner.Get("/p/demo/floor").Body; !strings.Contains(body, "Paused") || strings.Contains(body, "<html") {
		t.Errorf("the floor by itself: %s", body)
	}
}
