package web

import (
	"net/http"
	"strings"
)

// HandleToken adds a handler for programs that come with a token in Authorization:
// Bearer which is no user's. who says whose it is. Hosts, other sites and how often
// somebody asks are checked as for people; h sees no cookie, and nothing of people
// may be done by it.
func (s *Server) HandleToken(pattern string, who func(token string) (name string, ok bool, err error), h http.Handler) {
	s.HandleOpen(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		name, ok, err := who(strings.TrimSpace(token))
		switch {
		case err != nil:
			s.Log.Error("tokens cannot be read", "err", err)
			http.Error(w, "The server could not do that. Its log says why.", http.StatusInternalServerError)
		case !ok && !s.limits.signIn(s.remote(r)), ok && !safe(r.Method) && !s.limits.write("token "+name):
			http.Error(w, "Too many requests at once. Wait a moment.", http.StatusTooManyRequests)
		case !ok:
			w.Header().Set("WWW-Authenticate", `Bearer realm="forge"`)
			http.Error(w, "Nobody has that token, or it has expired. forge token new makes one.", http.StatusUnauthorized)
		default:
			w.Header().Set("Cache-Control", "no-store")
			h.ServeHTTP(w, r)
		}
	}))
}
