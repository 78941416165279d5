package cli

import (
	"context"

	"forge/factory"
	pages "forge/factory/web"
	"forge/internal/config"
	"forge/internal/server"
	"forge/internal/site"
	"forge/internal/worker"
)

// webServer is the server of some workers.
type webServer struct {
	*server.Server
	adds *site.Adds
}

// Close ends a server that was never started.
func (s *webServer) Close() {
	s.Server.Close()
	s.adds.Site.EndReading()
}

// openWeb makes the server for these workers and takes its address; nil when none
// is to be served. The caller starts it.
func (a *App) openWeb(ctx context.Context, workers []*worker.Worker, limit *factory.Concurrency, set config.WebServer, keys *pages.Keys) (*webServer, error) {
	projects := site.Open(ctx, workers)
	adds := &site.Adds{Env: a.env(), Settings: set, Limit: limit, Engine: a.With.Engine, Site: projects}
	c := server.Config{Env: a.env(), Settings: set, Keys: keys, Site: projects, Adds: adds, Policies: projects.Policies, Version: Version}
	for _, jobs := range projects.Jobs {
		c.Beside = append(c.Beside, jobs.Tend)
	}
	c.Beside = append(c.Beside, func(ctx context.Context) {
		<-ctx.Done()
		projects.EndReading()
	})
	s, err := server.Open(c)
	if err != nil || s == nil {
		return nil, err
	}
	return &webServer{s, adds}, nil
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
