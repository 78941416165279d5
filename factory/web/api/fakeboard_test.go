package api_test

import (
	"context"
	"net/http"
	"slices"

	"forge/factory/web"
	"forge/internal/journal/journaltest"
	"forge/internal/work"
	"forge/review"
)

// cards are the board, with what journaltest's does not have.
type cards struct{ *journaltest.MemoryBoard }

func (cards) Dependents(context.Context, string, int64) ([]int64, error) { return nil, nil }
func (cards) RunsSpent(context.Context, []string) (map[string]work.RunSpent, error) {
	return nil, nil
}

// watch says what is new by looking at everything.
type watch struct {
	site    *fakeSite
	project string
}

func (w *watch) Version(ctx context.Context) (int64, error) {
	f := w.site.ports[w.project]
	f.mu.Lock()
	n := int64(len(f.rows) + len(f.cancelled))
	for _, all := range f.events {
		n += int64(len(all))
	}
	f.mu.Unlock()
	end, err := w.BoardEnd(ctx)
	return n + end, err
}

func (w *watch) BoardEnd(ctx context.Context) (end int64, err error) {
	for _, p := range w.site.list {
		lines, err := w.BoardLines(ctx, p.ID, 0, 1_000_000)
		if err != nil {
			return 0, err
		}
		for _, e := range lines {
			end = max(end, e.Seq)
		}
	}
	return end, nil
}

func (w *watch) BoardLines(ctx context.Context, project string, after int64, limit int) ([]work.IssueEntry, error) {
	issues, err := w.site.board.Issues(ctx, work.IssueFilter{Project: project}, 1000, "")
	if err != nil {
		return nil, err
	}
	var list []work.IssueEntry
	for _, i := range append(issues, work.Issue{}) {
		lines, err := w.site.board.IssueHistory(ctx, project, i.ID, 1_000_000, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, lines...)
	}
	slices.SortFunc(list, func(a, b work.IssueEntry) int { return int(a.Seq - b.Seq) })
	list = slices.DeleteFunc(list, func(e work.IssueEntry) bool { return e.Seq <= after })
	return list[:min(len(list), limit)], nil
}

func (w *watch) RunEnd(context.Context, string) (int64, error) { return 0, nil }

func (c cards) IssueCounts(ctx context.Context, project string) (map[work.Column]int, error) {
	list, err := c.Issues(ctx, work.IssueFilter{Project: project}, 1000, "")
	counts := map[work.Column]int{}
	for _, i := range list {
		counts[i.Column]++
	}
	return counts, err
}

// cockpit keeps comments with the fake's checkpoints.
type cockpit struct{ *fakePorts }

func (cockpit) Change(context.Context, string, string) (review.Change, error) {
	return review.Change{Files: []review.File{{Path: "main.go", Hunks: []review.Hunk{{OldStart: 5, NewStart: 5, Body: []byte(" same\n-old\n+new\n+more\n")}}}}}, nil
}

func (cockpit) Say(work.Event) (string, [][2]string, error) { return "", nil, nil }
func (cockpit) Papers(context.Context, string) (web.Papers, error) {
	return web.Papers{Commit: "ccc", Plan: "# <b>Plan</b>", Todos: []web.Todo{{Title: "first", State: "done"}, {Title: "second", State: "open", Needs: []string{"first"}}}, Tools: []string{"look.py"}}, nil
}

func (f cockpit) CommentLine(_ context.Context, id string, revision int, l work.LineComment) (work.Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.points[id].CommentLine(revision, l, f.now())
	if err == nil {
		f.points[id] = &now
	}
	return now, err
}

func (f cockpit) DropComment(_ context.Context, id string, revision, comment int, by string) (work.Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.points[id] == nil {
		return work.Checkpoint{}, work.ErrUnknown
	}
	now, err := f.points[id].DropComment(revision, comment, by, f.now())
	if err == nil {
		f.points[id] = &now
	}
	return now, err
}

// edits keeps who edited what.
type edits struct{ *fakePorts }

func (edits) EditedFile(context.Context, string, string) (web.Editing, error) {
	return web.Editing{}, nil
}

func (f edits) EditFile(_ context.Context, id string, _ int, w web.FileWish) (work.Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.points[id] == nil {
		return work.Checkpoint{}, work.ErrUnknown
	}
	if w.Path == "Makefile" && !w.Admin {
		return *f.points[id], &web.Complaint{Status: http.StatusForbidden, What: "The proof rests on it."}
	}
	f.levels = append(f.levels, w.What+" "+w.Path+"="+string(w.Content)+" by "+w.By)
	return *f.points[id], nil
}

func (f edits) DropEdit(_ context.Context, id string, _ int, _, _ string) (work.Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.points[id] == nil {
		return work.Checkpoint{}, work.ErrUnknown
	}
	return *f.points[id], nil
}
