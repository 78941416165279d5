package site

import (
	"context"
	"fmt"
	"sync"

	"forge/factory"
	pages "forge/factory/web"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/server"
	"forge/internal/setup"
	"forge/internal/text"
	"forge/internal/worker"
)

// Adds makes projects of folders while the factory runs.
type Adds struct {
	Env      project.Env
	Settings config.WebServer
	Limit    *factory.Concurrency // of all that the server works on
	Engine   worker.Engine        // of their runs, nil = this process
	Site     *Site
	// Join has a board worked on, and what is to run beside it; false where the
	// factory is ending. nil = it has not begun.
	Join func(w *worker.Worker, beside ...func(context.Context)) bool

	// Outside is what is watched for the projects, those that are added too.
	Outside *worker.Outside

	adding sync.Mutex // one at a time
}

var _ pages.Adds = (*Adds)(nil)

// Roots are the folders below which projects may be added.
func (a *Adds) Roots() []string { return a.Settings.Roots }

// Folders are the checkouts there that are no project.
func (a *Adds) Folders(ctx context.Context) ([]pages.Folder, error) {
	all, err := a.Site.Projects(ctx)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, p := range all {
		known = append(known, p.Root)
	}
	var out []pages.Folder
	for _, c := range server.Candidates(a.Env.Log, a.Settings, known) {
		out = append(out, pages.Folder{Path: c.Dir, Changed: c.Changed})
	}
	return out, nil
}

func ending() error {
	return &pages.Complaint{Status: 503, What: "The factory is ending.", Fix: "Start it again: the project is there then."}
}

// Add makes a project of one of Folders: no other path is looked at.
func (a *Adds) Add(ctx context.Context, path, by string) (string, error) {
	a.adding.Lock()
	defer a.adding.Unlock()
	list, err := a.Folders(ctx)
	if err != nil {
		return "", err
	}
	known := false
	for _, f := range list {
		known = known || f.Path == path
	}
	if !known {
		return "", pages.ErrNoFolder
	}
	if a.Join == nil {
		return "", ending()
	}
	if err := a.Outside.Trackers.Room(); err != nil {
		return "", forPages(err)
	}
	// What was begun is brought to its end although the page is closed.
	ctx = context.WithoutCancel(ctx)
	env := a.Env
	env.Dir = path
	if err := setup.Plain(ctx, env); err != nil {
		return "", forPages(err)
	}
	w, err := worker.Open(ctx, env, path, a.Limit, a.Engine)
	if err != nil {
		return "", forPages(err)
	}
	if err := a.Outside.Add(ctx, w); err != nil {
		w.Close()
		return "", forPages(err)
	}
	id, jobs := a.Site.add(ctx, w)
	if !a.Join(w, jobs.Tend) {
		a.Site.drop(id)
		w.Close()
		return "", ending()
	}
	a.Env.Log.Info(fmt.Sprintf("project %s was added", id), "checkout", w.Base.RepoRoot, "by", text.HarmlessLine(by))
	return id, nil
}
