package web

import (
	"net/http"
	"strings"
)

func (s *Server) signInRoutes() {
	s.mux.HandleFunc("GET /sign-in", s.signInPage)
	s.mux.HandleFunc("POST /sign-in", s.signIn)
	s.mux.Handle("POST /sign-out", s.need(RoleViewer, s.signOut))
	s.mux.HandleFunc("POST /theme", s.setTheme)
}

// identify finds out who asks.
func (s *Server) identify(r *http.Request) (Person, error) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		u, ok, err := s.Keys.byToken(strings.TrimSpace(token))
		if err != nil {
			return Person{}, err
		}
		if !ok {
			if !s.limits.signIn(s.remote(r)) {
				return Person{}, errTooMany
			}
			return Person{}, errSignIn
		}
		return u.person(), nil
	}
	c, err := r.Cookie(s.cookieName(r))
	if err != nil {
		return Person{}, errSignIn
	}
	p, ok, err := s.Keys.bySession(c.Value)
	if err != nil {
		return Person{}, err
	}
	if !ok {
		return Person{}, errSignIn
	}
	return p, nil
}

// signInPage asks for a token, or takes the one that a link carries and sends
// the browser to an address without it.
func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) {
	v := &visit{W: w, Request: r, server: s}
	word := r.URL.Query().Get("link")
	if word == "" {
		s.askToSignIn(v, http.StatusOK, "")
		return
	}
	s.begin(v, func() (string, bool, error) { return s.Keys.redeem(word) }, "This link was used before or is too old. forge factory url prints a new one.", localPath(r.URL.Query().Get("next")))
}

func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	v := &visit{W: w, Request: r, server: s}
	s.begin(v, func() (string, bool, error) { return s.Keys.signIn(v.form("token")) }, "Nobody has that token.", localPath(v.form("next")))
}

// begin begins a session, if whoever asks may.
func (s *Server) begin(v *visit, try func() (string, bool, error), otherwise, next string) {
	if !s.limits.signIn(s.remote(v.Request)) {
		s.fail(v, errTooMany)
		return
	}
	cookie, ok, err := try()
	if err != nil {
		s.fail(v, err)
		return
	}
	if !ok {
		s.Log.Warn("a sign-in was refused", "from", s.remote(v.Request))
		s.askToSignIn(v, http.StatusUnauthorized, otherwise)
		return
	}
	http.SetCookie(v.W, &http.Cookie{
		Name: s.cookieName(v.Request), Value: cookie, Path: "/", MaxAge: int(sessionLife.Seconds()),
		HttpOnly: true, Secure: s.TLS, SameSite: http.SameSiteStrictMode,
	})
	v.W.Header().Set("Cache-Control", "no-store")
	v.W.Header().Set("Referrer-Policy", "no-referrer")
	if s.sharesCookies(v.Request) {
		welcome := v.view("One moment", next)
		welcome.Path = next // the link is no place to come back to
		welcome.Token = s.token(Person{session: hashed(cookie)})
		_ = s.write(v, http.StatusOK, "welcome", "layout", welcome) // it answered
		return
	}
	http.Redirect(v.W, v.Request, next, http.StatusSeeOther)
}

func (s *Server) signOut(v *visit) error {
	if err := s.Keys.signOut(v.Who); err != nil {
		return err
	}
	http.SetCookie(v.W, &http.Cookie{Name: s.cookieName(v.Request), Path: "/", MaxAge: -1, HttpOnly: true, Secure: s.TLS, SameSite: http.SameSiteStrictMode})
	v.W.Header().Set("Clear-Site-Data", `"cache"`)
	return v.seeOther("/sign-in")
}

// signInFirst answers somebody who has to sign in, or whose page has to ask with
// its token. Who follows a link from another site sends no strict cookie with it:
// the page is asked for once more from here, and then the cookie comes along.
func (v *visit) signInFirst() {
	if v.htmx() {
		v.W.Header().Set("HX-Redirect", "/sign-in")
		v.W.WriteHeader(http.StatusNoContent)
		return
	}
	if v.Header.Get("Authorization") != "" {
		v.W.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(v.W, "nobody has that token", http.StatusUnauthorized)
		return
	}
	if safe(v.Method) && v.Header.Get("Sec-Fetch-Site") == "cross-site" && !v.server.sharesCookies(v.Request) {
		_ = v.server.write(v, http.StatusOK, "again", "layout", v.view("One moment", nil)) // it answered
		return
	}
	v.server.askToSignIn(v, http.StatusUnauthorized, "")
}

// askToSignIn shows the page that asks for a token. Where a page was asked for,
// and cookies are shared, its script first asks again with the token that a
// sign-in left in this browser.
func (s *Server) askToSignIn(v *visit, status int, wrong string) {
	next, page := "/", safe(v.Method) && v.URL.Path != "/sign-in"
	if page {
		next = v.URL.RequestURI()
	}
	users, err := s.Keys.Users()
	if err != nil {
		s.Log.Error("the users cannot be read", "err", err)
	}
	_ = s.write(v, status, "signin", "layout", v.view("Sign in", signInData{
		Wrong: wrong, Next: localPath(next), Users: len(users) > 0, Enter: page && s.sharesCookies(v.Request),
	})) // it answered
}

// signInData is what pages/signin.html shows.
type signInData struct {
	Wrong string // why the last try came to nothing
	Next  string // where to go on
	Users bool   // somebody has a token
	Enter bool   // the page that was asked for is tried with the token that is kept
}

func (s *Server) setTheme(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	c := &http.Cookie{Name: "forge_theme", Value: r.PostFormValue("theme"), Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, Secure: s.TLS, SameSite: http.SameSiteStrictMode}
	if c.Value != "dark" && c.Value != "light" {
		c.Value, c.MaxAge = "", -1
	}
	http.SetCookie(w, c)
	http.Redirect(w, r, localPath(r.PostFormValue("next")), http.StatusSeeOther)
}

// localPath is an address of this server, or its front page: a form cannot send
// anybody elsewhere.
func localPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}
