package slacktest

import (
	"encoding/json"
	"fmt"
	"time"
)

// Button is one that a message shows.
type Button struct{ Label, Action, Value, URL, Block string }

// Buttons are those that a message shows now.
func (m Message) Buttons() []Button {
	var blocks []block
	_ = json.Unmarshal(m.Blocks, &blocks)
	var out []Button
	for _, b := range blocks {
		if b.Type != "actions" {
			continue
		}
		for _, raw := range b.Elements {
			var e element
			var t textObject
			_ = json.Unmarshal(raw, &e)
			_ = json.Unmarshal(e.Text, &t)
			out = append(out, Button{t.Text, e.ActionID, e.Value, e.URL, b.BlockID})
		}
	}
	return out
}

// Press is a press of a button as Slack tells it: it can be delivered, also more
// than once and long after.
type Press struct{ payload map[string]any }

// Press presses the button of that label, which m shows or has shown.
func (s *Server) Press(user string, m Message, label string) (Press, error) {
	for _, b := range m.Buttons() {
		if b.Label == label {
			return s.PressOf(user, m, b), nil
		}
	}
	return Press{}, fmt.Errorf("message %s has no button %q: %+v", m.TS, label, m.Buttons())
}

// PressOf presses a button, whether or not the message ever showed it.
func (s *Server) PressOf(user string, m Message, b Button) Press {
	s.mu.Lock()
	defer s.mu.Unlock()
	trigger := fmt.Sprintf("trigger.%d", s.next())
	s.triggers[trigger] = user
	return Press{map[string]any{
		"type": "block_actions", "trigger_id": trigger, "team": map[string]any{"id": "T0"},
		// The name is what anybody may call himself.
		"user":      map[string]any{"id": user, "username": "ann", "name": "ann"},
		"channel":   map[string]any{"id": Channel, "name": "forge"},
		"container": map[string]any{"type": "message", "message_ts": m.TS, "channel_id": Channel},
		"message":   m.json(),
		"actions": []any{map[string]any{
			"type": "button", "action_id": b.Action, "block_id": b.Block, "value": b.Value, "text": map[string]any{"type": "plain_text", "text": b.Label},
			"action_ts": fmt.Sprintf("%d.000001", time.Now().Unix()),
		}},
	}}
}

// Expire lets the trigger of a press be too old for a form.
func (s *Server) Expire(p Press) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.triggers[p.payload["trigger_id"].(string)] = ""
}

// Deliver tells the bot of a press, and returns the envelope's id.
func (s *Server) Deliver(p Press) string { return s.deliver("interactive", false, true, p.payload) }

// Write lets a person write below a message, "" = into the channel, and tells the
// bot of it so often, each time as the same event.
func (s *Server) Write(user, thread, words string, times int) (ids []string) {
	s.mu.Lock()
	m := &Message{TS: s.stamp(), Thread: thread, User: user, Text: words}
	s.messages = append(s.messages, m)
	event := m.json()
	event["channel"], event["channel_type"], event["event_ts"] = Channel, "channel", m.TS
	payload := map[string]any{"type": "event_callback", "team_id": "T0", "api_app_id": "A0", "event_id": fmt.Sprintf("Ev%d", s.next()), "event_time": time.Now().Unix(), "event": event}
	s.happened()
	s.mu.Unlock()
	for range times {
		ids = append(ids, s.deliver("events_api", false, false, payload))
	}
	return ids
}

// Event tells the bot of an event as it is.
func (s *Server) Event(event map[string]any) string {
	return s.deliver("events_api", false, false, map[string]any{"type": "event_callback", "event_id": "Ev-odd", "event": event})
}

// Odd sends an envelope of any kind.
func (s *Server) Odd(kind string, payload any) string { return s.deliver(kind, false, true, payload) }

// Submit sends an open form off with words in its field.
func (s *Server) Submit(v View, user, words string) string {
	var form struct {
		Private  string `json:"private_metadata"`
		Callback string `json:"callback_id"`
		Blocks   []struct {
			BlockID string  `json:"block_id"`
			Element element `json:"element"`
		} `json:"blocks"`
	}
	_ = json.Unmarshal(v.View, &form)
	values := map[string]any{}
	for _, b := range form.Blocks {
		if b.Element.ActionID != "" {
			values[b.BlockID] = map[string]any{b.Element.ActionID: map[string]any{"type": "plain_text_input", "value": words}}
		}
	}
	return s.deliver("interactive", true, true, map[string]any{
		"type": "view_submission", "team": map[string]any{"id": "T0"}, "user": map[string]any{"id": user, "name": "ann"},
		"view": map[string]any{"id": v.ID, "type": "modal", "callback_id": form.Callback, "private_metadata": form.Private, "state": map[string]any{"values": values}},
	})
}

// Imitate lets another app post what a message says, with all its ids.
func (s *Server) Imitate(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, &Message{TS: s.stamp(), User: "U0IMPOSTOR", Text: m.Text, Blocks: m.Blocks})
	s.happened()
}
