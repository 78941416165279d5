package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/factory/web"
	"forge/internal/refusal"
	"forge/internal/token"
)

const (
	// Path is where a server of the factory serves it.
	Path = "/mcp"
	// mostRequest is how much a client may send at once, in bytes.
	mostRequest = 1 << 20
	// mostSessions is how many sessions one token may have open, and idleSession
	// how long one is kept that nobody uses.
	mostSessions = 20
	idleSession  = 30 * time.Minute
	// sessionHeader names the session of a request.
	sessionHeader = "Mcp-Session-Id"
)

// HandlerConfig is what a handler is made of.
type HandlerConfig struct {
	Site   web.Site
	Tokens token.Store
	Record func(Call) error
	// Beat is how often an open stream shows that its token still holds; 0 = each
	// 15 seconds.
	Beat    time.Duration
	Log     *slog.Logger
	Version string
}

// Handler serves the projects of a site by streamable HTTP, to whoever has a token.
// Each token has a server of its own. Close ends all of it.
type Handler struct {
	HandlerConfig
	inner   http.Handler
	schemas *sdk.SchemaCache
	stop    chan struct{}

	mu      sync.Mutex
	closed  bool
	servers map[string]*Server // by the id of the token
}

// NewHandler makes a handler.
func NewHandler(c HandlerConfig) (*Handler, error) {
	if c.Site == nil || c.Tokens.Now == nil || c.Record == nil || c.Log == nil {
		return nil, errors.New("make the MCP handler: something that it needs is missing")
	}
	if c.Beat == 0 {
		c.Beat = 15 * time.Second
	}
	h := &Handler{HandlerConfig: c, schemas: sdk.NewSchemaCache(), stop: make(chan struct{}), servers: map[string]*Server{}}
	streams := sdk.NewStreamableHTTPHandler(h.serverOf, &sdk.StreamableHTTPOptions{
		SessionTimeout: idleSession, MaxRequestBodyBytes: mostRequest,
		DisableLocalhostProtection: true, // the web server knows its own names
	})
	// A session is its token's: the library holds each request against who began it.
	h.inner = auth.RequireBearerToken(h.verify, nil)(h.guarded(streams))
	return h, nil
}

// Who says whose a token is.
func (h *Handler) Who(text string) (name string, ok bool, err error) {
	g, ok, err := h.Tokens.Of(text)
	return g.ID, ok, err
}

func (h *Handler) verify(_ context.Context, text string, _ *http.Request) (*auth.TokenInfo, error) {
	g, ok, err := h.Tokens.Of(text)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: g.ID, Expiration: g.Expires, Extra: map[string]any{"grant": g}}, nil
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.inner.ServeHTTP(w, r) }

// guarded bounds the sessions of a token, and ends a stream with its token and
// with the handler.
func (h *Handler) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g, s := h.of(r)
		if s == nil {
			http.Error(w, "The server is ending, or could not do that. Its log says why.", http.StatusServiceUnavailable)
			return
		}
		if r.Header.Get(sessionHeader) == "" && s.sessions() >= mostSessions {
			http.Error(w, fmt.Sprintf("This token has %d sessions open. End one, or wait until one is idle for %s.", mostSessions, idleSession), http.StatusTooManyRequests)
			return
		}
		if r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		var watch sync.WaitGroup
		watch.Go(func() { h.watch(ctx, cancel, g) })
		defer watch.Wait()
		defer cancel()
		c := http.NewResponseController(w)
		_ = errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})) // a test's writer has none
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// watch ends a stream when its token does, or the handler.
func (h *Handler) watch(ctx context.Context, end func(), g token.Grant) {
	beats := time.NewTicker(h.Beat)
	defer beats.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.stop:
			end()
			return
		case <-beats.C:
			if !h.still(g) {
				end()
			}
		}
	}
}

// still says that a grant was not taken back.
func (h *Handler) still(g token.Grant) bool {
	list, err := h.Tokens.List()
	if err != nil {
		h.Log.Error("tokens cannot be read", "err", err)
		return false
	}
	for _, one := range list {
		if one == g {
			return true
		}
	}
	return false
}

func (h *Handler) serverOf(r *http.Request) *sdk.Server {
	if _, s := h.of(r); s != nil {
		return s.sdk
	}
	return nil
}

// of is whose a request is, with the server that is theirs; nil = there is none.
func (h *Handler) of(r *http.Request) (token.Grant, *Server) {
	info := auth.TokenInfoFromContext(r.Context())
	if info == nil {
		return token.Grant{}, nil
	}
	g, ok := info.Extra["grant"].(token.Grant)
	if !ok {
		return g, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.servers[g.ID]; s != nil || h.closed {
		return g, s
	}
	for id, s := range h.servers {
		if !s.Grant.May(token.Read, h.Tokens.Now()) {
			delete(h.servers, id)
			s.end()
		}
	}
	s, err := New(Config{
		Project: func(ctx context.Context) (web.Project, error) { return h.project(ctx, g) }, Grant: g, Still: func() bool { return h.still(g) },
		Record: h.Record, Now: h.Tokens.Now, Log: h.Log, Version: h.Version, Starts: true, schemas: h.schemas,
	})
	if err != nil {
		h.Log.Error("a token cannot be served", "token", g.ID, "err", err)
		return g, nil
	}
	h.servers[g.ID] = s
	return g, s
}

// project is the one that a grant is for.
func (h *Handler) project(ctx context.Context, g token.Grant) (web.Project, error) {
	all, err := h.Site.Projects(ctx)
	if err != nil {
		return web.Project{}, err
	}
	for _, p := range all {
		if p.Root == g.Project {
			return p, nil
		}
	}
	return web.Project{}, refusal.New("forge factory serves a project, run where it is", "this server does not show the project of this token")
}

// Close ends all sessions and streams.
func (h *Handler) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	close(h.stop)
	servers := h.servers
	h.servers = map[string]*Server{}
	h.mu.Unlock()
	for _, s := range servers {
		s.end()
	}
}

// sessions is how many are open.
func (s *Server) sessions() (n int) {
	for range s.sdk.Sessions() {
		n++
	}
	return n
}

// end closes the server with its sessions.
func (s *Server) end() {
	for one := range s.sdk.Sessions() {
		_ = one.Close() // its client may be gone
	}
	s.Close()
}
