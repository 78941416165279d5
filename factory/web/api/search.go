package api

import (
	"net/http"
	"strings"

	"forge/factory/web"
	"forge/internal/search"
)

// SearchQuery is what is looked for.
type SearchQuery struct {
	InProject
	Words string `query:"q" required:"true" minLength:"1" maxLength:"1000" doc:"Words; \"words in a row\", begin*, -without; kind:, run:, phase:, path:, who:, since:2006-01-02, until: narrow it."`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
}

// places is what was found.
type places struct {
	Hits   []search.Hit `json:"hits" doc:"The best first."`
	Partly bool         `json:"partly" doc:"The project is still being read: ask again for the rest."`
	Note   string       `json:"note,omitempty" doc:"What a person is told beside it, such as that no model could be asked what the words mean."`
}

func (a *API) searchRoutes() {
	add(a, Route{ID: "search-project", Method: http.MethodGet, Path: "/projects/{project}/search", Role: web.RoleViewer, Summary: "Where something was said, decided or written", Tag: "projects"},
		func(c call, in *SearchQuery) (*Answer[places], error) {
			if _, wrong := search.Parse(in.Words, a.Now()); len(wrong) > 0 {
				return nil, invalid("query.q", strings.Join(wrong, "; "))
			}
			out := places{Hits: []search.Hit{}}
			if c.project.Search == nil {
				return answer(out, nil)
			}
			found, err := c.project.Search.Find(c, web.Sought{Said: in.Words, Limit: in.Limit})
			out.Hits, out.Partly, out.Note = append(out.Hits, found.Hits...), found.Partly, found.Note
			return answer(out, err)
		})
}
