package machine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/objects"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/orchestrator"
)

// sent has what a run begins on, or goes on from, where every worker reaches it. What is
// there already of it is brought first.
func (t team) sent(ctx context.Context, p *project.Checkout, repo *git.Store, s *orchestrator.State) error {
	place := t.place(p, repo, "run "+s.Run)
	if place == nil {
		return nil
	}
	if s.Spec.Base.Shallow {
		return refusal.New("git fetch --unshallow", "the checkout is a shallow clone: other machines cannot have its commits")
	}
	if i := s.Spec.Issue; i != nil && i.Workspace != "" {
		return refusal.New("take engine.objects out of your configuration", "the issue is worked on in the folder %s of this machine, where no other one works", i.Workspace)
	}
	if _, err := place.Bring(ctx, s.Run); err != nil && !errors.Is(err, objects.ErrNone) {
		return notReached(err)
	}
	commits, err := made(ctx, repo, s.Run, true)
	if err != nil {
		return err
	}
	if s.Spec.Trusted != "" {
		commits = append(commits, s.Spec.Trusted)
	}
	if err := place.Begin(ctx, s.Run, s.Spec.Base.Commit, commits...); err != nil {
		return notReached(err)
	}
	return nil
}

func notReached(err error) error {
	return refusal.New("see that git may push to engine.objects; nothing has begun", "%v", err)
}

// brought has in this checkout what became of a run on other machines: its commits, and
// its result as a branch, to which the branch that is checked out is moved where the run
// says so. That it cannot be takes nothing away: the run is over, and forge-temporal
// bring does it later.
func (t team) brought(ctx context.Context, p *project.Checkout, repo *git.Store, s *orchestrator.State) error {
	place := t.place(p, repo, "run "+s.Run)
	if place == nil {
		return nil
	}
	if err := t.bring(ctx, place, p, repo, s); err != nil {
		p.Log.Warn("the run's commits are not in this checkout", "run", s.Run, "err", err, "next", "forge-temporal bring "+s.Run)
	}
	return nil
}

func (t team) bring(ctx context.Context, place *objects.Place, p *project.Checkout, repo *git.Store, s *orchestrator.State) error {
	if _, err := place.Bring(ctx, s.Run); err != nil {
		return err
	}
	d := s.Delivery
	if d == nil || d.Branch == "" || d.Commit == "" {
		return nil
	}
	of, err := orchestrator.EffectOf(s, orchestrator.Command{Step: orchestrator.StepDeliver, Commit: d.Commit}, orchestrator.Known{})
	if err != nil {
		return err
	}
	deliver, is := of.(orchestrator.DeliverEffect)
	if !is {
		return fmt.Errorf("the result of run %s is none", s.Run)
	}
	if len(deliver.Accepts) > 0 {
		e, err := p.Machine(ctx)
		if err != nil {
			return err
		}
		if err := e.Evidence.Accept(ctx, s.Run, deliver.Accepts); err != nil {
			return err
		}
	}
	if err := repo.Deliver(ctx, d.Branch, d.Commit); err != nil {
		return err
	}
	if d.FastForwarded || deliver.Stays != "" || s.Spec.Base.RepoRoot != p.Base.RepoRoot {
		return nil // not the checkout that it began in: its branch stays
	}
	moved, err := repo.FastForward(ctx, deliver.Base, d.Commit)
	if err != nil {
		return err
	}
	if moved.FastForwarded {
		moved.Branch, moved.Commit = d.Branch, d.Commit
		s.Delivery = &moved // as it is in this checkout; the journal says what the worker did
	}
	return nil
}

// Travels is a project.Travels for checkouts whose configuration names a repository.
type Travels struct{}

// Bring has here what other machines made of a run.
func (Travels) Bring(ctx context.Context, p *project.Checkout, run string) error {
	place, _, err := placeOf(ctx, p, run)
	if place == nil || err != nil {
		return err
	}
	// One of before the commits travelled, or that nobody drove yet, has nothing there.
	if _, err = place.Bring(ctx, run); errors.Is(err, objects.ErrNone) {
		return nil
	} else if err != nil {
		return refusal.New("try again when it answers, or correct engine.objects", "%v", err)
	}
	return nil
}

// Send has there what was made of a run here.
func (Travels) Send(ctx context.Context, p *project.Checkout, run string) error {
	place, repo, err := placeOf(ctx, p, run)
	if place == nil || err != nil {
		return err
	}
	commits, err := made(ctx, repo, run, false)
	if err == nil {
		err = place.Keep(ctx, run, commits...)
	}
	if err != nil && !errors.Is(err, objects.ErrNone) {
		return refusal.New("try again when it answers, or correct engine.objects", "%v", err)
	}
	return nil
}

// placeOf is where the commits of a checkout's runs are; nil = here alone.
func placeOf(ctx context.Context, p *project.Checkout, run string) (*objects.Place, *git.Store, error) {
	cfg := p.Config
	if cfg == nil {
		var err error
		if cfg, err = project.RecordedConfig(p.Env, p.Base.RepoRoot); err != nil {
			return nil, nil, err
		}
	}
	set, err := cfg.Engine()
	if err != nil || set.Kind != config.EngineTemporal || set.Objects == "" {
		return nil, nil, err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return nil, nil, err
	}
	return team{at: set.Objects}.place(p, repo, "run "+run), repo, nil
}

// bring is the command.
func bring(ctx context.Context, p *project.Checkout, set config.EngineSettings, args []string, stdout io.Writer) error {
	if len(args) != 1 {
		return refusal.New("forge status --all lists them", "which run?")
	}
	if set.Objects == "" {
		return refusal.New("name a repository in engine.objects", "the commits of runs are on the machine that made them")
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	defer p.Close()
	row, err := p.PickRun(ctx, args[0])
	if err != nil {
		return err
	}
	s, _, err := p.LoadRun(ctx, row.ID)
	if err != nil {
		return err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	t, err := teamOf(ctx, p, repo, set)
	if err != nil {
		return err
	}
	if err := t.bring(ctx, t.place(p, repo, "run "+s.Run), p, repo, s); err != nil {
		return err
	}
	what := "its commits are here"
	if d := s.Delivery; d != nil && d.Branch != "" {
		what = "its result is on branch " + d.Branch
	}
	fmt.Fprintf(stdout, "run %s: %s\n", s.Run, what)
	return nil
}
