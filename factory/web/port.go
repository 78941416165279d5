package web

import (
	"crypto/hmac"
	"net"
	"net/http"
	"strings"
)

// Cookies know no ports. A browser sends the session's cookie to every server of
// the same name, also to one that an agent opened on another port of this
// machine. So a cookie alone opens nothing there. What a browser keeps for one
// port is a page's own storage: a sign-in leaves the session's token in it, and
// enter.js asks for each page with that token in a header. Nobody who holds only
// the cookie can read a page, and the token stands nowhere else.

// sharesCookies says whether the cookie that comes with a request may have been
// sent to others as well. By https only a server with the name's certificate
// gets it; but for names of this machine browsers take http to be as good.
func (s *Server) sharesCookies(r *http.Request) bool {
	return !s.TLS || loopbackName(hostName(r.Host))
}

// loopbackName says whether browsers take a name to be this machine.
func loopbackName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if ip := net.ParseIP(name); ip != nil {
		return ip.IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// cookieName is the session's cookie. Under https the prefix lets no browser
// take it from another host. The port keeps two servers of one machine from
// taking each other's place.
func (s *Server) cookieName(r *http.Request) string {
	if s.TLS {
		return "__Host-forge"
	}
	name := "forge_session"
	if _, port, err := net.SplitHostPort(r.Host); err == nil && port != "" && strings.Trim(port, "0123456789") == "" {
		name += "_" + port
	}
	return name
}

// token is what the pages of a person's session know and their cookie does not
// say: their forms and scripts send it.
func (s *Server) token(p Person) string {
	if p.session == "" {
		return ""
	}
	return mac(s.Keys.form, "form", p.session)
}

// prove holds the token of a request against its session's. One that changes
// something always has it, so that another site cannot send it; one that reads,
// where others may have the cookie. Who came with a token in the Authorization
// header has shown more than a browser sends by itself.
func (s *Server) prove(v *visit, who Person) error {
	if who.session == "" || safe(v.Method) && !s.sharesCookies(v.Request) {
		return nil
	}
	got := v.Header.Get(tokenHeader)
	if got == "" && !safe(v.Method) {
		var err error
		if got, err = v.formToken(); err != nil {
			return err
		}
	}
	if hmac.Equal([]byte(got), []byte(s.token(who))) {
		return nil
	}
	if safe(v.Method) {
		return errSignIn
	}
	return &Complaint{http.StatusForbidden, "That form is from another session.", "Load the page again."}
}

// formToken is the token that a form carries in a field; "" = none.
func (v *visit) formToken() (string, error) {
	kind, _, _ := strings.Cut(v.Header.Get("Content-Type"), ";")
	var err error
	switch strings.TrimSpace(kind) {
	case "application/x-www-form-urlencoded":
		err = v.ParseForm()
	case "multipart/form-data":
		err = v.ParseMultipartForm(formMemory)
	}
	if err != nil {
		return "", &Complaint{http.StatusBadRequest, "That form cannot be read.", ""}
	}
	return v.PostForm.Get(tokenField), nil
}
