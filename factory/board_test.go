package factory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"forge/internal/journal/journaltest"
	"forge/internal/work"
)

var ada = By{Name: "tester", Door: "cli"}

func newBoard(t testing.TB) (Board, *journaltest.MemoryBoard) {
	t.Helper()
	m := &journaltest.MemoryBoard{}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := m.PutProject(context.Background(), work.BoardProject{ID: "p", Created: now}); err != nil {
		t.Fatal(err)
	}
	return Board{Store: m, Project: "p", Now: func() time.Time { return now }}, m
}

func ready(title string) work.Issue {
	return work.Issue{Title: title, Priority: work.PriorityNormal, Column: work.ColumnReady}
}

func order(t testing.TB, m *journaltest.MemoryBoard, column work.Column) (ids []int64) {
	t.Helper()
	ranks, err := m.ColumnRanks(context.Background(), "p", column)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ranks {
		ids = append(ids, r.Issue)
	}
	return ids
}

// A column is a list: whatever is moved where, the board agrees with a slice.
func TestMovesAgreeWithAList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b, m := newBoard(t)
		ctx := context.Background()
		columns := []work.Column{work.ColumnBacklog, work.ColumnReady}
		model := map[work.Column][]int64{}
		for n := range 6 {
			i := ready(fmt.Sprint(n))
			i.Column = columns[n%2]
			stored, err := b.Add(ctx, i, Place{At: Bottom}, ada)
			if err != nil {
				rt.Fatal(err)
			}
			model[i.Column] = append(model[i.Column], stored.ID)
		}
		for range rapid.IntRange(1, 60).Draw(rt, "moves") {
			id := int64(rapid.IntRange(1, 6).Draw(rt, "id"))
			other := int64(rapid.IntRange(1, 6).Draw(rt, "other"))
			to := rapid.SampledFrom(columns).Draw(rt, "to")
			spot := rapid.SampledFrom([]Spot{Top, Bottom, Before, After}).Draw(rt, "spot")
			_, err := b.Move(ctx, id, to, Place{At: spot, Issue: other}, ada)
			beside := spot == Before || spot == After
			if refused := beside && (other == id || !slices.Contains(model[to], other)); refused {
				if err == nil {
					rt.Fatalf("moved %d %s %d in %s", id, spot, other, to)
				}
				continue
			}
			if err != nil {
				rt.Fatal(err)
			}
			for _, c := range columns {
				model[c] = slices.DeleteFunc(model[c], func(x int64) bool { return x == id })
			}
			at := map[Spot]int{Top: 0, Bottom: len(model[to]), Before: slices.Index(model[to], other), After: slices.Index(model[to], other) + 1}[spot]
			model[to] = slices.Insert(model[to], at, id)
			for _, c := range columns {
				if got := order(t, m, c); !slices.Equal(got, model[c]) {
					rt.Fatalf("%s is %v, want %v", c, got, model[c])
				}
			}
		}
	})
}

// The same two places over and over: the keys grow until the column is given
// new ones, which is written down and changes no order.
func TestAColumnIsRebalanced(t *testing.T) {
	b, m := newBoard(t)
	ctx := context.Background()
	for n := range 4 {
		if _, err := b.Add(ctx, ready(fmt.Sprint(n)), Place{At: Bottom}, ada); err != nil {
			t.Fatal(err)
		}
	}
	var lines []work.IssueEntry
	for n := 0; len(lines) == 0; n++ {
		// 2 and 3 take turns right below 1.
		id := int64(2 + n%2)
		if _, err := b.Move(ctx, id, work.ColumnReady, Place{At: After, Issue: 1}, ada); err != nil {
			t.Fatal(err)
		}
		if got, want := order(t, m, work.ColumnReady), []int64{1, id, 5 - id, 4}; n > 0 && !slices.Equal(got, want) {
			t.Fatalf("after %d moves: %v, want %v", n, got, want)
		}
		var err error
		if lines, err = m.IssueHistory(ctx, "p", 0, 10, 0); err != nil {
			t.Fatal(err)
		}
		if n > 2000 {
			t.Fatal("never rebalanced")
		}
	}
	if lines[0].Action != work.IssueRebalanced || lines[0].Note != "ready" || lines[0].By != "tester" {
		t.Errorf("history: %+v", lines[0])
	}
}

func TestEdit(t *testing.T) {
	b, m := newBoard(t)
	ctx := t.Context()
	i := ready("first")
	i.Criteria = []work.Criterion{{ID: "c1", Text: "a"}, {ID: "c2", Text: "b"}}
	i, err := b.Add(ctx, i, Place{At: Bottom}, ada)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(version int64, apply func(*work.Issue)) (work.Issue, error) {
		return b.Edit(ctx, 1, version, func(i *work.Issue) error { apply(i); return nil }, ada)
	}
	now, err := edit(1, func(i *work.Issue) { i.Title, i.Labels, i.Criteria = "second", []string{"b", "a"}, i.Criteria[:1] })
	if err != nil || now.Version != 2 || !slices.Equal(now.Labels, []string{"a", "b"}) || now.CriteriaGiven != 2 || now.Rank != i.Rank {
		t.Fatalf("%+v, %v", now, err)
	}
	var stale *StaleError
	if _, err := edit(1, func(i *work.Issue) { i.Title = "third" }); !errors.As(err, &stale) || stale.Stored != 2 {
		t.Errorf("a stale edit: %v", err)
	}
	if same, err := edit(0, func(*work.Issue) {}); err != nil || same.Version != 2 {
		t.Errorf("an edit that changes nothing: %+v, %v", same, err)
	}
	var bad *ProblemsError
	if _, err := edit(0, func(i *work.Issue) { i.Title, i.Priority = "", "x" }); !errors.As(err, &bad) || len(bad.List) != 2 {
		t.Errorf("a bad edit: %v", err)
	}
	var rule *Refusal
	if _, err := edit(0, func(i *work.Issue) { i.Needs = []int64{5} }); !errors.As(err, &rule) {
		t.Errorf("an unknown need: %v", err)
	}
	history, err := m.IssueHistory(ctx, "p", 1, 10, 0)
	if err != nil || len(history) != 2 || history[0].Action != work.IssueEdited {
		t.Fatalf("%+v, %v", history, err)
	}
	var fields []string
	for _, f := range history[0].Fields {
		fields = append(fields, f.Field+": "+f.From+" > "+f.To)
	}
	if got, want := strings.Join(fields, "; "), "title: first > second; criteria: c1: a\nc2: b > c1: a; labels:  > a, b"; got != want {
		t.Errorf("fields %q, want %q", got, want)
	}
}

// Two changes that are fine alone and a cycle together: one is refused,
// whoever is first.
func TestNeedsDoNotRaceIntoACycle(t *testing.T) {
	for range 50 {
		b, m := newBoard(t)
		for _, title := range []string{"1", "2"} {
			if _, err := b.Add(t.Context(), ready(title), Place{At: Bottom}, ada); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		refused := make(chan error, 2)
		for id := int64(1); id <= 2; id++ {
			all.Go(func() {
				_, err := b.Edit(t.Context(), id, 0, func(i *work.Issue) error { i.Needs = []int64{3 - id}; return nil }, ada)
				var r *Refusal
				if errors.As(err, &r) {
					refused <- err
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(refused) != 1 {
			g, err := m.BoardGraph(t.Context(), "p")
			t.Fatalf("%d were refused: %+v, %v", len(refused), g, err)
		}
	}
}

// Eight move and edit at once: everything acknowledged is in the history, and
// the column is still a list of all issues.
func TestEightAtOnce(t *testing.T) {
	b, m := newBoard(t)
	for n := range 5 {
		if _, err := b.Add(t.Context(), ready(fmt.Sprint(n)), Place{At: Bottom}, ada); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for k := range 20 {
				id := int64(1 + (n+k)%5)
				if _, err := b.Move(t.Context(), id, work.ColumnReady, Place{At: []Spot{Top, Bottom}[k%2]}, ada); err != nil {
					t.Error(err)
				}
				_, err := b.Edit(t.Context(), id, 0, func(i *work.Issue) error { i.Description += fmt.Sprintf("%d-%d\n", n, k); return nil }, ada)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	ids := order(t, m, work.ColumnReady)
	slices.Sort(ids)
	if !slices.Equal(ids, []int64{1, 2, 3, 4, 5}) {
		t.Fatalf("issues %v", ids)
	}
	lines := 0
	for _, id := range ids {
		i, err := m.Issue(t.Context(), "p", id)
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(i.Description, "\n")
		history, err := m.IssueHistory(t.Context(), "p", id, 1000, 0)
		if err != nil || int64(len(history)) != i.Version {
			t.Errorf("issue %d: version %d, %d lines of history, %v", id, i.Version, len(history), err)
		}
	}
	if lines != 160 {
		t.Errorf("%d edits are there, want 160", lines)
	}
}

func TestAddIsRefused(t *testing.T) {
	b, _ := newBoard(t)
	for _, column := range []work.Column{work.ColumnInProgress, work.ColumnInReview, work.ColumnDone, ""} {
		i := ready("x")
		i.Column = column
		if _, err := b.Add(t.Context(), i, Place{At: Bottom}, ada); err == nil {
			t.Errorf("added to %q", column)
		}
	}
	i := ready("x")
	i.ID, i.Version, i.Author = 9, 4, "someone else"
	i, err := b.Add(t.Context(), i, Place{At: Bottom}, ada)
	if err != nil || i.ID != 1 || i.Version != 1 || i.Author != "tester" || i.Project != "p" {
		t.Errorf("%+v, %v", i, err)
	}
}
