package trackers

import (
	"slices"
	"strings"
	"testing"

	"forge/factory/tracker"
	"forge/internal/work"
)

// blockedBy lets an issue wait on its tracker for others.
func blockedBy(blockers ...tracker.Blocker) func(*tracker.Reading) {
	return func(r *tracker.Reading) { r.Blockers = blockers }
}

func open(number int64) tracker.Blocker { return tracker.Blocker{Number: number, Open: true} }

// needs fails unless an issue stands in the column where issues go, and needs
// just these.
func (w *trackerWorld) needs(id int64, want ...int64) {
	w.Helper()
	if i := w.issue(id); !slices.Equal(i.Needs, want) || i.Column != work.ColumnReady || i.State != "" || i.Reason != "" {
		w.Errorf("issue %d needs %v in %s, %s %q; want %v", id, i.Needs, i.Column, i.State, i.Reason, want)
	}
}

// An open issue that another one is blocked by is its need on the board, in
// whatever order they come; closed by whoever, taken back or labelled away, it
// is none. A need that a person wrote stays.
func TestBlockersAreNeeds(t *testing.T) {
	w := newTrackerWorld(t)
	for n := range int64(3) {
		w.on.put(n+4, nil)
	}
	w.on.put(4, blockedBy(open(5), open(6)))
	w.once()
	w.needs(1, 2, 3)
	w.needs(2)
	w.on.put(4, blockedBy(open(5)))
	w.once()
	w.needs(1, 2)
	w.puts(1, func(i *work.Issue) { i.Needs = []int64{2, 3} }) // by a person
	w.on.put(4, blockedBy(open(5), open(6)))
	w.once()
	w.needs(1, 2, 3)
	w.on.put(4, blockedBy())
	w.once()
	w.needs(1, 3)
	w.puts(1, func(i *work.Issue) { i.Needs = []int64{} })
	w.on.put(4, blockedBy(open(5)))
	w.once()
	w.needs(1, 2)
	// A person closes what it waits for. No change of the issue itself is told.
	w.on.put(5, closeIt)
	w.on.issues[4].Blockers[0].Open = false
	w.once()
	w.needs(1)
}

// An open blocker that is not on the board holds the card until it is closed, is
// on the board, or a person says to go on.
func TestBlockersElsewhere(t *testing.T) {
	w := newTrackerWorld(t)
	w.on.put(4, blockedBy(open(9), tracker.Blocker{Repo: "o/lib", Number: 3, Open: true}, tracker.Blocker{Number: 8}))
	w.once()
	want := "blocked_on_tracker: it waits on the tracker for work#9, o/lib#3; close it there, take the dependency back, or move this to ready"
	if i := w.issue(1); i.State != work.IssueWaits || i.Reason != want || i.Column != work.ColumnBacklog {
		t.Fatalf("%+v, want %q", i, want)
	}
	w.on.mu.Lock()
	w.on.issues[4].Blockers = []tracker.Blocker{open(9)}
	w.on.mu.Unlock()
	w.once()
	if i := w.issue(1); !strings.Contains(i.Reason, "for work#9; close") {
		t.Errorf("one of two is closed: %q", i.Reason)
	}
	w.on.put(9, nil) // labelled
	w.once()
	w.once()
	w.needs(1, 2)
	// A person's word goes before.
	w.on.put(4, blockedBy(tracker.Blocker{Repo: "o/lib", Number: 3, Open: true}))
	w.once()
	if i := w.issue(1); i.State != work.IssueWaits || len(i.Needs) != 0 {
		t.Fatalf("%+v", i)
	}
	w.puts(1, func(i *work.Issue) { i.Column, i.State, i.Reason = work.ColumnReady, "", "" })
	w.once()
	w.needs(1)
}

// A circle of blockers holds a card, and neither the others nor the tracker.
func TestBlockersInACircle(t *testing.T) {
	w := newTrackerWorld(t)
	w.on.put(4, blockedBy(open(5)))
	w.on.put(5, blockedBy(open(4)))
	w.on.put(6, nil)
	w.once()
	w.once()
	held := 0
	for id := int64(1); id <= 3; id++ {
		i := w.issue(id)
		if strings.HasPrefix(i.Reason, "blocked_on_tracker: ") && strings.Contains(i.Reason, "cycle") {
			held++
		}
	}
	if held != 1 {
		t.Errorf("%d cards are held by the circle, want 1: %+v, %+v", held, w.issue(1), w.issue(2))
	}
	w.needs(3)
}

// What has begun goes on, whatever it is blocked by since.
func TestBlockersOfWhatRuns(t *testing.T) {
	w := newTrackerWorld(t)
	w.on.put(4, nil)
	w.on.put(5, nil)
	w.once()
	w.puts(1, func(i *work.Issue) { i.Column, i.Run = work.ColumnInProgress, "i1-x" })
	w.on.put(4, blockedBy(open(5), open(77)))
	w.once()
	if i := w.issue(1); i.Column != work.ColumnInProgress || i.State != "" || len(i.Needs) != 0 {
		t.Errorf("%+v", i)
	}
}
