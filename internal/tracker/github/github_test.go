package github_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"forge/factory/tracker"
	"forge/internal/tracker/github"
	"forge/internal/work"
)

// server answers as GitHub documents it, for one issue.
type server struct {
	*testing.T
	issue    map[string]any // of the GraphQL answer
	pages    [][]any        // of its timeline
	comments []map[string]any
	closed   bool
	asked    []string
	limited  bool
	list     string // of changed issues
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	if got := r.Header.Get("Authorization"); got != "Bearer a-token" {
		s.Errorf("%s %s is asked as %q", r.Method, r.URL, got)
	}
	if s.limited {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message":"You have exceeded a secondary rate limit"}`)
		return
	}
	reply := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch path := strings.TrimPrefix(r.URL.Path, "/repos/o/work"); r.Method + " " + path {
	case "GET /issues":
		if r.Header.Get("If-None-Match") == `"e1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"e1"`)
		fmt.Fprint(w, s.list)
	case "POST /graphql":
		var q struct{ Variables map[string]any }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			s.Error(err)
		}
		if s.issue == nil {
			fmt.Fprint(w, `{"data":{"repository":{"issue":null}},"errors":[{"type":"NOT_FOUND","message":"Could not resolve"}]}`)
			return
		}
		page := 0
		if after, _ := q.Variables["after"].(string); after != "" {
			_, _ = fmt.Sscan(after, &page)
		}
		s.issue["timelineItems"] = map[string]any{
			"nodes": s.pages[page], "pageInfo": map[string]any{"hasNextPage": page+1 < len(s.pages), "endCursor": fmt.Sprint(page + 1)},
		}
		reply(map[string]any{"data": map[string]any{"repository": map[string]any{"issue": s.issue}}})
	case "GET /collaborators/writer/permission":
		fmt.Fprint(w, `{"permission":"write"}`)
	case "GET /collaborators/reader/permission":
		fmt.Fprint(w, `{"permission":"read"}`)
	case "GET /user":
		fmt.Fprint(w, `{"login":"forge-bot"}`)
	case "GET /issues/7/comments":
		reply(s.comments)
	case "POST /issues/7/comments", "PATCH /issues/comments/12", "PATCH /issues/7":
		var in map[string]string
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			s.Error(err)
		}
		switch {
		case r.Method == http.MethodPost:
			s.comments = append(s.comments, map[string]any{"id": 12, "body": in["body"], "user": map[string]any{"login": "forge-bot"}})
		case in["state"] == "closed":
			s.closed = true
		default:
			s.comments[len(s.comments)-1]["body"] = in["body"]
		}
		fmt.Fprint(w, `{}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message":"Not Found"}`)
	}
}

func start(t *testing.T) (*server, *github.Tracker) {
	t.Helper()
	s := &server{T: t}
	on := httptest.NewServer(s)
	t.Cleanup(on.Close)
	tr, err := github.New(github.Config{URL: on.URL, Owner: "o", Repo: "work", Token: "a-token"})
	if err != nil {
		t.Fatal(err)
	}
	return s, tr
}

func at(second int) string { return time.Unix(int64(second), 0).UTC().Format(time.RFC3339) }

func who(name string) any { return map[string]any{"login": name} }

func TestRead(t *testing.T) {
	s, tr := start(t)
	if _, err := tr.Read(t.Context(), 7); err == nil {
		t.Error("read an issue that is not there")
	}
	label := map[string]any{"__typename": "LabeledEvent", "createdAt": at(100), "actor": who("writer"), "label": map[string]any{"name": "forge"}}
	s.pages = [][]any{
		{map[string]any{"__typename": "IssueComment", "createdAt": at(90), "author": who("reader"), "body": "says reader"}, label},
		{map[string]any{"__typename": "IssueComment", "createdAt": at(95), "author": who("writer"), "body": "says writer"}, map[string]any{"__typename": "NewThing"}},
	}
	edits := func(all ...any) any { return map[string]any{"totalCount": len(all), "nodes": all} }
	edit := func(by any, second int) any { return map[string]any{"editedAt": at(second), "editor": by} }
	s.issue = map[string]any{
		"number": 7, "title": "A wish", "body": "Please.", "state": "OPEN", "author": who("reader"), "lastEditedAt": nil,
		"labels": map[string]any{"nodes": []any{map[string]any{"name": "forge"}}}, "userContentEdits": edits(),
	}
	bind := func(what string, want tracker.Hold) tracker.Reading {
		t.Helper()
		r, err := tr.Read(t.Context(), 7)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if b, ok := tracker.Bind(r, "forge", tracker.Seen{}); !ok || b.Hold != want {
			t.Errorf("%s: %+v, %v, want %q", what, b, ok, want)
		}
		return r
	}
	r := bind("never edited", "")
	if len(r.Comments) != 2 || !r.Writers["writer"] || r.Writers["reader"] || r.Title != "A wish" {
		t.Errorf("read %+v", r)
	}
	s.issue["lastEditedAt"], s.issue["userContentEdits"] = at(50), edits(edit(who("reader"), 10), edit(who("reader"), 50))
	bind("edited before the label", "")
	s.issue["lastEditedAt"], s.issue["userContentEdits"] = at(150), edits(edit(who("reader"), 10), edit(who("reader"), 150))
	bind("edited after the label", tracker.HoldChanged)
	s.issue["userContentEdits"] = edits(edit(who("reader"), 10), edit(nil, 150))
	bind("edited by who is gone", tracker.HoldChanged)
	s.issue["userContentEdits"] = edits(edit(who("reader"), 10), edit(who("writer"), 150))
	bind("edited by who labelled it", "")
	s.issue["userContentEdits"] = map[string]any{"totalCount": 3, "nodes": []any{edit(who("writer"), 150)}}
	bind("some edits are not told", tracker.HoldUnknown)
	delete(s.issue, "userContentEdits")
	bind("edits are not told", tracker.HoldUnknown)
	s.limited = true
	var trouble *work.HostTrouble
	if _, err := tr.Read(t.Context(), 7); !errors.As(err, &trouble) || trouble.Kind != work.HostRateLimited || trouble.After != 2*time.Minute {
		t.Errorf("a limit: %v", err)
	}
}

func TestChanged(t *testing.T) {
	s, tr := start(t)
	s.list = `[{"number":3,"updated_at":"` + at(100) + `"},{"number":4,"updated_at":"` + at(200) + `","pull_request":{}},{"number":5,"updated_at":"` + at(300) + `"}]`
	numbers, mark, err := tr.Changed(t.Context(), work.TrackerMark{})
	if err != nil || fmt.Sprint(numbers) != "[3 5]" || !mark.Since.Equal(time.Unix(300, 0)) || mark.ETag != "" {
		t.Fatalf("%v, %+v, %v", numbers, mark, err)
	}
	s.list = `[{"number":5,"updated_at":"` + at(300) + `"}]`
	numbers, mark, err = tr.Changed(t.Context(), mark)
	if err != nil || fmt.Sprint(numbers) != "[5]" || mark.ETag != `"e1"` {
		t.Fatalf("%v, %+v, %v", numbers, mark, err)
	}
	numbers, same, err := tr.Changed(t.Context(), mark)
	if err != nil || len(numbers) != 0 || same != mark {
		t.Fatalf("%v, %+v, %v", numbers, same, err)
	}
}

func TestPost(t *testing.T) {
	s, tr := start(t)
	report, _ := tracker.Tell(strings.Repeat("ab", 16), work.Issue{ID: 1, Column: work.ColumnInProgress})
	done, _ := tracker.Tell(report.Key, work.Issue{ID: 1, Column: work.ColumnDone})
	s.comments = []map[string]any{{"id": 11, "body": report.Body, "user": who("reader")}, {"id": 10, "body": "hello", "user": nil}}
	for _, r := range []tracker.Report{report, report, done, done} {
		if err := tr.Post(t.Context(), 7, r); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.comments) != 3 || s.comments[2]["body"] != done.Body || s.comments[0]["body"] != report.Body || !s.closed {
		t.Errorf("comments %v, closed %v", s.comments, s.closed)
	}
}
