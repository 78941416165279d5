package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"forge/factory"
	"forge/factory/web"
	"forge/internal/hostwatch"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullcalls"
	"forge/internal/schedules"
	"forge/internal/text"
	"forge/internal/trackers"
	"forge/internal/work"
)

// All are the workers of one process, each of a project of its own. They share how
// much is done at the same time.
type All []*Worker

// OpenAll opens the projects around these folders, or none, under one limit of how
// much is done at once. The caller closes them.
func OpenAll(ctx context.Context, env project.Env, dirs []string, limit *factory.Concurrency, engine ...Engine) (all All, err error) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		w, openErr := Open(ctx, env, dir, limit, engine...)
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

	mu    sync.Mutex
	calls []*pullcalls.Watch // on the pull requests of people
}

// Calls counts the calls by name on trackers and pull requests since the process
// began, by their end.
func (o *Outside) Calls() map[string]int {
	out := o.Trackers.Calls()
	for end, n := range o.Hosts.Calls() {
		out[end] += n
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.calls {
		for end, n := range w.Calls() {
			out[end] += n
		}
	}
	return out
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
	o := &Outside{Trackers: list, Hosts: &hostwatch.Watches{Hooks: &hostwatch.Hooks{Env: env}}, Doors: doors}
	for _, w := range all {
		w.outside(ctx, o, o.Trackers.Looks(w.Opened))
		if w.Flow != nil {
			w.beside = append(w.beside, w.Flow.Watch)
		}
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
		if err := w.followFlow(t); err != nil {
			return nil, err
		}
		w.Origins = t.Origins(w.Opened)
	}
	return t, nil
}

// Add watches what there is outside for one more project, which has not joined yet.
func (o *Outside) Add(ctx context.Context, w *Worker) (err error) {
	looks, err := o.Trackers.Add(w.goal())
	if err != nil {
		return err
	}
	w.Origins = o.Trackers.Origins(w.Opened)
	w.outside(ctx, o, looks)
	return nil
}

// outside has trackers, by looks, the code host and the schedules of the project
// looked at by one of the processes that work on its board. What people say at a
// place is heard by each of them, since nobody can say which of them a place tells
// it; one alone posts there.
func (s *Worker) outside(ctx context.Context, o *Outside, looks []func(context.Context)) {
	looks = append(looks, s.schedules)
	p, err := s.Fresh(ctx)
	if err != nil {
		s.Log.Warn("the code host is not watched, and nobody is asked in Slack", "project", s.Project, "err", err)
	} else {
		for _, look := range []func(context.Context){s.watchHost(ctx, p, o.Hosts), s.watchCalls(ctx, p, o)} {
			if look != nil {
				looks = append(looks, look)
			}
		}
	}
	s.beside = []func(context.Context){s.byOne("watch", "watching what is outside", looks...)}
	if err == nil {
		s.openDoors(p, o.Doors)
	}
}

// byOne is what one process of all does for as long as it leads.
func (s *Worker) byOne(name, what string, do ...func(context.Context)) func(context.Context) {
	l := &factory.Leading{Leaders: leaders{s.Journal, s.owner}, Name: name + "/" + s.Project, Me: s.owner.ID, Now: s.Now, Say: func(who string) {
		s.Log.Info(what+": "+text.Harmless(who), "project", s.Project)
	}}
	return func(ctx context.Context) { l.Run(ctx, do...) }
}

// leaders are the journal's, for one owner.
type leaders struct {
	*journal.Store
	owner journal.Owner
}

func (l leaders) Lead(ctx context.Context, seen work.Leader) (work.Leader, error) {
	return l.Store.Lead(ctx, l.owner, seen)
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

// watchHost is what watches the project's code host, nil = nothing does.
func (s *Worker) watchHost(ctx context.Context, p *project.Checkout, watches *hostwatch.Watches) func(context.Context) {
	w, look, err := watches.Add(ctx, p, hostwatch.Results{Project: s.Project, Stands: s.StandsNow})
	if err != nil {
		s.Log.Warn("the code host is not watched", "project", s.Project, "err", err)
	}
	if w != nil {
		s.Hints = w.Hints()
	}
	return look
}

// watchCalls is what hears calls on the pull requests of people, nil = nobody does. Where
// projects share a repository on the host, the first of them does.
func (s *Worker) watchCalls(ctx context.Context, p *project.Checkout, o *Outside) func(context.Context) {
	w, err := pullcalls.Open(ctx, p, s.goal())
	if err != nil {
		s.Log.Warn("calls on pull requests are not heard", "project", s.Project, "err", err)
	}
	if w == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, other := range o.calls {
		if other.Repository() == w.Repository() {
			return nil
		}
	}
	o.calls = append(o.calls, w)
	if s.Hints != nil {
		s.Hints.WakeAlso(w.Wake())
	}
	return w.Loop
}
