package api_test

import (
	"context"
	"io/fs"
	"testing"

	"forge/factory/web"
)

// school keeps one lesson at first; the run r proposes another one.
type school struct{ more, less bool }

func (s *school) Kept(context.Context) ([]web.TaughtLesson, error) {
	var out []web.TaughtLesson
	if !s.less {
		out = append(out, web.TaughtLesson{ID: "a1", Text: "run make gen first", Run: "r", Commit: "abc1234", IsKept: true})
	}
	if s.more {
		out = append(out, web.TaughtLesson{ID: "b2", Text: "tests want TZ=UTC", IsKept: true})
	}
	return out, nil
}

func (s *school) Proposed(_ context.Context, run string) (web.ProposedLessons, error) {
	if run != "r" {
		return web.ProposedLessons{}, fs.ErrNotExist
	}
	return web.ProposedLessons{Run: run, Lessons: []web.TaughtLesson{{ID: "b2", Text: "tests want TZ=UTC", IsKept: s.more}}}, nil
}

func (s *school) Keep(_ context.Context, run, id, _ string) error {
	if run != "r" || id != "b2" {
		return web.NoLesson()
	}
	s.more = true
	return nil
}

func (s *school) Unlearn(_ context.Context, id string) error {
	if id != "a1" {
		return web.NoLesson()
	}
	s.less = true
	return nil
}

func TestLessons(t *testing.T) {
	w := newWorld(t)
	const kept, proposed = "/projects/p/lessons", "/projects/p/runs/r/lessons"
	w.v1("GET", kept, "").is(200, "").has(`"id":"a1"`, `"run":"r"`, `"commit":"abc1234"`)
	w.v1("GET", proposed, "").is(200, "").has(`"id":"b2"`, `"is_kept":false`)
	w.v1("GET", "/projects/p/runs/other/lessons", "").is(404, "not_found")
	w.ask("viewer", "POST", "/api/v1"+proposed+"/b2/keep", "").is(403, "forbidden")
	w.ask("viewer", "POST", "/api/v1"+kept+"/a1/unlearn", "").is(403, "forbidden")
	w.v1("POST", proposed+"/c3/keep", "").is(404, "")
	w.v1("POST", kept+"/c3/unlearn", "").is(404, "")
	w.v1("POST", proposed+"/b2/keep", "").is(200, "").has(`"is_kept":true`)
	w.v1("POST", kept+"/a1/unlearn", "").is(200, "").has(`"id":"b2"`)
}
