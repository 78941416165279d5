package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"forge/factory"
	"forge/internal/text"
	"forge/internal/work"
)

// Schedules are issues that are put on a board at times of their own.
type Schedules interface {
	List(ctx context.Context) ([]Schedule, error)
	// Run puts the issue of one on the board now.
	Run(ctx context.Context, name string, by factory.By) (work.Issue, error)
	// Pause lets one put nothing there, or again.
	Pause(ctx context.Context, name string, paused bool, by string) error
}

// Schedule is one of them as it stands.
type Schedule struct {
	Name   string    `json:"name"`
	Cron   string    `json:"cron"`
	Zone   string    `json:"zone"`
	Next   time.Time `json:"next,omitzero"`  // zero = never
	Issue  int64     `json:"issue,omitzero"` // the last that it put there, 0 = none
	Paused bool      `json:"paused"`
	Note   string    `json:"note,omitempty"` // what was decided last
}

func (s *Server) scheduleRoutes() {
	s.mux.Handle("GET /p/{project}/schedules", s.need(RoleViewer, s.schedulesPage))
	s.mux.Handle("POST /p/{project}/schedules/{word}", s.need(RoleAdmin, s.steerSchedule))
}

func (s *Server) schedulesPage(v *visit) error {
	if v.Project.Schedules == nil {
		return ErrNoProject
	}
	list, err := v.Project.Schedules.List(v.Context())
	if err != nil {
		return err
	}
	return v.page("schedules", "Schedules", struct{ List []Schedule }{list})
}

// steerSchedule runs one now, pauses it, or lets it go on.
func (s *Server) steerSchedule(v *visit) error {
	on, name := v.Project.Schedules, v.form("name")
	if on == nil {
		return ErrNoProject
	}
	var err error
	switch v.PathValue("word") {
	case "run":
		_, err = on.Run(v.Context(), name, factory.By{Name: v.Who.Name, Door: "web", Note: "run by hand"})
	case "pause":
		err = on.Pause(v.Context(), name, true, v.Who.Name)
	case "resume":
		err = on.Pause(v.Context(), name, false, v.Who.Name)
	default:
		return ErrNoProject
	}
	if errors.Is(err, work.ErrUnknown) {
		return &Complaint{http.StatusUnprocessableEntity, "There is no schedule " + text.OneLine(name, 80) + ".", "The list names them."}
	}
	if err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url("/schedules"))
}
