package web

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"forge/internal/work"
)

// pageOfCards is how many cards a column shows at first, and more at a time.
const pageOfCards = 50

func (s *Server) boardRoutes() {
	s.mux.Handle("GET /p/{project}", s.need(RoleViewer, s.boardPage))
	s.mux.Handle("GET /p/{project}/columns", s.need(RoleViewer, s.columnsPart))
	s.mux.Handle("GET /p/{project}/columns/{column}", s.need(RoleViewer, s.moreCards))
	s.mux.Handle("POST /p/{project}/issues/{id}/move", s.need(RoleOperator, s.moveIssue))
}

// boardFilter is what of a board is shown.
type boardFilter struct {
	Label  string
	Search string
}

func filterOf(q url.Values) boardFilter {
	return boardFilter{Label: strings.TrimSpace(q.Get("label")), Search: strings.TrimSpace(q.Get("q"))}
}

// Query is the filter as addresses carry it.
func (f boardFilter) Query() string {
	q := url.Values{}
	for name, value := range map[string]string{"label": f.Label, "q": f.Search} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q.Encode()
}

// Any says whether cards are left out.
func (f boardFilter) Any() bool { return f.Label != "" || f.Search != "" }

// boardPage is what pages/board.html shows.
type boardPage struct {
	Filter  boardFilter
	Columns template.HTML
	Floor   *Standing // nil = unknown
	Levels  Choices
	// Companion is where the project is talked about; "" = nobody is talked to.
	Companion string
}

func (s *Server) boardPage(v *visit) error {
	page := boardPage{Filter: filterOf(v.URL.Query())}
	var err error
	if page.Columns, err = s.boards.columns(v.Context(), s, v.Project, page.Filter); err != nil {
		return err
	}
	if v.Project.Floor != nil {
		standing, err := s.floors.now(v.Context(), s, v.Project)
		if err != nil {
			return err
		}
		page.Floor = &standing
	}
	v.Live = []string{BoardTopic(v.Project.ID), FloorTopic(v.Project.ID)}
	page.Companion = v.companionPanel("")
	return v.page("board", "Board", page)
}

// columnsPart is all columns by themselves, for a page that is behind.
func (s *Server) columnsPart(v *visit) error {
	html, err := s.boards.columns(v.Context(), s, v.Project, filterOf(v.URL.Query()))
	if err != nil {
		return err
	}
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.W.Header().Set("Cache-Control", "no-store")
	_, _ = v.W.Write([]byte(html))
	return nil
}

// boardColumn is one column as the template shows it.
type boardColumn struct {
	Column work.Column
	Count  int
	Cards  []shownCard
	More   string // address of the next cards; "" = these are all
	Filter boardFilter
	URL    string
}

func (s *Server) moreCards(v *visit) error {
	column := work.Column(v.PathValue("column"))
	known := false
	for _, c := range work.Columns() {
		known = known || c == column
	}
	if !known {
		return ErrNoProject
	}
	c, err := s.column(v.Context(), v.Project, column, filterOf(v.URL.Query()), v.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	return v.part("board", "cards", c)
}

// column reads a page of a column, after the place after.
func (s *Server) column(ctx context.Context, p Project, column work.Column, f boardFilter, after string) (boardColumn, error) {
	out := boardColumn{Column: column, Filter: f, URL: "/p/" + p.ID}
	issues, err := p.Cards.Issues(ctx, work.IssueFilter{Project: p.Board.Project, Column: column, Label: f.Label, Search: f.Search}, pageOfCards+1, after)
	if err != nil {
		return out, err
	}
	if len(issues) > pageOfCards {
		issues = issues[:pageOfCards]
		q, err := url.ParseQuery(f.Query())
		if err != nil {
			return out, fmt.Errorf("write the address of more cards: %w", err)
		}
		q.Set("after", issues[pageOfCards-1].Rank)
		out.More = out.URL + "/columns/" + string(column) + "?" + q.Encode()
	}
	out.Cards, err = s.cardsOf(ctx, p, issues)
	return out, err
}

// boardCache keeps the columns of boards as they were last rendered: many look
// at one board.
type boardCache struct {
	mu   sync.Mutex
	kept map[string]keptBoard
}

type keptBoard struct {
	version int64
	html    template.HTML
}

// mostBoards is how many boards and filters are kept.
const mostBoards = 64

func (c *boardCache) columns(ctx context.Context, s *Server, p Project, f boardFilter) (template.HTML, error) {
	key := p.ID + "?" + f.Query()
	var version int64
	if p.Watch != nil {
		var err error
		// Before anything is read: what is kept is never newer than it says.
		if version, err = p.Watch.Version(ctx); err != nil {
			return "", err
		}
		c.mu.Lock()
		kept, ok := c.kept[key]
		c.mu.Unlock()
		if ok && kept.version == version {
			return kept.html, nil
		}
	}
	if p.Floor != nil {
		// Not the one of a moment ago: it is kept with this version.
		if _, err := s.floors.now(ctx, s, p); err != nil {
			return "", err
		}
	}
	counts, err := p.Cards.IssueCounts(ctx, p.Board.Project)
	if err != nil {
		return "", err
	}
	var columns []boardColumn
	for _, name := range work.Columns() {
		column, err := s.column(ctx, p, name, f, "")
		if err != nil {
			return "", err
		}
		column.Count = counts[name]
		columns = append(columns, column)
	}
	var b bytes.Buffer
	if err := s.pages["board"].ExecuteTemplate(&b, "columns", map[string]any{"Columns": columns, "Filter": f, "Project": p.ID}); err != nil {
		return "", fmt.Errorf("make the board: %w", err)
	}
	html := template.HTML(b.String())
	if p.Watch != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.kept == nil || len(c.kept) >= mostBoards {
			c.kept = map[string]keptBoard{}
		}
		c.kept[key] = keptBoard{version: version, html: html}
	}
	return html, nil
}

// wantsJSON says whether a script asks, and reads JSON.
func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}
