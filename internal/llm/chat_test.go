package llm

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"forge/internal/fakemodel"
)

// chatWith lets a service go on with a chat, and notes what was heard meanwhile.
func chatWith(t *testing.T, svc fakemodel.Service, cfg Config) (said Said, trouble *Trouble, heard []string, got []fakemodel.Request) {
	t.Helper()
	s := start(t)
	cfg.BaseURL = s.Service("svc", svc)
	c, _ := client(t, cfg)
	said, err := c.Chat(t.Context(), Chat{
		Role: RoleCompanion, System: "Be brief.", Messages: []Message{{From: FromUser, Text: "Where is it? The key is s3cret-word."}},
		Tools: []Tool{{Name: "file", About: "One file.", Schema: json.RawMessage(`{"type":"object"}`)}},
		Hear:  func(text string) { heard = append(heard, text) },
	})
	return said, troubleOf(t, err), heard, s.Requests("svc")
}

func TestChatComesInParts(t *testing.T) {
	t.Parallel()
	said, trouble, heard, got := chatWith(t, fakemodel.Service{Turns: []fakemodel.Turn{{Text: "It is in main.go, line 3, and the word is s3cret-word."}}}, Config{Secrets: []string{"s3cret-word"}})
	if trouble != nil {
		t.Fatal(trouble)
	}
	if !strings.HasPrefix(said.Text, "It is in main.go") || strings.Contains(said.Text, "s3cret") {
		t.Errorf("said %q", said.Text)
	}
	if len(heard) < 2 || heard[len(heard)-1] != said.Text {
		t.Errorf("heard %q", heard)
	}
	if said.Usage.InputTokens == nil || *said.Usage.InputTokens != 100 {
		t.Errorf("usage %+v", said.Usage)
	}
	var sent struct {
		Stream  bool           `json:"stream"`
		Options map[string]any `json:"stream_options"`
		Tools   []any          `json:"tools"`
	}
	if err := json.Unmarshal(got[0].Body, &sent); err != nil || !sent.Stream || sent.Options["include_usage"] != true || len(sent.Tools) != 1 {
		t.Errorf("sent %s", got[0].Body)
	}
	if strings.Contains(string(got[0].Body), "s3cret") {
		t.Error("a secret was sent")
	}
}

func TestChatCallsTools(t *testing.T) {
	t.Parallel()
	said, trouble, _, _ := chatWith(t, fakemodel.Service{Turns: []fakemodel.Turn{{Text: "I look.", Tools: []fakemodel.Tool{
		{Name: "file", Input: map[string]any{"path": "main.go"}}, {Name: "status", Input: map[string]any{}},
	}}}}, Config{})
	if trouble != nil {
		t.Fatal(trouble)
	}
	if said.Text != "I look." || len(said.Calls) != 2 || said.Calls[0].Tool != "file" || string(said.Calls[0].Input) != `{"path":"main.go"}` || said.Calls[1].ID == "" {
		t.Errorf("said %+v", said)
	}
}

// A service that does not stream, or not with counts, is asked as it can.
func TestChatGoesDownToWhatAServiceCan(t *testing.T) {
	t.Parallel()
	no := func(words string) fakemodel.Turn {
		return fakemodel.Turn{Fault: fakemodel.Fault{Status: http.StatusBadRequest, Message: words}}
	}
	said, trouble, _, got := chatWith(t, fakemodel.Service{Turns: []fakemodel.Turn{no("unknown field stream_options"), no("stream is not supported"), {Text: "Here."}}}, Config{})
	if trouble != nil || said.Text != "Here." {
		t.Fatalf("said %q, %v", said.Text, trouble)
	}
	var how []bool
	for _, r := range got {
		how = append(how, strings.Contains(string(r.Body), `"stream":true`))
	}
	if !slices.Equal(how, []bool{true, true, false}) {
		t.Errorf("streams asked for: %v", how)
	}
}

// What broke off is asked again, and what was heard of it is taken back.
func TestChatThatBreaksOffBeginsAnew(t *testing.T) {
	t.Parallel()
	said, trouble, heard, _ := chatWith(t, fakemodel.Service{Turns: []fakemodel.Turn{
		{Text: "Half of it", Fault: fakemodel.Fault{Cut: true}}, {Text: "All."},
	}}, Config{})
	if trouble != nil || said.Text != "All." || heard[len(heard)-1] != "All." || !slices.Contains(heard[1:], "") {
		t.Errorf("said %q, %v; heard %q", said.Text, trouble, heard)
	}
	if said.Usage.InputTokens != nil {
		t.Error("what the try that broke off consumed is unknown, and so is the sum")
	}
}

func TestChatEndsThatAreNone(t *testing.T) {
	t.Parallel()
	for reason, kind := range map[string]Kind{"length": Truncated, "content_filter": Refused} {
		if _, trouble, _, _ := chatWith(t, fakemodel.Service{Turns: []fakemodel.Turn{{Text: "Half", Finish: reason}}}, Config{}); trouble == nil || trouble.Kind != kind {
			t.Errorf("%s: %v", reason, trouble)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"), 3)
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":9,\"function\":{\"arguments\":\"{\"}}]},\"finish_reason\":\"stop\"}]}"), 1)
	f.Add([]byte("data: {\"error\":{\"message\":\"no\"}}\r\n\r\n"), 7)
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		once, parts := &stream{}, &stream{}
		_, _ = once.Write(body)
		size = max(size%17, 1)
		for at := 0; at < len(body); at += size {
			_, _ = parts.Write(body[at:min(at+size, len(body))])
		}
		a, errA := once.whole()
		b, errB := parts.whole()
		if string(a) != string(b) || (errA == nil) != (errB == nil) {
			t.Errorf("in one: %s %v, in pieces: %s %v", a, errA, b, errB)
		}
		if errA == nil && !json.Valid(a) {
			t.Errorf("no JSON: %q", a)
		}
	})
}
