package trackers

import (
	"os"
	"strings"
	"testing"
	"time"

	"forge/factory/tracker"
	"forge/internal/work"
)

// places are where a card may be when something happens on its tracker, in the
// order of the columns of the table.
func places() []func(*work.Issue) {
	at := func(column work.Column, state work.IssueState) func(*work.Issue) {
		return func(i *work.Issue) {
			i.Column, i.State = column, state
			if column == work.ColumnInProgress || column == work.ColumnInReview || column == work.ColumnDone {
				i.Run = "i1-x"
			}
			if state != "" {
				i.Reason = "waits for you: start?"
			}
		}
	}
	return []func(*work.Issue){
		at(work.ColumnBacklog, ""), at(work.ColumnReady, ""), at(work.ColumnInProgress, ""), at(work.ColumnInProgress, work.IssueWaits),
		at(work.ColumnInReview, ""), at(work.ColumnDone, ""), at(work.ColumnReady, work.IssueCancelled),
	}
}

// happenings are what may happen on a tracker, by the words of the table. What
// is a list happens one after the other, each seen.
func happenings() map[string][]func(*tracker.Reading) {
	label := func(by string, at int64) func(*tracker.Reading) {
		return func(r *tracker.Reading) {
			r.Labels = []string{"forge"}
			r.Events = append(r.Events, tracker.Event{Kind: tracker.Labelled, By: by, At: time.Unix(at, 0), Label: "forge"})
		}
	}
	unlabel := func(r *tracker.Reading) {
		r.Labels = nil
		r.Events = append(r.Events, tracker.Event{Kind: tracker.Unlabelled, By: "writer", At: time.Unix(1500, 0), Label: "forge"})
	}
	edit := func(by string) func(*tracker.Reading) {
		return func(r *tracker.Reading) {
			r.Body = "Something else."
			r.Edits = tracker.Edits{Known: true, Revision: "1", Whole: true, List: []tracker.Edit{{By: by, At: time.Unix(1600, 0)}}}
		}
	}
	gone := func(r *tracker.Reading) { *r = tracker.Reading{Number: r.Number, Gone: true} }
	byAuthor := func(r *tracker.Reading) { openIt(r); r.Events[len(r.Events)-1].By = "reader" }
	into := func(state string) func(*tracker.Reading) {
		return func(r *tracker.Reading) { r.State = state }
	}
	one := func(do func(*tracker.Reading)) []func(*tracker.Reading) { return []func(*tracker.Reading){do} }
	return map[string][]func(*tracker.Reading){
		"closed":                                  one(closeIt),
		"closed, and reopened by a writer":        {closeIt, openIt},
		"closed, and reopened by its author":      {closeIt, byAuthor},
		"label taken away":                        one(unlabel),
		"label taken away, and given again":       {unlabel, label("writer", 1700)},
		"label taken away, and given by a reader": {unlabel, label("reader", 1700)},
		"locked":                                      one(func(r *tracker.Reading) { r.Locked = true }),
		"locked, and unlocked":                        {func(r *tracker.Reading) { r.Locked = true }, func(r *tracker.Reading) { r.Locked = false }},
		"deleted":                                     one(gone),
		"moved to another repository":                 one(gone),
		"became a discussion":                         one(gone),
		"became a pull request":                       one(func(r *tracker.Reading) { r.Pull = true }),
		"assigned to somebody":                        one(func(r *tracker.Reading) { r.Assignees = []string{"ann"} }),
		"assigned, and taken back":                    {func(r *tracker.Reading) { r.Assignees = []string{"ann"} }, func(r *tracker.Reading) { r.Assignees = nil }},
		"edited by who labelled it":                   one(edit("writer")),
		"edited by somebody else":                     one(edit("reader")),
		"edited by somebody else, and labelled again": {edit("reader"), label("writer", 1700)},
		"renamed by somebody else": one(func(r *tracker.Reading) {
			r.Title = "Another"
			r.Events = append(r.Events, tracker.Event{Kind: tracker.Renamed, By: "reader", At: time.Unix(1600, 0)})
		}),
		"blocked by one on the board":                  one(blockedBy(open(99))),
		"blocked, and the other is closed":             {blockedBy(open(99)), blockedBy(tracker.Blocker{Number: 99})},
		"blocked, and that is taken back":              {blockedBy(open(99)), blockedBy()},
		"blocked by one that is not":                   one(blockedBy(open(500))),
		"blocked by one that is not, and it is closed": {blockedBy(open(500)), blockedBy(tracker.Blocker{Number: 500})},
		"brought into another state":                   one(into("Later")),
		"brought into another state, and back":         {into("Later"), into("Todo")},
		"a comment of somebody":                        one(func(r *tracker.Reading) { r.Comments = []tracker.Comment{{By: "reader", Body: "me too"}} }),
	}
}

// became is what came of a card, in the words of the table.
func became(was, now work.Issue) string {
	hold := strings.Contains(now.Reason, ": ") && !strings.HasPrefix(now.Reason, "waits for you")
	switch {
	case now.Column == work.ColumnBacklog && was.Column != work.ColumnBacklog && hold:
		return "back"
	case now.Column == was.Column && hold && now.State == work.IssueWaits:
		return "held"
	case now.Column == was.Column && hold:
		return "says"
	case len(now.Needs) > len(was.Needs):
		return "needs"
	case now.Column == was.Column && now.Description != was.Description:
		return "text"
	case now.Column == was.Column && now.State == was.State:
		return "stays"
	case now.Column == work.ColumnReady && now.State == "":
		return "ready"
	case now.Column == work.ColumnInProgress && now.State == "":
		return "again"
	}
	return string(now.Column) + " " + string(now.State) + " " + now.Reason
}

// The table of docs/states.md is what happens: each row on a board with a card
// at every place.
func TestReconcileTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| on the tracker |")
	if !found {
		t.Fatal("docs/states.md has no table of what happens")
	}
	all, rows := happenings(), map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != len(places())+1 || strings.Contains(cells[0], "---") || strings.Contains(line, "waits for an answer") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		name := strings.TrimSpace(cells[0])
		if rows[name] = true; all[name] == nil {
			t.Errorf("no test knows %q", name)
			continue
		}
		w := newTrackerWorld(t)
		w.sync.Rules.States = []string{"Todo"}
		w.on.put(99, nil)
		w.once() // number 1 of the board, which others may be blocked by
		before := map[int64]work.Issue{}
		for n := range places() {
			w.on.put(int64(n)+10, nil)
		}
		w.once()
		for n, put := range places() {
			id := int64(n) + 2
			w.puts(id, put)
			before[id] = w.issue(id)
		}
		for _, step := range all[name] {
			for n := range places() {
				w.on.put(int64(n)+10, step)
			}
			w.once()
		}
		for n := range places() {
			id := int64(n) + 2
			now := w.issue(id)
			if got, want := became(before[id], now), strings.TrimSpace(cells[n+1]); got != want {
				t.Errorf("%s, %s %s: %q, the table says %q: %+v", name, before[id].Column, before[id].State, got, want, now)
			}
		}
	}
	for name := range all {
		if !rows[name] {
			t.Errorf("the table has no row %q", name)
		}
	}
}
