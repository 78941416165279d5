package web

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Bounds of what a job is started with, in bytes where not in number. The
// server's own are smaller where they are.
const (
	jobBody      = 40 << 20
	jobDocuments = 50
	jobDocument  = 8 << 20
)

func (s *Server) jobRoutes() {
	s.mux.Handle("GET /p/{project}/jobs", s.need(RoleViewer, s.jobsPage))
	s.mux.Handle("GET /p/{project}/jobs/new", s.need(RoleOperator, s.newJobPage))
	s.mux.Handle("POST /p/{project}/jobs", s.needBody(RoleOperator, jobBody, s.startJob))
	s.mux.Handle("GET /p/{project}/jobs/{run}", s.need(RoleViewer, s.runPage))
}

func (s *Server) jobsPage(v *visit) error {
	list, err := s.listRuns(v, true)
	if err != nil {
		return err
	}
	return v.page("runs", "Jobs", list)
}

// jobForm is what a job is started with, as a person writes it.
type jobForm struct {
	Base, Token      string
	Description      string
	Expert, Level    string
	Experts, Sources []string
	Levels           Choices
	Wrong            *Complaint
}

func (s *Server) jobForm(v *visit) (jobForm, error) {
	f := jobForm{Base: "/p/" + v.Project.ID, Token: s.token(v.Who)}
	var err error
	if f.Experts, err = v.Project.Jobs.Experts(v.Context()); err != nil {
		return f, err
	}
	if f.Sources, err = v.Project.Jobs.Sources(v.Context()); err != nil {
		return f, err
	}
	if v.Who.May(v.Project.ID, RoleAdmin) {
		f.Levels, err = v.Project.Jobs.Levels(v.Context())
	}
	return f, err
}

func (s *Server) newJobPage(v *visit) error {
	f, err := s.jobForm(v)
	if err != nil {
		return err
	}
	return v.page("job", "New job", f)
}

func (s *Server) startJob(v *visit) error {
	o := JobOrder{Description: v.PostFormValue("description"), Expert: v.form("expert"), Level: v.form("level"), By: v.Who.Name}
	if o.Level != "" && !v.Who.May(v.Project.ID, RoleAdmin) {
		return &Complaint{http.StatusForbidden, "To choose a job's level takes the role admin.", "Leave the level as the project has it."}
	}
	if v.PostForm != nil {
		o.Sources = v.PostForm["source"]
	}
	var err error
	if o.Documents, err = documents(v.MultipartForm); err != nil {
		return err
	}
	id, err := v.Project.Jobs.Start(v.Context(), o)
	if err != nil {
		return s.notStarted(v, o, err)
	}
	s.feeds.poked(v.Project.ID)
	return v.seeOther(v.url("/jobs/" + url.PathEscape(id)))
}

// notStarted shows the form again with what was written, and why no job was
// started: what is wrong with the project's settings is for its people to read.
func (s *Server) notStarted(v *visit, o JobOrder, err error) error {
	f, formErr := s.jobForm(v)
	if formErr != nil {
		return formErr
	}
	f.Description, f.Expert, f.Level = o.Description, o.Expert, o.Level
	if f.Wrong = complaint(err); f.Wrong == nil {
		f.Wrong = &Complaint{http.StatusUnprocessableEntity, sentence(err.Error()), "No job was started; documents have to be chosen again."}
	}
	return s.write(v, f.Wrong.Status, "job", "layout", v.view("New job", f))
}

// documents reads the files that were sent.
func documents(form *multipart.Form) (map[string][]byte, error) {
	out := map[string][]byte{}
	if form == nil {
		return out, nil
	}
	for _, h := range form.File["documents"] {
		if h.Filename == "" || h.Size == 0 {
			continue
		}
		if h.Size > jobDocument || len(out) == jobDocuments {
			return nil, &Complaint{http.StatusRequestEntityTooLarge, fmt.Sprintf("At most %d documents of %d MB each.", jobDocuments, jobDocument>>20), "Send less."}
		}
		f, err := h.Open()
		if err != nil {
			return nil, fmt.Errorf("read a document: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(f, jobDocument+1))
		if err = firstErr(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read a document: %w", err)
		}
		name := path.Base(strings.ReplaceAll(h.Filename, `\`, "/"))
		for n := 2; out[name] != nil; n++ {
			name = fmt.Sprintf("%d-%s", n, path.Base(h.Filename))
		}
		out[name] = data
	}
	return out, nil
}

func firstErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
