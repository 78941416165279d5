package fakemodel

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const responsesRequest = `{"model":"m","stream":true,"tools":[{"type":"function","name":"exec_command"}],"input":[]}`

// responded is what a client makes of an answer.
type responded struct {
	status            int
	body              string // of an answer that is no stream
	events            []string
	text, said        string // by parts, and as a whole
	calls, ids        []string
	input, output     int
	failure, thinking string
}

func askResponses(t *testing.T, url, body string) (r responded, err error) {
	t.Helper()
	res, err := http.Post(url+"/v1/responses", "application/json", strings.NewReader(body))
	if err != nil {
		return r, err
	}
	defer res.Body.Close()
	r.status = res.StatusCode
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		b, err := io.ReadAll(res.Body)
		r.body = string(b)
		return r, err
	}
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return r, err
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type, Delta string
			Item        struct {
				Type, ID, Name, Arguments, Input string
				Call                             string `json:"call_id"`
				Content, Summary                 []struct{ Text string }
			}
			Response struct {
				Error *struct{ Code, Message string }
				Usage struct {
					In  int `json:"input_tokens"`
					Out int `json:"output_tokens"`
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		r.events = append(r.events, e.Type)
		r.text += e.Delta
		if e.Type == "response.output_item.done" {
			r.ids = append(r.ids, e.Item.ID)
			for _, c := range e.Item.Content {
				r.said += c.Text
			}
			for _, c := range e.Item.Summary {
				r.thinking += c.Text
			}
			if e.Item.Call != "" {
				r.calls = append(r.calls, e.Item.Type+" "+e.Item.Name+" "+e.Item.Arguments+e.Item.Input)
			}
		}
		if f := e.Response.Error; f != nil {
			r.failure = f.Code + ": " + f.Message
		}
		r.input, r.output = e.Response.Usage.In, e.Response.Usage.Out
	}
}

func TestResponses(t *testing.T) {
	s := start(t)
	url := s.Script("a", Turn{Text: "ä wörd", Thinking: "hm", Input: 7, Output: 3, Tools: []Tool{
		{Name: "exec_command", Input: map[string]string{"cmd": "ls"}}, {Name: "apply_patch", Input: "*** Begin Patch\n"},
	}})
	r, err := askResponses(t, url, responsesRequest)
	if err != nil || r.text != "ä wörd" || r.said != r.text || r.thinking != "hm" || r.input != 7 || r.output != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if want := []string{`function_call exec_command {"cmd":"ls"}`, "custom_tool_call apply_patch *** Begin Patch\n"}; !slices.Equal(r.calls, want) {
		t.Errorf("calls %q", r.calls)
	}
	if first, last := r.events[0], r.events[len(r.events)-1]; first != "response.created" || last != "response.completed" {
		t.Errorf("from %s to %s", first, last)
	}
	if slices.Sort(r.ids); len(slices.Compact(r.ids)) != 4 {
		t.Errorf("ids %q", r.ids)
	}
	side, err := askResponses(t, url, `{"stream":true}`)
	if err != nil || side.said != "ok" {
		t.Errorf("a request without tools: %+v, %v", side, err)
	}
	if r, err := askResponses(t, url, `no JSON`); err != nil || r.status != http.StatusBadRequest {
		t.Errorf("%+v, %v", r, err)
	}
	if list := s.Requests("a"); len(list) != 2 || list[0].Side || !list[1].Side {
		t.Errorf("%+v", list)
	}
	s.Script("a", Turn{Text: "hello"})
	if r, err := askResponses(t, url, strings.Replace(responsesRequest, "true", "false", 1)); err != nil || !strings.Contains(r.body, `"text":"hello"`) || !strings.Contains(r.body, `"completed"`) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestResponsesFaults(t *testing.T) {
	s := start(t)
	for status, kind := range map[int]string{400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 500: "api_error"} {
		url := s.Script("status", Turn{Fault: Fault{Status: status, Message: "so it is", Detail: map[string]any{"resets_at": 17}}})
		r, err := askResponses(t, url, responsesRequest)
		if err != nil || r.status != status || !strings.Contains(r.body, kind) || !strings.Contains(r.body, "so it is") || !strings.Contains(r.body, `"resets_at":17`) {
			t.Errorf("%d: %+v, %v", status, r, err)
		}
	}
	url := s.Script("fails", Turn{Text: "half", Fault: Fault{Kind: "server_is_overloaded", Message: "busy"}})
	if r, err := askResponses(t, url, responsesRequest); err != nil || r.failure != "server_is_overloaded: busy" || r.said != "" || slices.Contains(r.events, "response.completed") {
		t.Errorf("fails half-way: %+v, %v", r, err)
	}
	url = s.Script("cut", Turn{Text: "half", Repeat: -1, Fault: Fault{Cut: true}})
	if r, err := askResponses(t, url, responsesRequest); err == nil || r.said != "" {
		t.Errorf("cut: %+v", r)
	}
	if r, err := askResponses(t, url, strings.Replace(responsesRequest, "true", "false", 1)); err == nil {
		t.Errorf("cut without streaming: %+v", r)
	}
	url = s.Script("flood", Turn{Text: "x", Fault: Fault{Flood: 1 << 20}})
	if r, err := askResponses(t, url, responsesRequest); err != nil || len(r.text) != 1+1<<20 || r.said != r.text {
		t.Errorf("flood: %d and %d bytes, %v", len(r.text), len(r.said), err)
	}
}
