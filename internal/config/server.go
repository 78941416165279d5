package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"forge/internal/text"
)

// Server is [server], of the user's configuration.
type Server struct {
	Listen      *string  `toml:"listen" default:"\"127.0.0.1:7433\"" doc:"Where the factory's pages are served. Any address but loopback needs users (forge factory user add) and https: tls_cert and tls_key, or behind_proxy. off serves none." sample:"\"127.0.0.1:7433\"" rule:"filled" only:"user"`
	Roots       []string `toml:"roots" default:"[]" doc:"Folders whose checkouts with .forge/, in them or one level below, are the factory's projects; none = the project of the working directory." rule:"abspath" only:"user"`
	TLSCert     *string  `toml:"tls_cert" doc:"File with the server's certificate, in PEM." sample:"\"/etc/forge/cert.pem\"" rule:"abspath" only:"user"`
	TLSKey      *string  `toml:"tls_key" doc:"File with the certificate's key, in PEM." sample:"\"/etc/forge/key.pem\"" rule:"abspath" only:"user"`
	BehindProxy *bool    `toml:"behind_proxy" default:"false" doc:"A proxy of yours stands in front, speaks https to people, and sets X-Forwarded-For. Only where nobody reaches the address past it." only:"user"`
	PublicURL   *string  `toml:"public_url" doc:"The address under which people reach the server." sample:"\"https://forge.example.com\"" rule:"url" only:"user"`
	Hosts       []string `toml:"hosts" default:"[]" doc:"Further names under which the server may be asked; others are refused." rule:"host" only:"user"`
}

// ListenOff in the place of an address serves no pages.
const ListenOff = "off"

// WebServer is [server], resolved.
type WebServer struct {
	Listen          string // host:port, or ListenOff
	Default         bool   // nobody said where to listen
	Loopback        bool   // nobody but this machine reaches it
	Roots           []string
	TLSCert, TLSKey string // both or neither
	BehindProxy     bool
	PublicURL       string
	Hosts           []string // names without ports, in small letters

	rootsAt []Problem // where each of Roots was said, and nothing more
}

// BadRoot is what is wrong with the nth of Roots, as a problem of the file that
// names it.
func (s WebServer) BadRoot(n int, what, fix string) Problem {
	p := s.rootsAt[n]
	p.What, p.Fix = what, fix
	return p
}

// HTTPS says whether people reach it by https.
func (s WebServer) HTTPS() bool {
	return s.TLSCert != "" || s.BehindProxy && strings.HasPrefix(s.PublicURL, "https://")
}

// URL is the address under which people reach the server when it listens on
// addr.
func (s WebServer) URL(addr string) string {
	switch {
	case s.PublicURL != "":
		return strings.TrimRight(s.PublicURL, "/")
	case s.TLSCert != "":
		return "https://" + addr
	}
	return "http://" + addr
}

// WebServer is what [server] says, with listen in the place of its own when it
// is not "". users says whether anybody has a token. The error is *Problems.
func (c *Config) WebServer(listen string, users bool) (WebServer, error) {
	f := c.File.Server
	out := WebServer{
		Listen: said(f.Listen), TLSCert: c.home(said(f.TLSCert)), TLSKey: c.home(said(f.TLSKey)),
		BehindProxy: said(f.BehindProxy), PublicURL: said(f.PublicURL),
	}
	if listen != "" {
		out.Listen = listen
	}
	out.Default = listen == "" && c.Origin("server.listen") == "default"
	for n, root := range f.Roots {
		file, at := c.where("server", "roots", element(n))
		out.Roots = append(out.Roots, filepath.Clean(c.home(root)))
		out.rootsAt = append(out.rootsAt, Problem{File: file, Line: at.line, Col: at.col})
	}
	col := &collector{}
	bad := func(key, what, fix string) {
		file, at := c.where("server", key)
		if listen != "" && key == "listen" {
			file = "--listen"
		}
		col.add(file, at, what, fix)
	}
	if out.Listen == ListenOff {
		return out, nil
	}
	host, port, err := net.SplitHostPort(out.Listen)
	if n, portErr := strconv.Atoi(port); err != nil || portErr != nil || n < 0 || n > 65535 {
		bad("listen", fmt.Sprintf("server.listen is %q, not an address", text.Clip(out.Listen, mostQuoted)), `write such as "127.0.0.1:7433" or ":7433"`)
		return out, col.err()
	}
	ip := net.ParseIP(host)
	out.Loopback = host == "localhost" || ip != nil && ip.IsLoopback()
	if (out.TLSCert == "") != (out.TLSKey == "") {
		bad("tls_cert", "server.tls_cert and server.tls_key belong together", "set both, or neither")
	}
	if out.BehindProxy && out.PublicURL == "" {
		bad("behind_proxy", "server.behind_proxy is set, and server.public_url is not", `write the address that the proxy serves, such as "https://forge.example.com"`)
	}
	if https := strings.HasPrefix(out.PublicURL, "https://"); out.BehindProxy && out.PublicURL != "" && !https && out.TLSCert == "" {
		bad("public_url", fmt.Sprintf("server.behind_proxy is set, and server.public_url %s is without https", out.PublicURL), "have the proxy speak https, and write the address that it serves")
	}
	if !out.Loopback {
		if out.TLSCert == "" && !(out.BehindProxy && strings.HasPrefix(out.PublicURL, "https://")) {
			bad("listen", fmt.Sprintf("server.listen %s is reached from other machines, without https", out.Listen), "set server.tls_cert and server.tls_key, or server.behind_proxy = true with an https public_url, or listen on 127.0.0.1")
		}
		if !users {
			bad("listen", fmt.Sprintf("server.listen %s is reached from other machines, and nobody has a token", out.Listen), "forge factory user add NAME --role admin")
		}
	}
	out.Hosts = hostNames(out, host, f.Hosts)
	return out, col.err()
}

// hostNames are the names under which the server may be asked.
func hostNames(s WebServer, listens string, more []string) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if ip := net.ParseIP(listens); listens != "" && (ip == nil || !ip.IsUnspecified()) {
		names = append(names, listens)
	}
	if u, err := url.Parse(s.PublicURL); err == nil && u.Hostname() != "" {
		names = append(names, u.Hostname())
	}
	for _, name := range more {
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
		names = append(names, strings.Trim(name, "[]"))
	}
	for n := range names {
		names[n] = strings.ToLower(names[n])
	}
	return names
}

// home is a path with ~/ written out.
func (c *Config) home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && c.environ["HOME"] != "" {
		return filepath.Join(c.environ["HOME"], rest)
	}
	return path
}

// ServerDir is the folder in which the factory's server keeps its key, users and
// sessions: server in $FORGE_STATE_DIR, else $XDG_STATE_HOME/forge-server, else
// ~/.local/state/forge-server. "" where there is no place for it.
func ServerDir(environ []string) string {
	env := environment(environ)
	switch {
	case filepath.IsAbs(env["FORGE_STATE_DIR"]):
		return filepath.Join(env["FORGE_STATE_DIR"], "server")
	case filepath.IsAbs(env["XDG_STATE_HOME"]):
		return filepath.Join(env["XDG_STATE_HOME"], "forge-server")
	case filepath.IsAbs(env["HOME"]):
		return filepath.Join(env["HOME"], ".local", "state", "forge-server")
	}
	return ""
}
