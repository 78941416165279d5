package cli

import (
	"context"
	"os"
	"time"

	"forge/factory"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/report"
	"forge/internal/schedules"
	"forge/internal/server"
	"forge/internal/worker"
	"forge/internal/workflow"
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
	kept, err := a.workBy(ctx, &o)
	if err != nil {
		return err
	}
	set, keys, err := server.Settings(a.env(), o.listen)
	if err != nil {
		return err
	}
	if len(o.projects) == 0 {
		if o.projects, err = server.Projects(ctx, a.env(), set, !o.once); err != nil {
			return err
		}
	}
	limit := factory.NewConcurrency(o.maxRuns)
	workers, err := worker.OpenAll(ctx, a.env(), o.projects, limit, a.With.Engine)
	if err != nil {
		return err
	}
	if kept != nil {
		workers[0].WorkBy(kept)
	}
	crew := worker.NewCrew(ctx, o.once)
	defer func() {
		crew.Stop()
		workers.Close()
	}()
	for _, s := range workers {
		s.SayStart(ctx)
	}
	pages, err := a.openWeb(ctx, workers, limit, set, keys)
	if err != nil {
		return err
	}
	outside, err := workers.Outside(ctx, a.env(), keys)
	if err != nil {
		return err
	}
	if kept != nil && o.port >= 0 {
		at, err := workers[0].Flow.Serve(ctx, o.port)
		if err != nil {
			return err
		}
		a.log.Info("the state of the workflow is served", "at", "http://"+at+"/api/v1/state")
	}
	if pages != nil {
		outside.Handle(pages.Pages.HandleOpen)
		pages.API.Webhooks, pages.API.Calls = outside.Hosts.Hooks.Figures, outside.Calls
		pages.adds.Join, pages.adds.Outside = crew.Join, outside
		end, err := pages.Start(ctx)
		if err != nil {
			return err
		}
		a.saySignIn(pages)
		defer end()
	}
	if o.once {
		for _, s := range workers {
			if _, _, err := schedules.Once(ctx, s.Opened); err != nil {
				s.Log.Warn("the schedules are not looked at", "project", s.Project, "err", err)
			}
		}
		outside.Hosts.Read(ctx)
	}
	err = a.factoryServe(ctx, crew, workers, o.once)
	workers = crew.All() // with those that joined
	return err
}

// workBy reads the WORKFLOW.md that is worked by; nil = there is none. The project is
// then the one that it is in, with what it says among its settings.
func (a *App) workBy(ctx context.Context, o *factoryOptions) (*workflow.Kept, error) {
	if o.workflow == "" {
		return nil, nil
	}
	kept, env, err := workflow.Open(ctx, a.env(), workflow.Find(a.Dir, o.workflow))
	if err != nil {
		return nil, err
	}
	a.Environ, o.projects = env.Environ, []string{env.Dir}
	if o.port < 0 {
		o.port = kept.Settings().Port
	}
	return kept, nil
}

// factoryServe works on the boards until it is stopped, and says how they stand.
func (a *App) factoryServe(ctx context.Context, crew *worker.Crew, workers worker.All, once bool) error {
	over := make(chan struct{})
	defer close(over)
	go leaveWorkers(a.Kill, crew.All, over)
	if err := crew.Serve(workers); err != nil {
		return err
	}
	code := exitDone
	for _, s := range crew.All() {
		one, err := leftOf(context.WithoutCancel(ctx), s, once)
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

// leftOf says how a board stands at the end, and what that means for a caller
// who wanted it worked off.
func leftOf(ctx context.Context, s *worker.Worker, once bool) (int, error) {
	counts, err := s.Journal.IssueCounts(ctx, s.Project)
	if err != nil {
		return 0, err
	}
	s.Log.Info(report.BoardCounts(counts), "project", s.Project)
	if !once {
		return exitDone, nil
	}
	if _, err := s.Admission(ctx); err != nil {
		return 0, err
	}
	issues, later, err := s.Left(ctx)
	return exitOfBoard(issues, later), err
}

// leaveWorkers is the second Ctrl-C: the agents are killed and the process ends
// here. The journals are whole at any moment, so that all goes on later.
func leaveWorkers(kill <-chan struct{}, workers func() worker.All, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-kill:
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, s := range workers() {
		s.KillAgents(ctx)
	}
	os.Exit(exitInterrupted)
}
