package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"forge/factory"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/hostwatch"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/server"
	"forge/internal/work"
)

// factory works on the boards of projects until it is stopped, or with --once
// until nothing is left to do.
func (a *App) factory(ctx context.Context, o factoryOptions) error {
	if err := git.Probe(ctx); err != nil {
		return err
	}
	if o.once && o.listen == "" {
		o.listen = config.ListenOff
	}
	set, keys, err := server.Settings(a.env(), o.listen)
	if err != nil {
		return err
	}
	if len(o.projects) == 0 {
		if o.projects, err = server.Checkouts(ctx, a.log, set); err != nil {
			return err
		}
	}
	if len(o.projects) == 0 {
		o.projects = []string{a.Dir}
	}
	shops, err := a.openShops(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range shops {
			s.Close()
		}
	}()
	for _, s := range shops {
		s.sayAtStart(ctx)
	}
	pages, err := a.openWeb(ctx, shops, set, keys)
	if err != nil {
		return err
	}
	issues, err := a.openTrackers(shops)
	if err != nil {
		return err
	}
	hosts := a.watchHosts(ctx, shops)
	if pages != nil {
		issues.register(pages.Pages)
		pages.takeHooks(hosts.Hooks)
		end, err := pages.Start(ctx)
		if err != nil {
			return err
		}
		a.saySignIn(pages)
		defer end()
	}
	defer issues.start(ctx)()
	defer hosts.Start(ctx, o.once)()
	return a.factoryServe(ctx, shops, o.once)
}

// watchHosts watches the code hosts of the shops. One that cannot be watched is
// said.
func (a *App) watchHosts(ctx context.Context, shops []*shop) *hostwatch.Watches {
	all := &hostwatch.Watches{Hooks: &hostwatch.Hooks{Env: a.env()}}
	for _, s := range shops {
		p, err := s.fresh(ctx)
		var w *hostwatch.Watch
		if err == nil {
			w, err = all.Add(ctx, p, hostwatch.Results{Project: s.Project, Stands: s.standsNow})
		}
		if err != nil {
			s.Log.Warn("the code host is not watched", "project", s.Project, "err", err)
		}
		if w != nil {
			s.hints = w.Hints()
		}
	}
	return all
}

// takeHooks takes webhooks of code hosts at /hooks, and lets monitors count them.
func (s *webServer) takeHooks(hooks *hostwatch.Hooks) {
	if len(hooks.Watches) > 0 {
		s.Pages.HandleOpen("POST /hooks", hooks)
		s.API.Webhooks = hooks.Figures
	}
}

// openShops opens all projects, or none.
func (a *App) openShops(ctx context.Context, o factoryOptions) (shops []*shop, err error) {
	places := factory.NewPlaces(o.maxRuns)
	seen := map[string]bool{}
	for _, dir := range o.projects {
		s, openErr := openShop(ctx, a.env(), dir, places)
		if openErr == nil && seen[s.Base.RepoRoot] {
			s.Close()
			continue
		}
		if openErr != nil {
			if len(o.projects) > 1 {
				openErr = fmt.Errorf("%s: %w", dir, openErr)
			}
			err = errors.Join(err, openErr)
			continue
		}
		seen[s.Base.RepoRoot] = true
		shops = append(shops, s)
	}
	if err != nil {
		for _, s := range shops {
			s.Close()
		}
		return nil, err
	}
	return shops, nil
}

// sayAtStart says what a person should know before the board is worked on.
func (s *shop) sayAtStart(ctx context.Context) {
	var facts project.StartFacts
	servers, err := s.Journal.Servers(ctx, s.Project)
	if err != nil {
		s.Log.Debug("look for other servers", "err", err)
	}
	for _, v := range servers {
		if !v.Dead && v.Owner != s.owner.ID {
			facts.Servers = append(facts.Servers, v)
		}
	}
	s.SayAtStart(ctx, s.e.Repo, facts)
}

// factoryServe runs the loops of the shops, each of which goes on from its rows,
// until ctx is cancelled, all are drained or, with once, nothing is left to do.
// All runs have stopped when it returns, and can be resumed.
func (a *App) factoryServe(ctx context.Context, shops []*shop, once bool) error {
	over := make(chan struct{})
	defer close(over)
	go leaveShops(a.Kill, shops, over)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(shops))
	var loops sync.WaitGroup
	for n, s := range shops {
		a.log.Info("works on the board", "project", s.Project, "checkout", s.Base.RepoRoot)
		loop := s.loop()
		loop.Once = once
		loops.Go(func() {
			if _, errs[n] = loop.Run(ctx); errs[n] != nil {
				errs[n] = fmt.Errorf("work on the board of %s: %w", s.Project, errs[n])
				stop() // one broken journal is reason to look at all of it
			}
		})
	}
	loops.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	code := exitDone
	for _, s := range shops {
		one, err := s.left(context.WithoutCancel(ctx), once)
		if err != nil {
			return err
		}
		code = weightier(code, one)
	}
	if ctx.Err() != nil {
		a.log.Info("stopped: what was under way goes on with the next forge factory")
		if once {
			return codeError(exitInterrupted)
		}
		return nil
	}
	if once && code != exitDone {
		return codeError(code)
	}
	return nil
}

// left says how the board stands at the end, and what that means for a caller
// who wanted it worked off.
func (s *shop) left(ctx context.Context, once bool) (int, error) {
	counts, err := s.Journal.IssueCounts(ctx, s.Project)
	if err != nil {
		return 0, err
	}
	s.Log.Info(sayBoard(counts), "project", s.Project)
	if !once {
		return exitDone, nil
	}
	if s.terms.err != nil {
		return 0, s.terms.err
	}
	held, err := s.Journal.Claims(ctx, s.Project)
	if err != nil {
		return 0, err
	}
	later := map[int64]bool{}
	for id, c := range held {
		later[id] = c.Later.After(s.Now())
	}
	code := exitDone
	for _, column := range []work.Column{work.ColumnReady, work.ColumnInProgress, work.ColumnInReview} {
		for after := ""; ; {
			page, err := s.Journal.Issues(ctx, work.IssueFilter{Project: s.Project, Column: column}, journal.MaxIssuePage, after)
			if err != nil {
				return 0, err
			}
			code = weightier(code, exitOfBoard(page, later))
			if len(page) < journal.MaxIssuePage {
				break
			}
			after = page[len(page)-1].Rank
		}
	}
	return code, nil
}

// leaveShops is the second Ctrl-C: the agents are killed and the process ends
// here. The journals are whole at any moment, so that all goes on later.
func leaveShops(kill <-chan struct{}, shops []*shop, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-kill:
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, s := range shops {
		rows, _ := s.Journal.IssueRuns(ctx, s.Project)
		for _, r := range rows {
			left, _ := s.Journal.Attempts(ctx, r.ID)
			for _, a := range left {
				_, _ = proc.KillMarked(a.Mark, 0)
			}
		}
	}
	os.Exit(exitInterrupted)
}
