package gitlab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"forge/internal/host"
	"forge/internal/work"
)

// answers is a server of one merge request, at head two since minute 10.
func answers(t *testing.T, also map[string]any) *Host {
	t.Helper()
	all := map[string]any{
		"/user":                     map[string]any{"id": 1, "username": "forge"},
		"/merge_requests/3":         map[string]any{"iid": 3, "state": "opened", "sha": "two", "source_branch": "b", "target_branch": "main", "detailed_merge_status": "mergeable"},
		"/repository/branches/main": map[string]any{"commit": map[string]any{"id": "base"}}, "/repository/branches/b": map[string]any{"commit": map[string]any{"id": "two"}},
		"/merge_requests/3/versions": []any{
			map[string]any{"id": 2, "head_commit_sha": "two", "created_at": minute(10)}, map[string]any{"id": 1, "head_commit_sha": "one", "created_at": minute(1)},
		},
		"/merge_requests/3/discussions": []any{}, "/merge_requests/3/approvals": map[string]any{"approved_by": []any{}}, "/merge_requests/3/reviewers": []any{},
		"/members/all/2": map[string]any{"access_level": 30}, "/repository/commits/two/statuses": []any{},
	}
	for k, v := range also {
		all[k] = v
	}
	on := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/api/v4"), "/projects/g%2Fr")
		v, ok := all[path]
		if !ok {
			t.Errorf("%s %s is asked", r.Method, path)
			w.WriteHeader(http.StatusNotFound)
		}
		if s, plain := v.(string); plain {
			fmt.Fprint(w, s)
			return
		}
		_ = json.NewEncoder(w).Encode(v)
	}))
	t.Cleanup(on.Close)
	h, err := New(Config{URL: on.URL, Project: "g/r", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func minute(n int) string { return time.Unix(int64(n)*60, 0).UTC().Format(time.RFC3339) }

var ann = map[string]any{"id": 2, "username": "ann"}

// decides are the notes of ann's decisions, by minute.
func decides(what string, minutes ...int) map[string]any {
	all := []any{}
	for _, n := range minutes {
		all = append(all, map[string]any{"id": fmt.Sprint(n), "notes": []any{map[string]any{"id": n, "body": what, "author": ann, "created_at": minute(n), "system": true}}})
	}
	return map[string]any{"/merge_requests/3/discussions": all}
}

func with(all ...map[string]any) map[string]any {
	out := map[string]any{}
	for _, one := range all {
		for k, v := range one {
			out[k] = v
		}
	}
	return out
}

// An approval counts where the list and a note of it agree, and the note is later than
// the head; a request for changes counts where the list says that it stands.
func TestWhatDecides(t *testing.T) {
	approved := map[string]any{"/merge_requests/3/approvals": map[string]any{"approved_by": []any{map[string]any{"user": ann, "approved_at": minute(20)}}}}
	requested := map[string]any{"/merge_requests/3/reviewers": []any{map[string]any{"user": ann, "state": "requested_changes", "created_at": minute(1)}}}
	reader := map[string]any{"/members/all/2": map[string]any{"access_level": 20}}
	blocked := map[string]any{"/members/all/2": map[string]any{"access_level": 50, "state": "blocked"}}
	for name, c := range map[string]struct {
		also map[string]any
		want work.PullVerdict
	}{
		"approved after the push":                     {with(approved, decides(saysApproved, 20)), work.PullApproved},
		"approved before the push":                    {with(approved, decides(saysApproved, 5)), work.PullCommented},
		"approved in the moment of the push":          {with(approved, decides(saysApproved, 10)), work.PullCommented},
		"approved, and nobody knows when":             {approved, work.PullCommented},
		"approved, and taken back":                    {decides(saysApproved, 20), work.PullCommented},
		"approved by a reporter":                      {with(approved, reader, decides(saysApproved, 20)), work.PullCommented},
		"approved by who is blocked":                  {with(approved, blocked, decides(saysApproved, 20)), work.PullCommented},
		"changes requested":                           {with(requested, decides(saysRequested, 20)), work.PullChangesRequested},
		"changes requested before the push":           {with(requested, decides(saysRequested, 5)), work.PullChangesRequested},
		"changes requested, and nobody knows when":    {requested, work.PullChangesRequested},
		"changes requested, and taken back":           {decides(saysRequested, 20), work.PullCommented},
		"a comment that reads like an approval alone": {with(approved, map[string]any{"/merge_requests/3/discussions": []any{map[string]any{"id": "x", "notes": []any{map[string]any{"id": 20, "body": saysApproved, "author": ann, "created_at": minute(20), "system": false}}}}}), work.PullCommented},
	} {
		l, err := answers(t, c.also).Verdicts(t.Context(), 3)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if s := host.Stand(l.Reviews, l.Head); s.Verdict != c.want {
			t.Errorf("%s: %s, want %s, of %+v", name, s.Verdict, c.want, l.Reviews)
		}
	}
}

// Only one word is a yes.
func TestOnlyMergeableIsMergeable(t *testing.T) {
	for word, want := range map[string]work.Mergeability{
		"mergeable": work.Mergeable, "checking": work.MergeComputing, "conflict": work.MergeConflict, "not_approved": work.MergeBlocked, "ci_must_pass": work.MergeBlocked,
		"discussions_not_resolved": work.MergeBlocked, "": work.MergeUnknown, "a new word": work.MergeUnknown, "commits_status": work.MergeUnknown,
	} {
		got, why := mergeability(mergeRequest{State: "opened", Status: word})
		if got != want || (why == "") == (got == work.MergeBlocked || got == work.MergeUnknown) {
			t.Errorf("%q is %s (%s), want %s", word, got, why, want)
		}
	}
	if got, _ := mergeability(mergeRequest{State: "closed", Status: "checking"}); got != work.MergeUnknown {
		t.Errorf("one that is closed is %s", got)
	}
}

func TestLogOfAJob(t *testing.T) {
	status := func(id int, name, state, url string, may bool) map[string]any {
		return map[string]any{"id": id, "name": name, "status": state, "target_url": url, "allow_failure": may, "created_at": minute(id)}
	}
	h := answers(t, map[string]any{
		"/repository/commits/two/statuses": []any{
			status(7, "unit", "failed", "https://git.example.com/g/r/-/jobs/7", false), status(8, "lint", "failed", "https://git.example.com/g/r/-/jobs/8", true),
			status(9, "outside", "failed", "https://ci.example.com/9", false), status(10, "deploy", "manual", "https://git.example.com/g/r/-/jobs/10", true),
		},
		"/jobs/7/trace": "\x1b[0Ksection_start:1:x\r\x1b[0K\n2026-01-02T03:04:05.000000Z go test\nFAIL: it is red\n",
	})
	got, err := h.Checks(t.Context(), "two")
	if err != nil || got.State != work.ChecksFailed || len(got.Failed) != 2 || got.Failed[0].Name != "outside" || got.Failed[0].Job != 0 || got.Failed[1].Job != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	c, err := h.CheckLog(t.Context(), got.Failed[1])
	if err != nil || !strings.Contains(c.Log, "FAIL: it is red") || strings.Contains(c.Log, "\x1b") {
		t.Errorf("the log is %q, %v", c.Log, err)
	}
}

func TestHunk(t *testing.T) {
	const diff = "@@ -1,3 +1,4 @@\n one\n-two\n+2\n+more\n three\n@@ -10,2 +11,2 @@\n ten\n+eleven\n"
	for _, c := range []struct {
		old, new int
		want     string
	}{
		{0, 2, "@@ -1,3 +1,4 @@\n one\n-two\n+2"}, {2, 0, "@@ -1,3 +1,4 @@\n one\n-two"}, {3, 4, "@@ -1,3 +1,4 @@\n one\n-two\n+2\n+more\n three"},
		{0, 12, "@@ -10,2 +11,2 @@\n ten\n+eleven"}, {0, 99, ""}, {99, 0, ""},
	} {
		if got := hunk(diff, c.old, c.new); got != c.want {
			t.Errorf("line %d of the old, %d of the new: %q, want %q", c.old, c.new, got, c.want)
		}
	}
}

// FuzzHunk: whatever a diff is, a hunk of it is read and ends.
func FuzzHunk(f *testing.F) {
	f.Add("@@ -1 +1 @@\n-a\n+b\n", 1, 1)
	f.Add("@@ -x", 0, 0)
	f.Fuzz(func(t *testing.T, diff string, old, new int) {
		if got := hunk(diff, old, new); strings.Count(got, "\n") > linesAround+1 {
			t.Errorf("%d lines", strings.Count(got, "\n"))
		}
	})
}
