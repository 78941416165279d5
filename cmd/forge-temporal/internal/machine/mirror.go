package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"time"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/objects"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// mirror takes the place of the user's checkout on a machine that has none. Each run
// has a checkout of its own of the commit that it began with: what of the project's
// configuration counts stands there. One mirror is for all runs of a project.
type mirror struct {
	repo *git.Mirror
	dir  string // of the checkouts
}

// openMirror makes or opens the mirror of what is at an address, beside the state folder
// that belongs to it: agents see the one and not the other.
func openMirror(ctx context.Context, env project.Env, at string) (*project.Checkout, *mirror, error) {
	if config.HoldsSecret(at) {
		return nil, nil, refusal.New("leave them out: git's own credentials, of a helper or a key, let it in", "--mirror holds a user or a password")
	}
	sum := sha256.Sum256([]byte(at))
	state, err := config.StateDir(env.Environ, "/mirror-"+hex.EncodeToString(sum[:6]))
	if err != nil {
		return nil, nil, err
	}
	dir := state + ".mirror"
	m := &mirror{dir: filepath.Join(dir, "runs")}
	if m.repo, err = git.OpenMirror(ctx, filepath.Join(dir, "repo.git"), at, env.Environ); err != nil {
		return nil, nil, refusal.New("set FORGE_STATE_DIR to a folder beside which one can be made", "%v", err)
	}
	if err := m.repo.Fetch(ctx); err != nil {
		return nil, nil, refusal.New("correct --mirror, and see that git is let in there", "%s", objects.Plain(err.Error()))
	}
	root := m.repo.Dir()
	cfg, warnings, err := config.Load(config.Sources{ProjectDir: root, UserFile: config.UserFile(env.Environ), Environ: env.Environ})
	if err != nil {
		return nil, nil, err
	}
	for _, w := range warnings {
		env.Log.Warn(w.String())
	}
	beyond, err := env.Beyond(root)
	if err != nil {
		return nil, nil, err
	}
	return &project.Checkout{Env: env, Base: work.Base{RepoRoot: root}, Config: cfg, State: state, Server: beyond.StoreURL}, m, nil
}

// checkout is the one of a run, whose commits are here, and what it needs of this machine.
func (m *mirror) checkout(ctx context.Context, l *Places, run, base string) (*project.Checkout, *project.Machine, error) {
	if err := l.machine.Repo.KeepBase(ctx, run, base); err != nil {
		return nil, nil, err
	}
	env := l.p.Env
	env.Dir = filepath.Join(m.dir, run)
	if err := m.repo.CheckOut(ctx, base, env.Dir); err != nil {
		return nil, nil, err
	}
	env.Environ = append(slices.Clone(env.Environ), "FORGE_STATE_DIR="+l.p.State)
	env.Detect = func(context.Context) proc.Capabilities { return l.machine.Caps }
	p, err := project.OpenRecorded(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	p.Journal, p.Server = l.p.Journal, l.p.Server
	here, err := p.Machine(ctx)
	return p, here, err
}

// sweepEvery is how often it is looked for runs that are over.
const sweepEvery = 10 * time.Minute

// sweeping removes what a mirror has of runs that are over, until ctx ends. Logs stay.
func (l *Places) sweeping(ctx context.Context) {
	if l.mirror == nil {
		return
	}
	for ctx.Err() == nil {
		l.sweep(ctx)
		select {
		case <-time.After(sweepEvery):
		case <-ctx.Done():
		}
	}
}

func (l *Places) sweep(ctx context.Context) {
	entries, _ := os.ReadDir(l.mirror.dir)
	for _, e := range entries {
		run := e.Name()
		row, err := l.p.Journal.RunOf(ctx, run)
		if !e.IsDir() || err != nil || !row.Outcome.Final() || row.Alive || l.inUse(run) {
			continue
		}
		if err := l.forget(ctx, run); err != nil && ctx.Err() == nil {
			l.p.Log.Warn("remove what is left of a run that is over", "run", run, "err", err)
		}
	}
	if _, err := l.machine.Repo.Pack(ctx, false); err != nil && ctx.Err() == nil {
		l.p.Log.Warn("pack Forge's own repository", "err", err)
	}
}

func (l *Places) inUse(run string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.drivers[run] != nil
}

// forget removes folders and references of a run; its commits are at the place that they
// travel by.
func (l *Places) forget(ctx context.Context, run string) error {
	repo := l.machine.Repo
	runs.Sweep(l.p, run)
	refs, err := repo.RefsBelow(ctx, orchestrator.Ref(run, ""))
	if err != nil {
		return err
	}
	refs[objects.RefOf(run)] = ""
	for ref := range refs {
		if err := repo.UpdateRef(ctx, ref, "", ""); err != nil {
			return err
		}
	}
	if err := repo.DropBase(ctx, run); err != nil {
		return err
	}
	return l.mirror.repo.Drop(ctx, filepath.Join(l.mirror.dir, run))
}
