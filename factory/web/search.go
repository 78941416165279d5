package web

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"forge/internal/search"
	"forge/internal/text"
)

const (
	// mostFound is how many places a page shows of each project.
	mostFound = 30
	// mostSearched is in how many projects one page looks.
	mostSearched = 20
)

func (s *Server) searchRoutes() {
	s.mux.Handle("GET /search", s.need(RoleViewer, s.searchPage))
}

// searchPage is what pages/search.html shows.
type searchPage struct {
	Said  string
	In    string // the project; "" = all that who looks may see
	Wrong []string
	Found []projectHits
	More  int // projects that were not looked at
}

// projectHits are the places of one project.
type projectHits struct {
	Project, Problem string
	Hits             []foundPlace
	Partly           bool
	Note             string
}

type foundPlace struct {
	search.Hit
	URL string // "" = no page shows it
}

// searchPage finds in the projects that who looks may see, and in no others.
func (s *Server) searchPage(v *visit) error {
	page := searchPage{Said: v.URL.Query().Get("q"), In: v.URL.Query().Get("project")}
	projects, err := s.visible(v.Context(), v.Who)
	if err != nil {
		return err
	}
	projects = slices.DeleteFunc(projects, func(p Project) bool { return p.Search == nil || page.In != "" && p.ID != page.In })
	if n := len(projects); n > mostSearched {
		page.More, projects = n-mostSearched, projects[:mostSearched]
	}
	if !text.Blank(page.Said) {
		_, page.Wrong = search.Parse(page.Said, s.Now())
	}
	if !text.Blank(page.Said) && len(page.Wrong) == 0 {
		for _, p := range projects {
			found := projectHits{Project: p.ID}
			answer, err := p.Search.Find(v.Context(), Sought{Said: page.Said, Limit: mostFound})
			if complaint := (*Complaint)(nil); errors.As(err, &complaint) {
				continue // it has no run of that name: another project may
			}
			if err != nil {
				s.Log.Warn("a search failed", "project", p.ID, "err", err)
				found.Problem = "This project could not be searched. The server's log says why."
			}
			found.Partly, found.Note = answer.Partly, answer.Note
			for _, h := range answer.Hits {
				found.Hits = append(found.Hits, foundPlace{h, placeURL(p.ID, h)})
			}
			if err != nil || len(answer.Hits) > 0 || answer.Partly {
				page.Found = append(page.Found, found)
			}
		}
	}
	return v.page("search", "Search", page)
}

// placeURL is the page on which something stands.
func placeURL(project string, h search.Hit) string {
	at := "/p/" + url.PathEscape(project)
	run := at + "/runs/" + url.PathEscape(h.Run)
	switch {
	case h.Kind == search.KindIssue:
		return at + "/issues/" + url.PathEscape(strings.TrimPrefix(h.Path, "#"))
	case h.Run == "":
		return ""
	case h.Kind == search.KindFile:
		return run + "/file?path=" + url.QueryEscape(h.Path)
	}
	if seq, err := strconv.ParseInt(h.Path, 10, 64); err == nil {
		return fmt.Sprintf("%s#event-%d", run, seq)
	}
	return run
}
