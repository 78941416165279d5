package journaltest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"forge/internal/journal"
	"forge/internal/work"
)

// Board is the part of a journal that keeps boards. *journal.Store is one; the
// errors are those of package journal and the sentinels of package work.
type Board interface {
	PutProject(ctx context.Context, p work.BoardProject) error
	Projects(ctx context.Context) ([]work.BoardProject, error)
	ChangeBoard(ctx context.Context, c work.BoardChange) ([]work.Issue, error)
	Issue(ctx context.Context, project string, id int64) (work.Issue, error)
	Issues(ctx context.Context, f work.IssueFilter, limit int, after string) ([]work.Issue, error)
	BoardGraph(ctx context.Context, project string) (work.BoardGraph, error)
	Blockers(ctx context.Context, project string, ids []int64) (map[int64][]int64, error)
	RanksAround(ctx context.Context, project string, column work.Column, rank string) (prev, next string, err error)
	ColumnRanks(ctx context.Context, project string, column work.Column) ([]work.RankChange, error)
	IssueHistory(ctx context.Context, project string, id int64, limit int, before int64) ([]work.IssueEntry, error)
}

// RunBoard runs the suite of boards; open makes an empty one for each test.
func RunBoard(t *testing.T, open func(t *testing.T) Board) {
	tests := map[string]func(*boardFixture){
		"unknown board":          unknownBoard,
		"projects":               boardProjects,
		"an issue comes back":    issueComesBack,
		"a stale change":         staleChange,
		"all or nothing":         boardAllOrNothing,
		"a place is one issue's": onePlace,
		"a moved column":         placeInAMovedColumn,
		"new keys":               newKeys,
		"needs":                  boardNeeds,
		"needs that race":        needsThatRace,
		"pages":                  boardPages,
		"history":                boardHistory,
		"malformed changes":      malformedChanges,
		"race":                   boardRace,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := &boardFixture{T: t, Board: open(t), ctx: t.Context()}
			if name != "unknown board" && name != "projects" {
				f.ok(f.PutProject(f.ctx, work.BoardProject{ID: "p", Root: "/p", Created: epoch}))
				f.ok(f.PutProject(f.ctx, work.BoardProject{ID: "other", Root: "/o", Created: epoch}))
			}
			test(f)
		})
	}
}

type boardFixture struct {
	*testing.T
	Board
	ctx context.Context
}

func (f *boardFixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *boardFixture) refused(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("got error %v, want %v", err, want)
	}
}

func newIssue(title string) work.Issue {
	return work.Issue{
		Project: "p", Title: title, Priority: work.PriorityNormal, Column: work.ColumnReady, Criteria: []work.Criterion{},
		Labels: []string{}, Needs: []int64{}, Hold: []string{}, Author: "someone", Created: epoch, Changed: epoch,
	}
}

func line(action work.IssueAction) work.IssueEntry {
	return work.IssueEntry{At: epoch, By: "someone", Door: "cli", Action: action, Fields: []work.FieldChange{}}
}

// at is an issue put between two keys.
func at(i work.Issue, low, rank, high string) work.IssueChange {
	i.Rank = rank
	return work.IssueChange{Issue: i, Low: low, High: high, Entry: line(work.IssueMoved)}
}

func (f *boardFixture) change(graph *int64, changes ...work.IssueChange) ([]work.Issue, error) {
	return f.ChangeBoard(f.ctx, work.BoardChange{Project: "p", Graph: graph, Issues: changes})
}

// put adds issues below each other: M, N, O, …
func (f *boardFixture) put(titles ...string) (out []work.Issue) {
	f.Helper()
	low, _, err := f.RanksAround(f.ctx, "p", work.ColumnReady, "")
	f.ok(err)
	for _, title := range titles {
		rank := "M"
		if low != "" {
			rank = string(rune(low[0] + 1))
		}
		stored, err := f.change(nil, at(newIssue(title), low, rank, ""))
		f.ok(err)
		out, low = append(out, stored[0]), rank
	}
	return out
}

// keep is a change that leaves an issue at its place.
func keep(i work.Issue) work.IssueChange {
	i.Rank = ""
	return work.IssueChange{Issue: i, Entry: line(work.IssueEdited)}
}

func (f *boardFixture) stored(id int64) work.Issue {
	f.Helper()
	i, err := f.Issue(f.ctx, "p", id)
	f.ok(err)
	return i
}

func unknownBoard(f *boardFixture) {
	_, err := f.change(nil, at(newIssue("a"), "", "M", ""))
	f.refused(err, journal.ErrNoProject)
	_, err = f.Issue(f.ctx, "p", 1)
	f.refused(err, journal.ErrNoProject)
	_, err = f.Issues(f.ctx, work.IssueFilter{Project: "p"}, 1, "")
	f.refused(err, journal.ErrNoProject)
	_, err = f.BoardGraph(f.ctx, "p")
	f.refused(err, journal.ErrNoProject)
	_, err = f.IssueHistory(f.ctx, "p", 1, 1, 0)
	f.refused(err, journal.ErrNoProject)
}

func boardProjects(f *boardFixture) {
	for _, p := range []work.BoardProject{{ID: "b", Root: "/1", Created: epoch}, {ID: "a", Root: "/2", Created: epoch}, {ID: "b", Root: "/3", Created: epoch.Add(1)}} {
		f.ok(f.PutProject(f.ctx, p))
	}
	if f.PutProject(f.ctx, work.BoardProject{Root: "/", Created: epoch}) == nil || f.PutProject(f.ctx, work.BoardProject{ID: "c"}) == nil {
		f.Error("a project without id or time was stored")
	}
	list, err := f.Projects(f.ctx)
	f.ok(err)
	if want := []work.BoardProject{{ID: "b", Root: "/3", Created: epoch}, {ID: "a", Root: "/2", Created: epoch}}; !reflect.DeepEqual(list, want) {
		f.Errorf("projects %+v, want %+v", list, want)
	}
}

func issueComesBack(f *boardFixture) {
	f.put("first")
	i := newIssue("second")
	i.Description, i.Labels, i.Level, i.Run, i.Branch = "long\n\ttext", []string{"a", "b"}, "full", "r", "forge/issue-2"
	i.Criteria, i.Hold = []work.Criterion{{ID: "c1", Text: "holds"}}, []string{"unverified"}
	i.State, i.Reason, i.Priority = work.IssueFailed, "why", work.PriorityHigh
	stored, err := f.change(nil, at(i, "M", "Z", ""))
	f.ok(err)
	i.ID, i.Version, i.Rank = 2, 1, "Z"
	if !reflect.DeepEqual(stored[0], i) || !reflect.DeepEqual(f.stored(2), i) {
		f.Errorf("stored %+v\nread %+v\nwant %+v", stored[0], f.stored(2), i)
	}
	_, err = f.Issue(f.ctx, "p", 3)
	f.refused(err, work.ErrNoIssue)
	_, err = f.Issue(f.ctx, "other", 1)
	f.refused(err, work.ErrNoIssue)
}

func staleChange(f *boardFixture) {
	read := f.put("first")[0]
	mine, theirs := read, read
	mine.Title, theirs.Title = "mine", "theirs"
	stored, err := f.change(nil, keep(theirs))
	f.ok(err)
	if stored[0].Version != 2 || stored[0].Rank != read.Rank {
		f.Errorf("stored %+v", stored[0])
	}
	_, err = f.change(nil, keep(mine))
	f.refused(err, work.ErrStale)
	mine.Version = 3
	_, err = f.change(nil, keep(mine))
	f.refused(err, work.ErrStale)
	mine.ID, mine.Version = 9, 1
	_, err = f.change(nil, keep(mine))
	f.refused(err, work.ErrNoIssue)
	if got := f.stored(1); got.Title != "theirs" || got.Version != 2 {
		f.Errorf("after stale changes: %+v", got)
	}
}

func boardAllOrNothing(f *boardFixture) {
	two := f.put("a", "b")
	two[0].Title, two[1].Title, two[1].Version = "x", "y", 7
	_, err := f.change(nil, keep(two[0]), keep(two[1]))
	f.refused(err, work.ErrStale)
	history, err := f.IssueHistory(f.ctx, "p", 1, 10, 0)
	f.ok(err)
	if f.stored(1).Title != "a" || len(history) != 1 {
		f.Errorf("half of a change was stored: %+v, %d lines", f.stored(1), len(history))
	}
	// The numbers of what was undone are given again: none is missing.
	_, err = f.change(nil, at(newIssue("c"), "N", "Z", ""), at(newIssue("d"), "N", "Z", ""))
	f.refused(err, work.ErrStale)
	if i := f.put("c")[0]; i.ID != 3 {
		f.Errorf("number %d, want 3", i.ID)
	}
}

func onePlace(f *boardFixture) {
	f.put("a", "b") // M, N
	i := newIssue("c")
	for _, c := range []work.IssueChange{
		at(i, "M", "N", ""), at(i, "", "MV", "N"), at(i, "M", "MV", ""), at(i, "", "Z", ""), at(i, "M", "Z", ""), at(i, "", "A", "N"),
	} {
		_, err := f.change(nil, c)
		f.refused(err, work.ErrStale)
	}
	_, err := f.change(nil, at(i, "M", "MV", "N"))
	f.ok(err)
	// Its own key is in nobody's way.
	b := f.stored(2)
	_, err = f.change(nil, at(b, "", "A", "M"))
	f.ok(err)
	// A new column takes a place there.
	b = f.stored(2)
	b.Column = work.ColumnBacklog
	if _, err = f.change(nil, keep(b)); err == nil {
		f.Error("an issue moved without a place")
	}
	_, err = f.change(nil, at(b, "", "M", ""))
	f.ok(err)
}

func placeInAMovedColumn(f *boardFixture) {
	f.put("a", "b")
	board := line(work.IssueRebalanced)
	_, err := f.ChangeBoard(f.ctx, work.BoardChange{Project: "p", Board: &board, Ranks: []work.RankChange{{Issue: 1, From: "M", To: "2"}, {Issue: 2, From: "N", To: "4"}}})
	f.ok(err)
	_, err = f.change(nil, at(newIssue("c"), "M", "MV", "N"))
	f.refused(err, work.ErrStale)
	// An edit that was made from before keeps the new place.
	a := f.stored(1)
	a.Title = "aa"
	stored, err := f.change(nil, keep(a))
	f.ok(err)
	if stored[0].Rank != "2" || f.stored(1).Rank != "2" || a.Version != 1 {
		f.Errorf("after an edit: %+v", stored[0])
	}
}

func newKeys(f *boardFixture) {
	f.put("a", "b", "c") // M, N, O
	board := line(work.IssueRebalanced)
	change := work.BoardChange{Project: "p", Board: &board, Ranks: []work.RankChange{
		{Issue: 1, From: "M", To: "N"}, {Issue: 2, From: "N", To: "O"}, {Issue: 3, From: "O", To: "P"},
	}}
	_, err := f.ChangeBoard(f.ctx, change)
	f.ok(err)
	ranks, err := f.ColumnRanks(f.ctx, "p", work.ColumnReady)
	f.ok(err)
	if want := []work.RankChange{{Issue: 1, From: "N"}, {Issue: 2, From: "O"}, {Issue: 3, From: "P"}}; !slices.Equal(ranks, want) {
		f.Errorf("ranks %+v, want %+v", ranks, want)
	}
	_, err = f.ChangeBoard(f.ctx, change)
	f.refused(err, work.ErrStale)
	lines, err := f.IssueHistory(f.ctx, "p", 0, 10, 0)
	f.ok(err)
	if len(lines) != 1 || lines[0].Action != work.IssueRebalanced || f.stored(2).Version != 1 {
		f.Errorf("history %+v, issue %+v", lines, f.stored(2))
	}
}
