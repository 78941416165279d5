package api

import (
	"net/http"

	"forge/factory/web"
)

func (a *API) figureRoutes() {
	add(a, Route{ID: "project-figures", Method: http.MethodGet, Path: "/projects/{project}/figures", Role: web.RoleViewer, Summary: "Throughput, lead time, success, findings and cost, as the metrics page counts them", Tag: "projects"},
		func(c call, _ *InProject) (*Answer[web.Figures], error) {
			return answer(a.Figures(c, c.project))
		})
}
