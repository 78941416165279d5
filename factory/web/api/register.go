package api

import (
	"net/http"

	"forge/factory/web"
)

// Register adds the API to a web server, with what monitors ask for: /metrics
// for who may see every project, /healthz and /readyz for anybody who reaches
// the server.
func (a *API) Register(s *web.Server) {
	s.Mount(Prefix+"/", a)
	s.HandleOpen("GET /healthz", a.Health())
	s.HandleOpen("GET /readyz", a.Ready())
	s.Mount("GET /metrics", a.guarded(a.Metrics()))
}

// guarded lets in who may see every project, wherever they ask from: an agent
// on this machine reaches loopback as well.
func (a *API) guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, _, err := a.Door.Enter(r, web.RoleViewer)
		if err == nil && !web.PersonOf(in.Context()).May(web.AnyProject, web.RoleViewer) {
			err = &web.Complaint{Status: http.StatusForbidden, What: "These figures name every project.", Fix: "Ask an admin of this server for the role viewer in all of them."}
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}
