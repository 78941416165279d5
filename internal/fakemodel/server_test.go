package fakemodel

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

const mainRequest = `{"model":"m","stream":true,"max_tokens":100,"tools":[{"name":"Write"}],"messages":[]}`

// answer is what a client makes of an answer.
type answer struct {
	status         int
	text, thinking string
	tools          []string // name and input
	stop           string
	input, output  int
	ids            []string
}

func ask(t *testing.T, url, body string) (a answer, err error) {
	t.Helper()
	res, err := http.Post(url+"/v1/messages?beta=true", "application/json", strings.NewReader(body))
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	a.status = res.StatusCode
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		b, err := io.ReadAll(res.Body)
		a.text = string(b)
		return a, err
	}
	var input strings.Builder
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return a, nil
		}
		if err != nil {
			return a, err
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type    string
			Message struct {
				ID    string
				Usage struct {
					Input int `json:"input_tokens"`
				}
			}
			Block struct{ Type, Name, ID string } `json:"content_block"`
			Delta struct {
				Text, Thinking string
				Input          string `json:"partial_json"`
				Stop           string `json:"stop_reason"`
			}
			Usage struct {
				Output int `json:"output_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		switch e.Type {
		case "message_start":
			a.input = e.Message.Usage.Input
			a.ids = append(a.ids, e.Message.ID)
		case "content_block_start":
			if e.Block.Type == "tool_use" {
				a.tools, a.ids = append(a.tools, e.Block.Name), append(a.ids, e.Block.ID)
				input.Reset()
			}
		case "content_block_delta":
			a.text += e.Delta.Text
			a.thinking += e.Delta.Thinking
			if e.Delta.Input != "" {
				a.tools[len(a.tools)-1] += e.Delta.Input
			}
		case "message_delta":
			a.stop, a.output = e.Delta.Stop, e.Usage.Output
		}
	}
}

func TestTurns(t *testing.T) {
	s := start(t)
	url := s.Script("a",
		Turn{Text: "ä wörd", Thinking: "hm", Tools: []Tool{{Name: "Write", Input: map[string]string{"file_path": "/x"}}, {Name: "Bash", Input: map[string]string{"command": "ls"}}}, Input: 7, Output: 3},
		Turn{Text: "twice", Repeat: 1})
	first, err := ask(t, url, mainRequest)
	if err != nil {
		t.Fatal(err)
	}
	if first.text != "ä wörd" || first.thinking != "hm" || strings.Join(first.tools, " ") != `Write{"file_path":"/x"} Bash{"command":"ls"}` ||
		first.stop != "tool_use" || first.input != 7 || first.output != 3 {
		t.Errorf("%+v", first)
	}
	seen := map[string]bool{}
	for _, id := range first.ids {
		if seen[id] {
			t.Errorf("id %q comes twice", id)
		}
		seen[id] = true
	}
	for _, want := range []string{"twice", "twice", "The script is over."} {
		got, err := ask(t, url, mainRequest)
		if err != nil || got.text != want || got.stop != "end_turn" || seen[got.ids[0]] {
			t.Errorf("%+v, %v, want %q", got, err, want)
		}
	}
	if n := len(s.Requests("a")); n != 4 {
		t.Errorf("%d requests are recorded", n)
	}
}

// Titles and quota checks take no turn from the script.
func TestSideRequests(t *testing.T) {
	s := start(t)
	url := s.Script("a", Turn{Text: "main"})
	for _, body := range []string{`{"stream":true,"max_tokens":500}`, `{"max_tokens":1,"tools":[{}]}`, `{"tools":[]}`} {
		if a, err := ask(t, url, body); err != nil || !strings.Contains(a.text, "ok") {
			t.Errorf("%s: %+v, %v", body, a, err)
		}
	}
	if a, err := ask(t, url, mainRequest); err != nil || a.text != "main" {
		t.Errorf("%+v, %v", a, err)
	}
	if r := s.Requests("a"); len(r) != 4 || !r[0].Side || r[3].Side {
		t.Errorf("%+v", r)
	}
	if a, err := ask(t, url, `not JSON`); err != nil || a.status != 400 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestWithoutStreaming(t *testing.T) {
	s := start(t)
	url := s.Script("a", Turn{Text: "hello", Tools: []Tool{{Name: "Bash", Input: map[string]string{}}}, Fault: Fault{Flood: 100}})
	a, err := ask(t, url, strings.Replace(mainRequest, "true", "false", 1))
	if err != nil || !strings.Contains(a.text, `"text":"helloAll work`) || !strings.Contains(a.text, `"stop_reason":"tool_use"`) {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestFaults(t *testing.T) {
	s := start(t)
	for status, kind := range map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"} {
		url := s.Script("status", Turn{Fault: Fault{Status: status, Message: "so it is", Headers: map[string]string{"Retry-After": "7"}}})
		a, err := ask(t, url, mainRequest)
		if err != nil || a.status != status || !strings.Contains(a.text, kind) || !strings.Contains(a.text, "so it is") {
			t.Errorf("%d: %+v, %v", status, a, err)
		}
	}
	url := s.Script("cut", Turn{Text: "half", Repeat: -1, Fault: Fault{Cut: true}})
	if a, err := ask(t, url, mainRequest); err == nil || a.stop != "" {
		t.Errorf("cut: %+v", a)
	}
	if a, err := ask(t, url, strings.Replace(mainRequest, "true", "false", 1)); err == nil {
		t.Errorf("cut without streaming: %+v", a)
	}
	url = s.Script("flood", Turn{Text: "x", Fault: Fault{Flood: 1 << 20}})
	if a, err := ask(t, url, mainRequest); err != nil || len(a.text) != 1+1<<20 {
		t.Errorf("flood: %d bytes, %v", len(a.text), err)
	}
	url = s.Script("slow", Turn{Text: "x", Fault: Fault{Slow: time.Millisecond}})
	if a, err := ask(t, url, mainRequest); err != nil || a.text != "x" {
		t.Errorf("slow: %+v, %v", a, err)
	}
}

func TestHangEndsWithTheServer(t *testing.T) {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	url := s.Script("hang", Turn{Fault: Fault{Hang: true}})
	done := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/v1/messages", strings.NewReader(mainRequest))
		if err == nil {
			var res *http.Response
			if res, err = http.DefaultClient.Do(req); err == nil {
				_, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
		}
		done <- err
	}()
	for len(s.Requests("hang")) == 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-done:
		t.Errorf("it answered: %v", err)
	default:
	}
	s.Close()
	if err := <-done; err == nil {
		t.Error("the answer that hung was complete")
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestOtherPaths(t *testing.T) {
	s := start(t)
	for path, want := range map[string]int{"/": 404, "/s/": 404, "/s/a/v1/other": 404, "/s/a/v1/messages/count_tokens": 200} {
		res, err := http.Post(strings.TrimSuffix(s.URL(""), "/s/")+path, "application/json", nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
}
