// Package trackertest is what holds for every tracker: the conformance suite of
// the adapters, and a GitHub of Forge's own, since the real one cannot be had.
package trackertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"forge/factory/tracker"
	"forge/internal/work"
)

// Label is what chooses an issue in the suite.
const Label = "forge"

// The accounts of the suite. The adapter's token is the owner's.
const (
	Owner  = "owner"
	Writer = "writer" // may write to the repository
	Reader = "reader" // may not
)

// World is a repository whose issues an adapter reads.
type World struct {
	Tracker tracker.Host
	People  People
	// EditsTold says that the tracker tells of each edit of a text when it was
	// made, and by whom. Others know only whether there was one.
	EditsTold bool
	// NoLock and NoSigns say that the tracker locks no issue, and that nobody can
	// leave a sign at a comment.
	NoLock, NoSigns bool
	// Posted is a report as it stands there; nil = as Report.Post.
	Posted func(tracker.Report) string
}

// shown is a report as it stands on the tracker.
func (w World) shown(r tracker.Report) string {
	if w.Posted != nil {
		return w.Posted(r)
	}
	return r.Post()
}

// People do on the tracker what people do there.
type People interface {
	Open(t testing.TB, who, title, body string) int64
	Say(t testing.TB, who string, n int64, body string)
	Title(t testing.TB, who string, n int64, title string)
	Body(t testing.TB, who string, n int64, body string)
	Label(t testing.TB, who string, n int64)
	Unlabel(t testing.TB, who string, n int64)
	Assign(t testing.TB, who string, n int64, whom string)
	Close(t testing.TB, who string, n int64)
	Reopen(t testing.TB, who string, n int64)
	Block(t testing.TB, n, by int64)
	Lock(t testing.TB, n int64, locked bool)
	Delete(t testing.TB, n int64)

	Comments(t testing.TB, n int64) []tracker.Comment // in order
	Closed(t testing.TB, n int64) bool
}

// Run holds an adapter against what Forge relies on, in one repository.
func Run(t *testing.T, w World) {
	f := &fixture{TB: t, World: w}
	for _, c := range []struct {
		name string
		test func(*fixture)
	}{
		{"Changed", changed}, // first, while nothing else is there
		{"Labelled", labelled},
		{"Edited", edited},
		{"Renamed", renamed},
		{"Comments", comments},
		{"Closed", closed},
		{"Assigned", assigned},
		{"Blocked", blocked},
		{"Locked", locked},
		{"Gone", gone},
		{"Report", report},
		{"LongTalk", longTalk},
		{"Calls", calls},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.TB = t
			c.test(f)
		})
	}
}

type fixture struct {
	testing.TB
	World
}

// chosen is a new issue of the reader's with the label.
func (f *fixture) chosen(title string) int64 {
	n := f.People.Open(f, Reader, title, "Please.")
	f.People.Label(f, Writer, n)
	return n
}

// bound says what an issue counts for.
func (f *fixture) bound(n int64, before tracker.Seen) (tracker.Reading, tracker.Bound, bool) {
	f.Helper()
	r, err := f.Tracker.Read(f.Context(), n)
	if err != nil {
		f.Fatal(err)
	}
	if r.Number != n {
		f.Errorf("asked for issue %d, got %d", n, r.Number)
	}
	b, ok := tracker.Bind(r, Label, before)
	return r, b, ok
}

// counts wants that an issue is Forge's, with one of these holds.
func (f *fixture) counts(what string, n int64, before tracker.Seen, hold ...tracker.Hold) tracker.Reading {
	f.Helper()
	r, b, ok := f.bound(n, before)
	if !ok || !slices.Contains(hold, b.Hold) {
		f.Errorf("%s: %+v, %v, want %q; read %+v", what, b, ok, hold, r)
	}
	return r
}

// not wants that an issue is not Forge's, for this reason.
func (f *fixture) not(what string, n int64, hold tracker.Hold) tracker.Reading {
	f.Helper()
	r, b, ok := f.bound(n, tracker.Seen{})
	if ok || b.Hold != hold {
		f.Errorf("%s: %+v, %v, want %q; read %+v", what, b, ok, hold, r)
	}
	return r
}

const none = tracker.Hold("")

// What changed is told since a mark, and nothing twice once it is old.
func changed(f *fixture) {
	first := f.People.Open(f, Reader, "First", "")
	second := f.People.Open(f, Reader, "Second", "")
	numbers, mark, err := f.Tracker.Changed(f.Context(), work.TrackerMark{})
	if err != nil || len(numbers) != 2 || !slices.Contains(numbers, first) || !slices.Contains(numbers, second) || mark.Since.IsZero() {
		f.Fatalf("changed %v, %+v, %v; want %d and %d", numbers, mark, err, first, second)
	}
	for what, do := range map[string]func(){
		"commented on":      func() { f.People.Say(f, Writer, first, "hello") },
		"labelled":          func() { f.People.Label(f, Writer, first) },
		"closed":            func() { f.People.Close(f, Writer, first) },
		"reopened":          func() { f.People.Reopen(f, Writer, first) },
		"given a new title": func() { f.People.Title(f, Reader, first, "Another "+time.Now().String()) },
	} {
		if what == "reopened" {
			f.People.Close(f, Writer, first)
			mark = f.read(mark)
		}
		do()
		numbers, next, err := f.Tracker.Changed(f.Context(), mark)
		if err != nil || !slices.Contains(numbers, first) {
			f.Errorf("it was %s: changed %v, %v; want %d among them", what, numbers, err, first)
		}
		mark = f.read(next)
	}
	numbers, same, err := f.Tracker.Changed(f.Context(), mark)
	if err != nil || len(numbers) != 0 || same != mark {
		f.Errorf("nothing changed, and %v did since %+v, %+v, %v", numbers, mark, same, err)
	}
}

// read asks until nothing is new.
func (f *fixture) read(mark work.TrackerMark) work.TrackerMark {
	f.Helper()
	for range 5 {
		numbers, next, err := f.Tracker.Changed(f.Context(), mark)
		if err != nil {
			f.Fatal(err)
		}
		if mark = next; len(numbers) == 0 {
			return mark
		}
	}
	f.Fatal("what did not change is told again and again")
	return mark
}

// An issue counts while it has the label, from somebody who may write.
func labelled(f *fixture) {
	n := f.People.Open(f, Reader, "A wish", "Please.")
	f.not("without the label", n, tracker.HoldUnlabelled)
	f.People.Label(f, Writer, n)
	r := f.counts("labelled", n, tracker.Seen{}, none)
	if r.Title != "A wish" || r.Body != "Please." || r.Author != Reader || !r.Open || r.Pull || r.URL == "" {
		f.Errorf("read %+v", r)
	}
	if !r.Writers[Writer] {
		f.Errorf("who may write: %v", r.Writers)
	}
	if at := slices.IndexFunc(r.Events, func(e tracker.Event) bool { return e.Kind == tracker.Labelled }); at < 0 || r.Events[at].By != Writer || r.Events[at].Label != Label || r.Events[at].At.IsZero() {
		f.Errorf("events %+v", r.Events)
	}
	f.People.Unlabel(f, Writer, n)
	f.not("unlabelled", n, tracker.HoldUnlabelled)
	f.People.Label(f, Owner, n)
	f.counts("labelled again", n, tracker.Seen{}, none)
}

// The text that counts is the one that was labelled.
func edited(f *fixture) {
	unknown := tracker.HoldUnknown
	if f.EditsTold {
		unknown = none
	}
	n := f.People.Open(f, Reader, "Edited before", "first")
	f.People.Body(f, Reader, n, "second")
	bare, _, _ := f.bound(n, tracker.Seen{})
	f.People.Label(f, Writer, n)
	f.counts("edited before the label, which nobody saw", n, tracker.Seen{}, unknown)
	seen := tracker.Seen{Revision: bare.Edits.Revision, OK: true}
	f.counts("edited before the label, and seen since", n, seen, none)
	f.People.Body(f, Reader, n, "third")
	f.counts("edited after the label", n, seen, tracker.HoldUnknown, tracker.HoldChanged)

	n = f.chosen("Edited once")
	f.People.Body(f, Reader, n, "other")
	f.counts("edited for the first time after the label", n, tracker.Seen{}, tracker.HoldUnknown, tracker.HoldChanged)
}

func renamed(f *fixture) {
	n := f.chosen("A title")
	f.People.Title(f, Reader, n, "Another title")
	f.counts("renamed after the label", n, tracker.Seen{}, tracker.HoldChanged)
	n = f.chosen("A title")
	f.People.Title(f, Writer, n, "A better title")
	f.counts("renamed by who labelled it", n, tracker.Seen{}, none)
}

// Comments count by who made them.
func comments(f *fixture) {
	n := f.chosen("Talked about")
	for _, who := range []string{Reader, Writer} {
		f.People.Say(f, who, n, "says "+who)
	}
	r := f.counts("with comments", n, tracker.Seen{}, none)
	var said []string
	for _, c := range r.Comments {
		said = append(said, c.By+": "+c.Body)
	}
	if want := []string{"reader: says reader", "writer: says writer"}; !slices.Equal(said, want) {
		f.Errorf("comments %q, want %q", said, want)
	}
	if r.Writers[Reader] || !r.Writers[Writer] {
		f.Errorf("who may write: %v", r.Writers)
	}
	i := tracker.Issue(r, tracker.Bound{By: Writer}, "x#1")
	if !strings.Contains(i.Description, "says writer") || strings.Contains(i.Description, "says reader") {
		f.Errorf("description %q", i.Description)
	}
}

func closed(f *fixture) {
	n := f.chosen("Closed")
	f.People.Close(f, Reader, n)
	if r := f.not("closed", n, tracker.HoldClosed); r.Closed.IsZero() {
		f.Errorf("nobody says when it was closed: %+v", r)
	}
	f.People.Reopen(f, Reader, n)
	f.counts("reopened by its author", n, tracker.Seen{}, tracker.HoldReopened)

	n = f.chosen("Reopened")
	f.People.Close(f, Writer, n)
	f.People.Reopen(f, Writer, n)
	f.counts("reopened by a writer", n, tracker.Seen{}, none)
}

func assigned(f *fixture) {
	n := f.chosen("Assigned")
	f.People.Assign(f, Writer, n, Owner)
	if r := f.counts("assigned to the account of the token", n, tracker.Seen{}, none); len(r.Assignees) != 0 {
		f.Errorf("assigned to %v", r.Assignees)
	}
	f.People.Assign(f, Writer, n, Writer)
	if r := f.not("assigned to a person after the label", n, tracker.HoldAssigned); !slices.Equal(r.Assignees, []string{Writer}) {
		f.Errorf("assigned to %v", r.Assignees)
	}
	n = f.People.Open(f, Reader, "Assigned before", "")
	f.People.Assign(f, Writer, n, Writer)
	f.People.Label(f, Writer, n)
	f.counts("assigned before the label", n, tracker.Seen{}, none)
}

func blocked(f *fixture) {
	n, first := f.chosen("Blocked"), f.chosen("Blocks")
	f.People.Block(f, n, first)
	if r := f.counts("blocked by another", n, tracker.Seen{}, none); !slices.Equal(r.Blockers, []tracker.Blocker{{Number: first, Open: true}}) {
		f.Errorf("blocked by %+v, want %d", r.Blockers, first)
	}
	f.People.Close(f, Writer, first)
	if r := f.counts("which is closed", n, tracker.Seen{}, none); !slices.Equal(r.Blockers, []tracker.Blocker{{Number: first}}) {
		f.Errorf("blocked by %+v, want %d, closed", r.Blockers, first)
	}
}

func locked(f *fixture) {
	if f.NoLock {
		f.Skip("this tracker locks nothing")
	}
	n := f.chosen("Locked")
	f.People.Lock(f, n, true)
	f.not("locked", n, tracker.HoldLocked)
	f.People.Lock(f, n, false)
	f.counts("unlocked", n, tracker.Seen{}, none)
}

// That an issue is not there is a result; nobody takes an error for it.
func gone(f *fixture) {
	n := f.chosen("Deleted")
	f.People.Delete(f, n)
	f.not("deleted", n, tracker.HoldGone)
}

// A report is one comment, changed in place. Who copies its mark has no say in it.
func report(f *fixture) {
	n := f.chosen("Reported")
	begun, _ := tracker.Tell(strings.Repeat("ab", 16), work.Issue{ID: 1, Column: work.ColumnInProgress})
	done, _ := tracker.Tell(begun.Key, work.Issue{ID: 1, Column: work.ColumnDone})
	f.People.Say(f, Reader, n, f.shown(begun))
	other, _ := tracker.Tell(strings.Repeat("cd", 16), work.Issue{ID: 2, Column: work.ColumnInProgress})
	for _, r := range []tracker.Report{begun, begun, other, done, done} {
		if f.People.Closed(f, n) != (r.Done && f.posted(n, done)) {
			f.Errorf("before %q: closed is %v", r.Body, f.People.Closed(f, n))
		}
		if err := f.Tracker.Post(f.Context(), n, r); err != nil {
			f.Fatal(err)
		}
	}
	var own, others []string
	for _, c := range f.People.Comments(f, n) {
		if c.By == Owner {
			own = append(own, c.Body)
		} else {
			others = append(others, c.Body)
		}
	}
	if want := []string{f.shown(done), f.shown(other)}; !slices.Equal(own, want) {
		f.Errorf("posted %q, want %q", own, want)
	}
	if want := []string{f.shown(begun)}; !slices.Equal(others, want) {
		f.Errorf("what a reader said is now %q", others)
	}
	if !f.People.Closed(f, n) {
		f.Error("what has landed is not closed")
	}
	f.not("reported done", n, tracker.HoldClosed)
}

func (f *fixture) posted(n int64, r tracker.Report) bool {
	return slices.ContainsFunc(f.People.Comments(f, n), func(c tracker.Comment) bool { return c.By == Owner && c.Body == f.shown(r) })
}

// A timeline of several pages is read to its end.
func longTalk(f *fixture) {
	n := f.People.Open(f, Reader, "Long", "")
	const many = 120
	for range many {
		f.People.Say(f, Reader, n, "and")
	}
	f.People.Label(f, Writer, n)
	if r := f.counts("a long talk", n, tracker.Seen{}, none); len(r.Comments) != many {
		f.Errorf("%d comments of %d", len(r.Comments), many)
	}
}
