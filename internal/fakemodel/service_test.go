package fakemodel

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestService(t *testing.T) {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	url := s.Service("svc", Service{Key: "key", Models: []string{"m"}, Formats: []string{"json_object"}, Turns: []Turn{
		{When: "apples", Text: "red", NoUsage: true, Repeat: 1}, {Text: "first", Finish: "length"}, {Body: "raw"}, {Refusal: "no"}, {Text: "cut here", Fault: Fault{Cut: true}},
	}})
	for i, tc := range []struct {
		key, body string
		status    int
		says      string // "" = the answer breaks off
	}{
		{"other", `{"model":"m"}`, 401, "invalid_api_key"},
		{"key", `{"model":"n"}`, 404, "model_not_found"},
		{"key", `{"model":"m","response_format":{"type":"json_schema"}}`, 400, "response_format of type json_schema"},
		{"key", `{"model":`, 400, "unexpected end"},
		{"key", `{"model":"m","response_format":{"type":"json_object"}}`, 200, `"finish_reason":"length"`},
		{"key", `{"model":"m","messages":[{"content":"apples"}]}`, 200, `"content":"red"`},
		{"key", `{"model":"m"}`, 200, "raw"},
		{"key", `{"model":"m","messages":[{"content":"apples"}]}`, 200, `"content":"red"`},
		{"key", `{"model":"m","messages":[{"content":"apples"}]}`, 200, `"refusal":"no"`},
		{"key", `{"model":"m"}`, 200, ""},
		{"key", `{"model":"m"}`, 200, "The script is over."},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/chat/completions", strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+tc.key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != tc.status || !strings.Contains(string(text), tc.says) || (err != nil) != (tc.says == "") {
			t.Errorf("request %d: %d %s, %v; want %d %s", i, res.StatusCode, text, err, tc.status, tc.says)
		}
		if strings.Contains(string(text), "prompt_tokens") == (strings.Contains(tc.says, "red") || tc.says == "raw" || tc.says == "" || tc.status != 200) {
			t.Errorf("request %d: usage in %s", i, text)
		}
	}
	if got := s.Requests("svc"); len(got) != 10 || got[0].Side {
		t.Errorf("%d requests, want those that are JSON", len(got))
	}
}
