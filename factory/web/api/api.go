package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"forge/factory/web"
	"forge/gates"
)

// Prefix is where the API begins.
const Prefix = "/api/v1"

// Door lets people in. Enter says who makes a request and, where its path names
// a {project}, which one that is; an error when they may not, or when the
// request was not meant by them.
type Door interface {
	Enter(r *http.Request, least web.Role) (*http.Request, web.Project, error)
}

// Policies are the presets that a project's words may name. It reads the
// project's configuration as it is now.
type Policies func(ctx context.Context, p web.Project) (gates.Catalogue, error)

// Config is what the API is made of.
type Config struct {
	Site     web.Site
	Adds     web.Adds // nil = no project is added here
	Door     Door
	Policies Policies // nil = the built-in ones
	// Figures counts a project as its metrics page does.
	Figures func(ctx context.Context, p web.Project) (web.Figures, error)
	// Look is how often an open event stream looks for news; 0 = each second.
	Look time.Duration
	// Beat is how often a silent stream shows that it lives, and its reader that
	// they still may read; 0 = each 15 seconds.
	Beat time.Duration
	Now  func() time.Time
	Log  *slog.Logger
	// Version is the program's.
	Version string
	// Webhooks counts those of code hosts, by what became of them: taken, or the
	// reason why not; nil = none are taken. It may be set until the first request.
	Webhooks func() map[string]int
	// Calls counts the calls by name on trackers, by their end; nil = nobody
	// listens.
	Calls func() map[string]int
}

// API answers programs: an http.Handler for everything below Prefix. Close ends
// its streams.
type API struct {
	Config
	mux     *http.ServeMux
	api     huma.API
	routes  []Route
	streams streams
	seen    seen
	stop    chan struct{}
	stopped sync.Once
}

// New makes the API.
func New(c Config) (*API, error) {
	if c.Site == nil || c.Door == nil || c.Figures == nil || c.Now == nil || c.Log == nil {
		return nil, errors.New("make the API: something that it needs is missing")
	}
	if c.Look == 0 {
		c.Look = time.Second
	}
	if c.Beat == 0 {
		c.Beat = 15 * time.Second
	}
	a := &API{Config: c, mux: http.NewServeMux(), stop: make(chan struct{})}
	a.api = humago.New(a.mux, a.settings())
	for _, area := range []func(){
		a.projectRoutes, a.folderRoutes, a.issueRoutes, a.issueChangeRoutes, a.checkpointRoutes, a.answerRoutes, a.commentRoutes, a.editRoutes, a.runRoutes, a.runStartRoutes, a.draftRoutes, a.jobRoutes, a.floorRoutes, a.scheduleRoutes, a.lessonRoutes, a.settingsRoutes, a.searchRoutes, a.companionRoutes,
		a.policyRoutes, a.figureRoutes, a.eventRoutes,
	} {
		area()
	}
	description, err := a.describe()
	if err != nil {
		return nil, fmt.Errorf("make the API: describe it: %w", err)
	}
	a.mux.HandleFunc("GET "+Prefix+"/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := a.Door.Enter(r, web.RoleViewer); err != nil {
			a.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(description)
	})
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.fail(w, r, &Problem{Status: http.StatusNotFound, Code: "unknown_address", Detail: "There is nothing at this address, or not by this method.", Fix: "GET " + Prefix + "/openapi.json lists what there is."})
	})
	return a, nil
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	a.mux.ServeHTTP(w, r)
}

// Close ends the streams; http.Server.Shutdown would wait for them.
func (a *API) Close() {
	a.stopped.Do(func() { close(a.stop) })
	a.streams.wait()
}

// settings are huma's: nothing that is not named in an operation is taken, and
// no page of its own is served.
func (a *API) settings() huma.Config {
	format := huma.Format{
		// Unlike huma's own: <, > and & are escaped, whoever shows it where.
		Marshal:   func(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) },
		Unmarshal: json.Unmarshal,
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			Info: &huma.Info{
				Title: "Forge factory", Version: "1",
				Description: "Boards, runs, jobs and checkpoints of the projects of one Forge server. Errors are problem documents (RFC 9457) with a code of Forge's own and the way out.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token": {Type: "http", Scheme: "bearer", Description: "a token that forge factory user add printed"},
				},
			},
			Security: []map[string][]string{{"token": {}}},
		},
		Formats:                      map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat:                "application/json",
		Transformers:                 []huma.Transformer{a.ownProblems},
		RejectUnknownQueryParameters: true,
	}
}

// describe is the OpenAPI document.
func (a *API) describe() ([]byte, error) {
	doc := a.api.OpenAPI()
	delete(doc.Components.Schemas.Map(), "ErrorModel")
	delete(doc.Components.Schemas.Map(), "ErrorDetail")
	return json.MarshalIndent(doc, "", "  ")
}
