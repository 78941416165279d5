package journaltest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/internal/journal"
	"forge/internal/work"
)

// MemoryBoard is the board part of a journal in memory: no durability, the same
// rules, written a second time on purpose. Its methods may be called by many
// goroutines. Its zero value is empty.
type MemoryBoard struct {
	// Clock is where heartbeats are taken from; nil is the system's.
	Clock func() time.Time
	// Dead are owners that are known not to run any more.
	Dead map[string]bool

	floorMu sync.Mutex // before mu
	floors  map[string]*memoryFloor

	mu       sync.Mutex
	projects []work.BoardProject
	boards   map[string]*memoryBoard
	seq      int64
}

type memoryBoard struct {
	issues  map[int64]work.Issue
	last    int64
	graph   int64
	history []work.IssueEntry
}

// PutProject is as of *journal.Store.
func (m *MemoryBoard) PutProject(_ context.Context, p work.BoardProject) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.ID == "" || p.Created.IsZero() {
		return fmt.Errorf("put project: %+v", p)
	}
	p.Created = p.Created.UTC()
	if at := slices.IndexFunc(m.projects, func(o work.BoardProject) bool { return o.ID == p.ID }); at >= 0 {
		m.projects[at].Root = p.Root
		return nil
	}
	if m.boards == nil {
		m.boards = map[string]*memoryBoard{}
	}
	m.projects = append(m.projects, p)
	m.boards[p.ID] = &memoryBoard{issues: map[int64]work.Issue{}}
	return nil
}

// Projects is as of *journal.Store.
func (m *MemoryBoard) Projects(context.Context) ([]work.BoardProject, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.projects), nil
}

func (m *MemoryBoard) board(project string) (*memoryBoard, error) {
	if b := m.boards[project]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("%w %q", journal.ErrNoProject, project)
}

// ChangeBoard is as of *journal.Store: it works on a copy, and keeps that when
// all went well.
func (m *MemoryBoard) ChangeBoard(ctx context.Context, c work.BoardChange) ([]work.Issue, error) {
	if err := journal.CheckBoardChange(c); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	was, err := m.board(c.Project)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	b := &memoryBoard{issues: map[int64]work.Issue{}, last: was.last, graph: was.graph, history: slices.Clone(was.history)}
	for id, i := range was.issues {
		b.issues[id] = i
	}
	if c.Graph != nil {
		if *c.Graph != b.graph {
			return nil, work.ErrStale
		}
		b.graph++
	}
	for _, r := range c.Ranks {
		i, ok := b.issues[r.Issue]
		if !ok || i.Rank != r.From {
			return nil, work.ErrStale
		}
		i.Rank = r.To
		b.issues[r.Issue] = i
	}
	seq := m.seq
	note := func(issue int64, e work.IssueEntry) {
		seq++
		e.Seq, e.Issue, e.At = seq, issue, e.At.UTC()
		b.history = append(b.history, e)
	}
	if c.Board != nil {
		note(0, *c.Board)
	}
	var stored []work.Issue
	for _, ic := range c.Issues {
		i, err := b.put(ic, c.Graph != nil)
		if err != nil {
			return nil, err
		}
		note(i.ID, ic.Entry)
		stored = append(stored, i)
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	m.boards[c.Project], m.seq = b, seq
	return stored, nil
}

func (b *memoryBoard) put(c work.IssueChange, needs bool) (work.Issue, error) {
	i := c.Issue
	old, known := b.issues[i.ID]
	switch {
	case i.ID == 0:
		b.last++
		i.ID = b.last
	case !known:
		return i, fmt.Errorf("%w %d", work.ErrNoIssue, i.ID)
	case old.Version != i.Version:
		return i, work.ErrStale
	case i.Rank == "" && old.Column != i.Column:
		return i, fmt.Errorf("issue %d has no place in its new column", i.ID)
	}
	if !needs && !slices.Equal(old.Needs, i.Needs) {
		return i, fmt.Errorf("the needs of issue %d were not judged", i.ID)
	}
	if i.Rank == "" {
		i.Rank = old.Rank
	} else if prev, next := b.around(i.Column, i.Rank, i.ID); prev != c.Low || next != c.High {
		return i, work.ErrStale
	}
	i.Version++
	i.Created, i.Changed = i.Created.UTC(), i.Changed.UTC()
	b.issues[i.ID] = i
	return i, nil
}

func (b *memoryBoard) check() error {
	places := map[string]bool{}
	for _, i := range b.issues {
		if place := string(i.Column) + " " + i.Rank; places[place] {
			return work.ErrStale
		} else {
			places[place] = true
		}
		for _, need := range i.Needs {
			if _, ok := b.issues[need]; !ok {
				return fmt.Errorf("%w %d", work.ErrNoIssue, need)
			}
		}
	}
	return nil
}

func (b *memoryBoard) column(column work.Column) []work.Issue {
	var list []work.Issue
	for _, i := range b.issues {
		if i.Column == column {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(x, y work.Issue) int { return cmp.Compare(x.Rank, y.Rank) })
	return list
}

func (b *memoryBoard) around(column work.Column, rank string, but int64) (prev, next string) {
	for _, i := range b.column(column) {
		if i.ID == but {
			continue
		}
		if rank == "" || i.Rank < rank {
			prev = i.Rank
		}
		if i.Rank > rank && next == "" {
			next = i.Rank
		}
	}
	return prev, next
}

// Issue is as of *journal.Store.
func (m *MemoryBoard) Issue(_ context.Context, project string, id int64) (work.Issue, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.board(project)
	if err != nil {
		return work.Issue{}, err
	}
	i, ok := b.issues[id]
	if !ok {
		return work.Issue{}, fmt.Errorf("%w %d", work.ErrNoIssue, id)
	}
	return i, nil
}

// Issues is as of *journal.Store.
func (m *MemoryBoard) Issues(_ context.Context, f work.IssueFilter, limit int, after string) ([]work.Issue, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.board(f.Project)
	if err != nil {
		return nil, err
	}
	var all []work.Issue
	if f.Column != "" {
		all = b.column(f.Column)
		all = slices.DeleteFunc(all, func(i work.Issue) bool { return i.Rank <= after })
	} else {
		var from int64
		if after != "" {
			if _, err := fmt.Sscan(after, &from); err != nil {
				return nil, err
			}
		}
		for id := from + 1; id <= b.last; id++ {
			all = append(all, b.issues[id])
		}
	}
	var list []work.Issue
	for _, i := range all {
		text := strings.ToLower(i.Title + "\n" + i.Description)
		if len(list) < limit && (f.Label == "" || slices.Contains(i.Labels, f.Label)) && strings.Contains(text, strings.ToLower(f.Search)) {
			i.Description = ""
			list = append(list, i)
		}
	}
	return list, nil
}

// BoardGraph is as of *journal.Store.
func (m *MemoryBoard) BoardGraph(_ context.Context, project string) (work.BoardGraph, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.board(project)
	if err != nil {
		return work.BoardGraph{}, err
	}
	g := work.BoardGraph{Revision: b.graph, Needs: map[int64][]int64{}}
	for id, i := range b.issues {
		g.Needs[id] = slices.Clone(i.Needs)
	}
	return g, nil
}

// Blockers is as of *journal.Store.
func (m *MemoryBoard) Blockers(_ context.Context, project string, ids []int64) (map[int64][]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.board(project)
	if err != nil {
		return nil, err
	}
	out := map[int64][]int64{}
	for _, id := range ids {
		for _, need := range b.issues[id].Needs {
			if b.issues[need].Column != work.ColumnDone {
				out[id] = append(out[id], need)
			}
		}
	}
	return out, nil
}

// RanksAround is as of *journal.Store.
func (m *MemoryBoard) RanksAround(_ context.Context, project string, column work.Column, rank string) (prev, next string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.board(project)
	if err != nil {
		return "", "", err
	}
	prev, next = b.around(column, rank, 0)
	return prev, next, nil
}

// ColumnRanks is as of *journal.Store.
func (m *MemoryBoard) ColumnRanks(_ context.Context, project string, column work.Column) ([]work.RankChange, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.board(project)
	if err != nil {
		return nil, err
	}
	var list []work.RankChange
	for _, i := range b.column(column) {
		list = append(list, work.RankChange{Issue: i.ID, From: i.Rank})
	}
	return list, nil
}

// IssueHistory is as of *journal.Store.
func (m *MemoryBoard) IssueHistory(_ context.Context, project string, id int64, limit int, before int64) ([]work.IssueEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.board(project)
	if err != nil {
		return nil, err
	}
	var list []work.IssueEntry
	for _, e := range slices.Backward(b.history) {
		if e.Issue == id && (before == 0 || e.Seq < before) && len(list) < limit {
			list = append(list, e)
		}
	}
	return list, nil
}
