package web

import (
	"errors"
	"net/http"
	"strings"
)

const (
	// pageBody is how much a request to a page may send, in bytes.
	pageBody = 1 << 20
	// unlimited leaves the limit to the handler.
	unlimited = -1
	// formMemory is how much of an uploaded form is kept in memory.
	formMemory = 4 << 20
)

// visit is one request of somebody who may make it.
type visit struct {
	*http.Request
	W   http.ResponseWriter
	Who Person
	// Project is the one that the path names; empty when it names none.
	Project Project
	// Live are the topics that the page shown listens to.
	Live []string

	server *Server
	since  int64 // what the hub had told when the visit began
}

// need is a handler for people who have at least this role in the project that
// the path names; without one, anywhere.
func (s *Server) need(least Role, do func(*visit) error) http.Handler {
	return s.needBody(least, pageBody, do)
}

// needBody is need for requests that may send up to most bytes.
func (s *Server) needBody(least Role, most int64, do func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if most != unlimited {
			r.Body = http.MaxBytesReader(w, r.Body, most)
		}
		v := &visit{W: w, Request: r, server: s, since: s.hub.told()}
		if err := s.enter(v, least); err != nil {
			s.fail(v, err)
			return
		}
		if safe(v.Method) && !v.htmx() && v.Project.ID != "" {
			// Before anything is read for the page, so that its stream can tell
			// of everything that comes after.
			if err := s.feeds.begin(v.Project); err != nil {
				s.fail(v, err)
				return
			}
		}
		if err := do(v); err != nil {
			s.fail(v, err)
		}
	})
}

// enter finds out who asks, for which project, and whether they may.
func (s *Server) enter(v *visit, least Role) error {
	who, err := s.identify(v.Request)
	if err != nil {
		return err
	}
	// Before anybody is named: a page that refuses would say the token.
	if err := s.prove(v, who); err != nil {
		return err
	}
	v.Who = who
	v.Request = v.WithContext(withPerson(v.Context(), who))
	if err := checkAddress(v.URL); err != nil {
		return err
	}
	id := v.PathValue("project")
	// Whether there is such a project is only for those to know who may see it.
	if !who.May(id, least) {
		if id != "" && !who.May(id, RoleViewer) {
			return ErrNoProject
		}
		return &Complaint{Status: http.StatusForbidden, What: "This takes the role " + least.String() + "; you are " + who.Role(id).String() + ".", Fix: "Ask an admin of this server for it."}
	}
	if id != "" {
		if v.Project, err = s.Site.Project(v.Context(), id); err != nil {
			return err
		}
	}
	if safe(v.Method) {
		return nil
	}
	if !s.limits.write(who.Name) {
		return errTooMany
	}
	return nil
}

// htmx says whether a part of a page is asked for rather than a page.
func (v *visit) htmx() bool { return v.Header.Get("HX-Request") == "true" }

// form is a value of the form that was sent, without white space around it.
func (v *visit) form(name string) string { return strings.TrimSpace(v.PostFormValue(name)) }

// seeOther sends the browser to another address of this server.
func (v *visit) seeOther(path string) error {
	if v.htmx() {
		v.W.Header().Set("HX-Redirect", path)
		v.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(v.W, v.Request, path, http.StatusSeeOther)
	return nil
}

// url is an address below the visit's project.
func (v *visit) url(path string) string { return "/p/" + v.Project.ID + path }

// errTooMany: somebody asks more often than a person would.
var errTooMany = errors.New("too many requests")
