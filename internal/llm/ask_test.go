package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
)

func TestAnAnswerThatFits(t *testing.T) {
	in, out := 3.0, 15.0
	rep, trouble, asked, _ := ask(t, fakemodel.Service{Key: "key-of-the-test", Turns: []fakemodel.Turn{{Text: goodAnswer, Input: 2000, Output: 1000}}},
		Config{Key: "key-of-the-test", KeyEnv: "TEST_KEY", USDPerMTokIn: &in, USDPerMTokOut: &out, MaxOutputTokens: 77})
	if trouble != nil {
		t.Fatal(trouble)
	}
	if string(rep.JSON) != goodAnswer || rep.Model != "m-large" || rep.Tries != 1 || rep.Repaired {
		t.Errorf("got %s by %s after %d tries, repaired %v", rep.JSON, rep.Model, rep.Tries, rep.Repaired)
	}
	if u := rep.Usage; *u.InputTokens != 2000 || *u.OutputTokens != 1000 || *u.CostUSD != 0.021 {
		t.Errorf("usage %d %d %v, want 2000 1000 0.021", *u.InputTokens, *u.OutputTokens, *u.CostUSD)
	}
	if len(asked) != 1 || !bytes.Equal(asked[0].Body, rep.Request) {
		t.Errorf("the reply's request is not what the service got:\n%s", rep.Request)
	}
	if !strings.Contains(string(rep.Answer), `"chat.completion"`) {
		t.Errorf("the reply's answer is not what came: %s", rep.Answer)
	}
	var sent struct {
		Max    int `json:"max_tokens"`
		Format struct {
			Type   string
			Schema struct {
				Name   string
				Strict bool
				Schema map[string]any
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.Unmarshal(rep.Request, &sent); err != nil {
		t.Fatal(err)
	}
	if f := sent.Format; sent.Max != 77 || f.Type != "json_schema" || f.Schema.Name != "report" || !f.Schema.Strict || f.Schema.Schema["required"] == nil {
		t.Errorf("sent %+v", sent)
	}
}

// Each way in which a service misbehaves has one kind of trouble, and no
// answer.
func TestMisbehaviour(t *testing.T) {
	wrong := `{"verdict":"perhaps","findings":[]}`
	tool := fakemodel.Turn{Tools: []fakemodel.Tool{{Name: "read_file", Input: map[string]string{"path": "x"}}}}
	fault := func(f fakemodel.Fault) []fakemodel.Turn { return []fakemodel.Turn{{Fault: f, Repeat: -1}} }
	for name, tc := range map[string]struct {
		turns []fakemodel.Turn
		svc   fakemodel.Service
		cfg   Config
		want  Kind
		tries int
		says  string
	}{
		"401":                   {turns: fault(fakemodel.Fault{Status: 401}), want: Unauthorized, tries: 1, says: "401"},
		"403":                   {turns: fault(fakemodel.Fault{Status: 403}), want: Unauthorized, tries: 1},
		"wrong key":             {svc: fakemodel.Service{Key: "right-key"}, cfg: Config{Key: "wrong-key", KeyEnv: "K"}, want: Unauthorized, tries: 1, says: "check the key in K"},
		"missing key":           {cfg: Config{KeyEnv: "TEST_KEY"}, want: Unauthorized, says: "TEST_KEY is not set"},
		"429":                   {turns: fault(fakemodel.Fault{Status: 429}), want: RateLimited, tries: 4},
		"429 after a while":     {turns: fault(fakemodel.Fault{Status: 429, Headers: map[string]string{"Retry-After": "7"}}), want: RateLimited, tries: 4},
		"429 for an hour":       {turns: fault(fakemodel.Fault{Status: 429, Headers: map[string]string{"Retry-After": "3600"}}), want: RateLimited, tries: 1},
		"429 without a quota":   {turns: fault(fakemodel.Fault{Status: 429, Kind: "insufficient_quota"}), want: RateLimited, tries: 1, says: "quota"},
		"500":                   {turns: fault(fakemodel.Fault{Status: 500}), want: Server, tries: 4},
		"503":                   {turns: fault(fakemodel.Fault{Status: 503}), want: Server, tries: 4},
		"400":                   {turns: fault(fakemodel.Fault{Status: 400, Message: "no"}), want: Rejected, tries: 1, says: "no"},
		"400 over the key":      {turns: fault(fakemodel.Fault{Status: 400, Message: "API key not valid."}), cfg: Config{Key: "wrong-key", KeyEnv: "K"}, want: Unauthorized, tries: 1, says: "check the key in K"},
		"402":                   {turns: fault(fakemodel.Fault{Status: 402}), want: RateLimited, tries: 1, says: "quota"},
		"too long a question":   {turns: fault(fakemodel.Fault{Status: 400, Kind: "context_length_exceeded"}), want: Rejected, tries: 1, says: "context_tokens"},
		"404":                   {turns: fault(fakemodel.Fault{Status: 404, Message: "no such page"}), want: Unreachable, tries: 1, says: "/v1"},
		"redirect":              {turns: fault(fakemodel.Fault{Status: 307, Headers: map[string]string{"Location": "http://elsewhere.invalid/"}}), want: Unreachable, tries: 1, says: "elsewhere.invalid"},
		"cut body":              {turns: []fakemodel.Turn{{Text: goodAnswer, Fault: fakemodel.Fault{Cut: true}, Repeat: -1}}, want: Server, tries: 4, says: "broke off"},
		"silence":               {turns: fault(fakemodel.Fault{Hang: true}), cfg: Config{Timeout: 50 * time.Millisecond}, want: Timeout, tries: 1, says: "silent for 50ms"},
		"not JSON":              {turns: []fakemodel.Turn{{Body: "<html>hello</html>"}}, want: BadAnswer, tries: 1, says: "<html>"},
		"empty body":            {turns: []fakemodel.Turn{{Body: " "}}, want: BadAnswer, tries: 1},
		"other JSON":            {turns: []fakemodel.Turn{{Body: `{"choices":{"a":1}}`}}, want: BadAnswer, tries: 1},
		"a list":                {turns: []fakemodel.Turn{{Body: `[]`}}, want: BadAnswer, tries: 1},
		"no choices":            {turns: []fakemodel.Turn{{Body: `{"choices":[]}`}}, want: Empty, tries: 1},
		"an error with 200":     {turns: []fakemodel.Turn{{Body: `{"error":{"code":401,"message":"bad key"}}`}}, want: Unauthorized, tries: 1},
		"content is not JSON":   {turns: []fakemodel.Turn{{Text: "I think it is fine.", Repeat: -1}}, want: BadAnswer, tries: 2, says: "not JSON"},
		"wrong schema twice":    {turns: []fakemodel.Turn{{Text: wrong, Repeat: -1}}, want: BadAnswer, tries: 2, says: "verdict is none of"},
		"refusal":               {turns: []fakemodel.Turn{{Refusal: "I cannot help with that."}}, want: Refused, tries: 1, says: "cannot help"},
		"refusal with content":  {turns: []fakemodel.Turn{{Text: goodAnswer, Refusal: "no"}}, want: Refused, tries: 1},
		"content filter":        {turns: []fakemodel.Turn{{Text: goodAnswer, Finish: "content_filter"}}, want: Refused, tries: 1},
		"empty content":         {turns: []fakemodel.Turn{{Text: ""}}, want: Empty, tries: 1},
		"white space":           {turns: []fakemodel.Turn{{Text: " \n "}}, want: Empty, tries: 1},
		"cut at its longest":    {turns: []fakemodel.Turn{{Text: goodAnswer, Finish: "length"}}, want: Truncated, tries: 1, says: "max_output_tokens"},
		"10 MB":                 {turns: []fakemodel.Turn{{Text: goodAnswer, Fault: fakemodel.Fault{Flood: 10 << 20}}}, want: TooLarge, tries: 1},
		"tool call":             {turns: []fakemodel.Turn{tool}, want: ToolCall, tries: 1},
		"tool call and content": {turns: []fakemodel.Turn{{Text: goodAnswer, Tools: tool.Tools}}, want: ToolCall, tries: 1},
		"unknown model":         {svc: fakemodel.Service{Models: []string{"another"}}, want: UnknownModel, tries: 1, says: "m-large"},
		"unknown model by 400":  {turns: fault(fakemodel.Fault{Status: 400, Message: "model 'm-large' not found, try pulling it first"}), want: UnknownModel, tries: 1},
		"an answer, then 500":   {turns: []fakemodel.Turn{{Text: wrong}, {Fault: fakemodel.Fault{Status: 500}, Repeat: -1}}, want: Server, tries: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc := tc.svc
			svc.Turns = tc.turns
			rep, trouble, asked, _ := ask(t, svc, tc.cfg)
			if trouble == nil {
				t.Fatalf("an answer: %s", rep.JSON)
			}
			if trouble.Kind != tc.want || rep.JSON != nil {
				t.Errorf("kind %s (%v), want %s; JSON %s", trouble.Kind, trouble, tc.want, rep.JSON)
			}
			if rep.Tries != tc.tries || len(asked) != tc.tries {
				t.Errorf("%d tries, %d requests, want %d", rep.Tries, len(asked), tc.tries)
			}
			if shown := trouble.Error() + " " + trouble.Fix; !strings.Contains(shown, tc.says) || strings.Contains(shown, "\n") {
				t.Errorf("it says %q, want %q on one line", shown, tc.says)
			}
			if len(rep.Answer) > keptOfLarge || tc.tries > 0 && len(rep.Request) == 0 {
				t.Errorf("kept %d bytes of the answer, %d of the request", len(rep.Answer), len(rep.Request))
			}
		})
	}
}

func TestNothingAnswersThere(t *testing.T) {
	s := start(t)
	url := s.Service("svc", fakemodel.Service{})
	s.Close()
	c, w := client(t, Config{BaseURL: url})
	rep, err := c.Ask(t.Context(), verdictQuestion())
	if KindOf(err) != Unreachable || rep.JSON != nil || len(w.list) != maxTries-1 {
		t.Errorf("%v after %d waits", err, len(w.list))
	}
	if u := rep.Usage; u.InputTokens == nil || *u.InputTokens != 0 {
		t.Error("a question that never left cost something")
	}
}

// Who hangs up without an answer may have worked for it: what that cost is
// unknown.
func TestAServiceThatHangsUp(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	c, _ := client(t, Config{BaseURL: s.URL})
	rep, err := c.Ask(t.Context(), verdictQuestion())
	if KindOf(err) != Server || rep.Tries != maxTries || rep.Usage.InputTokens != nil || rep.Usage.OutputTokens != nil {
		t.Errorf("%v after %d tries, usage %+v", err, rep.Tries, rep.Usage)
	}
}

func TestOneRepair(t *testing.T) {
	rep, trouble, asked, _ := ask(t, fakemodel.Service{Turns: []fakemodel.Turn{
		{Text: `{"verdict":"fail","findings":[{"line":0,"issue":"x","extra":true}]}`, Input: 100, Output: 10},
		{Text: goodAnswer, Input: 200, Output: 20},
	}}, Config{})
	if trouble != nil {
		t.Fatal(trouble)
	}
	if string(rep.JSON) != goodAnswer || !rep.Repaired || rep.Tries != 2 {
		t.Errorf("got %s, repaired %v, %d tries", rep.JSON, rep.Repaired, rep.Tries)
	}
	if *rep.Usage.InputTokens != 300 || *rep.Usage.OutputTokens != 30 || rep.Usage.CostUSD != nil {
		t.Errorf("usage %d %d %v, want the sum and no cost without a price", *rep.Usage.InputTokens, *rep.Usage.OutputTokens, rep.Usage.CostUSD)
	}
	for _, want := range []string{"findings[0].line is 0, want at least 1", `findings[0] has \"extra\"`, `\"required\"`, `extra\":true`} {
		if !strings.Contains(strings.ReplaceAll(string(asked[1].Body), `\\\"`, `\"`), want) {
			t.Errorf("the repair does not say %q:\n%s", want, asked[1].Body)
		}
	}
	if want := string(asked[0].Body) + "\n" + string(asked[1].Body); string(rep.Request) != want {
		t.Errorf("the reply does not keep both requests:\n%s", rep.Request)
	}
}

// What the question itself checks is repaired like what the schema says.
func TestTheQuestionsOwnCheck(t *testing.T) {
	s := start(t)
	q := verdictQuestion()
	q.Check = func(answer []byte) []string {
		if bytes.Contains(answer, []byte("no check")) {
			return []string{"line 3 is not in the change"}
		}
		return nil
	}
	c, _ := client(t, Config{BaseURL: s.Service("svc", fakemodel.Service{Turns: []fakemodel.Turn{{Text: goodAnswer}, {Text: `{"verdict":"pass","findings":[]}`}}})})
	rep, err := c.Ask(t.Context(), q)
	if err != nil || !rep.Repaired || string(rep.JSON) != `{"verdict":"pass","findings":[]}` {
		t.Errorf("got %s, %v", rep.JSON, err)
	}
	if !strings.Contains(string(s.Requests("svc")[1].Body), "line 3 is not in the change") {
		t.Error("the repair does not name the problem")
	}
}

// Models that are not held to a format wrap their JSON.
func TestWrappedAnswers(t *testing.T) {
	for _, text := range []string{"```json\n" + goodAnswer + "\n```", "<think>is it?\n{}</think>\n" + goodAnswer, "\ufeff " + goodAnswer + "\n"} {
		rep, trouble, _, _ := ask(t, fakemodel.Service{Turns: []fakemodel.Turn{{Text: text}}}, Config{})
		if trouble != nil || string(rep.JSON) != goodAnswer || rep.Repaired {
			t.Errorf("%q: got %s, %v", text, rep.JSON, trouble)
		}
	}
}

// A service that does not take the tightest format is asked in a looser one,
// and not in the tighter one again.
func TestFormatsFallBack(t *testing.T) {
	for _, tc := range []struct {
		formats []string
		want    string
	}{
		{[]string{"json_object"}, `"response_format":{"type":"json_object"}`},
		{[]string{"text"}, `"messages":[{"role":"system","content":"Judge the change.\n\nAnswer with one JSON object`},
	} {
		s := start(t)
		c, _ := client(t, Config{BaseURL: s.Service("svc", fakemodel.Service{Formats: tc.formats, Turns: []fakemodel.Turn{{Text: goodAnswer, Repeat: -1}}})})
		for range 2 {
			if _, err := c.Ask(t.Context(), verdictQuestion()); err != nil {
				t.Fatal(err)
			}
		}
		asked := s.Requests("svc")
		first := len(asked) - 1 // requests of the first question
		for i := first - 1; i < len(asked); i++ {
			if body := string(asked[i].Body); !strings.Contains(body, tc.want) || !strings.Contains(body, "additionalProperties") {
				t.Errorf("formats %v, request %d: %s", tc.formats, i, body)
			}
		}
		if tc.formats[0] == "json_object" && len(asked) != 3 || tc.formats[0] == "text" && len(asked) != 4 {
			t.Errorf("formats %v: %d requests for two questions", tc.formats, len(asked))
		}
	}
}

// Newer models want another field for the longest answer; the library knows
// some of them, others say it.
func TestTheFieldOfTheLongestAnswer(t *testing.T) {
	refused := fakemodel.Turn{When: `"max_tokens":`, Fault: fakemodel.Fault{Status: 400, Message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}, Repeat: -1}
	for model, requests := range map[string]int{"m-large": 2, "o3-mini": 1} {
		s := start(t)
		c, _ := client(t, Config{Model: model, BaseURL: s.Service("svc", fakemodel.Service{Turns: []fakemodel.Turn{refused, {Text: goodAnswer, Repeat: -1}}})})
		if err := c.Probe(t.Context()); err != nil {
			t.Errorf("%s: probe: %v", model, err)
		}
		if _, err := c.Ask(t.Context(), verdictQuestion()); err != nil {
			t.Errorf("%s: %v", model, err)
		}
		if got := len(s.Requests("svc")); got != requests+1 {
			t.Errorf("%s: %d requests, want %d", model, got, requests+1)
		}
	}
}

func TestRolesChooseTheModel(t *testing.T) {
	s := start(t)
	c, _ := client(t, Config{Model: "usual", Roles: map[string]string{RoleArbiter: "wise"}, Tiers: map[string]string{"wise": "frontier_best"},
		BaseURL: s.Service("svc", fakemodel.Service{Turns: []fakemodel.Turn{{Text: goodAnswer, Repeat: -1}}})})
	for _, tc := range []struct{ role, model, want string }{{RoleArbiter, "", "wise"}, {RoleTriage, "", "usual"}, {RoleArbiter, "own", "own"}} {
		q := verdictQuestion()
		q.Role, q.Model = tc.role, tc.model
		rep, err := c.Ask(t.Context(), q)
		if err != nil || rep.Model != tc.want || !strings.Contains(string(rep.Request), `"model":"`+tc.want+`"`) {
			t.Errorf("role %s, model %q: asked %s, %v", tc.role, tc.model, rep.Model, err)
		}
	}
	if c.TierOf("wise") != "frontier_best" || c.TierOf("usual") != "frontier_fast" {
		t.Error("tiers")
	}
}

// Known secrets do not leave, in any spelling, and do not come back.
func TestSecretsStay(t *testing.T) {
	const key, other = "sk-the-key-itself", `pass"word<1>`
	s := start(t)
	quoted, _ := json.Marshal(other)
	c, _ := client(t, Config{Key: key, KeyEnv: "K", Secrets: []string{other}, BaseURL: s.Service("svc", fakemodel.Service{Key: key, Turns: []fakemodel.Turn{
		{Text: `{"verdict":"` + key + `","findings":[]}`},
		{Text: `{"verdict":"fail","findings":[{"line":1,"issue":"` + key + `"}]}`},
		{Fault: fakemodel.Fault{Status: 400, Message: "you sent " + key}},
	}})})
	q := verdictQuestion()
	q.System, q.User = "system "+other, "user "+key+" and "+string(quoted)
	rep, err := c.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"verdict":"fail","findings":[{"line":1,"issue":"[redacted]"}]}`; string(rep.JSON) != want {
		t.Errorf("got %s", rep.JSON)
	}
	again, err := c.Ask(t.Context(), q)
	if KindOf(err) != Rejected {
		t.Fatal(err)
	}
	seen := [][]byte{rep.Request, rep.Answer, rep.JSON, again.Request, again.Answer, []byte(err.Error())}
	for _, r := range s.Requests("svc") {
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Error("the key did not come with the question")
		}
		seen = append(seen, r.Body)
	}
	for i, text := range seen {
		if bytes.Contains(text, []byte(key)) || bytes.Contains(text, []byte("word<1>")) || bytes.Contains(text, []byte(`word\u003c1`)) {
			t.Errorf("%d holds a secret: %s", i, text)
		}
	}
}

// A redirect is not followed: neither the key nor the change goes along.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := start(t)
	target := other.Service("other", fakemodel.Service{Turns: []fakemodel.Turn{{Text: goodAnswer}}})
	for _, status := range []int{301, 302, 303, 307, 308} {
		_, trouble, _, _ := ask(t, fakemodel.Service{Turns: []fakemodel.Turn{{Fault: fakemodel.Fault{Status: status, Headers: map[string]string{"Location": target + "/chat/completions"}}}}},
			Config{Key: "key-of-the-test", KeyEnv: "K"})
		if trouble == nil || trouble.Kind != Unreachable {
			t.Errorf("%d: %v", status, trouble)
		}
	}
	if got := other.Requests("other"); len(got) > 0 {
		t.Errorf("the other host got %q with %q", got[0].Body, got[0].Header.Get("Authorization"))
	}
}

func TestACancelledQuestion(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, _ := client(t, Config{BaseURL: "http://service.invalid/v1", Transport: network(func(req *http.Request) (*http.Response, error) {
		cancel()
		<-req.Context().Done()
		return nil, req.Context().Err()
	})})
	rep, err := c.Ask(ctx, verdictQuestion())
	if KindOf(err) != Cancelled || !errors.Is(err, context.Canceled) || rep.Tries != 1 {
		t.Errorf("got %v after %d tries", err, rep.Tries)
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	for _, url := range []string{"", "host/v1", "ftp://host/v1", "https://", "https://me:secret-word@host/v1", "https://host/v1?key=x", "http://[::1/v1", "https://me:secret-word@[host/v1"} {
		if _, err := New(Config{BaseURL: url}); err == nil {
			t.Errorf("%q is accepted", url)
		} else if strings.Contains(err.Error(), "secret-word") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
	if _, err := New(Config{BaseURL: "http://h/v1", Key: "two\nlines", KeyEnv: "K"}); err == nil || strings.Contains(err.Error(), "two") {
		t.Errorf("a key of two lines: %v", err)
	}
	c, _ := client(t, Config{BaseURL: "http://h/v1"})
	c.cfg.Model = ""
	if _, err := c.Ask(t.Context(), verdictQuestion()); KindOf(err) != UnknownModel {
		t.Errorf("without a model: %v", err)
	}
}

func TestProbe(t *testing.T) {
	s := start(t)
	good := s.Service("good", fakemodel.Service{Key: "right-key", Models: []string{"m-large", "wise"}, Turns: []fakemodel.Turn{{Text: "x", Finish: "length", Repeat: -1}}})
	down := s.Service("down", fakemodel.Service{Turns: []fakemodel.Turn{{Fault: fakemodel.Fault{Status: http.StatusServiceUnavailable}, Repeat: -1}}})
	for name, tc := range map[string]struct {
		cfg    Config
		models []string
		want   Kind
	}{
		"well":          {cfg: Config{BaseURL: good, Key: "right-key", KeyEnv: "K"}},
		"both models":   {cfg: Config{BaseURL: good, Key: "right-key", KeyEnv: "K"}, models: []string{"m-large", "wise"}},
		"missing key":   {cfg: Config{BaseURL: good, KeyEnv: "K"}, want: Unauthorized},
		"wrong key":     {cfg: Config{BaseURL: good, Key: "wrong-key", KeyEnv: "K"}, want: Unauthorized},
		"unknown model": {cfg: Config{BaseURL: good, Key: "right-key", KeyEnv: "K"}, models: []string{"m-large", "m-small"}, want: UnknownModel},
		"other path":    {cfg: Config{BaseURL: good + "/v2", Key: "right-key"}, want: Unreachable},
		"nobody there":  {cfg: Config{BaseURL: "http://127.0.0.1:1/v1"}, want: Unreachable},
		"server down":   {cfg: Config{BaseURL: down}, want: Server},
	} {
		c, _ := client(t, tc.cfg)
		if err := c.Probe(t.Context(), tc.models...); KindOf(err) != tc.want {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
