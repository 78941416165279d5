package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pages "forge/factory/web"
	"forge/gates"
	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/server"
	forsite "forge/internal/site"
)

// webServer is the server of some shops.
type webServer struct {
	*server.Server
	site *webSite
}

// openWeb makes the server for these shops and takes its address; nil when none
// is to be served. The caller starts it.
func (a *App) openWeb(ctx context.Context, shops []*shop, set config.WebServer, keys *pages.Keys) (*webServer, error) {
	site := newWebSite(ctx, shops)
	c := server.Config{Env: a.env(), Settings: set, Keys: keys, Site: site, Policies: site.policies, Version: Version}
	for _, jobs := range site.jobs {
		c.Beside = append(c.Beside, jobs.tend)
	}
	s, err := server.Open(c)
	if err != nil || s == nil {
		return nil, err
	}
	return &webServer{s, site}, nil
}

// saySignIn says how to come in.
func (a *App) saySignIn(s *webServer) {
	if isTerminal(a.Stderr) {
		a.log.Info("open this once, within ten minutes: " + s.SignIn())
		return
	}
	// A log is read by others, and whoever opens the link first is let in.
	a.log.Info("forge factory url prints a link that signs you in")
}

// webSite is the projects of a server.
type webSite struct {
	list  []pages.Project
	shops map[string]*shop // by the project's id here
	jobs  []*siteJobs
}

func newWebSite(ctx context.Context, shops []*shop) *webSite {
	s := &webSite{shops: map[string]*shop{}}
	for _, sh := range shops {
		// Two journals may know a project by the same name.
		id := sh.Project
		for n := 2; s.shops[id] != nil; n++ {
			id = fmt.Sprintf("%s-%d", sh.Project, n)
		}
		one := newSite(sh.Checkout)
		jobs := newSiteJobs(one, sh)
		s.shops[id] = sh
		s.jobs = append(s.jobs, jobs)
		s.list = append(s.list, pages.Project{
			ID: id, Root: sh.Base.RepoRoot, HostURL: hostPage(ctx, sh), Board: sh.Board, Cards: sh.Journal, Watch: siteWatch{sh.Journal},
			Runs: siteRuns{one}, Desk: siteDesk{one}, Code: siteCode{one}, Cockpit: siteCockpit{one}, Edits: siteEdits{one}, Jobs: jobs,
			Floor: floor{board: sh.issueBoard, poke: sh.poke}, Settings: &forsite.Settings{Env: sh.Env, Root: sh.Base.RepoRoot},
		})
	}
	slices.SortFunc(s.list, func(a, b pages.Project) int { return strings.Compare(a.ID, b.ID) })
	return s
}

// hostPage is the address of the code host as people open it, as it is named
// when the server begins; "" = there is none that is used.
func hostPage(ctx context.Context, sh *shop) string {
	p, err := sh.fresh(ctx)
	if err != nil {
		return "" // a configuration that cannot be read is said where it is needed
	}
	h, err := p.Config.CodeHost()
	if err != nil || h.Kind == "local" {
		return ""
	}
	if h.URL == "https://api.github.com" {
		return "https://github.com"
	}
	return strings.TrimSuffix(h.URL, "/api/v3")
}

// Projects are all projects, by name.
func (s *webSite) Projects(context.Context) ([]pages.Project, error) {
	return slices.Clone(s.list), nil
}

// Project is the one with that id.
func (s *webSite) Project(_ context.Context, id string) (pages.Project, error) {
	for _, p := range s.list {
		if p.ID == id {
			return p, nil
		}
	}
	return pages.Project{}, fmt.Errorf("%w %q", pages.ErrNoProject, id)
}

// policies are a project's presets, with its configuration as it is now.
func (s *webSite) policies(ctx context.Context, p pages.Project) (gates.Catalogue, error) {
	sh, ok := s.shops[p.ID]
	if !ok {
		return gates.Catalogue{}, pages.ErrNoProject
	}
	now, err := sh.fresh(ctx)
	if err != nil {
		return gates.Catalogue{}, err
	}
	return now.Config.Presets(), nil
}

// siteWatch is a journal as pages watch it.
type siteWatch struct{ *journal.Store }

func (w siteWatch) RunEnd(ctx context.Context, run string) (int64, error) {
	n, _, err := w.Head(ctx, run)
	return n, err
}
