package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/host/hosttest"
)

// A project that is added to a running server is watched from then on: its
// tracker's issues come onto its board, and webhooks of its tracker and its code
// host are taken. Before, there is nothing at their addresses.
func TestAnAddedProjectIsWatchedAtOnce(t *testing.T) {
	t.Parallel()
	const secret = "what both sides know"
	hub := &gitHub{T: t, issues: map[int]map[string]any{7: hubIssue(7, "")}, comments: map[int][]map[string]any{}, posts: map[int]int{}, closed: map[int]bool{}}
	tracker := httptest.NewServer(hub)
	defer tracker.Close()
	g := hosttest.StartGitHub(t)

	w := newWorld(t, issueScript, "true")
	w.configure("[host]\nkind = \"local\"\n", "true") // the first project has none that is watched
	top, err := filepath.EvalSymlinks(filepath.Dir(w.root))
	if err != nil {
		t.Fatal(err)
	}
	fresh := w.repository(filepath.Join(top, "fresh"))
	store, head := w.storeOf()
	g.Seed(t, store, "main", head)
	w.server(fmt.Sprintf("roots = [%q]", top))
	user := filepath.Join(w.home, ".config/forge/config.toml")
	text, err := os.ReadFile(user)
	if err != nil {
		t.Fatal(err)
	}
	w.write(user, string(text)+fmt.Sprintf(`
[agent]
use = "dry"
[agents.dry]
kind = "script"
file = %q
[factory]
triage = "off"
[host]
kind = "github"
url = %q
repo = "octo/repo"
token_env = "HOST_TOKEN"
poll_secs = 86400
webhook_secret_env = "WEBHOOK_SECRET"
[trackers.late]
kind = "github"
url = %q
repo = "o/work"
project = %q
token_env = "TRACKER_TOKEN"
poll_secs = 86400
webhook_secret_env = "WEBHOOK_SECRET"
sandbox = "as_configured"
`, filepath.Join(w.root, ".forge/agent.toml"), g.URL, tracker.URL, fresh))
	w.env = append(w.env, "HOST_TOKEN="+hosttest.GitHubToken, "TRACKER_TOKEN=the-token-of-the-bot", "WEBHOOK_SECRET="+secret)
	s := w.serve("bot")

	toTracker := func(delivery string) int {
		t.Helper()
		body := fmt.Sprintf(`{"action":"labeled","issue":{"number":9,"updated_at":%q},"repository":{"full_name":"o/work"}}`, delivery)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		return s.post("/hooks/late", body, map[string]string{
			"X-GitHub-Event": "issues", "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
		})
	}
	toHost := func(id string) int {
		t.Helper()
		a, err := http.DefaultClient.Do(hosttest.Delivery{Secret: secret, ID: id, Body: hosttest.HookBody("octo/repo", 1, id)}.Request(t, http.MethodPost, s.url+"/hooks"))
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a.StatusCode
	}
	if at, on := toTracker("before"), toHost("before"); at != http.StatusNotFound || on != http.StatusNotFound {
		t.Errorf("before it is added its webhooks are answered with %d and %d", at, on)
	}
	if hub.rounds() != 0 || strings.Contains(s.metrics(), "forge_host_webhooks_total") {
		t.Error("a project that is not there is watched")
	}

	var made struct{ ID string }
	s.ask("POST", "/projects", fmt.Sprintf(`{"path":%q}`, fresh), 200, &made)
	w.eventually("the tracker's issue is on the new board", func() bool {
		code, issue := s.send("GET", "/projects/"+made.ID+"/issues/1", "")
		return code == http.StatusOK && strings.Contains(issue, `"source":"late#7"`)
	})
	was := hub.rounds()
	if code := toTracker("after"); code != http.StatusNoContent {
		t.Errorf("a webhook of its tracker: %d", code)
	}
	w.eventually("the webhook has the tracker asked", func() bool { return hub.rounds() > was })
	if code := toHost("after"); code != http.StatusNoContent {
		t.Errorf("a webhook of its code host: %d", code)
	}
	if got, want := s.metrics(), `forge_host_webhooks_total{outcome="taken"} 1`; !strings.Contains(got, want) {
		t.Errorf("/metrics lacks %q", want)
	}
	s.run.stop()
	s.run.wait().want(exitDone)
}

// A tracker that names no project is of the only one: a second cannot be added,
// since the server would not start with both.
func TestATrackerOfTheOnlyProjectLetsNoneBeAdded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, issueScript, "true")
	top, err := filepath.EvalSymlinks(filepath.Dir(w.root))
	if err != nil {
		t.Fatal(err)
	}
	fresh := w.repository(filepath.Join(top, "fresh"))
	tracker := httptest.NewServer(http.NotFoundHandler())
	defer tracker.Close()
	w.server(fmt.Sprintf("roots = [%q]\n[trackers.all]\nkind = \"github\"\nurl = %q\nrepo = \"o/work\"\nsandbox = \"as_configured\"\n", top, tracker.URL))
	w.env = append(w.env, "GITHUB_TOKEN=x")
	s := w.serve("bot")
	code, answer := s.send("POST", "/projects", fmt.Sprintf(`{"path":%q}`, fresh))
	if code != 422 || !strings.Contains(answer, "racker all does not say to which of 2 projects its issues go") {
		t.Errorf("%d: %s", code, answer)
	}
	if w.exists(filepath.Join(fresh, ".forge")) {
		t.Error("its files were written all the same")
	}
	s.run.stop()
	s.run.wait().want(exitDone)
}

// post sends what no user of the server says.
func (s *served) post(path, body string, header map[string]string) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	a.Body.Close()
	return a.StatusCode
}
