package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"forge/factory"
	"forge/internal/work"
)

func (s *Server) floorRoutes() {
	s.mux.Handle("GET /p/{project}/floor", s.need(RoleViewer, s.floorPart))
	s.mux.Handle("POST /p/{project}/floor/{word}", s.need(RoleAdmin, s.steer))
}

// floorPart is how the loop stands, for a board that is open.
func (s *Server) floorPart(v *visit) error {
	var page boardPage
	if v.Project.Floor != nil {
		standing, err := s.floors.now(v.Context(), s, v.Project)
		if err != nil {
			return err
		}
		page.Floor = &standing
	}
	return v.part("board", "floor", page)
}

// steer pauses the loop that works on a board, lets it go on, or drains it.
func (s *Server) steer(v *visit) error {
	floor := v.Project.Floor
	if floor == nil {
		return &Complaint{http.StatusConflict, "Nothing works on this board.", ""}
	}
	var err error
	switch v.PathValue("word") {
	case "pause":
		err = floor.Pause(v.Context(), true, v.Who.Name)
	case "resume":
		err = floor.Pause(v.Context(), false, v.Who.Name)
	case "drain":
		err = floor.Drain(v.Context(), v.Who.Name)
	default:
		return ErrNoProject
	}
	if err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url(""))
}

// floorKept is how long a standing serves for cards that are made one by one.
const floorKept = time.Second

// floorCache keeps how the loops of projects stood last: a card that is told of
// does not ask again for each.
type floorCache struct {
	mu   sync.Mutex
	kept map[string]keptFloor
}

type keptFloor struct {
	at       time.Time
	standing Standing
}

// now asks how the loop of a project stands, which must have one.
func (c *floorCache) now(ctx context.Context, s *Server, p Project) (Standing, error) {
	at := s.Now()
	standing, err := p.Floor.Standing(ctx)
	if err != nil {
		return standing, fmt.Errorf("read how the loop stands: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[string]keptFloor{}
	}
	c.kept[p.ID] = keptFloor{at, standing}
	return standing, nil
}

// lately is how it stood a moment ago.
func (c *floorCache) lately(ctx context.Context, s *Server, p Project) (Standing, error) {
	c.mu.Lock()
	kept, ok := c.kept[p.ID]
	c.mu.Unlock()
	if since := s.Now().Sub(kept.at); ok && since >= 0 && since < floorKept {
		return kept.standing, nil
	}
	return c.now(ctx, s, p)
}

// notBegun says why a ready issue that nothing else holds is not worked on;
// "" = it is about to be, as far as is known.
func (f Standing) notBegun(i work.Issue, now time.Time) string {
	later := f.Later[i.ID]
	switch {
	case i.Column != work.ColumnReady || i.State != "":
		return ""
	case !f.Serving:
		return "Nothing works on this board"
	case later.After(now):
		return "Put off until " + later.UTC().Format("2 Jan 15:04 UTC") + ", for a limit that it met"
	case strings.HasPrefix(f.Note, factory.NoteBeside):
		return f.Note
	case f.Note != "":
		return "Not begun: " + f.Note
	case f.Drain:
		return "Not begun: the factory is draining"
	case f.Paused:
		return "Not begun: the factory is paused"
	case len(f.Running) > 0:
		return "Waits for its turn"
	}
	return ""
}
