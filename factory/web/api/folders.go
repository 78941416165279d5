package api

import (
	"errors"
	"net/http"

	"forge/factory/web"
)

// AddProject names a folder.
type AddProject struct {
	Body struct {
		Path string `json:"path" minLength:"1" maxLength:"4096" doc:"As list-folders names it."`
	}
}

type folders struct {
	Roots   []string     `json:"roots" doc:"The folders of server.roots."`
	Folders []web.Folder `json:"folders"`
}

func (a *API) folderRoutes() {
	add(a, Route{ID: "list-folders", Method: http.MethodGet, Path: "/folders", Role: web.RoleAdmin, Summary: "Checkouts below server.roots that are no project; takes admin in all projects", Tag: "projects"},
		func(c call, _ *None) (*Answer[folders], error) {
			adds, err := a.adds(c)
			if err != nil {
				return nil, err
			}
			list, err := adds.Folders(c)
			return answer(folders{append([]string{}, adds.Roots()...), append([]web.Folder{}, list...)}, err)
		})
	add(a, Route{ID: "add-project", Method: http.MethodPost, Path: "/projects", Role: web.RoleAdmin, Summary: "Make a project of one of these folders; takes admin in all projects", Tag: "projects"},
		func(c call, in *AddProject) (*Answer[projectLine], error) {
			adds, err := a.adds(c)
			if err != nil {
				return nil, err
			}
			id, err := adds.Add(c, in.Body.Path, c.who.Name)
			if errors.Is(err, web.ErrNoFolder) {
				err = invalid("body.path", "no folder that may be added; list-folders names them")
			}
			return answer(projectLine{ID: id, Role: c.who.Role(id).String()}, err)
		})
}

// adds is what adds projects, for who may.
func (a *API) adds(c call) (web.Adds, error) {
	if !c.who.MayAdd() {
		return nil, &Problem{Status: http.StatusForbidden, Code: "forbidden", Detail: "To add a project takes the role admin in all projects.", Fix: "Ask the owner of this server."}
	}
	if a.Adds == nil {
		return nil, &Problem{Status: http.StatusNotFound, Code: "not_found", Detail: "No project can be added here.", Fix: "Name it when the server starts: forge factory --project DIR."}
	}
	return a.Adds, nil
}
