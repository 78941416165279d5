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
	answer   string // to whatever is asked of GraphQL, "" = the issue
	list     string // of changed issues
	blockers string // "" = there is no such page
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
		if s.answer != "" {
			fmt.Fprint(w, s.answer)
			return
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
	case "GET /issues/7/dependencies/blocked_by":
		if s.blockers == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, s.blockers)
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

// What takes an issue away from Forge is a result. That nobody can say is an
// error.
func TestReadOfWhatIsNotWanted(t *testing.T) {
	label := `{"__typename":"LabeledEvent","createdAt":"` + at(100) + `","actor":{"login":"writer"},"label":{"name":"forge"}}`
	issue := func(fields, events string) string {
		return `{"data":{"viewer":{"login":"forge-bot"},"repository":{"nameWithOwner":"O/Work","hasIssuesEnabled":true,"issue":{"number":7,"title":"A wish",` +
			`"repository":{"nameWithOwner":"O/Work"},"labels":{"nodes":[{"name":"forge"}]},"userContentEdits":{"totalCount":0,"nodes":[]},` + fields +
			`,"timelineItems":{"pageInfo":{"hasNextPage":false},"nodes":[` + label + events + `]}}}}}`
	}
	none := func(rest string) string {
		return `{"data":{"repository":{"nameWithOwner":"O/Work",` + rest + `,"issue":null}},"errors":[{"type":"NOT_FOUND","message":"Could not resolve"}]}`
	}
	const open = `"state":"OPEN"`
	reopened := `,{"__typename":"ReopenedEvent","createdAt":"` + at(120) + `","actor":{"login":"`
	taken := `,{"__typename":"AssignedEvent","createdAt":"` + at(130) + `","actor":{"login":"writer"},"assignee":{"login":"ann"}}`
	for name, c := range map[string]struct {
		answer string
		want   tracker.Hold
		ours   bool
	}{
		"wanted":                {issue(open, ""), "", true},
		"closed":                {issue(`"state":"CLOSED","closedAt":"`+at(200)+`"`, ""), tracker.HoldClosed, false},
		"locked":                {issue(open+`,"locked":true`, ""), tracker.HoldLocked, false},
		"deleted":               {none(`"hasIssuesEnabled":true,"kind":null`), tracker.HoldGone, false},
		"made a pull request":   {none(`"hasIssuesEnabled":true,"kind":{"__typename":"PullRequest"}`), tracker.HoldPull, false},
		"transferred":           {strings.Replace(issue(open, ""), `"title":"A wish","repository":{"nameWithOwner":"O/Work"}`, `"title":"A wish","repository":{"nameWithOwner":"o/other"}`, 1), tracker.HoldGone, false},
		"assigned to Forge":     {issue(open+`,"assignees":{"nodes":[{"login":"Forge-Bot"}]}`, ""), "", true},
		"assigned to a person":  {issue(open+`,"assignees":{"nodes":[{"login":"ann"}]}`, taken), tracker.HoldAssigned, false},
		"reopened by a reader":  {issue(open, reopened+`reader"}}`), tracker.HoldReopened, true},
		"reopened by a writer":  {issue(open, reopened+`writer"}}`), "", true},
		"closed, nobody when":   {issue(`"state":"CLOSED"`, ""), tracker.HoldClosed, false},
		"unlabelled, and alone": {strings.Replace(issue(open, ""), `"nodes":[{"name":"forge"}]`, `"nodes":[]`, 1), tracker.HoldUnlabelled, false},
	} {
		s, tr := start(t)
		s.answer = c.answer
		r, err := tr.Read(t.Context(), 7)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if b, ok := tracker.Bind(r, "forge", tracker.Seen{}); ok != c.ours || b.Hold != c.want {
			t.Errorf("%s: %+v, %v, want %q, %v", name, b, ok, c.want, c.ours)
		}
	}
	for name, answer := range map[string]string{
		"no repository":        `{"data":{"repository":null},"errors":[{"type":"NOT_FOUND","message":"Could not resolve"}]}`,
		"without issues":       none(`"hasIssuesEnabled":false`),
		"another issue":        strings.Replace(issue(open, ""), `"number":7`, `"number":8`, 1),
		"no state":             issue(`"state":""`, ""),
		"no JSON":              "<html>",
		"nothing":              "{}",
		"an issue, and errors": strings.TrimSuffix(issue(open, ""), "}") + `,"errors":[{"type":"INTERNAL","message":"oops"}]}`,
	} {
		s, tr := start(t)
		s.answer = answer
		if r, err := tr.Read(t.Context(), 7); err == nil {
			t.Errorf("%s: read %+v", name, r)
		}
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
	s.comments = []map[string]any{{"id": 11, "body": report.Post(), "user": who("reader")}, {"id": 10, "body": "hello", "user": nil}}
	for _, r := range []tracker.Report{report, report, done, done} {
		if err := tr.Post(t.Context(), 7, r); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.comments) != 3 || s.comments[2]["body"] != done.Post() || s.comments[0]["body"] != report.Post() || !s.closed {
		t.Errorf("comments %v, closed %v", s.comments, s.closed)
	}
}

// What an issue is blocked by is read, and a server that has no such page says
// that there is nothing.
func TestBlockers(t *testing.T) {
	s, tr := start(t)
	s.pages = [][]any{{}}
	s.issue = map[string]any{"number": 7, "state": "OPEN", "labels": map[string]any{"nodes": []any{map[string]any{"name": "forge"}}}}
	for answer, want := range map[string]string{
		"": "[]",
		`[{"number":3,"state":"open","repository_url":"https://api.github.com/repos/O/work"},{"number":4,"state":"closed","repository_url":"https://api.github.com/repos/o/lib"}]`: "[{ 3 true} {o/lib 4 false}]",
	} {
		s.blockers = answer
		r, err := tr.Read(t.Context(), 7)
		if err != nil || fmt.Sprint(r.Blockers) != want {
			t.Errorf("%s: %v, %v; want %s", answer, r.Blockers, err, want)
		}
	}
	s.blockers = "oops"
	if r, err := tr.Read(t.Context(), 7); err == nil {
		t.Errorf("read %+v", r)
	}
}
