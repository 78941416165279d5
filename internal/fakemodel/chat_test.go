package fakemodel

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// post asks with a body and returns the data of every event of the answer, or
// the whole answer when it has none.
func post(t *testing.T, url, body string) (status int, events []string, err error) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return res.StatusCode, []string{string(text)}, err
	}
	for line := range strings.Lines(string(text)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			events = append(events, strings.TrimSpace(data))
		}
	}
	return res.StatusCode, events, err
}

const chatRequest = `{"model":"m","stream":true,"tools":[{"type":"function"}],"messages":[]}`

// chatAnswer is what a client makes of an answer.
type chatAnswer struct {
	text, thinking, calls, reason string
	input, output                 int
	done                          bool
}

func askChat(t *testing.T, url, body string) (a chatAnswer, err error) {
	t.Helper()
	_, events, err := post(t, url+"/v1/chat/completions", body)
	for _, data := range events {
		if data == "[DONE]" {
			a.done = true
			continue
		}
		type message struct {
			Content   string
			Reasoning string `json:"reasoning_content"`
			Calls     []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		var e struct {
			Choices []struct {
				Delta, Message message
				Reason         string `json:"finish_reason"`
			}
			Usage struct {
				Input  int `json:"prompt_tokens"`
				Output int `json:"completion_tokens"`
			}
		}
		if jsonErr := json.Unmarshal([]byte(data), &e); jsonErr != nil && err == nil {
			t.Fatalf("%q: %v", data, jsonErr)
		}
		a.input, a.output = a.input+e.Usage.Input, a.output+e.Usage.Output
		for _, c := range e.Choices {
			a.text += c.Delta.Content + c.Message.Content
			a.thinking += c.Delta.Reasoning + c.Message.Reasoning
			a.reason += c.Reason
			for _, call := range append(c.Delta.Calls, c.Message.Calls...) {
				if call.ID == "" {
					t.Error("a call without an id")
				}
				a.calls += call.Function.Name + call.Function.Arguments
			}
		}
	}
	return a, err
}

func TestChat(t *testing.T) {
	s := start(t)
	url := s.Script("a",
		Turn{Text: "ä wörd", Thinking: "hm", Tools: []Tool{{Name: "write", Input: map[string]string{"filePath": "/x"}}, {Name: "bash", Input: map[string]string{}}}, Input: 7, Output: 3},
		Turn{Text: "whole"})
	got, err := askChat(t, url, chatRequest)
	if want := (chatAnswer{"ä wörd", "hm", `write{"filePath":"/x"}bash{}`, "tool_calls", 7, 3, true}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	got, err = askChat(t, url, strings.Replace(chatRequest, "true", "false", 1))
	if want := (chatAnswer{"whole", "", "", "stop", 100, 10, false}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	// A title takes no turn from the script.
	s.Script("a", Turn{Text: "main"})
	if got, err := askChat(t, url, `{"model":"m","stream":true}`); err != nil || got.text != "ok" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := askChat(t, url, chatRequest); err != nil || got.text != "main" {
		t.Errorf("%+v, %v", got, err)
	}
	if r := s.Requests("a"); len(r) != 4 || !r[2].Side || r[3].Side {
		t.Errorf("%+v", r)
	}
}

const geminiRequest = `{"contents":[],"tools":[{"functionDeclarations":[{"name":"x"}]}]}`

func askGemini(t *testing.T, url, verb, body string) (text, thinking, calls string, output int, ended bool, err error) {
	t.Helper()
	_, events, err := post(t, url+"/v1beta/models/m-1:"+verb, body)
	for _, data := range events {
		var e struct {
			Candidates []struct {
				Content struct {
					Parts []struct {
						Text    string
						Thought bool
						Call    struct {
							Name string
							Args json.RawMessage
						} `json:"functionCall"`
					}
				}
				Reason string `json:"finishReason"`
			}
			Usage struct {
				Output int `json:"candidatesTokenCount"`
			} `json:"usageMetadata"`
		}
		if jsonErr := json.Unmarshal([]byte(data), &e); jsonErr != nil && err == nil {
			t.Fatalf("%q: %v", data, jsonErr)
		}
		output = e.Usage.Output
		for _, c := range e.Candidates {
			ended = ended || c.Reason == "STOP"
			for _, p := range c.Content.Parts {
				if p.Thought {
					thinking += p.Text
				} else {
					text += p.Text
				}
				calls += p.Call.Name + string(p.Call.Args)
			}
		}
	}
	return text, thinking, calls, output, ended, err
}

func TestGemini(t *testing.T) {
	s := start(t)
	for _, verb := range []string{"streamGenerateContent?alt=sse", "generateContent"} {
		url := s.Script("a", Turn{Text: "ä wörd", Thinking: "hm", Tools: []Tool{{Name: "write_file", Input: map[string]string{"file_path": "/x"}}}, Output: 3})
		text, thinking, calls, output, ended, err := askGemini(t, url, verb, geminiRequest)
		if err != nil || text != "ä wörd" || thinking != "hm" || calls != `write_file{"file_path":"/x"}` || output != 3 || !ended {
			t.Errorf("%s: %q, %q, %q, %d, %v, %v", verb, text, thinking, calls, output, ended, err)
		}
		// What is asked beside the conversation has no tools.
		if text, _, _, _, _, err := askGemini(t, url, verb, `{"contents":[]}`); err != nil || text != "ok" {
			t.Errorf("%s: %q, %v", verb, text, err)
		}
	}
	if _, events, err := post(t, s.URL("a")+"/v1beta/models/m-1:countTokens", "{}"); err != nil || !strings.Contains(events[0], "totalTokens") {
		t.Errorf("%q, %v", events, err)
	}
}

// Every API misbehaves alike.
func TestFaultsOfOtherAPIs(t *testing.T) {
	s := start(t)
	for path, request := range map[string]string{
		"/v1/chat/completions":                      chatRequest,
		"/v1beta/models/m:streamGenerateContent":    geminiRequest,
		"/v1beta/models/m:generateContent?whole=no": geminiRequest,
	} {
		url := s.Script("status", Turn{Fault: Fault{Status: 429, Kind: "of_its_own", Message: "so it is", Headers: map[string]string{"Retry-After": "7"}}})
		status, events, err := post(t, url+path, request)
		if err != nil || status != 429 || !strings.Contains(events[0], "so it is") || !strings.Contains(events[0], "of_its_own") {
			t.Errorf("%s: %d %q, %v", path, status, events, err)
		}
		url = s.Script("cut", Turn{Text: "half", Repeat: -1, Fault: Fault{Cut: true}})
		if _, events, err := post(t, url+path, request); err == nil {
			t.Errorf("%s: cut, but whole: %q", path, events)
		}
		url = s.Script("flood", Turn{Text: "x", Fault: Fault{Flood: 1 << 20, Slow: time.Microsecond}})
		_, events, err = post(t, url+path, request)
		if text := strings.Join(events, ""); err != nil || len(text) < 1<<20 {
			t.Errorf("%s: flood of %d bytes, %v", path, len(text), err)
		}
		if status, _, err := post(t, url+path, "no JSON"); err != nil || status != 400 {
			t.Errorf("%s: %d, %v", path, status, err)
		}
	}
	word := func(status int) string {
		url := s.Script("word", Turn{Fault: Fault{Status: status}})
		_, events, err := post(t, url+"/v1beta/models/m:generateContent", geminiRequest)
		if err != nil {
			t.Fatal(err)
		}
		return events[0]
	}
	if got := word(401); !strings.Contains(got, "UNAUTHENTICATED") {
		t.Error(got)
	}
	if got := word(500); !strings.Contains(got, "INTERNAL") {
		t.Error(got)
	}
}

func TestHangOfOtherAPIs(t *testing.T) {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	url := s.Script("hang", Turn{Fault: Fault{Hang: true}})
	done := make(chan error, 1)
	go func() {
		res, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(chatRequest))
		if err == nil {
			_, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
		done <- err
	}()
	for len(s.Requests("hang")) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	if err := <-done; err == nil {
		t.Error("the answer that hung was complete")
	}
	http.DefaultClient.CloseIdleConnections()
}
