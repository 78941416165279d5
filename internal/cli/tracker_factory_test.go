package cli

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/work"
)

// gitHub answers as GitHub documents it, for a few issues of o/work.
type gitHub struct {
	*testing.T
	mu       sync.Mutex
	issues   map[int]map[string]any // of the GraphQL answer
	comments map[int][]map[string]any
	posts    map[int]int // comments that were made, not changed
	closed   map[int]bool
	listed   int
	away     bool // it answers 503
}

func (g *gitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	reply := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	path := strings.TrimPrefix(r.URL.Path, "/repos/o/work")
	var n int
	switch {
	case g.away:
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Header.Get("Authorization") != "Bearer the-token-of-the-bot":
		w.WriteHeader(http.StatusUnauthorized)
	case path == "/issues":
		g.listed++
		var list []any
		for number := range g.issues {
			list = append(list, map[string]any{"number": number, "updated_at": time.Unix(int64(1000+g.listed), 0).UTC()})
		}
		reply(list)
	case path == "/graphql":
		var q struct{ Variables struct{ Number int } }
		_ = json.NewDecoder(r.Body).Decode(&q)
		reply(map[string]any{"data": map[string]any{"repository": map[string]any{"issue": g.issues[q.Variables.Number]}}})
	case path == "/collaborators/writer/permission":
		reply(map[string]any{"permission": "write"})
	case strings.HasSuffix(path, "/permission"):
		reply(map[string]any{"permission": "read"})
	case path == "/user":
		reply(map[string]any{"login": "forge-bot"})
	case scan(path, "/issues/comments/%d", &n) && r.Method == http.MethodPatch:
		var in struct{ Body string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		for _, c := range g.comments[n] {
			c["body"] = in.Body
		}
		reply(map[string]any{})
	case strings.HasSuffix(path, "/comments") && scan(path, "/issues/%d/comments", &n) && r.Method == http.MethodGet:
		reply(append([]map[string]any{}, g.comments[n]...))
	case strings.HasSuffix(path, "/comments") && scan(path, "/issues/%d/comments", &n):
		var in struct{ Body string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		g.posts[n]++
		g.comments[n] = append(g.comments[n], map[string]any{"id": n, "body": in.Body, "user": map[string]any{"login": "forge-bot"}})
		reply(map[string]any{})
	case scan(path, "/issues/%d", &n) && r.Method == http.MethodPatch:
		g.closed[n] = true
		g.issues[n]["state"] = "CLOSED"
		reply(map[string]any{})
	default:
		w.WriteHeader(http.StatusNotFound)
		reply(map[string]any{"message": "Not Found"})
	}
}

func scan(path, format string, n *int) bool {
	_, err := fmt.Sscanf(path, format, n)
	return err == nil
}

// told is how often an issue was commented, what the comment says now, and
// whether the issue is closed.
func (g *gitHub) told(number int) (posts int, said string, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.comments[number] {
		said += c["body"].(string)
	}
	return g.posts[number], said, g.closed[number]
}

// rounds is how often it was asked what changed.
func (g *gitHub) rounds() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.listed
}

func hubIssue(number int, editedBy string) map[string]any {
	who := func(name string) any { return map[string]any{"login": name} }
	at := func(second int64) string { return time.Unix(second, 0).UTC().Format(time.RFC3339) }
	edits, last := []any{}, any(nil)
	if editedBy != "" {
		edits, last = append(edits, map[string]any{"editedAt": at(1500), "editor": who(editedBy)}), at(1500)
	}
	return map[string]any{
		"number": number, "title": fmt.Sprintf("Wish %d", number), "body": "Please. @all", "state": "OPEN", "author": who("reader"), "lastEditedAt": last,
		"labels": map[string]any{"nodes": []any{map[string]any{"name": "forge"}}}, "userContentEdits": map[string]any{"totalCount": len(edits), "nodes": edits},
		"timelineItems": map[string]any{"pageInfo": map[string]any{"hasNextPage": false}, "nodes": []any{
			map[string]any{"__typename": "LabeledEvent", "createdAt": at(1000), "actor": who("writer"), "label": map[string]any{"name": "forge"}},
		}},
	}
}

// A labelled issue of a tracker becomes a run, its result lands, and the
// tracker is told so once and closed; one that was edited after its label waits.
// Only a signed webhook lets the tracker be asked. Another server of the same
// project does nothing of it again.
func TestTrackerIssueIsWorkedOnAndTold(t *testing.T) {
	t.Parallel()
	hub := &gitHub{T: t, issues: map[int]map[string]any{7: hubIssue(7, "")}, comments: map[int][]map[string]any{}, posts: map[int]int{}, closed: map[int]bool{}}
	on := httptest.NewServer(hub)
	defer on.Close()
	w := newWorld(t, issueScript, "true")
	w.configure("[factory]\ntriage = \"off\"\ndefault_policy = \"end_to_end\"\n", "true")
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n[trackers.work]\nkind = \"github\"\nurl = \""+on.URL+
		"\"\nrepo = \"o/work\"\npoll_secs = 86400\nwebhook_secret_env = \"HOOK_SECRET\"\nsandbox = \"as_configured\"\n")
	w.env = append(w.env, "GITHUB_TOKEN=the-token-of-the-bot", "HOOK_SECRET=what both sides know")
	s := w.serve("bot")
	deliveries := 0
	send := func(secret, delivery, at string) int {
		t.Helper()
		body := fmt.Sprintf(`{"action":"labeled","issue":{"number":9,"title":"evil","updated_at":%q},"repository":{"full_name":"o/work"}}`, at)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/hooks/work", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-GitHub-Event", "issues")
		r.Header.Set("X-GitHub-Delivery", delivery)
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a.StatusCode
	}
	// poke delivers a genuine webhook, and waits for the round that it causes.
	poke := func() {
		t.Helper()
		deliveries++
		was := hub.rounds()
		if code := send("what both sides know", fmt.Sprint("d", deliveries), fmt.Sprint("second ", deliveries)); code != http.StatusNoContent {
			t.Fatalf("a genuine webhook: %d", code)
		}
		w.eventually("the tracker is asked", func() bool { return hub.rounds() > was })
	}
	w.eventually("the tracker is asked at the beginning", func() bool { return hub.rounds() > 0 })
	if code := send("a guess", "d0", "second 0"); code != http.StatusForbidden {
		t.Errorf("a forged webhook: %d", code)
	}
	var issue work.Issue
	w.eventually("the result lands", func() bool {
		code, text := s.send("GET", s.project+"/issues/1", "")
		if code != 200 {
			return false
		}
		if err := json.Unmarshal([]byte(text), &issue); err != nil {
			t.Fatal(err)
		}
		if issue.State != "" {
			t.Fatalf("the issue is held: %+v\n%s", issue, s.run.stderr)
		}
		return issue.Column == work.ColumnDone
	})
	if issue.Source != "work#7" || issue.Run == "" {
		t.Errorf("the issue: %+v", issue)
	}
	w.eventually("the tracker is told", func() bool {
		poke()
		_, _, closed := hub.told(7)
		return closed
	})
	if posts, said, _ := hub.told(7); posts != 1 || !strings.Contains(said, "Done. The result has landed.") || strings.Contains(said, "@all") {
		t.Errorf("%d comments: %s", posts, said)
	}
	// Another issue, whose author changed it after its label.
	hub.mu.Lock()
	hub.issues[8] = hubIssue(8, "reader")
	hub.mu.Unlock()
	w.eventually("the changed issue is told of", func() bool {
		poke()
		posts, _, _ := hub.told(8)
		return posts > 0
	})
	var changed work.Issue
	s.ask("GET", s.project+"/issues/2", "", 200, &changed)
	if changed.Run != "" || changed.State != work.IssueWaits || !strings.HasPrefix(changed.Reason, "changed_after_label:") {
		t.Errorf("edited after the label: %+v", changed)
	}
	// A replayed delivery does nothing, under whatever id: the next round is the
	// next one's.
	was := hub.rounds()
	for n := range 200 {
		if code := send("what both sides know", fmt.Sprint("replay ", n), "second 1"); code != http.StatusNoContent {
			t.Errorf("a replayed webhook: %d", code)
		}
	}
	if code := send("what both sides know", "d1", "second 1"); code != http.StatusNoContent {
		t.Errorf("a replayed webhook: %d", code)
	}
	s.run.stop()
	s.run.wait()
	if now := hub.rounds(); now != was {
		t.Errorf("a replayed webhook let the tracker be asked %d times", now-was)
	}
	// A server that begins anew.
	s = w.serve("other")
	w.eventually("the tracker is asked again", func() bool { return hub.rounds() > was })
	poke()
	poke() // the round before it is over
	var page struct{ Issues []work.Issue }
	s.ask("GET", s.project+"/issues", "", 200, &page)
	for n, posts := range map[int]int{7: 1, 8: 1} {
		if got, said, _ := hub.told(n); got != posts {
			t.Errorf("issue %d has %d comments: %s", n, got, said)
		}
	}
	if len(page.Issues) != 2 {
		t.Errorf("issues: %+v", page.Issues)
	}
}
