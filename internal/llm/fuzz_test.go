package llm

import (
	"encoding/json"
	"net/http"
	"testing"

	"forge/internal/work"
)

// Whatever bytes come back, Ask gives an answer that fits, read by a checker of
// this test's own, or a trouble; never both, and never a panic.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		envelope(goodAnswer), envelope("```json\n" + goodAnswer + "\n```"), envelope("<think>x</think>" + goodAnswer), envelope(`{"verdict":"pass","findings":[]} x`),
		envelope(`{"verdict":"pass","verdict":"fail","findings":[]}`), envelope(`{"verdict":"fail","findings":[{"line":1.0,"issue":"x"}]}`),
		`{"choices":[{"message":{"content":[{"type":"text","text":"{\"verdict\":\"pass\",\"findings\":[]}"}]}}],"usage":{"prompt_tokens":1e3,"completion_tokens":-1}}`,
		`{"choices":[{"message":{"content":null,"refusal":"no"}}]}`, `{"choices":[{"finish_reason":"length","message":{"content":"{"}}]}`,
		`{"error":{"code":429,"message":"slow down"}}`, `{"error":"x"}`, `[]`, `null`, ``, "data: {}\n\n", `{"choices":[{"message":{"tool_calls":[{}]}}]}`,
	} {
		f.Add(200, []byte(seed))
	}
	f.Add(400, []byte(`{"error":{"message":"response_format","code":7}}`))
	f.Add(404, []byte(`{"error":{"message":["a","b"]}}`))
	f.Add(500, []byte("down"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		c, w := client(t, Config{BaseURL: "http://service.invalid/v1", Transport: network(func(*http.Request) (*http.Response, error) {
			return answered(status, string(body)), nil
		})})
		rep, err := c.Ask(t.Context(), verdictQuestion())
		if (err == nil) != (rep.JSON != nil) {
			t.Fatalf("error %v with JSON %q", err, rep.JSON)
		}
		if troubleOf(t, err) != nil && KindOf(err) == "" {
			t.Fatalf("a trouble without a kind: %v", err)
		}
		if err == nil && (status >= 300 || !fitsVerdict(rep.JSON)) {
			t.Fatalf("status %d, accepted %s", status, rep.JSON)
		}
		if rep.Usage != rep.Usage.Clean() || rep.Usage == (work.Usage{}) && status >= 300 {
			t.Fatalf("usage %+v", rep.Usage)
		}
		if rep.Tries > 3*maxTries || len(w.list) > 2*maxTries {
			t.Fatalf("%d tries, %d waits", rep.Tries, len(w.list))
		}
	})
}

// fitsVerdict reads verdictSchema's rules out again, another way.
func fitsVerdict(text []byte) bool {
	var got map[string]any
	if json.Unmarshal(text, &got) != nil || len(got) != 2 || got["verdict"] != "pass" && got["verdict"] != "fail" {
		return false
	}
	list, ok := got["findings"].([]any)
	if !ok || len(list) > 3 {
		return false
	}
	for _, item := range list {
		one, ok := item.(map[string]any)
		line, okLine := one["line"].(float64)
		issue, okIssue := one["issue"].(string)
		if !ok || !okLine || !okIssue || len(one) != 2 || line < 1 || line != float64(int64(line)) || len([]rune(issue)) > 40 {
			return false
		}
	}
	return true
}
