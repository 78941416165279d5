package api

import (
	"context"
	"net/http"

	"forge/factory/web"
)

func (a *API) floorRoutes() {
	add(a, Route{ID: "show-floor", Method: http.MethodGet, Path: "/projects/{project}/floor", Role: web.RoleViewer, Summary: "How the loop that works on the board stands", Tag: "floor"},
		func(c call, _ *InProject) (*Answer[web.Standing], error) { return answer(standing(c)) })
	for _, one := range []struct {
		id, word, summary string
		do                func(ctx context.Context, f web.Floor, by string) error
	}{
		{"pause-floor", "pause", "Claim nothing new", func(ctx context.Context, f web.Floor, by string) error { return f.Pause(ctx, true, by) }},
		{"resume-floor", "resume", "Claim issues again", func(ctx context.Context, f web.Floor, by string) error { return f.Pause(ctx, false, by) }},
		{"drain-floor", "drain", "Claim nothing new, and end the server when nothing runs", func(ctx context.Context, f web.Floor, by string) error { return f.Drain(ctx, by) }},
	} {
		add(a, Route{ID: one.id, Method: http.MethodPost, Path: "/projects/{project}/floor/" + one.word, Role: web.RoleAdmin, Summary: one.summary, Tag: "floor"},
			func(c call, _ *InProject) (*Answer[web.Standing], error) {
				if err := one.do(c, c.project.Floor, c.who.Name); err != nil {
					return nil, err
				}
				return answer(standing(c))
			})
	}
}

func standing(c call) (web.Standing, error) {
	s, err := c.project.Floor.Standing(c)
	s.Running = append([]int64{}, s.Running...)
	return s, err
}
