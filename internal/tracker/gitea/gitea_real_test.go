//go:build real

package gitea_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/factory/tracker"
	"forge/internal/host/hosttest"
	"forge/internal/tracker/gitea"
	"forge/internal/work"
)

// TestGitea holds what the adapter reads against a real server: who labelled
// an issue and may write, what was edited before and after, whose comments
// count, and that a report is posted once and changed in place.
func TestRealGiteaTracker(t *testing.T) {
	g := hosttest.StartGitea(t)
	tokens := map[string]string{}
	for _, who := range []string{"owner", "writer", "reader"} {
		tokens[who] = g.User(t, who)
	}
	g.Do(t, tokens["owner"], "POST", "/user/repos", map[string]any{"name": "work", "auto_init": true}, nil)
	const repo = "/repos/owner/work"
	g.Do(t, tokens["owner"], "PUT", repo+"/collaborators/writer", map[string]any{"permission": "write"}, nil)
	var label struct{ ID int64 }
	g.Do(t, tokens["owner"], "POST", repo+"/labels", map[string]any{"name": "forge", "color": "#00ff00"}, &label)
	tr, err := gitea.New(gitea.Config{URL: g.URL, Owner: "owner", Repo: "work", Token: tokens["owner"]})
	if err != nil {
		t.Fatal(err)
	}
	open := func(title, body string) int64 {
		t.Helper()
		var i struct{ Number int64 }
		g.Do(t, tokens["reader"], "POST", repo+"/issues", map[string]any{"title": title, "body": body}, &i)
		return i.Number
	}
	choose := func(n int64) {
		t.Helper()
		g.Do(t, tokens["writer"], "POST", fmt.Sprintf("%s/issues/%d/labels", repo, n), map[string]any{"labels": []int64{label.ID}}, nil)
	}
	edit := func(who string, n int64, field, text string) {
		t.Helper()
		g.Do(t, tokens[who], "PATCH", fmt.Sprintf("%s/issues/%d", repo, n), map[string]any{field: text}, nil)
	}
	bind := func(n int64, before tracker.Seen) (tracker.Reading, tracker.Bound, bool) {
		t.Helper()
		r, err := tr.Read(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		b, ok := tracker.Bind(r, "forge", before)
		return r, b, ok
	}
	want := func(what string, n int64, before tracker.Seen, hold tracker.Hold) tracker.Reading {
		t.Helper()
		r, b, ok := bind(n, before)
		if !ok || b.Hold != hold {
			t.Errorf("%s: %+v, %v, want %q; read %+v", what, b, ok, hold, r)
		}
		return r
	}

	plain := open("A wish", "Please.")
	if _, _, ok := bind(plain, tracker.Seen{}); ok {
		t.Error("an issue without the label counts")
	}
	choose(plain)
	if r := want("as it was labelled", plain, tracker.Seen{}, ""); r.Events[0].By != "writer" || !r.Writers["writer"] || r.Title != "A wish" || r.Body != "Please." {
		t.Errorf("read %+v", r)
	}
	for _, who := range []string{"reader", "writer"} {
		g.Do(t, tokens[who], "POST", fmt.Sprintf("%s/issues/%d/comments", repo, plain), map[string]any{"body": "says " + who}, nil)
	}
	r := want("with comments", plain, tracker.Seen{}, "")
	if i := tracker.Issue(r, tracker.Bound{By: "writer"}, "x#1"); !strings.Contains(i.Description, "says writer") || strings.Contains(i.Description, "says reader") {
		t.Errorf("description %q", i.Description)
	}
	edit("reader", plain, "title", "Another wish")
	want("renamed after the label", plain, tracker.Seen{}, tracker.HoldChanged)

	edited := open("Edited", "first")
	edit("reader", edited, "body", "second")
	bare, _, _ := bind(edited, tracker.Seen{})
	choose(edited)
	want("edited before, and nobody saw it", edited, tracker.Seen{}, tracker.HoldUnknown)
	seen := tracker.Seen{Revision: bare.Edits.Revision, OK: true}
	want("edited before, and seen since", edited, seen, "")
	edit("reader", edited, "body", "third")
	want("edited after the label", edited, seen, tracker.HoldUnknown)

	never := open("Never", "edited")
	choose(never)
	edit("reader", never, "body", "after the label")
	want("edited for the first time after the label", never, tracker.Seen{}, tracker.HoldUnknown)

	// What changed, since when.
	numbers, mark, err := tr.Changed(t.Context(), work.TrackerMark{})
	if err != nil || len(numbers) != 3 || mark.Since.IsZero() {
		t.Errorf("changed %v, %+v, %v", numbers, mark, err)
	}
	later := open("Later", "")
	numbers, mark, err = tr.Changed(t.Context(), mark)
	if err != nil || !slices.Contains(numbers, later) {
		t.Errorf("changed %v, %v; want %d among them", numbers, err, later)
	}

	if numbers, mark, err = tr.Changed(t.Context(), mark); err == nil {
		numbers, _, err = tr.Changed(t.Context(), mark)
	}
	if err != nil || len(numbers) != 0 {
		t.Errorf("nothing changed, and %v did, %v", numbers, err)
	}

	// A report is one comment; somebody who copies its mark has no say in it.
	report, _ := tracker.Tell(strings.Repeat("ab", 16), work.Issue{ID: 1, Column: work.ColumnInProgress})
	g.Do(t, tokens["reader"], "POST", fmt.Sprintf("%s/issues/%d/comments", repo, plain), map[string]any{"body": report.Post()}, nil)
	done, _ := tracker.Tell(report.Key, work.Issue{ID: 1, Column: work.ColumnDone})
	for _, r := range []tracker.Report{report, report, done, done} {
		if err := tr.Post(t.Context(), plain, r); err != nil {
			t.Fatal(err)
		}
	}
	var comments []struct {
		Body string
		User struct{ Login string }
	}
	g.Do(t, tokens["owner"], "GET", fmt.Sprintf("%s/issues/%d/comments", repo, plain), nil, &comments)
	own := 0
	for _, c := range comments {
		if c.User.Login == "owner" {
			own++
			if c.Body != done.Post() {
				t.Errorf("posted %q, want %q", c.Body, done.Post())
			}
		}
	}
	var i struct{ State string }
	g.Do(t, tokens["owner"], "GET", fmt.Sprintf("%s/issues/%d", repo, plain), nil, &i)
	if own != 1 || i.State != "closed" {
		t.Errorf("%d reports, the issue is %s", own, i.State)
	}
	if _, _, ok := bind(plain, tracker.Seen{}); ok {
		t.Error("a closed issue counts")
	}
	gone(t, want, bind, func(who, method string, n int64, path string, body any) {
		t.Helper()
		g.Do(t, tokens[who], method, fmt.Sprintf("%s/issues/%d%s", repo, n, path), body, nil)
	}, open, choose)
}

// gone holds what takes an issue away from Forge against a real server.
func gone(
	t *testing.T, want func(string, int64, tracker.Seen, tracker.Hold) tracker.Reading, bind func(int64, tracker.Seen) (tracker.Reading, tracker.Bound, bool),
	do func(who, method string, n int64, path string, body any), open func(string, string) int64, choose func(int64),
) {
	t.Helper()
	not := func(what string, n int64, hold tracker.Hold) tracker.Reading {
		t.Helper()
		r, b, ok := bind(n, tracker.Seen{})
		if ok || b.Hold != hold {
			t.Errorf("%s: %+v, %v, want %q; read %+v", what, b, ok, hold, r)
		}
		return r
	}
	state := func(who string, n int64, to string) { do(who, "PATCH", n, "", map[string]any{"state": to}) }
	n := open("Closed", "")
	choose(n)
	state("writer", n, "closed")
	if r := not("closed", n, tracker.HoldClosed); r.Closed.IsZero() {
		t.Errorf("nobody says when it was closed: %+v", r)
	}
	state("reader", n, "open")
	want("reopened by its author", n, tracker.Seen{}, tracker.HoldReopened)

	n = open("Reopened", "")
	choose(n)
	state("writer", n, "closed")
	state("writer", n, "open")
	want("reopened by a writer", n, tracker.Seen{}, "")
	do("writer", "PATCH", n, "", map[string]any{"assignees": []string{"owner"}})
	want("assigned to the account of the token", n, tracker.Seen{}, "")
	do("writer", "PATCH", n, "", map[string]any{"assignees": []string{"writer"}})
	not("assigned to a person after the label", n, tracker.HoldAssigned)

	n = open("Assigned", "")
	do("writer", "PATCH", n, "", map[string]any{"assignees": []string{"writer"}})
	choose(n)
	want("assigned before the label", n, tracker.Seen{}, "")
	first := open("First", "")
	choose(first)
	do("writer", "POST", n, "/dependencies", map[string]any{"owner": "owner", "repo": "work", "index": first})
	if r := want("blocked by another", n, tracker.Seen{}, ""); len(r.Blockers) != 1 || r.Blockers[0] != (tracker.Blocker{Number: first, Open: true}) {
		t.Errorf("blocked by %+v, want %d", r.Blockers, first)
	}
	state("writer", first, "closed")
	if r := want("which is closed", n, tracker.Seen{}, ""); len(r.Blockers) != 1 || r.Blockers[0].Open {
		t.Errorf("blocked by %+v", r.Blockers)
	}
	do("owner", "PUT", n, "/lock", map[string]any{"lock_reason": "off-topic"})
	not("locked", n, tracker.HoldLocked)
	do("owner", "DELETE", n, "/lock", nil)
	want("unlocked", n, tracker.Seen{}, "")
	do("owner", "DELETE", n, "", nil)
	not("deleted", n, tracker.HoldGone)
}
