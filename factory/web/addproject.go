package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Folder is a checkout that may become a project.
type Folder struct {
	Path    string    `json:"path"`
	Changed time.Time `json:"changed" doc:"When somebody committed there last."`
}

// Adds makes projects of folders. It may be called by many at once.
type Adds interface {
	// Roots are the folders below which projects may be added.
	Roots() []string
	// Folders are the checkouts there that are no project, the one that was
	// committed to last first.
	Folders(ctx context.Context) ([]Folder, error)
	// Add makes a project of one of Folders, named by its path to the letter;
	// ErrNoFolder when it is none of them. It returns the project's id.
	Add(ctx context.Context, path, by string) (string, error)
}

// ErrNoFolder says that a folder is none of those that may be added.
var ErrNoFolder = errors.New("no folder that may be added")

// MayAdd says whether a person may add projects: an admin of all of them.
func (p Person) MayAdd() bool { return p.May("*", RoleAdmin) }

func (s *Server) addProjectRoutes() {
	s.mux.Handle("GET /projects/new", s.need(RoleAdmin, s.addProjectPage))
	s.mux.Handle("POST /projects", s.need(RoleAdmin, s.addProject))
}

// addForm is the list of what may be added.
type addForm struct {
	Token   string
	Roots   []string
	Folders []Folder
	Wrong   *Complaint
}

func (s *Server) addForm(v *visit) (f addForm, err error) {
	if !v.Who.MayAdd() {
		return f, &Complaint{http.StatusForbidden, "To add a project takes the role admin in all projects.", "Ask the owner of this server."}
	}
	if s.Adds == nil {
		return f, &Complaint{http.StatusNotFound, "No project can be added here.", "Name it when the server starts: forge factory --project DIR."}
	}
	f.Token, f.Roots = s.token(v.Who), s.Adds.Roots()
	f.Folders, err = s.Adds.Folders(v.Context())
	return f, err
}

func (s *Server) addProjectPage(v *visit) error {
	f, err := s.addForm(v)
	if err != nil {
		return err
	}
	return v.page("addproject", "Add a project", f)
}

func (s *Server) addProject(v *visit) error {
	f, err := s.addForm(v)
	if err != nil {
		return err
	}
	id, err := s.Adds.Add(v.Context(), v.PostFormValue("path"), v.Who.Name)
	if errors.Is(err, ErrNoFolder) {
		err = &Complaint{http.StatusUnprocessableEntity, "That is no folder that may be added.", "Choose one of these."}
	}
	if err != nil {
		if f.Wrong = complaint(err); f.Wrong == nil {
			return err
		}
		return s.write(v, f.Wrong.Status, "addproject", "layout", v.view("Add a project", f))
	}
	return v.seeOther("/p/" + url.PathEscape(id))
}
