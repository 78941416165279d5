package web

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// policyCSP lets a page load what this server serves, and nothing else.
const policyCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// tokenField and tokenHeader carry the session's token.
const (
	tokenField  = "forge_token"
	tokenHeader = "X-Forge-Token"
)

func harden(h http.Header, tls bool) {
	h.Set("Content-Security-Policy", policyCSP)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	if tls {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// refuses says why a request is not even looked at; "" = it is. A name that is
// not ours is another site's that now points here (DNS rebinding); what another
// site's page asks for, other than to be shown a page, is a forgery.
func (s *Server) refuses(r *http.Request) string {
	if !slices.Contains(s.Hosts, hostName(r.Host)) {
		return "This server does not go by that name. Name it in server.hosts of the user's configuration, if it should."
	}
	if err := new(http.CrossOriginProtection).Check(r); err != nil {
		return "That came from a page of another site."
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" {
			return "That came from a page of another site."
		}
	}
	return ""
}

// hostName is a host without its port, in small letters.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// remote is the address that a request came from.
func (s *Server) remote(r *http.Request) string {
	if s.BehindProxy {
		// The last one is what our own proxy saw; those before it anybody may
		// have written.
		all := r.Header.Values("X-Forwarded-For")
		if n := len(all); n > 0 {
			hops := strings.Split(all[n-1], ",")
			if ip := net.ParseIP(strings.TrimSpace(hops[len(hops)-1])); ip != nil {
				return ip.String()
			}
		}
	}
	return hostName(r.RemoteAddr)
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }
