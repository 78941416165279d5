package api

import (
	"net/http"

	"forge/factory/web"
	"forge/internal/work"
)

// projectLine is one project in a list.
type projectLine struct {
	ID   string `json:"id"`
	Role string `json:"role" doc:"What you may do in it: viewer, reviewer, operator or admin."`
}

// projectShown is one project.
type projectShown struct {
	projectLine
	Counts map[work.Column]int `json:"counts" doc:"How many issues stand in each column."`
	Floor  web.Standing        `json:"floor"`
}

// me is who asks.
type me struct {
	Name  string            `json:"name"`
	Roles map[string]string `json:"roles" doc:"By project; * stands for all of them."`
}

func (a *API) projectRoutes() {
	add(a, Route{ID: "whoami", Method: http.MethodGet, Path: "/me", Role: web.RoleViewer, Summary: "Who you are and what you may", Tag: "projects"},
		func(c call, _ *None) (*Answer[me], error) {
			out := me{Name: c.who.Name, Roles: map[string]string{}}
			for project, role := range c.who.Roles {
				out.Roles[project] = role.String()
			}
			return answer(out, nil)
		})
	add(a, Route{ID: "list-projects", Method: http.MethodGet, Path: "/projects", Role: web.RoleViewer, Summary: "The projects that you may see", Tag: "projects"},
		func(c call, _ *None) (*Answer[[]projectLine], error) {
			all, err := a.visible(c)
			out := []projectLine{}
			for _, p := range all {
				out = append(out, projectLine{ID: p.ID, Role: c.who.Role(p.ID).String()})
			}
			return answer(out, err)
		})
	add(a, Route{ID: "show-project", Method: http.MethodGet, Path: "/projects/{project}", Role: web.RoleViewer, Summary: "One project, its columns and how its floor stands", Tag: "projects"},
		func(c call, _ *InProject) (*Answer[projectShown], error) {
			out := projectShown{projectLine: projectLine{ID: c.project.ID, Role: c.who.Role(c.project.ID).String()}, Counts: map[work.Column]int{}}
			counts, err := c.project.Cards.IssueCounts(c, c.project.Board.Project)
			if err != nil {
				return nil, err
			}
			for _, column := range work.Columns() {
				out.Counts[column] = counts[column]
			}
			out.Floor, err = standing(c)
			return answer(out, err)
		})
}

// visible are the projects that a person may see.
func (a *API) visible(c call) ([]web.Project, error) {
	all, err := a.Site.Projects(c)
	if err != nil {
		return nil, err
	}
	out := []web.Project{}
	for _, p := range all {
		if c.who.May(p.ID, web.RoleViewer) {
			out = append(out, p)
		}
	}
	return out, nil
}
