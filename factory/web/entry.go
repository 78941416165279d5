package web

import (
	"errors"
	"net/http"
)

// Enter finds out who makes a request and whether they may: the checks of every
// page, for handlers that say no in their own words. The request that it
// returns knows the person (PersonOf); the project is the one that the path
// names as {project}, empty when it names none.
func (s *Server) Enter(r *http.Request, least Role) (*http.Request, Project, error) {
	v := &visit{Request: r, server: s}
	err := s.enter(v, least)
	if errors.Is(err, errSignIn) || errors.Is(err, errTooMany) {
		err = complaint(err)
	}
	return v.Request, v.Project, err
}

// Mount adds a handler that lets people in by itself, with Enter.
func (s *Server) Mount(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }
