package slack

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/internal/door"
	"forge/internal/slack/slacktest"
	"forge/internal/work"
)

func fullCard() door.Card {
	press := door.Press{Project: "demo", Checkpoint: "run.1", Revision: 1, Status: work.CheckpointApproved}
	return door.Card{
		Subject: "question run.1", Title: "Land it?", Facts: [][2]string{{"project", "demo"}, {"run", "run"}}, Link: "https://forge.example.com/p/demo",
		Parts:   []door.Part{{Title: "Its agent says", Text: "done <!channel> *x*"}, {Title: "1 file changed", Text: " a.go | 2 +-", Fixed: true}},
		Buttons: []door.Button{{Label: "Approve", Style: "primary", Press: press}, {Label: "Request changes…", Press: press}, {Label: "Reject…", Style: "danger", Press: press}},
		Foot:    "A reply in this thread is told to the agent.",
	}
}

func client(s *slacktest.Server) *Client {
	c := NewClient(s.URL, slacktest.AppToken, slacktest.BotToken)
	c.HTTP.Transport = &http.Transport{DisableKeepAlives: true}
	return c
}

func place(s *slacktest.Server) *Place { return &Place{Client: client(s), Channel: slacktest.Channel} }

// A card is posted, changed, and found again by what it is about, among messages of
// others that say the same.
func TestPostEditFind(t *testing.T) {
	t.Parallel()
	s, ctx := start(t), t.Context()
	p, c := place(s), fullCard()
	begun := time.Now()
	if ref, err := p.Find(ctx, c.Subject, begun); ref != "" || err != nil {
		t.Fatalf("found before it was posted: %q, %v", ref, err)
	}
	ref, err := p.Post(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	s.Imitate(s.Messages()[0])
	for range 250 { // more than a page
		s.Write("U9", "", "chatter", 1)
	}
	if got, err := p.Find(ctx, c.Subject, begun.Add(-time.Minute)); got != ref || err != nil {
		t.Errorf("found %q, %v; want %q", got, err, ref)
	}
	if got, err := p.Find(ctx, "question run.2", begun.Add(-time.Minute)); got != "" || err != nil {
		t.Errorf("another question is found at %q, %v", got, err)
	}
	c.Buttons, c.Foot = nil, ""
	c.Facts = append(c.Facts, [2]string{"answer", "approved"})
	if err := p.Edit(ctx, ref, c); err != nil {
		t.Fatal(err)
	}
	m := s.Messages()[0]
	if m.TS != ref || m.Edited != 1 || len(m.Buttons()) != 1 || !strings.Contains(m.Shows(), "answer: approved") {
		t.Errorf("edited: %+v", m)
	}
	if strings.Contains(m.Text, "<!channel>") || strings.Contains(string(m.Blocks), "mrkdwn") {
		t.Errorf("words of others act: %s", m.Shows())
	}
	if bad := s.Bad(); len(bad) > 0 {
		t.Errorf("Slack refuses: %v", bad)
	}
}

// However long what others wrote is, Slack takes it.
func TestLongCards(t *testing.T) {
	t.Parallel()
	s := start(t)
	long := strings.Repeat("ü<", 6000)
	c := fullCard()
	c.Title, c.Parts[0].Text, c.Parts[1].Text, c.Foot = long, long, long, long
	c.Facts[0][1], c.Buttons[0].Label = long, long
	for range 40 {
		c.Buttons = append(c.Buttons, c.Buttons[0])
	}
	if _, err := place(s).Post(t.Context(), c); err != nil || len(s.Bad()) > 0 {
		t.Errorf("%v, %v", err, s.Bad())
	}
	if _, err := place(s).Post(t.Context(), door.Card{Subject: "run r"}); err != nil || len(s.Bad()) > 0 {
		t.Errorf("an empty one: %v, %v", err, s.Bad())
	}
}

// What goes wrong is told apart: what passes, what somebody has to mend, what is of
// one message, and what may have been carried out.
func TestTroubles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault slacktest.Fault
		want  door.Trouble
	}{
		"asked too often": {slacktest.Fault{Status: 429, After: 7}, door.Trouble{After: 7 * time.Second, All: true, Sure: true}},
		"for ever":        {slacktest.Fault{Status: 429, After: 1 << 30}, door.Trouble{After: mostAfter, All: true, Sure: true}},
		"down":            {slacktest.Fault{Status: 503}, door.Trouble{All: true}},
		"a redirect":      {slacktest.Fault{Status: 302}, door.Trouble{All: true, Sure: true}},
		"cut off":         {slacktest.Fault{Lost: true}, door.Trouble{All: true}},
		"revoked":         {slacktest.Fault{Error: "token_revoked"}, door.Trouble{All: true, Sure: true}},
		"not invited":     {slacktest.Fault{Error: "not_in_channel"}, door.Trouble{All: true, Sure: true}},
		"this one":        {slacktest.Fault{Error: "invalid_blocks"}, door.Trouble{Sure: true}},
		"deleted":         {slacktest.Fault{Error: "message_not_found"}, door.Trouble{Sure: true, Gone: true}},
		"no word":         {slacktest.Fault{Error: ""}, door.Trouble{Sure: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			tt.fault.Method, tt.fault.Times = "chat.postMessage", 1
			s.Fail(tt.fault)
			_, err := place(s).Post(t.Context(), fullCard())
			var got *door.Trouble
			if !errors.As(err, &got) {
				t.Fatalf("got %v", err)
			}
			if got.After != tt.want.After || got.All != tt.want.All || got.Sure != tt.want.Sure || got.Gone != tt.want.Gone {
				t.Errorf("got %+v, want %+v", *got, tt.want)
			}
			if words := err.Error(); strings.Contains(words, "xoxb") || strings.Contains(words, "127.0.0.1") {
				t.Errorf("the error holds what it should not: %s", words)
			}
		})
	}
}

// listening is an app that hears, and what it heard.
func listening(t *testing.T, s *slacktest.Server, reply func(door.Said) door.Reply) (a *App, heard chan door.Said) {
	t.Helper()
	heard = make(chan door.Said, 100)
	a = &App{Place: place(s), Log: log.New(io.Discard), Pause: time.Millisecond, Hear: func(_ context.Context, d door.Said) door.Reply {
		heard <- d
		return reply(d)
	}}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.Listen(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	connected(t, s, 1)
	return a, heard
}

const patience = 30 * time.Second

func connected(t *testing.T, s *slacktest.Server, times int) {
	t.Helper()
	if !s.Wait(patience, func() bool { return s.Connections() >= times && s.Connected() == 1 }) {
		t.Fatalf("connected %d times, want %d", s.Connections(), times)
	}
}

// taken waits until an envelope was said to have come.
func taken(t *testing.T, s *slacktest.Server, id string) string {
	t.Helper()
	var payload string
	if !s.Wait(patience, func() bool {
		raw, ok := s.Acked(id)
		payload = string(raw)
		return ok
	}) {
		t.Fatalf("nobody said that %s came", id)
	}
	return payload
}

// A press is heard with who pressed, by id; words that go with it are asked for by a
// form, which says why they were not taken.
func TestPressAndForm(t *testing.T) {
	t.Parallel()
	s := start(t)
	a, heard := listening(t, s, func(d door.Said) door.Reply {
		switch {
		case !d.Asked:
			return door.Reply{Ask: "What has to change?", Due: true}
		case d.Words == "no":
			return door.Reply{Text: "There is nothing said."}
		}
		return door.Reply{Done: true, Text: "Your answer counts."}
	})
	if _, err := a.Post(t.Context(), fullCard()); err != nil {
		t.Fatal(err)
	}
	m := s.Messages()[0]
	press, err := s.Press("U7", m, "Approve")
	if err != nil {
		t.Fatal(err)
	}
	taken(t, s, s.Deliver(press))
	if d := <-heard; d.By != "U7" || d.Ref != m.TS || d.Press == nil || *d.Press != fullCard().Buttons[0].Press || d.Asked {
		t.Errorf("heard %+v", d)
	}
	if !s.Wait(patience, func() bool { return len(s.Views()) == 1 }) {
		t.Fatal("no form is open")
	}
	v := s.Views()[0]
	if got := taken(t, s, s.Submit(v, "U7", "no")); !strings.Contains(got, `"response_action":"errors"`) || !strings.Contains(got, "nothing said") {
		t.Errorf("a form that is not taken is answered %s", got)
	}
	if got := taken(t, s, s.Submit(v, "U7", "rename <it>")); got != "" {
		t.Errorf("a form that is taken is answered %s", got)
	}
	<-heard
	if d := <-heard; d.By != "U7" || d.Ref != m.TS || d.Words != "rename <it>" || !d.Asked || d.Press == nil {
		t.Errorf("heard %+v", d)
	}
	if !s.Wait(patience, func() bool { return len(s.Whispers()) == 1 }) || s.Whispers()[0].User != "U7" {
		t.Errorf("told: %+v", s.Whispers())
	}
	// A press that is too old for a form is told so.
	press, _ = s.Press("U7", m, "Approve")
	s.Expire(press)
	taken(t, s, s.Deliver(press))
	if !s.Wait(patience, func() bool { return len(s.Whispers()) == 2 }) || !strings.Contains(s.Whispers()[1].Text, "could not be opened") {
		t.Errorf("told: %+v", s.Whispers())
	}
}

// A connection that is cut, replaced or silent is made again, and what nobody said
// had come is heard then.
func TestConnectionsAreMadeAgain(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, heard := listening(t, s, func(door.Said) door.Reply { return door.Reply{} })
	words := func(say string) {
		t.Helper()
		taken(t, s, s.Write("U7", "1.1", say, 1)[0])
		if d := <-heard; d.Words != say || d.By != "U7" || d.Ref != "1.1" || d.ID == "" {
			t.Errorf("heard %+v, want %q", d, say)
		}
	}
	words("one")
	s.Ping()
	s.Raw("not JSON")
	s.Raw(`{"type":"interactive","envelope_id":"odd","payload":[]}`)
	taken(t, s, "odd")
	words("three")
	s.Drop()
	connected(t, s, 2)
	words("after a cut")
	s.Refresh("refresh_requested")
	connected(t, s, 3)
	words("after a refresh")

	s.Drop()
	late := s.Write("U7", "1.1", "said meanwhile", 1)[0]
	taken(t, s, late)
	if d := <-heard; d.Words != "said meanwhile" {
		t.Errorf("heard %+v", d)
	}
}

// A connection on which nothing is heard is dead.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Silent(true)
	a := &App{Place: place(s), Log: log.New(io.Discard), Silence: 50 * time.Millisecond}
	if _, err := a.connect(t.Context()); err == nil {
		t.Error("a connection that says nothing ended well")
	}
}

// Nothing follows from what is not said to Forge, or by a person.
func TestNotForForge(t *testing.T) {
	t.Parallel()
	s := start(t)
	a, heard := listening(t, s, func(door.Said) door.Reply { return door.Reply{} })
	if _, err := a.Post(t.Context(), fullCard()); err != nil {
		t.Fatal(err)
	}
	m := s.Messages()[0]
	event := func(change func(map[string]any)) string {
		e := map[string]any{"type": "message", "channel": slacktest.Channel, "user": "U7", "text": "x", "ts": "2.2", "thread_ts": m.TS}
		change(e)
		return s.Event(e)
	}
	last := m.Buttons()[0]
	bad := last
	var ids []string
	for _, change := range []func(map[string]any){
		func(e map[string]any) { e["channel"] = "C0OTHER" },
		func(e map[string]any) { e["bot_id"] = "B1" },
		func(e map[string]any) { e["user"] = "" },
		func(e map[string]any) { e["subtype"] = "message_changed" },
		func(e map[string]any) { e["text"] = " \u200b " },
		func(e map[string]any) { delete(e, "thread_ts") },
		func(e map[string]any) { e["type"] = "reaction_added" },
		func(e map[string]any) { e["user"] = 7 },
	} {
		ids = append(ids, event(change))
	}
	for _, value := range []string{"", "{}x", `{"p":"demo","c":"run.1","r":1,"s":"approved","yes":true}`, `{"c":1}`, "null null"} {
		bad.Value = value
		ids = append(ids, s.Deliver(s.PressOf("U7", m, bad)))
	}
	bad = last
	bad.Action = "open"
	ids = append(ids, s.Deliver(s.PressOf("U7", m, bad)), s.Odd("slash_commands", map[string]any{"command": "/forge"}), s.Odd("interactive", "words"),
		s.Odd("interactive", map[string]any{"type": "view_submission", "user": map[string]any{"id": "U7"}, "view": map[string]any{"callback_id": formBlock, "private_metadata": "?"}}))
	for _, id := range ids {
		taken(t, s, id)
	}
	select {
	case d := <-heard:
		t.Errorf("heard %+v", d)
	default:
	}
}
