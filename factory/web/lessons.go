package web

import (
	"context"
	"net/http"
	"net/url"
)

// Lessons are what runs taught a project: those that it keeps and tells its agents,
// and those that a run proposes.
type Lessons interface {
	Kept(ctx context.Context) ([]TaughtLesson, error)
	// Proposed is what a run proposes, "" = the newest one; no agent is asked.
	Proposed(ctx context.Context, run string) (ProposedLessons, error)
	// Keep keeps one that a run proposes, by its id: a person read its words.
	Keep(ctx context.Context, run, id, by string) error
	// Unlearn removes one that is kept.
	Unlearn(ctx context.Context, id string) error
}

// TaughtLesson is one that a project keeps, or that a run proposes.
type TaughtLesson struct {
	ID   string `json:"id" doc:"Of its words: other words, another id."`
	Text string `json:"text"`
	File string `json:"file,omitempty" doc:"That it is about; while it is not there, nobody is told."`
	Gone bool   `json:"gone,omitempty" doc:"Its file is not there."`

	Run    string `json:"run,omitempty" doc:"In which an agent said it; absent = a person wrote it."`
	Phase  string `json:"phase,omitempty"`
	Commit string `json:"commit,omitempty"`
	Agent  string `json:"agent,omitempty"`
	Kept   string `json:"kept,omitempty" doc:"By whom."`
	IsKept bool   `json:"is_kept"`

	Told []string `json:"told,omitempty" doc:"The runs whose agents were told, the newest first."`
}

// ProposedLessons are those of one run.
type ProposedLessons struct {
	Run     string         `json:"run,omitempty" doc:"Absent = there is none."`
	Outside bool           `json:"outside" doc:"The run is about words from outside: each lesson is to be read."`
	Lessons []TaughtLesson `json:"lessons"`
}

func (s *Server) lessonRoutes() {
	s.mux.Handle("GET /p/{project}/lessons", s.need(RoleViewer, s.lessonsPage))
	s.mux.Handle("POST /p/{project}/lessons/{word}", s.need(RoleAdmin, s.changeLessons))
}

// lessonsPage shows what is kept, and what a run proposes.
func (s *Server) lessonsPage(v *visit) error {
	on := v.Project.Lessons
	if on == nil {
		return ErrNoProject
	}
	kept, err := on.Kept(v.Context())
	if err != nil {
		return err
	}
	proposed, err := on.Proposed(v.Context(), v.URL.Query().Get("run"))
	if err != nil {
		return err
	}
	return v.page("lessons", "Lessons", struct {
		Kept     []TaughtLesson
		Proposed ProposedLessons
	}{kept, proposed})
}

// changeLessons keeps one that a run proposes, or removes one that is kept.
func (s *Server) changeLessons(v *visit) error {
	on, run := v.Project.Lessons, v.form("run")
	if on == nil {
		return ErrNoProject
	}
	var err error
	switch v.PathValue("word") {
	case "keep":
		err = on.Keep(v.Context(), run, v.form("id"), v.Who.Name)
	case "unlearn":
		err = on.Unlearn(v.Context(), v.form("id"))
	default:
		return ErrNoProject
	}
	if err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	back := v.url("/lessons")
	if run != "" {
		back += "?run=" + url.QueryEscape(run)
	}
	return v.seeOther(back)
}

// NoLesson is what a person is told who names a lesson that is not there.
func NoLesson() error {
	return &Complaint{http.StatusNotFound, "There is no such lesson.", "Somebody may have changed it; the list names those that there are."}
}
