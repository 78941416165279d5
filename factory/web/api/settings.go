package api

import (
	"errors"
	"net/http"

	"forge/factory/web"
)

// ChangeSettings puts a text in the place of a project's own configuration.
type ChangeSettings struct {
	InProject
	Body struct {
		Text string `json:"text" maxLength:"1048576" doc:"The whole file."`
		Seen string `json:"seen" minLength:"1" maxLength:"100" doc:"The sum of the text that was read; where the file is another one by now, the answer is 409."`
	}
}

type health struct {
	Text string `json:"text" doc:"What forge doctor says, a line each."`
}

func (a *API) settingsRoutes() {
	const path = "/projects/{project}/settings"
	add(a, Route{ID: "show-settings", Method: http.MethodGet, Path: path, Role: web.RoleAdmin, Summary: "A project's configuration: its own file, and what holds with its meaning", Tag: "projects"},
		func(c call, _ *InProject) (*Answer[web.SettingsNow], error) { return answer(settingsNow(c)) })
	add(a, Route{ID: "change-settings", Method: http.MethodPut, Path: path, Role: web.RoleAdmin, Summary: "Put another text in the place of a project's own file; it is checked first, and counts for what begins from then on", Tag: "projects", MaxBody: 8 << 20},
		func(c call, in *ChangeSettings) (*Answer[web.SettingsNow], error) {
			set, err := settingsOf(c)
			if err != nil {
				return nil, err
			}
			err = set.Write(c, in.Body.Text, in.Body.Seen, c.who.Name)
			if bad := (*web.BadSettings)(nil); errors.As(err, &bad) {
				p := &Problem{Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: "The configuration cannot be used. Nothing was saved."}
				for _, line := range bad.Problems {
					p.Errors = append(p.Errors, Mistake{Location: "body.text", Message: line})
				}
				return nil, p
			}
			if err != nil {
				return nil, err
			}
			return answer(settingsNow(c))
		})
	add(a, Route{ID: "check-health", Method: http.MethodGet, Path: "/projects/{project}/health", Role: web.RoleAdmin, Summary: "What is missing on the server's machine and in the project", Tag: "projects"},
		func(c call, _ *InProject) (*Answer[health], error) {
			set, err := settingsOf(c)
			if err != nil {
				return nil, err
			}
			text, err := set.Health(c)
			return answer(health{text}, err)
		})
}

func settingsOf(c call) (web.Settings, error) {
	if c.project.Settings == nil {
		return nil, &Problem{Status: http.StatusNotFound, Code: "not_found", Detail: "The configuration of this project cannot be changed here.", Fix: "Change its file."}
	}
	return c.project.Settings, nil
}

func settingsNow(c call) (web.SettingsNow, error) {
	set, err := settingsOf(c)
	if err != nil {
		return web.SettingsNow{}, err
	}
	now, err := set.Read(c)
	now.Values, now.Problems = append([]web.Setting{}, now.Values...), append([]string{}, now.Problems...)
	return now, err
}
