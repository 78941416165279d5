package api

import (
	"net/http"

	"forge/factory/web"
)

// InLesson is one lesson that a project keeps.
type InLesson struct {
	InProject
	Lesson string `path:"lesson" maxLength:"100" doc:"The lesson's id."`
}

// InRunLesson is one lesson that a run proposes.
type InRunLesson struct {
	InRun
	Lesson string `path:"lesson" maxLength:"100" doc:"The lesson's id."`
}

// Lessons are those that a project keeps.
type Lessons struct {
	Lessons []web.TaughtLesson `json:"lessons"`
}

func (a *API) lessonRoutes() {
	add(a, Route{ID: "list-lessons", Method: http.MethodGet, Path: "/projects/{project}/lessons", Role: web.RoleViewer, Summary: "What runs taught and the project keeps, with its source and who was told", Tag: "lessons"},
		func(c call, _ *InProject) (*Answer[Lessons], error) { return answer(lessons(c)) })
	add(a, Route{ID: "list-proposed-lessons", Method: http.MethodGet, Path: "/projects/{project}/runs/{run}/lessons", Role: web.RoleViewer, Summary: "What the agents of a run propose that the project keep", Tag: "lessons"},
		func(c call, in *InRun) (*Answer[web.ProposedLessons], error) {
			return answer(proposedLessons(c, in.Run))
		})
	add(a, Route{ID: "keep-lesson", Method: http.MethodPost, Path: "/projects/{project}/runs/{run}/lessons/{lesson}/keep", Role: web.RoleAdmin, Summary: "Keep a lesson that a run proposes: the next run is told", Tag: "lessons"},
		func(c call, in *InRunLesson) (*Answer[web.ProposedLessons], error) {
			if c.project.Lessons == nil {
				return nil, web.ErrNoProject
			}
			if err := c.project.Lessons.Keep(c, in.Run, in.Lesson, c.who.Name); err != nil {
				return nil, err
			}
			return answer(proposedLessons(c, in.Run))
		})
	add(a, Route{ID: "unlearn-lesson", Method: http.MethodPost, Path: "/projects/{project}/lessons/{lesson}/unlearn", Role: web.RoleAdmin, Summary: "Remove a lesson that the project keeps: the next run is not told", Tag: "lessons"},
		func(c call, in *InLesson) (*Answer[Lessons], error) {
			if c.project.Lessons == nil {
				return nil, web.ErrNoProject
			}
			if err := c.project.Lessons.Unlearn(c, in.Lesson); err != nil {
				return nil, err
			}
			return answer(lessons(c))
		})
}

func lessons(c call) (Lessons, error) {
	if c.project.Lessons == nil {
		return Lessons{Lessons: []web.TaughtLesson{}}, nil
	}
	list, err := c.project.Lessons.Kept(c)
	return Lessons{Lessons: append([]web.TaughtLesson{}, list...)}, err
}

func proposedLessons(c call, run string) (web.ProposedLessons, error) {
	if c.project.Lessons == nil {
		return web.ProposedLessons{}, web.ErrNoProject
	}
	return c.project.Lessons.Proposed(c, run)
}
