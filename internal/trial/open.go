package trial

import (
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/work"
)

// rootOf is the checkout around the working directory, or the directory itself:
// measuring needs no repository.
func rootOf(env project.Env) string {
	if root := project.CheckoutAround(env.Dir); root != "" {
		return root
	}
	return env.Dir
}

// Open is the project around the working directory for a trial, with its
// configuration.
func Open(env project.Env) (*project.Checkout, error) {
	root := rootOf(env)
	state, err := config.StateDir(env.Environ, root)
	if err != nil {
		return nil, err
	}
	cfg, warnings, err := config.Load(config.Sources{ProjectDir: root, UserFile: config.UserFile(env.Environ), Environ: env.Environ})
	for _, w := range warnings {
		env.Log.Warn(w.String())
	}
	if err != nil {
		return nil, err
	}
	return &project.Checkout{Env: env, Base: work.Base{RepoRoot: root}, Config: cfg, State: state}, nil
}

// Find is the project with its state folder alone: what is stored can be looked
// at whatever state the configuration is in.
func Find(env project.Env) (*project.Checkout, error) {
	root := rootOf(env)
	state, err := config.StateDir(env.Environ, root)
	if err != nil {
		return nil, err
	}
	return &project.Checkout{Env: env, Base: work.Base{RepoRoot: root}, State: state}, nil
}
