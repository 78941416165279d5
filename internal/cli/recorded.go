package cli

import (
	"context"
	"errors"

	"forge/internal/config"
	"forge/internal/git"
)

// openRecorded is openProject for who goes on with a run that began with all of
// its configuration on record: where the project's files are broken by now,
// they are named and left unread. What the user's own configuration says about
// this machine still counts, and has to be readable.
func (a *App) openRecorded(ctx context.Context) (*project, error) {
	base, err := git.Inspect(ctx, a.Dir)
	if err != nil {
		return nil, err
	}
	state, err := config.StateDir(a.Environ, base.RepoRoot)
	if err != nil {
		return nil, err
	}
	cfg, err := a.recordedConfig(base.RepoRoot)
	if err != nil {
		return nil, err
	}
	return &project{app: a, base: base, cfg: cfg, state: state}, nil
}

// recordedConfig reads as much of the configuration as can be read.
func (a *App) recordedConfig(root string) (*config.Config, error) {
	src := config.Sources{ProjectDir: root, UserFile: config.UserFile(a.Environ), Environ: a.Environ}
	cfg, warnings, broken := config.Load(src)
	if broken == nil {
		for _, w := range warnings {
			a.log.Warn(w.String())
		}
		return cfg, nil
	}
	for _, src.Without = range []config.Part{config.Policies, config.AllOfProject} {
		var err error
		if cfg, _, err = config.Load(src); err == nil {
			a.sayBroken(broken)
			return cfg, nil
		}
	}
	return nil, broken
}

// sayBroken names what is wrong with files that are not used.
func (a *App) sayBroken(err error) {
	var problems *config.Problems
	if !errors.As(err, &problems) {
		a.log.Warn(err.Error())
		return
	}
	for _, pr := range problems.List {
		a.log.Warn("not used, since it is broken; the run goes on with what it began with", "what", pr.String())
	}
}
