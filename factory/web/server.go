package web

import (
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"forge/internal/text"
)

// How a page is added:
//
//   - a file of its own with a method on *Server that registers its routes, and
//     that method's name in areas, below;
//   - each route as s.mux.Handle("GET /p/{project}/thing", s.need(RoleViewer,
//     s.thing)), where thing is func(*visit) error: visit holds the person, the
//     project that the path names, and what they may (v.Who.May);
//   - pages/thing.html with {{define "main"}}…{{end}}, shown by
//     v.page("thing", "Title", data). Parts that are swapped in by themselves
//     are further {{define}}s there, written by v.part("thing", "name", data);
//     what several pages use stands in pages/parts.html;
//   - an error is returned: fail (fail.go) knows what to make of it. Somebody's
//     mistake is a *Complaint;
//   - a form that changes something posts to a route with the fitting role and
//     holds {{csrf}}: need has checked it before the handler runs. What htmx or
//     board.js send carries it as a header by itself;
//   - after a change: s.hub.Publish, with a topic of hub.go. A part that follows
//     says hx-get="…" hx-trigger="board from:#live" (the topic's last word is
//     the event's name), and its page passes topics in v.Live.
//
// No inline script, style or handler works: the content security policy
// forbids them. Scripts and styles are files in assets.

// Config is what a server is made of.
type Config struct {
	Site Site
	// Adds makes projects of folders, nil = none are added here.
	Adds Adds
	// Keys knows who may come in.
	Keys *Keys
	// Hosts are the names, with ports where they are not the protocol's own,
	// under which this server may be asked. Anything else is refused.
	Hosts []string
	// TLS says that people reach the server by https, through a proxy or not.
	TLS bool
	// BehindProxy says that a proxy stands in front, whose X-Forwarded-For is
	// true.
	BehindProxy bool
	Now         func() time.Time
	Log         *slog.Logger
	Version     string
}

// Server is the factory's web server: an http.Handler. Close ends the streams
// that are open, so that http.Server.Shutdown need not wait for them.
type Server struct {
	Config
	hub     *Hub
	mux     *http.ServeMux
	pages   map[string]*template.Template
	assets  assets
	limits  limits
	cards   cardCache
	changes changes
	counted counted
	boards  boardCache
	floors  floorCache
	stuck   stuckCache
	turns   turns
	talks   talks

	stop    chan struct{}
	stopped sync.Once
	feeds   feeds
}

// New makes the server. Other handlers may be added by Handle and HandleOpen
// before the first request.
func New(c Config) (*Server, error) {
	if c.Site == nil || c.Keys == nil || c.Now == nil || c.Log == nil || len(c.Hosts) == 0 {
		return nil, errors.New("make the web server: something that it needs is missing")
	}
	s := &Server{Config: c, hub: NewHub(), mux: http.NewServeMux(), stop: make(chan struct{})}
	s.limits.now, s.feeds.server = c.Now, s
	var err error
	if s.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if s.pages, err = s.parsePages(); err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	for _, area := range []func(){
		s.assetRoutes, s.signInRoutes, s.liveRoutes, s.projectRoutes, s.addProjectRoutes, s.boardRoutes,
		s.runRoutes, s.runStartRoutes, s.cockpitRoutes, s.cockpitEditRoutes, s.issueRoutes, s.jobRoutes, s.metricsRoutes,
		s.editRoutes, s.inboxRoutes, s.searchRoutes, s.floorRoutes, s.docsRoutes, s.settingsRoutes, s.scheduleRoutes, s.lessonRoutes, s.companionRoutes,
	} {
		area()
	}
	return s, nil
}

// Hub is where changes are published that open pages are to hear of.
func (s *Server) Hub() *Hub { return s.hub }

// Close ends all streams and what feeds them. The server takes no more.
func (s *Server) Close() {
	s.stopped.Do(func() { close(s.stop) })
	s.feeds.wait()
	s.talks.wait()
}

// ServeHTTP answers one request, after the checks that hold for all of them.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.recovered(w, r)
	harden(w.Header(), s.TLS)
	if why := s.refuses(r); why != "" {
		s.Log.Warn("refused a request", "why", why, "from", s.remote(r), "path", text.OneLine(r.URL.Path, 80))
		http.Error(w, why, http.StatusForbidden)
		return
	}
	if strings.Contains(r.URL.Path, "//") {
		http.NotFound(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Handle adds a handler for people who have at least this role in the project
// that the pattern names as {project}; without one, anywhere. They are known by
// their cookie or by a token in Authorization: Bearer. h finds the person by
// PersonOf. Bodies are not limited here.
func (s *Server) Handle(pattern string, least Role, h http.Handler) {
	s.mux.Handle(pattern, s.needBody(least, unlimited, func(v *visit) error {
		h.ServeHTTP(v.W, v.Request)
		return nil
	}))
}

// HandleOpen adds a handler for anybody who reaches the server: h sees no
// cookie, and has to know by itself whom it may believe.
func (s *Server) HandleOpen(pattern string, h http.Handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.Header.Del("Cookie")
		h.ServeHTTP(w, r)
	})
}
