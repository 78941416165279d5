package web

import (
	"context"

	"forge/internal/work"
)

func (s *Server) projectRoutes() {
	s.mux.Handle("GET /{$}", s.need(RoleViewer, s.projectsPage))
}

// visible are the projects that a person may see.
func (s *Server) visible(ctx context.Context, who Person) ([]Project, error) {
	all, err := s.Site.Projects(ctx)
	if err != nil {
		return nil, err
	}
	var out []Project
	for _, p := range all {
		if who.May(p.ID, RoleViewer) {
			out = append(out, p)
		}
	}
	return out, nil
}

// projectsData is what pages/projects.html shows.
type projectsData struct {
	Tiles  []projectTile
	MayAdd bool
}

// projectTile is a project in the list of all.
type projectTile struct {
	ID, Root string
	Columns  []columnCount
}

type columnCount struct {
	Column work.Column
	Count  int
}

func (s *Server) projectsPage(v *visit) error {
	list, err := s.visible(v.Context(), v.Who)
	if err != nil {
		return err
	}
	var tiles []projectTile
	for _, p := range list {
		counts, err := p.Cards.IssueCounts(v.Context(), p.Board.Project)
		if err != nil {
			return err
		}
		tile := projectTile{ID: p.ID, Root: p.Root}
		for _, c := range work.Columns() {
			if counts[c] > 0 {
				tile.Columns = append(tile.Columns, columnCount{c, counts[c]})
			}
		}
		tiles = append(tiles, tile)
	}
	return v.page("projects", "Projects", projectsData{tiles, s.Adds != nil && v.Who.MayAdd()})
}
