package agent

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	acp "github.com/coder/acp-go-sdk"
)

func TestACPMode(t *testing.T) {
	claude := []string{"auto", "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"}
	gemini := []string{"default", "autoEdit", "yolo", "plan"}
	codex := []string{"read-only", "auto", "full-access"}
	opencode := []string{"build", "plan"}
	for _, c := range []struct {
		offered                 []string
		all, standard, readOnly string
	}{
		{claude, "bypassPermissions", "acceptEdits", "default"},
		{gemini, "yolo", "autoEdit", "default"},
		{codex, "full-access", "auto", "read-only"},
		{opencode, "", "", "plan"},
		{[]string{"architect", "code", "ask"}, "", "ask", "ask"},
		{[]string{"splendid"}, "", "", ""},
		{nil, "", "", ""},
	} {
		current := ""
		if len(c.offered) > 0 {
			current = c.offered[0]
		}
		for want, p := range map[*string]acpPolicy{&c.all: {all: true}, &c.standard: {}, &c.readOnly: {readOnly: true, all: true}} {
			if got := acpMode(p, current, c.offered); got != *want {
				t.Errorf("%q, %+v: %q, want %q", c.offered, p, got, *want)
			}
		}
	}
}

func TestACPPolicy(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	all, standard := acpPolicy{all: true, dir: dir}, acpPolicy{dir: dir, verify: []string{" make test ", "sh -c 'a b'"}}
	readOnly := acpPolicy{all: true, readOnly: true, dir: dir}
	in, out := `,"locations":[{"path":"`+dir+`/sub/new"}]`, `,"locations":[{"path":"`+dir+`/a"},{"path":"`+dir+`/../x"}]`
	for _, c := range []struct {
		call                    string
		all, standard, readOnly bool
	}{
		{`"kind":"edit"` + in, true, true, false},
		{`"kind":"edit","content":[{"type":"diff","path":"relative"}]`, true, true, false},
		{`"kind":"delete"` + in, true, true, false},
		{`"kind":"edit"` + out, true, false, false},
		{`"kind":"edit","locations":[{"path":"` + dir + `/a"}],"content":[{"type":"diff","path":"/etc/passwd"}]`, true, false, false},
		{`"kind":"edit","locations":[{"path":"` + dir + `/etc/passwd"}]`, true, false, false},
		{`"kind":"edit","locations":[{"path":"` + dir + `/etc/new/one"}]`, true, false, false},
		{`"kind":"edit"`, true, false, false},
		{`"kind":"execute","rawInput":{"command":"make test"}`, true, true, false},
		{`"kind":"execute","rawInput":{"command":"make test; rm -rf /"}`, true, false, false},
		{`"kind":"execute","rawInput":{"command":["bash","-lc","make test"]}`, true, true, false},
		{`"kind":"execute","rawInput":{"command":["/bin/sh","-c","sh -c 'a b'"]}`, true, true, false},
		{`"kind":"execute","rawInput":{"command":["python","-c","make test"]}`, true, false, false},
		{`"kind":"execute","rawInput":{"command":["bash","-lc","make test","x"]}`, true, false, false},
		{`"kind":"execute","rawInput":"make test"`, true, false, false},
		{`"kind":"execute","title":"make test"`, true, false, false},
		{`"kind":"read"` + in, true, true, true},
		{`"kind":"read"` + out, true, false, true},
		{`"kind":"search"`, true, true, true},
		{`"kind":"think"`, true, true, true},
		{`"kind":"fetch"`, true, false, false},
		{`"kind":"switch_mode"`, true, false, false},
		{`"kind":"sing"`, true, false, false},
		{`"title":"x"`, true, false, false},
	} {
		var ask acpAsk
		if err := json.Unmarshal([]byte(`{"toolCall":{`+c.call+`},"options":[{"optionId":"A","kind":"allow_always"},{"optionId":"a","kind":"allow_once"},{"optionId":"r","kind":"reject_once"}]}`), &ask); err != nil {
			t.Fatal(err)
		}
		for want, p := range map[*bool]acpPolicy{&c.all: all, &c.standard: standard, &c.readOnly: readOnly} {
			allowed, option := p.decide(ask)
			if word := map[bool]string{true: "a", false: "r"}[*want]; allowed != *want || option != word {
				t.Errorf("%s, %+v: %v by %q, want %v", c.call, p, allowed, option, *want)
			}
		}
	}
	// Where no option says it, the call is called off.
	var ask acpAsk
	if err := json.Unmarshal([]byte(`{"toolCall":{"kind":"edit"},"options":[{"optionId":"x","kind":"splendid"},{"optionId":"","kind":"allow_once"}]}`), &ask); err != nil {
		t.Fatal(err)
	}
	if allowed, option := all.decide(ask); allowed || option != "" {
		t.Errorf("allowed %v by %q", allowed, option)
	}
}

func TestACPOutages(t *testing.T) {
	refused := func(code int, message string, data any) error {
		return &acp.RequestError{Code: code, Message: message, Data: data}
	}
	kind := func(k string) map[string]string { return map[string]string{"errorKind": k} }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{refused(-32000, "Authentication required", nil), true},
		{refused(429, "You exceeded your quota", nil), true},
		{refused(503, "{}", nil), true},
		{refused(401, "x", nil), true},
		{refused(400, `{"error":{"code":400,"message":"rate limit"}}`, nil), false},
		{refused(404, "model unavailable", nil), false},
		{refused(-32603, "Internal error: API Error: 400 scripted: quota", kind("unknown")), false},
		{refused(-32603, "Internal error: API Error: Request rejected (429) · x", kind("rate_limit")), true},
		{refused(-32603, "Internal error: API Error: Request rejected (429) · x", nil), true},
		{refused(-32603, "Internal error: API Error: 529 x", kind("server_error")), true},
		{refused(-32603, "Internal error: Failed to authenticate", kind("authentication_failed")), true},
		{refused(-32603, "Internal error: API Error: Unable to connect to API (ECONNRESET)", kind("unknown")), true},
		{refused(-32603, "Internal error: the API key", kind("invalid_request")), false},
		{refused(-32603, "Internal error", map[string]string{"details": "Rate limit exceeded"}), true},
		{refused(-32603, "Internal error: Incorrect API key provided", map[string]string{"errorName": "APIError"}), true},
		{refused(-32603, "Internal error: no such tool", "not an object"), false},
		{refused(-32602, "Session not found: quota", nil), false},
		{refused(-32002, "Resource not found: 429", nil), false},
		{errors.New("rate limit"), false},
	} {
		if got := acpOutage(c.err) != ""; got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
