package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"forge/factory"
	"forge/factory/web"
	"forge/internal/hostwatch"
	"forge/internal/project"
	"forge/internal/schedules"
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

// Outside is what is watched of the world for the projects of a server: trackers,
// whose issues come onto their boards, code hosts, where their results are
// decided, and places where people are asked. Projects that join later are watched from then on.
type Outside struct {
	Trackers *trackers.All
	Hosts    *hostwatch.Watches
	Doors    *Doors
}

// Outside opens what is watched for these projects. A code host that cannot be
// watched is said. keys know what people may who are named elsewhere.
func (all All) Outside(ctx context.Context, env project.Env, keys *web.Keys) (*Outside, error) {
	list, err := all.Trackers(env)
	if err != nil {
		return nil, err
	}
	doors, err := openDoors(env, keys)
	if err != nil {
		return nil, err
	}
	o := &Outside{list, &hostwatch.Watches{Hooks: &hostwatch.Hooks{Env: env}}, doors}
	for _, w := range all {
		w.beside = append(o.Trackers.Looks(w.Opened), w.schedules)
		w.watchHost(ctx, o.Hosts)
		w.openDoors(ctx, doors)
	}
	return o, nil
}

// Trackers are the trackers that the user named for these projects, which know
// from then on whom to ask about an issue.
func (all All) Trackers(env project.Env) (*trackers.All, error) {
	var goals []trackers.Goal
	for _, w := range all {
		goals = append(goals, w.goal())
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

// Add watches what there is outside for one more project, which has not joined yet.
func (o *Outside) Add(ctx context.Context, w *Worker) (err error) {
	if w.beside, err = o.Trackers.Add(w.goal()); err != nil {
		return err
	}
	w.beside = append(w.beside, w.schedules)
	w.Origins = o.Trackers.Origins(w.Opened)
	w.watchHost(ctx, o.Hosts)
	w.openDoors(ctx, o.Doors)
	return nil
}

// Handle takes the webhooks of all of them, of those that come later as well.
func (o *Outside) Handle(handle func(pattern string, h http.Handler)) {
	handle(trackers.HooksAt, o.Trackers)
	handle("POST /hooks", o.Hosts.Hooks)
}

// schedules puts the issues of the project's schedules on its board.
func (s *Worker) schedules(ctx context.Context) {
	schedules.Watch(ctx, s.Opened, Control{Poke: s.Poke}.wake)
}

func (s *Worker) goal() trackers.Goal {
	return trackers.Goal{Opened: s.Opened, Poke: s.Poke, Ends: Control{s.Opened, s.Poke}.Ends}
}

// watchHost watches the project's code host for as long as its board is worked on.
func (s *Worker) watchHost(ctx context.Context, watches *hostwatch.Watches) {
	p, err := s.Fresh(ctx)
	if err != nil {
		s.Log.Warn("the code host is not watched", "project", s.Project, "err", err)
		return
	}
	w, look, err := watches.Add(ctx, p, hostwatch.Results{Project: s.Project, Stands: s.StandsNow})
	if err != nil {
		s.Log.Warn("the code host is not watched", "project", s.Project, "err", err)
	}
	if w != nil {
		s.Hints = w.Hints()
	}
	if look != nil {
		s.beside = append(s.beside, look)
	}
}
