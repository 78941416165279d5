package trackertest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"forge/factory/tracker"
)

// book is what people did to the issues of one project, as far as a tracker tells
// of it. A second passes with all that happens.
type book struct {
	// Token is the owner's.
	Token string

	mu     sync.Mutex
	clock  time.Time
	issues []*entry
	last   int64 // comment
	faults []fault
	most   int // entries of one page, 0 = as many as are asked for
	// forbids are states that no issue may go to.
	forbids map[string]bool
	// quiet says that a comment is no change of its issue.
	quiet bool
}

type entry struct {
	number              int64
	title, body, author string
	state, assignee     string
	label, locked       bool
	deleted, moved      bool
	opened, updated     time.Time
	priority            int // as Linear counts
	ended               time.Time
	log                 []deed
	remarks             []*remark
	blockers            []*entry
}

// deed is one line of an issue's history.
type deed struct {
	id       int64
	what     string
	by       string
	at       time.Time
	from, to string
}

// What deeds are about.
const (
	ofLabel    = "label"
	ofTitle    = "title"
	ofBody     = "body"
	ofAssignee = "assignee"
	ofState    = "state"
)

type remark struct {
	id   int64
	key  string
	by   string
	body string
	at   time.Time
}

// fault is what a request gets in place of its answer.
type fault struct {
	status int
	header http.Header
	body   string
}

// The states of a book's issues, by name, and whether they are open.
const (
	stateTodo    = "Todo"
	stateWorking = "In Progress"
	stateReview  = "In Review"
	stateDone    = "Done"
)

func isOpen(state string) bool { return state != stateDone }

func newBook() book {
	return book{Token: "token-of-the-owner", clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), forbids: map[string]bool{}}
}

// failed answers a request with the next fault, where there is one.
func (b *book) failed(w http.ResponseWriter) bool {
	if len(b.faults) == 0 {
		return false
	}
	now := b.faults[0]
	b.faults = b.faults[1:]
	maps.Copy(w.Header(), now.header)
	w.WriteHeader(now.status)
	fmt.Fprint(w, now.body)
	return true
}

// Fail lets the next requests fail.
func (b *book) Fail(times, status int, header http.Header, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = nil
	for range times {
		b.faults = append(b.faults, fault{status, header, body})
	}
}

// Shorten lets pages end early.
func (b *book) Shorten(most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most = most
}

// Clock sets the tracker's clock.
func (b *book) Clock(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock = now
}

// Forbid lets no issue go to a state any more.
func (b *book) Forbid(state string, forbidden bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forbids[state] = forbidden
}

// Move moves an issue to another project, where it has another key.
func (b *book) Move(t testing.TB, n int64) {
	b.change(t, n, func(e *entry) { e.moved = true })
}

// State is the one that an issue has.
func (b *book) State(t testing.TB, n int64) string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(n).state
}

// SetState is done by a person.
func (b *book) SetState(t testing.TB, who string, n int64, state string) {
	b.change(t, n, func(e *entry) { b.goTo(e, who, state) })
}

func (b *book) goTo(e *entry, who, state string) {
	if e.state == state {
		return
	}
	b.did(e, ofState, who, e.state, state)
	if e.state = state; !isOpen(state) {
		e.ended = b.clock
	}
}

// did writes a line of an issue's history.
func (b *book) did(e *entry, what, who, from, to string) {
	e.log = append(e.log, deed{int64(len(e.log)) + 1, what, who, b.clock, from, to})
}

// find is an issue that is there.
func (b *book) find(n int64) *entry {
	for _, e := range b.issues {
		if e.number == n && !e.deleted {
			return e
		}
	}
	return nil
}

func (b *book) touch(e *entry) {
	b.clock = b.clock.Add(time.Second)
	e.updated = b.clock
}

// change does something to an issue, a second later.
func (b *book) change(t testing.TB, n int64, do func(*entry)) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.find(n)
	if e == nil {
		t.Fatalf("there is no issue %d", n)
	}
	b.touch(e)
	do(e)
}

// remarked is a new comment. key "" = one of its own.
func (b *book) remarked(e *entry, who, key, body string) *remark {
	was := e.updated
	if b.touch(e); b.quiet {
		e.updated = was
	}
	b.last++
	if key == "" {
		key = fmt.Sprintf("c0000000-0000-4000-8000-%012d", b.last)
	}
	c := &remark{b.last, key, who, body, b.clock}
	e.remarks = append(e.remarks, c)
	return c
}

// changedSince are the issues with news since a moment, that one included, the
// longest unchanged first.
func (b *book) changedSince(since time.Time) []*entry {
	var all []*entry
	for _, e := range b.issues {
		if !e.deleted && !e.moved && !e.updated.Before(since) {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(x, y *entry) int { return x.updated.Compare(y.updated) })
	return all
}

// part is the part of a list from a place on, as long as may be.
func part[T any](b *book, all []T, from, size int) (some []T, more bool) {
	if b.most > 0 {
		size = min(size, b.most)
	}
	from = min(from, len(all))
	to := min(from+size, len(all))
	return all[from:to], to < len(all)
}

// Open is as of People.
func (b *book) Open(_ testing.TB, who, title, body string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &entry{number: int64(len(b.issues)) + 1, title: title, body: body, author: who, state: stateTodo, priority: 2}
	b.issues = append(b.issues, e)
	b.touch(e)
	e.opened = b.clock
	return e.number
}

// OpenLabelled is Open with the label from the beginning on.
func (b *book) OpenLabelled(t testing.TB, who, title, body string) int64 {
	n := b.Open(t, who, title, body)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.find(n).label = true
	return n
}

// Say is as of People.
func (b *book) Say(t testing.TB, who string, n int64, body string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remarked(b.find(n), who, "", body)
}

// Title is as of People.
func (b *book) Title(t testing.TB, who string, n int64, title string) {
	b.change(t, n, func(e *entry) {
		b.did(e, ofTitle, who, e.title, title)
		e.title = title
	})
}

// Body is as of People.
func (b *book) Body(t testing.TB, who string, n int64, body string) {
	b.change(t, n, func(e *entry) {
		b.did(e, ofBody, who, e.body, body)
		e.body = body
	})
}

// Label is as of People.
func (b *book) Label(t testing.TB, who string, n int64) {
	b.change(t, n, func(e *entry) {
		if !e.label {
			b.did(e, ofLabel, who, "", Label)
			e.label = true
		}
	})
}

// Unlabel is as of People.
func (b *book) Unlabel(t testing.TB, who string, n int64) {
	b.change(t, n, func(e *entry) {
		b.did(e, ofLabel, who, Label, "")
		e.label = false
	})
}

// Assign is as of People.
func (b *book) Assign(t testing.TB, who string, n int64, whom string) {
	b.change(t, n, func(e *entry) {
		b.did(e, ofAssignee, who, e.assignee, whom)
		e.assignee = whom
	})
}

// Close is as of People.
func (b *book) Close(t testing.TB, who string, n int64) { b.SetState(t, who, n, stateDone) }

// Reopen is as of People.
func (b *book) Reopen(t testing.TB, who string, n int64) { b.SetState(t, who, n, stateTodo) }

// Block is as of People.
func (b *book) Block(t testing.TB, n, by int64) {
	b.change(t, n, func(e *entry) { e.blockers = append(e.blockers, b.find(by)) })
}

// Lock is as of People.
func (b *book) Lock(t testing.TB, n int64, locked bool) {
	b.change(t, n, func(e *entry) { e.locked = locked })
}

// Delete is as of People.
func (b *book) Delete(t testing.TB, n int64) {
	b.change(t, n, func(e *entry) { e.deleted = true })
}

// Comments is as of People.
func (b *book) Comments(t testing.TB, n int64) (all []tracker.Comment) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.find(n).remarks {
		all = append(all, tracker.Comment{ID: c.id, By: c.by, Body: c.body})
	}
	return all
}

// Closed is as of People.
func (b *book) Closed(t testing.TB, n int64) bool { return !isOpen(b.State(t, n)) }
