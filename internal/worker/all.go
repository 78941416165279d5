package worker

import (
	"context"
	"errors"
	"fmt"

	"forge/factory"
	"forge/internal/hostwatch"
	"forge/internal/project"
	"forge/internal/trackers"
)

// All are the workers of one process, each of a project of its own. They share how
// much is done at the same time.
type All []*Worker

// OpenAll opens the projects around these folders, or none, under one limit of how
// much is done at once. The caller closes them.
func OpenAll(ctx context.Context, env project.Env, dirs []string, limit *factory.Concurrency) (all All, err error) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		w, openErr := Open(ctx, env, dir, limit)
		if openErr == nil && seen[w.Base.RepoRoot] {
			w.Close()
			continue
		}
		if openErr != nil {
			if len(dirs) > 1 {
				openErr = fmt.Errorf("%s: %w", dir, openErr)
			}
			err = errors.Join(err, openErr)
			continue
		}
		seen[w.Base.RepoRoot] = true
		all = append(all, w)
	}
	if err != nil {
		all.Close()
		return nil, err
	}
	return all, nil
}

// Close closes all of them.
func (all All) Close() {
	for _, w := range all {
		w.Close()
	}
}

// Trackers are the trackers that the user named for these projects, which know
// from then on whom to ask about an issue.
func (all All) Trackers(env project.Env) (*trackers.All, error) {
	var goals []trackers.Goal
	for _, w := range all {
		goals = append(goals, trackers.Goal{Opened: w.Opened, Poke: w.Poke})
	}
	t, err := trackers.Open(env, goals)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		w.Origins = t.Origins(w.Opened)
	}
	return t, nil
}

// WatchHosts watches the code hosts of the projects. One that cannot be watched is
// said.
func (all All) WatchHosts(ctx context.Context, env project.Env) *hostwatch.Watches {
	watches := &hostwatch.Watches{Hooks: &hostwatch.Hooks{Env: env}}
	for _, w := range all {
		w.watched(ctx, func(p *project.Checkout, results hostwatch.Results) (*hostwatch.Watch, error) {
			return watches.Add(ctx, p, results)
		})
	}
	return watches
}

// WatchHost watches the code host of a project that came later: what it does until
// its context ends, nil = nothing.
func (s *Worker) WatchHost(ctx context.Context, watches *hostwatch.Watches) (look func(context.Context)) {
	s.watched(ctx, func(p *project.Checkout, results hostwatch.Results) (w *hostwatch.Watch, err error) {
		w, look, err = watches.Join(ctx, p, results)
		return w, err
	})
	return look
}

func (s *Worker) watched(ctx context.Context, watch func(*project.Checkout, hostwatch.Results) (*hostwatch.Watch, error)) {
	p, err := s.Fresh(ctx)
	var w *hostwatch.Watch
	if err == nil {
		w, err = watch(p, hostwatch.Results{Project: s.Project, Stands: s.StandsNow})
	}
	if err != nil {
		s.Log.Warn("the code host is not watched", "project", s.Project, "err", err)
	}
	if w != nil {
		s.Hints = w.Hints()
	}
}
