package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"forge/internal/fakemodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verdictSchema is a small answer: a word and, maybe, findings.
const verdictSchema = `{"type":"object","additionalProperties":false,"required":["verdict","findings"],"properties":{
	"verdict":{"type":"string","enum":["pass","fail"]},
	"findings":{"type":"array","maxItems":3,"items":{"type":"object","additionalProperties":false,"required":["line","issue"],
		"properties":{"line":{"type":"integer","minimum":1},"issue":{"type":"string","maxLength":40}}}}}}`

const goodAnswer = `{"verdict":"fail","findings":[{"line":3,"issue":"no check"}]}`

func verdictQuestion() Question {
	return Question{Role: RoleReviewer, System: "Judge the change.", User: "the change", Name: "report", Schema: json.RawMessage(verdictSchema)}
}

// start opens a fake model server.
func start(t *testing.T) *fakemodel.Server {
	t.Helper()
	s, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// waits records the pauses of a client instead of taking them.
type waits struct {
	mu   sync.Mutex
	list []time.Duration
}

func (w *waits) wait(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, d)
	return ctx.Err()
}

// client is a client that does not really wait between tries.
func client(t *testing.T, cfg Config) (*Client, *waits) {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "m-large"
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := &waits{}
	c.wait, c.random = w.wait, func() float64 { return 0.5 }
	return c, w
}

// ask puts the usual question to a service that answers by turns.
func ask(t *testing.T, svc fakemodel.Service, cfg Config) (Reply, *Trouble, []fakemodel.Request, *waits) {
	t.Helper()
	s := start(t)
	cfg.BaseURL = s.Service("svc", svc)
	c, w := client(t, cfg)
	rep, err := c.Ask(t.Context(), verdictQuestion())
	return rep, troubleOf(t, err), s.Requests("svc"), w
}

func troubleOf(t *testing.T, err error) *Trouble {
	t.Helper()
	var trouble *Trouble
	if err != nil && !errors.As(err, &trouble) {
		t.Fatalf("the error is no *Trouble: %v", err)
	}
	return trouble
}

// network answers requests in this process.
type network func(req *http.Request) (*http.Response, error)

func (n network) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return n(req)
}

// answered is an answer over such a network.
func answered(status int, body string, header ...string) *http.Response {
	res := &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	for i := 0; i+1 < len(header); i += 2 {
		res.Header.Set(header[i], header[i+1])
	}
	return res
}

// envelope is an answer of a chat service with this content.
func envelope(content string) string {
	quoted, _ := json.Marshal(content) // a string always can
	return `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":` + string(quoted) + `}}],"usage":{"prompt_tokens":7,"completion_tokens":5}}`
}
