package cli

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

	pages "forge/factory/web"
	"forge/factory/web/api"
	"forge/internal/atomicfile"
	"forge/internal/config"
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
	// mostHeader is how large a request's head may be, in bytes.
	mostHeader = 64 << 10
)

// webServer is the factory's pages and API, served.
type webServer struct {
	app   *App
	pages *pages.Server
	api   *api.API
	site  *webSite
	keys  *pages.Keys
	http  *http.Server
	in    net.Listener
	url   string // under which people reach it
	dir   string
	all   sync.WaitGroup
}

// serverSettings reads the settings of the server, which are the user's alone.
func (a *App) serverSettings(listen string) (config.WebServer, *pages.Keys, error) {
	none := config.WebServer{}
	keys, err := a.serverKeys()
	if err != nil {
		return none, nil, err
	}
	users, err := keys.Users()
	if err != nil {
		return none, nil, refusal.New("mend that file, or remove it and add the users again", "%v", err)
	}
	// Not the project's file: no project has a say in who may come in.
	cfg, _, err := config.Load(config.Sources{ProjectDir: config.ServerDir(a.Environ), Without: config.AllOfProject, UserFile: config.UserFile(a.Environ), Environ: a.Environ})
	if err != nil {
		return none, nil, err
	}
	set, err := cfg.WebServer(listen, len(users) > 0)
	return set, keys, err
}

// serverKeys opens the folder with the server's key and users.
func (a *App) serverKeys() (*pages.Keys, error) {
	dir := config.ServerDir(a.Environ)
	if dir == "" {
		return nil, refusal.New("set HOME, XDG_STATE_HOME or FORGE_STATE_DIR", "there is no place for the server's key")
	}
	keys, err := pages.OpenKeys(dir, a.Now)
	if err != nil {
		return nil, refusal.New("mend it, or remove the folder "+dir+", which ends all sessions and users", "%v", err)
	}
	keys.Owner = text.PlainLine(a.env().User())
	return keys, nil
}

// openWeb makes the server for these shops and takes its address; nil when none
// is to be served. The caller starts it.
func (a *App) openWeb(ctx context.Context, shops []*shop, set config.WebServer, keys *pages.Keys) (*webServer, error) {
	if set.Listen == config.ListenOff {
		return nil, nil
	}
	in, err := a.listen(set)
	if err != nil {
		return nil, err
	}
	s := &webServer{app: a, keys: keys, in: in, site: newWebSite(ctx, shops), url: set.URL(shownAddr(in.Addr().String())), dir: config.ServerDir(a.Environ)}
	if err := s.make(set); err != nil {
		_ = in.Close()
		return nil, err
	}
	return s, nil
}

// listen takes the address. Where nobody chose it, another one will do.
func (a *App) listen(set config.WebServer) (net.Listener, error) {
	in, err := net.Listen("tcp", set.Listen)
	if err != nil && set.Default && errors.Is(err, syscall.EADDRINUSE) {
		a.log.Info("another server has the usual address", "address", set.Listen)
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

// shownAddr is an address that a browser on this machine can open.
func shownAddr(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

func (s *webServer) make(set config.WebServer) (err error) {
	log := slog.New(s.app.log)
	s.pages, err = pages.New(pages.Config{
		Site: s.site, Keys: s.keys, Hosts: set.Hosts, TLS: set.HTTPS(), BehindProxy: set.BehindProxy,
		Now: s.app.Now, Log: log, Version: Version,
	})
	if err != nil {
		return err
	}
	s.api, err = api.New(api.Config{Site: s.site, Door: s.pages, Figures: s.pages.Figures, Policies: s.site.policies, Now: s.app.Now, Log: log, Version: Version})
	if err != nil {
		return err
	}
	s.api.Register(s.pages)
	// Streams lift the limits on reading and writing for themselves.
	s.http = &http.Server{
		Handler: s.pages, ReadHeaderTimeout: headerWait, ReadTimeout: bodyWait, WriteTimeout: answerWait, IdleTimeout: idleWait,
		MaxHeaderBytes: mostHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if set.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(set.TLSCert, set.TLSKey)
		if err != nil {
			return refusal.New("server.tls_cert and server.tls_key name a certificate and its key, in PEM", "read the server's certificate: %v", err)
		}
		s.in = tls.NewListener(s.in, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
	}
	return nil
}

// start serves until the function that it returns is called, which waits until
// all of it has ended. Streams end when ctx does.
func (s *webServer) start(ctx context.Context) (end func(), err error) {
	if err := s.note(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s.all.Go(func() {
		if err := s.http.Serve(s.in); !errors.Is(err, http.ErrServerClosed) {
			s.app.log.Error("the pages are not served any more", "err", err)
		}
	})
	for _, jobs := range s.site.jobs {
		s.all.Go(func() { jobs.tend(ctx) })
	}
	s.all.Go(func() {
		<-ctx.Done()
		s.pages.Close()
		s.api.Close()
		shut, done := context.WithTimeout(context.WithoutCancel(ctx), shutWait)
		defer done()
		if s.http.Shutdown(shut) != nil {
			_ = s.http.Close() // what takes longer is cut off
		}
	})
	s.app.log.Info("the pages are at " + s.url)
	if isTerminal(s.app.Stderr) {
		s.app.log.Info("open this once, within ten minutes: " + signInLink(s.url, s.keys))
	} else {
		// A log is read by others, and whoever opens the link first is let in.
		s.app.log.Info("forge factory url prints a link that signs you in")
	}
	return func() {
		cancel()
		s.all.Wait()
		s.unnote()
	}, nil
}

// signInLink is an address that signs in whoever opens it first.
func signInLink(url string, keys *pages.Keys) string { return url + "/sign-in?link=" + keys.Link() }

func (s *webServer) noteFile() string { return filepath.Join(s.dir, "address") }

// note says where the server is, for forge factory url.
func (s *webServer) note() error {
	if err := atomicfile.Write(s.noteFile(), []byte(s.url+"\n"), 0o600); err != nil {
		return fmt.Errorf("note the server's address: %w", err)
	}
	return nil
}

// unnote takes the note back, unless another server has written its own since.
func (s *webServer) unnote() {
	if text, err := os.ReadFile(s.noteFile()); err == nil && strings.TrimSpace(string(text)) == s.url {
		_ = os.Remove(s.noteFile()) // at worst it names a server that is gone
	}
}
