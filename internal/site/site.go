package site

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	pages "forge/factory/web"
	"forge/gates"
	"forge/internal/board"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/worker"
)

// Site is the projects of a server.
type Site struct {
	mu      sync.Mutex
	list    []pages.Project
	workers map[string]*worker.Worker // by the project's id here

	// Jobs are those of each project. Tend of each has to run as long as it is served.
	Jobs []*Jobs
}

// Open shows the projects of these workers, which stay the caller's to close.
func Open(ctx context.Context, workers []*worker.Worker) *Site {
	s := &Site{workers: map[string]*worker.Worker{}}
	for _, w := range workers {
		_, jobs := s.add(ctx, w)
		s.Jobs = append(s.Jobs, jobs)
	}
	return s
}

// add shows the project of a worker, and says by which id. The caller has its jobs
// tended.
func (s *Site) add(ctx context.Context, w *worker.Worker) (id string, jobs *Jobs) {
	host := hostPage(ctx, w)
	s.mu.Lock()
	defer s.mu.Unlock()
	// Two journals may know a project by the same name.
	id = w.Project
	for n := 2; s.workers[id] != nil; n++ {
		id = fmt.Sprintf("%s-%d", w.Project, n)
	}
	one := newView(w.Checkout)
	jobs = newJobs(one, w)
	s.workers[id] = w
	p := one.project(w.Opened)
	p.ID, p.HostURL, p.Jobs, p.Questions = id, host, jobs, answers{one, jobs.wake}
	p.Starts = Starts{Fresh: w.Fresh, Machine: w.Machine, Drive: jobs.begin, Jobs: jobs}
	p.Floor = worker.Control{Board: w.Opened, Poke: w.Poke}
	p.Settings = &Settings{Env: w.Env, Root: w.Base.RepoRoot}
	p.Companion = talkedOnPages{talkedAbout(p, w.Checkout)}
	s.list = append(s.list, p)
	slices.SortFunc(s.list, func(a, b pages.Project) int { return strings.Compare(a.ID, b.ID) })
	return id, jobs
}

// Alone is a project that no process of this server works on: it is read, its
// board is changed and what it asks is answered, but nothing is begun there. b
// stays the caller's to close.
func Alone(b *board.Opened) pages.Project { return newView(b.Checkout).project(b) }

// project is what pages and API read and change of a project, without what takes
// a process that works on it.
func (s *view) project(b *board.Opened) pages.Project {
	return pages.Project{
		ID: b.Project, Root: b.Base.RepoRoot, Board: b.Board, Cards: b.Journal, Watch: watch{b.Journal, b.State},
		Runs: runViews{s}, Questions: answers{s, func() {}}, Code: code{s}, Cockpit: cockpit{s}, Edits: edits{s}, Spans: spans{s}, Search: finds{s}, Pictures: gallery{s}, Schedules: clock{b}, Lessons: teaching{s.p, &s.lessons},
		LabelsSay: func(_ context.Context, labels []string) ([]string, error) {
			cfg, err := project.ConfigNow(b.Env, b.Base.RepoRoot)
			if err != nil {
				return nil, err
			}
			return cfg.LabelsSay(labels), nil
		},
	}
}

// EndReading ends what is read for searches beside everything else, and returns when
// nothing is.
func (s *Site) EndReading() {
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	for _, p := range list {
		if f, ok := p.Search.(finds); ok {
			f.find.end()
		}
	}
}

// drop shows a project no more.
func (s *Site) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.workers, id)
	s.list = slices.DeleteFunc(s.list, func(p pages.Project) bool { return p.ID == id })
}

// hostPage is the address of the code host as people open it, as it is named
// when the server begins; "" = there is none that is used.
func hostPage(ctx context.Context, w *worker.Worker) string {
	p, err := w.Fresh(ctx)
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
func (s *Site) Projects(context.Context) ([]pages.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list), nil
}

// Project is the one with that id.
func (s *Site) Project(_ context.Context, id string) (pages.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.list {
		if p.ID == id {
			return p, nil
		}
	}
	return pages.Project{}, fmt.Errorf("%w %q", pages.ErrNoProject, id)
}

// Policies are a project's presets, with its configuration as it is now.
func (s *Site) Policies(ctx context.Context, p pages.Project) (gates.Catalogue, error) {
	s.mu.Lock()
	w, ok := s.workers[p.ID]
	s.mu.Unlock()
	if !ok {
		return gates.Catalogue{}, pages.ErrNoProject
	}
	now, err := w.Fresh(ctx)
	if err != nil {
		return gates.Catalogue{}, err
	}
	return now.Config.Presets(), nil
}

// watch is a journal as pages watch it.
type watch struct {
	*journal.Store
	state string // the folder
}

// Version grows with the journal, and with the drafts beside it, which wait for
// people as well.
func (w watch) Version(ctx context.Context) (int64, error) {
	n, err := w.Store.Version(ctx)
	for _, dir := range []string{"drafts", "interviews"} {
		if info, err := os.Stat(filepath.Join(w.state, dir)); err == nil {
			n += info.ModTime().UnixNano()
		}
	}
	return n, err
}

func (w watch) RunEnd(ctx context.Context, run string) (int64, error) {
	n, _, err := w.Head(ctx, run)
	return n, err
}
