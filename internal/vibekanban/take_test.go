package vibekanban

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"forge/factory"
	"forge/internal/journal/journaltest"
	"forge/internal/work"
)

// memory is a store of one board in memory. It ends, as a process does that is
// killed, at one of its writes: before it, or after it without an answer.
type memory struct {
	*journaltest.MemoryBoard
	rows   map[string]work.TrackerIssue
	writes int
	ends   int // the write that it ends at, from 1; 0 = none
	after  bool
	stale  int // so many writes are refused first
}

var errKilled = errors.New("killed")

func newMemory(t *testing.T) (*memory, factory.Board) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := &memory{MemoryBoard: &journaltest.MemoryBoard{}, rows: map[string]work.TrackerIssue{}}
	if err := m.PutProject(t.Context(), work.BoardProject{ID: "p", Created: now}); err != nil {
		t.Fatal(err)
	}
	return m, factory.Board{Store: m, Project: "p", Now: func() time.Time { return now }}
}

func (m *memory) TrackerIssue(_ context.Context, tracker string, remote int64) (work.TrackerIssue, bool, error) {
	row, ok := m.rows[fmt.Sprint(tracker, remote)]
	return row, ok, nil
}

func (m *memory) ImportIssue(ctx context.Context, t work.TrackerIssue, c work.BoardChange) (work.Issue, error) {
	if m.stale > 0 {
		m.stale--
		return work.Issue{}, work.ErrStale
	}
	m.writes++
	if m.writes == m.ends && !m.after {
		return work.Issue{}, errKilled
	}
	key := fmt.Sprint(t.Tracker, t.Remote)
	if m.rows[key].Issue != 0 {
		return work.Issue{}, work.ErrStale
	}
	stored, err := m.ChangeBoard(ctx, c)
	if err != nil {
		return work.Issue{}, err
	}
	t.Issue = stored[0].ID
	m.rows[key] = t
	if m.writes == m.ends {
		return work.Issue{}, errKilled
	}
	return stored[0], nil
}

var threeTasks = []Project{{Name: "App", Tasks: []Task{
	{Key: "1", Title: "one", Status: "inprogress", Blockers: []string{"3"}}, {Key: "2", Title: "two", Status: "done"}, {Key: "3", Title: "three", Status: "todo"},
}}}

// takeAll is what a whole command does.
func takeAll(ctx context.Context, m *memory, b factory.Board) (added int, err error) {
	taken, err := Before(ctx, m, threeTasks)
	if err != nil {
		return 0, err
	}
	here := onMain()
	here.Board = func(key string) Standing { return taken.Standing(b.Project, key) }
	for _, c := range Become("App", threeTasks[0].Tasks, here) {
		ok, err := Take(ctx, b, m, c, taken, factory.By{Name: "ann", Door: "cli"})
		if err != nil {
			return added, err
		}
		if ok {
			added++
		}
	}
	return added, nil
}

func cardsOn(t *testing.T, m *memory) (all []work.Issue) {
	t.Helper()
	all, err := m.Issues(t.Context(), work.IssueFilter{Project: "p"}, 100, "")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Twice is once, and whatever write a process dies at, the next one leaves the board
// as if none had died.
func TestTakeTwice(t *testing.T) {
	whole, b := newMemory(t)
	if added, err := takeAll(t.Context(), whole, b); added != 3 || err != nil {
		t.Fatalf("added %d, %v", added, err)
	}
	want := cardsOn(t, whole)
	if len(want) != 3 || want[0].Title != "three" || want[1].Title != "one" || !reflect.DeepEqual(want[1].Needs, []int64{1}) || want[1].State != work.IssueWaits || want[2].Column != work.ColumnDone {
		t.Fatalf("the board has %+v", want)
	}
	// A person's changes are theirs.
	if _, err := b.Edit(t.Context(), 2, 0, func(i *work.Issue) error { i.Title = "mine"; return nil }, factory.By{Name: "ann", Door: "cli"}); err != nil {
		t.Fatal(err)
	}
	if added, err := takeAll(t.Context(), whole, b); added != 0 || err != nil || len(cardsOn(t, whole)) != 3 || cardsOn(t, whole)[1].Title != "mine" {
		t.Errorf("the second time %d were added, %v", added, err)
	}

	for ends := 1; ends <= 3; ends++ {
		for _, after := range []bool{false, true} {
			m, b := newMemory(t)
			m.ends, m.after, m.stale = ends, after, 1
			if _, err := takeAll(t.Context(), m, b); !errors.Is(err, errKilled) {
				t.Fatalf("write %d: %v", ends, err)
			}
			if _, err := takeAll(t.Context(), m, b); err != nil {
				t.Fatalf("after write %d: %v", ends, err)
			}
			if got := cardsOn(t, m); !reflect.DeepEqual(got, want) {
				t.Errorf("died at write %d (stored %v): the board has\n%+v\nwant\n%+v", ends, after, got, want)
			}
		}
	}
}

// A task that another process took meanwhile is not taken again; one that another
// board has stays there, and what waits for it says so.
func TestTakenElsewhere(t *testing.T) {
	m, b := newMemory(t)
	card := Become("App", threeTasks[0].Tasks[1:2], onMain())[0]
	m.rows[trackerPrefix+"21"] = work.TrackerIssue{Project: "p", Issue: 7}
	taken := Taken{}
	if added, err := Take(t.Context(), b, m, card, taken, factory.By{Name: "ann", Door: "cli"}); added || err != nil || taken["2"].Issue != 7 {
		t.Errorf("added %v, %v, %v", added, err, taken)
	}

	m, b = newMemory(t)
	m.rows[trackerPrefix+"31"] = work.TrackerIssue{Project: "other", Issue: 7}
	if added, err := takeAll(t.Context(), m, b); added != 2 || err != nil {
		t.Errorf("added %d, %v", added, err)
	}
	if all := cardsOn(t, m); len(all) != 2 || len(all[0].Needs) != 0 {
		t.Errorf("the board has %+v", all)
	}
}
