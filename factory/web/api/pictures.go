package api

import (
	"net/http"

	"forge/factory/web"
)

// PictureQuery names a picture of a page.
type PictureQuery struct {
	InRun
	Picture string `path:"picture" minLength:"64" maxLength:"64" pattern:"^[0-9a-f]{64}$" doc:"As a proof names it: its sha256."`
}

type picture struct {
	Type string `json:"type" doc:"image/png"`
	Data []byte `json:"data"`
}

// pictureRoute gives out what proofs show of pages.
func (a *API) pictureRoute(path string) {
	add(a, Route{ID: "run-picture", Method: http.MethodGet, Path: path + "/{run}/pictures/{picture}", Role: web.RoleViewer, Summary: "A picture of a page, which the last proof of a phase, or the one of the landing, shows", Tag: "runs"},
		func(c call, in *PictureQuery) (*Answer[picture], error) {
			if _, err := findRun(c, in.Run); err != nil {
				return nil, err
			}
			st, err := c.project.Runs.State(c, in.Run)
			if err != nil {
				return nil, err
			}
			shown, err := c.project.ShowsPicture(c, st, in.Picture)
			if err != nil {
				return nil, err
			}
			if !shown {
				return nil, notFound("not_found", "No proof of this run shows such a picture.", "show-run names them.")
			}
			data, err := c.project.Pictures.Picture(c, in.Picture)
			return answer(picture{Type: "image/png", Data: data}, err)
		})
}
