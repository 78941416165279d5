package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// params are those of a call, as a form or as JSON.
func params(r *http.Request) (map[string]string, error) {
	out := map[string]string{}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var tree map[string]json.RawMessage
		if len(body) == 0 {
			return out, nil
		}
		if err := json.Unmarshal(body, &tree); err != nil {
			return nil, err
		}
		for key, raw := range tree {
			var text string
			if json.Unmarshal(raw, &text) == nil {
				out[key] = text
			} else {
				out[key] = string(raw)
			}
		}
		return out, nil
	}
	form, err := url.ParseQuery(string(body))
	for key := range form {
		out[key] = form.Get(key)
	}
	for key := range r.URL.Query() {
		out[key] = r.URL.Query().Get(key)
	}
	return out, err
}

type answer map[string]any

func no(why string) answer { return answer{"ok": false, "error": why} }

// call is a call of the Web API.
func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	method := r.PathValue("method")
	p, err := params(r)
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "" {
		token = p["token"]
	}

	s.mu.Lock()
	s.calls[method]++
	fault, wrong := s.fault(method, p["text"])
	out := no("invalid_form_data")
	if err == nil && (!wrong || fault.Lost || fault.Held) {
		out = s.method(method, token, p)
	}
	scopes := strings.Join(s.scopes, ",")
	s.happened()
	s.mu.Unlock()

	switch {
	case wrong && fault.Held:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case wrong && fault.Lost:
		panic(http.ErrAbortHandler)
	case wrong && fault.Status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(fault.After))
		http.Error(w, `{"ok":false,"error":"ratelimited"}`, fault.Status)
		return
	case wrong && fault.Status != 0:
		http.Error(w, "upstream", fault.Status)
		return
	case wrong:
		out = no(fault.Error)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-OAuth-Scopes", scopes)
	_ = json.NewEncoder(w).Encode(out)
}

// needs are the scopes of which a method needs one.
var needs = map[string][]string{
	"chat.postMessage": {"chat:write"}, "chat.update": {"chat:write"}, "chat.postEphemeral": {"chat:write"},
	"conversations.history": {"channels:history", "groups:history"},
}

// method carries a call out. Call it with the lock held.
func (s *Server) method(method, token string, p map[string]string) answer {
	if method == "apps.connections.open" {
		if token != AppToken {
			return no("invalid_auth")
		}
		ticket := "t" + strconv.Itoa(s.next())
		s.tickets[ticket] = true
		return answer{"ok": true, "url": strings.Replace(s.http.URL, "http://", "ws://", 1) + "/link/" + ticket + "?secret=of-the-link"}
	}
	if token != BotToken {
		return no("invalid_auth")
	}
	if one := needs[method]; one != nil && !slices.ContainsFunc(one, func(scope string) bool { return slices.Contains(s.scopes, scope) }) {
		return answer{"ok": false, "error": "missing_scope", "needed": one[0]}
	}
	do := map[string]func(map[string]string) answer{
		"auth.test": s.authTest, "chat.postMessage": s.post, "chat.update": s.update, "chat.postEphemeral": s.whisper,
		"conversations.history": s.history, "views.open": s.open,
	}[method]
	if do == nil {
		return no("unknown_method")
	}
	return do(p)
}

func (s *Server) authTest(map[string]string) answer {
	return answer{"ok": true, "url": "https://test.slack.example/", "team": "Test", "user": "forge", "team_id": "T0", "user_id": BotUser, "bot_id": BotID}
}

// refuse notes a call that is not as Slack wants it.
func (s *Server) refuse(method, code, why string) answer {
	s.bad = append(s.bad, method+": "+code+": "+why)
	return answer{"ok": false, "error": code, "response_metadata": map[string]any{"messages": []string{"[ERROR] " + why}}}
}

func (s *Server) post(p map[string]string) answer {
	if p["channel"] != Channel {
		return no("channel_not_found")
	}
	if why := checkMessage(p); why != "" {
		return s.refuse("chat.postMessage", "invalid_blocks", why)
	}
	m := &Message{TS: s.stamp(), Thread: p["thread_ts"], User: BotUser, Text: p["text"], Blocks: json.RawMessage(p["blocks"]), Whole: maps.Clone(p), isForges: true}
	s.messages = append(s.messages, m)
	return answer{"ok": true, "channel": Channel, "ts": m.TS, "message": m.json()}
}

func (s *Server) update(p map[string]string) answer {
	m := s.message(p["ts"])
	switch {
	case p["channel"] != Channel:
		return no("channel_not_found")
	case m == nil:
		return no("message_not_found")
	case !m.isForges:
		return no("cant_update_message")
	}
	if why := checkMessage(p); why != "" {
		return s.refuse("chat.update", "invalid_blocks", why)
	}
	m.Text, m.Blocks, m.Edited = p["text"], json.RawMessage(p["blocks"]), m.Edited+1
	return answer{"ok": true, "channel": Channel, "ts": m.TS, "text": m.Text}
}

func (s *Server) whisper(p map[string]string) answer {
	if p["channel"] != Channel {
		return no("channel_not_found")
	}
	if p["user"] == "" || p["text"] == "" {
		return s.refuse("chat.postEphemeral", "no_text", "it says nothing, or to nobody")
	}
	s.whispers = append(s.whispers, Whisper{p["user"], p["thread_ts"], p["text"]})
	return answer{"ok": true, "message_ts": s.stamp()}
}

func (m *Message) json() map[string]any {
	out := map[string]any{"type": "message", "ts": m.TS, "user": m.User, "text": m.Text}
	if m.Thread != "" {
		out["thread_ts"] = m.Thread
	}
	if m.isForges {
		out["bot_id"] = BotID
	}
	if len(m.Blocks) > 0 {
		out["blocks"] = m.Blocks
	}
	return out
}

// history is the channel from the newest on, without what stands in threads.
func (s *Server) history(p map[string]string) answer {
	if p["channel"] != Channel {
		return no("channel_not_found")
	}
	limit, _ := strconv.Atoi(p["limit"])
	if limit < 1 || limit > 999 {
		limit = 100
	}
	oldest, _ := strconv.ParseFloat(p["oldest"], 64)
	skip, _ := strconv.Atoi(p["cursor"])
	list := []any{}
	seen, more := 0, false
	for _, m := range slices.Backward(s.messages) {
		at, _ := strconv.ParseFloat(m.TS, 64)
		if at < oldest || m.Thread != "" && m.Thread != m.TS {
			continue
		}
		if seen++; seen <= skip {
			continue
		}
		if len(list) == limit {
			more = true
			break
		}
		list = append(list, m.json())
	}
	out := answer{"ok": true, "messages": list, "has_more": more}
	if more {
		out["response_metadata"] = map[string]any{"next_cursor": strconv.Itoa(skip + limit)}
	}
	return out
}

// open shows a form to whom the trigger is of. A trigger works once.
func (s *Server) open(p map[string]string) answer {
	user, ok := s.triggers[p["trigger_id"]]
	if !ok {
		return no("invalid_trigger_id")
	}
	delete(s.triggers, p["trigger_id"])
	if user == "" {
		return no("expired_trigger_id")
	}
	if why := checkView(p["view"]); why != "" {
		return s.refuse("views.open", "invalid_arguments", why)
	}
	v := &View{ID: fmt.Sprintf("V%d", s.next()), User: user, View: json.RawMessage(p["view"])}
	s.views[v.ID] = v
	return answer{"ok": true, "view": map[string]any{"id": v.ID, "type": "modal"}}
}
