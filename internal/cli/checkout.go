package cli

import (
	"context"

	"forge/internal/board"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/site"
)

// checkout is a project as a command holds it: with the streams of the process.
type checkout struct {
	*project.Checkout
	app *App
}

// env is what of the App a project may touch.
func (a *App) env() project.Env {
	return project.Env{Log: a.log, Now: a.Now, Environ: a.Environ, Dir: a.Dir, Detect: a.Detect, Stores: a.With.Stores, Stalled: a.With.Stalled, Travels: a.With.Travels, Tools: site.AgentTools}
}

// on is p for a command of a.
func (a *App) on(p *project.Checkout, err error) (*checkout, error) {
	if err != nil {
		return nil, err
	}
	return &checkout{Checkout: p, app: a}, nil
}

// openBoard is the board of the project around the working directory.
func (a *App) openBoard(ctx context.Context, change bool) (*board.Opened, error) {
	return board.Open(ctx, a.env(), change)
}

// openProject is the project around the working directory with its configuration.
func (a *App) openProject(ctx context.Context, flags ...config.Setting) (*checkout, error) {
	return a.on(project.Open(ctx, a.env(), flags...))
}

// openRecorded is the project for who goes on with a run that is on record.
func (a *App) openRecorded(ctx context.Context) (*checkout, error) {
	return a.on(project.OpenRecorded(ctx, a.env()))
}

// findProject is the project without its configuration.
func (a *App) findProject(ctx context.Context) (*checkout, error) {
	return a.on(project.Find(ctx, a.env()))
}

// openJournal is findProject with its journal open, which has to be there.
func (a *App) openJournal(ctx context.Context) (*checkout, error) {
	return a.on(project.OpenJournal(ctx, a.env()))
}
