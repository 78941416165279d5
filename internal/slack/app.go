package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"charm.land/log/v2"

	"forge/internal/door"
	"forge/internal/text"
)

const (
	// mostWaiting is how much may be said while one thing is taken; what is more
	// Slack tells again.
	mostWaiting = 64
	// takeWait is how long it may take to take one thing.
	takeWait = 30 * time.Second
	// mostPause is the most that is waited between two connections that failed.
	mostPause = time.Minute
)

// App hears what people say in a channel, by socket mode: no address of Forge has
// to be reached from outside.
type App struct {
	*Place
	Hear func(ctx context.Context, s door.Said) door.Reply
	Log  *log.Logger
	// Silence is how long a connection may say nothing; 0 = a minute. Pause is the
	// least that is waited after one that failed; 0 = a second.
	Silence, Pause time.Duration
}

// Listen hears until ctx ends. What fails is said, and tried again.
func (a *App) Listen(ctx context.Context) {
	least := cmp.Or(a.Pause, time.Second)
	pause, last := least, ""
	for ctx.Err() == nil {
		heard, err := a.connect(ctx)
		if heard {
			pause, last = least, ""
		}
		var t *Trouble
		wait := pause
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			continue // Slack asked for a new connection
		case errors.As(err, &t):
			wait = max(wait, t.After)
		}
		if err.Error() != last {
			last = err.Error()
			a.Log.Warn("Slack is not heard; it is connected to again", "err", err)
		}
		pause = min(2*pause, mostPause)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// envelope is something that Slack tells, until it is told that it came.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"`
	Reason  string          `json:"reason"`
	Count   int             `json:"num_connections"`
	Payload json.RawMessage `json:"payload"`
}

// connect hears by one connection until that ends, and says whether it began well.
func (a *App) connect(ctx context.Context) (heard bool, err error) {
	quiet := cmp.Or(a.Silence, silence)
	at, err := a.Client.socketAddress(ctx)
	if err != nil {
		return false, err
	}
	k, err := a.Client.dial(ctx, at, quiet)
	if err != nil {
		return false, err
	}
	defer k.close()
	defer context.AfterFunc(ctx, k.close)()

	// One thing at a time, in the order in which it was said; pings are answered
	// meanwhile.
	told := make(chan envelope, mostWaiting)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for e := range told {
			if ctx.Err() == nil { // what is not taken Slack tells the next process
				a.take(ctx, k, e)
			}
		}
	}()
	defer func() {
		close(told)
		<-over
	}()
	for {
		body, err := k.next(quiet)
		if err != nil {
			return heard, err
		}
		var e envelope
		if json.Unmarshal(body, &e) != nil {
			a.Log.Debug("Slack said something that is no envelope")
			continue
		}
		switch {
		case e.Type == "hello":
			heard = true
			a.Log.Info("Slack is heard", "channel", a.Channel)
			if e.Count > 1 {
				a.Log.Warn("another program is connected as the same app of Slack: each press reaches only one of them", "connections", e.Count)
			}
		case e.Type == "disconnect" && e.Reason == "link_disabled":
			return heard, errors.New("socket mode is switched off in the settings of the app")
		case e.Type == "disconnect" && heard:
			return heard, nil
		case e.Type == "disconnect":
			return heard, errors.New("it ended a connection before it began")
		case e.ID == "":
		default:
			select {
			case told <- e:
			default:
				a.Log.Warn("more is said in Slack than can be taken; Slack tells it again")
			}
		}
	}
}

// take takes what an envelope tells, says that it came, and tells who said it what
// follows. What nobody understands came, too: nothing follows from it.
func (a *App) take(ctx context.Context, k *socket, e envelope) {
	// What has begun is brought to its end: half of it would be lost.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), takeWait)
	defer done()
	m := understand(a.Channel, e)
	if m == nil {
		a.ack(k, e.ID, nil)
		return
	}
	r := a.Hear(ctx, m.said)
	if m.form {
		// A form stays open with its words where they are not taken.
		var answer any
		if !r.Done && r.Text != "" {
			answer = map[string]any{"response_action": "errors", "errors": map[string]string{formBlock: text.Clip(r.Text, 1000)}}
			r.Text = ""
		}
		a.ack(k, e.ID, answer)
	} else {
		a.ack(k, e.ID, nil)
	}
	if r.Ask != "" {
		a.ask(ctx, m, r)
	}
	if r.Text != "" {
		if err := a.whisper(ctx, m.said.By, m.thread, r.Text); err != nil {
			a.Log.Warn("somebody in Slack is not told what follows", "err", err)
		}
	}
}

func (a *App) ack(k *socket, id string, payload any) {
	out := map[string]any{"envelope_id": id}
	if payload != nil {
		out["payload"] = payload
	}
	if err := k.send(out); err != nil {
		a.Log.Debug("Slack does not hear that something came; it tells it again", "err", err)
	}
}

// ask opens a form for the words that go with a button.
func (a *App) ask(ctx context.Context, m *spoken, r door.Reply) {
	held, err := json.Marshal(holds{m.said.Ref, *m.said.Press})
	if err != nil || len(held) > 3000 {
		return
	}
	_, err = a.Client.call(ctx, "views.open", map[string]any{"trigger_id": m.trigger, "view": form(r.Ask, r.Due, string(held))}, nil)
	if err == nil {
		return
	}
	a.Log.Warn("a form is not opened", "err", err)
	if err := a.whisper(ctx, m.said.By, m.thread, "The form could not be opened. Press the button again, or answer on the page."); err != nil {
		a.Log.Warn("somebody in Slack is not told what follows", "err", err)
	}
}

// holds is what a form gives back: at which message it was opened, and by which
// button.
type holds struct {
	Ref   string     `json:"m"`
	Press door.Press `json:"b"`
}

// spoken is what somebody said, as doors know it.
type spoken struct {
	said    door.Said
	trigger string // opens a form, once and soon
	thread  string // where a reply belongs
	form    bool   // it came from a form
}

// payload is the part of what Slack tells that Forge reads.
type payload struct {
	Type    string `json:"type"`
	Trigger string `json:"trigger_id"`
	User    struct {
		ID string `json:"id"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		TS string `json:"message_ts"`
	} `json:"container"`
	Message struct {
		Thread string `json:"thread_ts"`
	} `json:"message"`
	Actions []struct {
		ID    string `json:"action_id"`
		Value string `json:"value"`
	} `json:"actions"`
	View struct {
		ID       string `json:"id"`
		Callback string `json:"callback_id"`
		Private  string `json:"private_metadata"`
		State    struct {
			Values map[string]map[string]struct {
				Value *string `json:"value"`
			} `json:"values"`
		} `json:"state"`
	} `json:"view"`
	Event struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		Channel string `json:"channel"`
		User    string `json:"user"`
		Bot     string `json:"bot_id"`
		Text    string `json:"text"`
		TS      string `json:"ts"`
		Thread  string `json:"thread_ts"`
	} `json:"event"`
}

// understand reads what an envelope tells; nil = nothing that Forge hears: another
// channel, another event, a message of a program, or what it cannot read.
func understand(channel string, e envelope) *spoken {
	var p payload
	if json.Unmarshal(e.Payload, &p) != nil {
		return nil
	}
	switch {
	case e.Type == "interactive" && p.Type == "block_actions":
		return understandPress(channel, p)
	case e.Type == "interactive" && p.Type == "view_submission" && p.View.Callback == formBlock:
		var h holds
		words := p.View.State.Values[formBlock][formBlock].Value
		if strictly(p.View.Private, &h) != nil || p.User.ID == "" {
			return nil
		}
		m := &spoken{form: true, said: door.Said{ID: p.View.ID, By: p.User.ID, Ref: h.Ref, Press: &h.Press, Asked: true}}
		if words != nil {
			m.said.Words = *words
		}
		return m
	case e.Type == "events_api" && p.Type == "event_callback":
		v := p.Event
		mine := v.Type == "message" && v.Channel == channel && v.Thread != "" && v.Thread != v.TS
		if !mine || v.Bot != "" || v.User == "" || v.Subtype != "" && v.Subtype != "thread_broadcast" || text.Blank(v.Text) {
			return nil
		}
		return &spoken{thread: v.Thread, said: door.Said{ID: v.TS, By: v.User, Ref: v.Thread, At: timeOf(v.TS), Words: unescape(v.Text)}}
	}
	return nil
}

func understandPress(channel string, p payload) *spoken {
	if len(p.Actions) != 1 || !strings.HasPrefix(p.Actions[0].ID, actionAnswer) || p.Channel.ID != channel || p.User.ID == "" || p.Container.TS == "" {
		return nil
	}
	var press door.Press
	if strictly(p.Actions[0].Value, &press) != nil {
		return nil
	}
	return &spoken{trigger: p.Trigger, thread: p.Message.Thread, said: door.Said{ID: p.Trigger, By: p.User.ID, Ref: p.Container.TS, Press: &press}}
}

// strictly reads JSON that Forge wrote itself: one more word in it, and it is not.
func strictly(words string, v any) error {
	dec := json.NewDecoder(strings.NewReader(words))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("more than one value")
	}
	return nil
}

// timeOf is when a message was written; zero = its ts does not say.
func timeOf(ts string) time.Time {
	seconds, _, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n <= 0 || n > 1<<40 {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// unescape is a message as it was written. Slack escapes three characters in it.
func unescape(words string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(words)
}
