// Package server serves the pages and the API of the factory: its settings, its
// key and users, its address and limits, and the projects below its roots.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	charm "charm.land/log/v2"

	pages "forge/factory/web"
	"forge/factory/web/api"
	"forge/gates"
	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/mcp"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
)

const (
	// headerWait is how long a client may take to say what it wants, and
	// bodyWait until it has said all of it.
	headerWait, bodyWait = 10 * time.Second, 60 * time.Second
	// answerWait is how long an answer may take; streams have no end.
	answerWait = 2 * time.Minute
	idleWait   = 2 * time.Minute
	// shutWait is how long answers under way may take when the server ends.
	shutWait = 3 * time.Second
	// MostHeader is how large a request's head may be, in bytes.
	MostHeader = 64 << 10
)

// Config is what a server is made of.
type Config struct {
	Env      project.Env
	Settings config.WebServer
	Keys     *pages.Keys
	Site     pages.Site
	// Adds makes projects of folders, nil = none are added here.
	Adds pages.Adds
	// Policies are the presets of a project, with its configuration as it is now.
	Policies func(context.Context, pages.Project) (gates.Catalogue, error)
	// Beside runs for as long as it serves, and ends with its context.
	Beside  []func(context.Context)
	Version string // of this program
}

// Server is the factory's pages and API, served.
type Server struct {
	Pages *pages.Server
	API   *api.API
	MCP   *mcp.Handler
	HTTP  *http.Server
	URL   string // under which people reach it

	c   Config
	in  net.Listener
	dir string
	all sync.WaitGroup
}

// Settings reads the settings of the server, which are the user's alone.
func Settings(env project.Env, listen string) (config.WebServer, *pages.Keys, error) {
	none := config.WebServer{}
	keys, err := Keys(env)
	if err != nil {
		return none, nil, err
	}
	users, err := keys.Users()
	if err != nil {
		return none, nil, refusal.New("mend that file, or remove it and add the users again", "%v", err)
	}
	// Not the project's file: no project has a say in who may come in.
	cfg, _, err := config.Load(config.Sources{ProjectDir: config.ServerDir(env.Environ), Without: config.AllOfProject, UserFile: config.UserFile(env.Environ), Environ: env.Environ})
	if err != nil {
		return none, nil, err
	}
	set, err := cfg.WebServer(listen, len(users) > 0)
	return set, keys, err
}

// Keys opens the folder with the server's key, and its users and sessions: there, or
// in the database that the user names.
func Keys(env project.Env) (*pages.Keys, error) {
	dir := config.ServerDir(env.Environ)
	if dir == "" {
		return nil, refusal.New("set HOME, XDG_STATE_HOME or FORGE_STATE_DIR", "there is no place for the server's key")
	}
	shared, err := openShared(env, dir)
	if err != nil {
		return nil, err
	}
	var keys *pages.Keys
	if shared != nil {
		keys, err = pages.OpenSharedKeys(dir, env.Now, shared)
	} else {
		keys, err = pages.OpenKeys(dir, env.Now)
	}
	if err != nil {
		return nil, refusal.New("mend it, or remove the folder "+dir+", which ends all sessions and users", "%v", err)
	}
	keys.Owner = text.PlainLine(env.User())
	return keys, nil
}

// Open makes a server and takes its address; nil when none is to be served. The
// caller starts it.
func Open(c Config) (*Server, error) {
	if c.Settings.Listen == config.ListenOff {
		return nil, nil
	}
	in, err := listen(c.Env.Log, c.Settings)
	if err != nil {
		return nil, err
	}
	s := &Server{c: c, in: in, URL: c.Settings.URL(ShownAddr(in.Addr().String())), dir: config.ServerDir(c.Env.Environ)}
	if err := s.make(); err != nil {
		_ = in.Close()
		return nil, err
	}
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.in.Addr() }

// Close ends a server that was not started.
func (s *Server) Close() {
	s.Pages.Close()
	s.API.Close()
	s.MCP.Close()
	_ = s.in.Close()
}

// listen takes the address. Where nobody chose it, another one will do.
func listen(log *charm.Logger, set config.WebServer) (net.Listener, error) {
	in, err := net.Listen("tcp", set.Listen)
	if err != nil && set.Default && errors.Is(err, syscall.EADDRINUSE) {
		log.Info("another server has the usual address", "address", set.Listen, "way out", "one serves several projects: forge factory --project DIR --project DIR, or server.roots")
		host, _, _ := net.SplitHostPort(set.Listen) // it was checked
		in, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, refusal.New("server.listen or --listen names another one; :0 takes any port; off serves no pages", "listen on %s: %v", set.Listen, err)
	}
	// A name is whatever the machine resolves it to.
	if at, ok := in.Addr().(*net.TCPAddr); set.Loopback && (!ok || !at.IP.IsLoopback()) {
		_ = in.Close()
		return nil, refusal.New("write 127.0.0.1 instead of a name", "listen on %s: that is %s, which other machines reach", set.Listen, in.Addr())
	}
	return in, nil
}

// ShownAddr is an address that a browser on this machine can open.
func ShownAddr(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

func (s *Server) make() (err error) {
	c, set, log := s.c, s.c.Settings, slog.New(s.c.Env.Log)
	s.Pages, err = pages.New(pages.Config{
		Site: c.Site, Adds: c.Adds, Keys: c.Keys, Hosts: set.Hosts, TLS: set.HTTPS(), BehindProxy: set.BehindProxy,
		Now: c.Env.Now, Log: log, Version: c.Version,
	})
	if err != nil {
		return err
	}
	s.API, err = api.New(api.Config{Site: c.Site, Adds: c.Adds, Door: s.Pages, Figures: s.Pages.Figures, Policies: c.Policies, Now: c.Env.Now, Log: log, Version: c.Version})
	if err != nil {
		return err
	}
	s.API.Register(s.Pages)
	records := &mcp.Records{Dir: s.dir}
	s.MCP, err = mcp.NewHandler(mcp.HandlerConfig{Site: c.Site, Tokens: tokensOf(c.Keys, s.dir, c.Env), Record: records.Keep, Log: log, Version: c.Version})
	if err != nil {
		return err
	}
	s.Pages.HandleToken(mcp.Path, s.MCP.Who, s.MCP)
	s.HTTP = Limited(s.Pages, log)
	if set.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(set.TLSCert, set.TLSKey)
		if err != nil {
			return refusal.New("server.tls_cert and server.tls_key name a certificate and its key, in PEM", "read the server's certificate: %v", err)
		}
		s.in = tls.NewListener(s.in, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
	}
	return nil
}

// Limited serves a handler with limits on what clients send and how long they
// take. Streams lift those on reading and writing for themselves.
func Limited(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerWait, ReadTimeout: bodyWait, WriteTimeout: answerWait, IdleTimeout: idleWait,
		MaxHeaderBytes: MostHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Start serves until the function that it returns is called, which waits until
// all of it has ended. Streams end when ctx does.
func (s *Server) Start(ctx context.Context) (end func(), err error) {
	if err := s.note(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s.all.Go(func() {
		if err := s.HTTP.Serve(s.in); !errors.Is(err, http.ErrServerClosed) {
			s.c.Env.Log.Error("the pages are not served any more", "err", err)
		}
	})
	for _, do := range s.c.Beside {
		s.all.Go(func() { do(ctx) })
	}
	s.all.Go(func() {
		<-ctx.Done()
		s.Pages.Close()
		s.API.Close()
		s.MCP.Close()
		shut, done := context.WithTimeout(context.WithoutCancel(ctx), shutWait)
		defer done()
		if s.HTTP.Shutdown(shut) != nil {
			_ = s.HTTP.Close() // what takes longer is cut off
		}
	})
	s.c.Env.Log.Info("the pages are at " + s.URL)
	return func() {
		cancel()
		s.all.Wait()
		s.unnote()
	}, nil
}

// SignIn is an address of a server at url that signs in whoever opens it first.
func SignIn(url string, keys *pages.Keys) string { return url + "/sign-in?link=" + keys.Link() }

// SignIn is an address that signs in whoever opens it first.
func (s *Server) SignIn() string { return SignIn(s.URL, s.c.Keys) }

// Running is the address of the server that runs; ok is false where none does.
func Running(env project.Env) (url string, ok bool) {
	note, err := os.ReadFile(noteIn(config.ServerDir(env.Environ)))
	return strings.TrimSpace(string(note)), err == nil
}

// noteIn is where a server says in its folder where it is.
func noteIn(dir string) string { return filepath.Join(dir, "address") }

// note says where the server is, for forge factory url.
func (s *Server) note() error {
	if err := atomicfile.Write(noteIn(s.dir), []byte(s.URL+"\n"), 0o600); err != nil {
		return fmt.Errorf("note the server's address: %w", err)
	}
	return nil
}

// unnote takes the note back, unless another server has written its own since.
func (s *Server) unnote() {
	if text, err := os.ReadFile(noteIn(s.dir)); err == nil && strings.TrimSpace(string(text)) == s.URL {
		_ = os.Remove(noteIn(s.dir)) // at worst it names a server that is gone
	}
}
