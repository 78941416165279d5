package project

import (
	"context"
	"errors"

	"forge/internal/config"
	"forge/internal/git"
)

// OpenRecorded is Open for who goes on with a run that began with all of
// its configuration on record: where the project's files are broken by now,
// they are named and left unread. What the user's own configuration says about
// this machine still counts, and has to be readable.
func OpenRecorded(ctx context.Context, env Env) (*Checkout, error) {
	base, err := git.Inspect(ctx, env.Dir)
	if err != nil {
		return nil, err
	}
	state, err := config.StateDir(env.Environ, base.RepoRoot)
	if err != nil {
		return nil, err
	}
	cfg, err := RecordedConfig(env, base.RepoRoot)
	if err != nil {
		return nil, err
	}
	return located(&Checkout{Env: env, Base: base, Config: cfg, State: state})
}

// ConfigNow is the configuration of a checkout as its files are now, without what is
// only warned of.
func ConfigNow(env Env, root string) (*config.Config, error) {
	cfg, _, err := config.Load(config.Sources{ProjectDir: root, UserFile: config.UserFile(env.Environ), Environ: env.Environ})
	return cfg, err
}

// RecordedConfig reads as much of the configuration as can be read.
func RecordedConfig(env Env, root string) (*config.Config, error) {
	src := config.Sources{ProjectDir: root, UserFile: config.UserFile(env.Environ), Environ: env.Environ}
	cfg, warnings, broken := config.Load(src)
	if broken == nil {
		for _, w := range warnings {
			env.Log.Warn(w.String())
		}
		return cfg, nil
	}
	for _, src.Without = range []config.Part{config.Policies, config.AllOfProject} {
		var err error
		if cfg, _, err = config.Load(src); err == nil {
			sayBroken(env, broken)
			return cfg, nil
		}
	}
	return nil, broken
}

// sayBroken names what is wrong with files that are not used.
func sayBroken(env Env, err error) {
	var problems *config.Problems
	if !errors.As(err, &problems) {
		env.Log.Warn(err.Error())
		return
	}
	for _, pr := range problems.List {
		env.Log.Warn("not used, since it is broken; the run goes on with what it began with", "what", pr.String())
	}
}
