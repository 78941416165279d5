package api

import (
	"errors"
	"net/http"

	"forge/factory"
	"forge/factory/web"
	"forge/internal/work"
)

// InSchedule is one schedule of a project.
type InSchedule struct {
	InProject
	Schedule string `path:"schedule" maxLength:"100" doc:"The schedule's name."`
}

// Schedules are the schedules of a project as they stand.
type Schedules struct {
	Schedules []web.Schedule `json:"schedules"`
}

func (a *API) scheduleRoutes() {
	add(a, Route{ID: "list-schedules", Method: http.MethodGet, Path: "/projects/{project}/schedules", Role: web.RoleViewer, Summary: "The schedules that put issues on the board, with when each is due next", Tag: "schedules"},
		func(c call, _ *InProject) (*Answer[Schedules], error) { return answer(schedules(c)) })
	for _, one := range []struct {
		id, word, summary string
		do                func(c call, on web.Schedules, name string) error
	}{
		{"run-schedule", "run", "Put the issue of a schedule on the board now", func(c call, on web.Schedules, name string) error {
			_, err := on.Run(c, name, factory.By{Name: c.who.Name, Door: "api", Note: "run by hand"})
			return err
		}},
		{"pause-schedule", "pause", "Let a schedule put nothing on the board", func(c call, on web.Schedules, name string) error { return on.Pause(c, name, true, c.who.Name) }},
		{"resume-schedule", "resume", "Let a schedule put issues on the board again", func(c call, on web.Schedules, name string) error { return on.Pause(c, name, false, c.who.Name) }},
	} {
		add(a, Route{ID: one.id, Method: http.MethodPost, Path: "/projects/{project}/schedules/{schedule}/" + one.word, Role: web.RoleAdmin, Summary: one.summary, Tag: "schedules"},
			func(c call, in *InSchedule) (*Answer[Schedules], error) {
				if c.project.Schedules == nil {
					return nil, web.ErrNoProject
				}
				err := one.do(c, c.project.Schedules, in.Schedule)
				if errors.Is(err, work.ErrUnknown) {
					return nil, notFound("unknown_schedule", "There is no such schedule.", "List the project's schedules.")
				}
				if err != nil {
					return nil, err
				}
				return answer(schedules(c))
			})
	}
}

func schedules(c call) (Schedules, error) {
	if c.project.Schedules == nil {
		return Schedules{Schedules: []web.Schedule{}}, nil
	}
	list, err := c.project.Schedules.List(c)
	return Schedules{Schedules: append([]web.Schedule{}, list...)}, err
}
