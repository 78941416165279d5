package notify

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func notice() Notice {
	return Notice{
		V: Version, Event: Frozen, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Project: "p", Run: "260102-abcd", Outcome: "frozen", Level: "guided",
		Checkpoints: []Question{{ID: "260102-abcd.1", Points: []string{"final"}, Revision: 2, Question: "Land it?"}}, Next: "forge checkpoints",
	}
}

// want is what a receiver has to get: the notice, and nothing else.
func want(t *testing.T, got []byte) {
	t.Helper()
	var n, m Notice
	dec := json.NewDecoder(strings.NewReader(string(got)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&n); err != nil {
		t.Fatalf("%v in %q", err, got)
	}
	text, _ := json.Marshal(notice())
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if a, _ := json.Marshal(n); string(a) != string(text) {
		t.Errorf("got %s, want %s", a, text)
	}
}

func TestCommandGetsTheNotice(t *testing.T) {
	dir := t.TempDir()
	s := Sender{
		Command: []string{"sh", "-c", `cat >"$1"; echo "$FORGE_EVENT $FORGE_RUN $MINE" >env`, "sh", filepath.Join(dir, "got")},
		Environ: append(os.Environ(), "MINE=yes"), Dir: dir, Timeout: time.Minute,
	}
	if errs := s.Send(t.Context(), notice()); errs != nil {
		t.Fatal(errs)
	}
	got, err := os.ReadFile(filepath.Join(dir, "got"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, got)
	if env, err := os.ReadFile(filepath.Join(dir, "env")); err != nil || string(env) != "frozen 260102-abcd yes\n" {
		t.Errorf("environment %q, %v", env, err)
	}
}

func TestWebhookGetsTheNotice(t *testing.T) {
	var body []byte
	var kind string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		kind = r.Method + " " + r.Header.Get("Content-Type")
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	if errs := (Sender{Webhook: server.URL, Timeout: time.Minute}).Send(t.Context(), notice()); errs != nil {
		t.Fatal(errs)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	want(t, body)
	if kind != "POST application/json" {
		t.Errorf("got %s", kind)
	}
}

// Each way that fails is one error, and none holds an address.
func TestFailuresAreErrors(t *testing.T) {
	status := http.StatusOK
	var elsewhere bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			elsewhere = true
			return
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for _, tt := range []struct {
		name   string
		sender Sender
		status int
		errs   []string
	}{
		{name: "refused", sender: Sender{Webhook: server.URL + "/hook-secret"}, status: 403, errs: []string{"403"}},
		{name: "broken", sender: Sender{Webhook: server.URL + "/hook-secret"}, status: 500, errs: []string{"500"}},
		{name: "redirected", sender: Sender{Webhook: server.URL + "/hook-secret"}, status: 307, errs: []string{"307"}},
		{name: "gone", sender: Sender{Webhook: gone.URL + "/hook-secret"}, errs: []string{"refused"}},
		{name: "no address", sender: Sender{Webhook: "http://[hook-secret"}, errs: []string{"cannot be used"}},
		{name: "no program", sender: Sender{Command: []string{"forge-no-such-program"}}, errs: []string{"forge-no-such-program"}},
		{name: "failing", sender: Sender{Command: []string{"sh", "-c", "echo why >&2; exit 3"}}, errs: []string{"exit code 3: why"}},
		{name: "killed", sender: Sender{Command: []string{"sh", "-c", "kill -9 $$"}}, errs: []string{"sh failed"}},
		{name: "both", sender: Sender{Command: []string{"false"}, Webhook: server.URL}, status: 500, errs: []string{"false", "500"}},
		{name: "nowhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status = tt.status
			tt.sender.Timeout, tt.sender.Environ = time.Minute, os.Environ()
			errs := tt.sender.Send(t.Context(), notice())
			if len(errs) != len(tt.errs) {
				t.Fatalf("got %v, want %d errors", errs, len(tt.errs))
			}
			for i, part := range tt.errs {
				if text := errs[i].Error(); !strings.Contains(text, part) || strings.Contains(text, "hook-secret") {
					t.Errorf("error %q, want %q in it and no address", text, part)
				}
			}
		})
	}
	if elsewhere {
		t.Error("the notice went where a redirect pointed")
	}
}

// Receivers that never end are left after the timeout, the command with what it
// started.
func TestHangingReceiversAreLeft(t *testing.T) {
	held := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-held }))
	defer server.Close()
	defer close(held)
	dir := t.TempDir()
	s := Sender{
		Command: []string{"sh", "-c", "sleep 1000 & echo $! >child; trap '' TERM; wait; sleep 1000"}, Webhook: server.URL,
		Environ: os.Environ(), Dir: dir, Timeout: 200 * time.Millisecond,
	}
	// Send returning at all is what is tested: everything above waits for ever.
	errs := s.Send(context.Background(), notice())
	if len(errs) != 2 || !strings.Contains(errs[0].Error(), "longer than") || !strings.Contains(errs[1].Error(), "deadline") {
		t.Errorf("got %v", errs)
	}
	child, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		if state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(child)) + "/stat"); err == nil && !strings.Contains(string(state), ") Z ") {
			t.Errorf("what the command started is still there: %s", state)
		}
	}
}

func TestRedacted(t *testing.T) {
	n := notice()
	n.Reason = "hush-hush"
	n.Checkpoints[0].Question = "hush-hush?"
	clean := n.Redacted(func(s string) string { return strings.ReplaceAll(s, "hush-hush", "[redacted]") })
	if text, _ := json.Marshal(clean); strings.Contains(string(text), "hush") {
		t.Errorf("got %s", text)
	}
	if n.Checkpoints[0].Question != "hush-hush?" {
		t.Error("the notice itself was changed")
	}
}
