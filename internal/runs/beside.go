package runs

import (
	"context"

	"forge/internal/effect"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// addBeside gives the machine of a run those of its other repositories: each with
// its own git repository, checks, evidence and proofs; agents, reviewers' model and
// logs are the home's.
func addBeside(home *project.Checkout, m *effect.Machine, among project.Among) {
	if len(among.Machines) == 0 {
		return
	}
	m.Layout.Others = among.States
	m.Beside = map[string]*effect.Machine{}
	for name, e := range among.Machines {
		one := *m
		one.Repo, one.Targets, one.Checks, one.Evidence = e.Repo, e.Repo, e.Bench, e.Evidence
		one.Proofs, one.Beside = ProofsOf(among.Checkout[name], e), nil
		one.Pages = e.Pages(home.Journal.PutBlob)
		one.Layout = among.LayoutOf(home, name)
		if desk, ok := m.Reviewers.(*Reviewers); ok {
			there := *desk
			there.Repo = e.Repo
			one.Reviewers = &there
		}
		m.Beside[name] = &one
	}
	// Those who see the home's work must not see the others' state either.
	for _, one := range m.Beside {
		one.Layout.Others = append([]string{home.State}, among.States...)
	}
}

// resultPorts are the code hosts at which the parts of a run's result are proposed, by
// repository, "" = the home. What cannot be asked is said when its turn comes.
func resultPorts(ctx context.Context, home *project.Checkout, store *git.Store, s *orchestrator.State, among project.Among) (map[string]*pullrequest.Port, error) {
	if s.Spec.Host == nil || len(s.Spec.Repositories) == 0 {
		return nil, nil
	}
	out := map[string]*pullrequest.Port{"": pullrequest.PortAt(home, s.Spec.Host, store)}
	for _, r := range s.Spec.Repositories {
		c, err := home.Beside(ctx, r)
		if err != nil {
			return nil, err
		}
		out[r.Name] = pullrequest.PortAt(c, r.Host, among.Machines[r.Name].Repo)
	}
	return out, nil
}

// addPorts gives each machine of a run its own.
func addPorts(m *effect.Machine, ports map[string]*pullrequest.Port) {
	for name, port := range ports {
		of := m
		if name != "" {
			of = m.Beside[name]
		}
		if port != nil {
			of.Host, of.Results = port, port
		}
	}
}

// PullsMoved looks at the pull requests that a run of several repositories is held for,
// and says whether one stands otherwise than when that was looked at last.
func PullsMoved(ctx context.Context, home *project.Checkout, e *project.Machine, s *orchestrator.State) (bool, error) {
	held := s.HeldPulls()
	if len(held) == 0 {
		return false, nil
	}
	among, err := home.OpenAmong(ctx, s.Spec.Repositories)
	if err != nil {
		return false, err
	}
	ports, err := resultPorts(ctx, home, e.Repo, s, among)
	if err != nil {
		return false, err
	}
	for _, one := range held {
		port := ports[one.Repository]
		if port == nil {
			continue // goes on is what says why
		}
		is, why, err := port.See(ctx, one.Pull)
		if err != nil || one.Moved(is, why) {
			return err == nil, err
		}
	}
	return false, nil
}

// openBeside makes the other repositories of a run ready for it, as Open does the
// home: what their proofs are held against, and what keeps their bases.
func openBeside(ctx context.Context, p *project.Checkout, run string, spec *orchestrator.Spec) error {
	if len(spec.Repositories) == 0 {
		return nil
	}
	among, err := p.OpenAmong(ctx, spec.Repositories)
	if err == nil {
		err = p.NoteObjects(among)
	}
	if err != nil {
		return err
	}
	for i := range spec.Repositories {
		r := &spec.Repositories[i]
		c, e := among.Checkout[r.Name], among.Machines[r.Name]
		its := orchestrator.Spec{Base: r.Base, Settings: work.Settings{Verify: r.Verify, Proof: r.Proof, Worktree: r.Worktree}}
		if err := c.TrustedFor(ctx, e, run, r.Base.Branch, &its); err != nil {
			return err
		}
		if err := e.Repo.KeepBase(ctx, run, r.Base.Commit); err != nil {
			return err
		}
		r.Trusted = its.Trusted
	}
	return nil
}

// checkBeside makes sure that every commit which the run goes on from in its other
// repositories is whole.
func checkBeside(ctx context.Context, p *project.Checkout, s *orchestrator.State) error {
	among, err := p.OpenAmong(ctx, s.Spec.Repositories)
	if err != nil {
		return err
	}
	for _, r := range s.Spec.Repositories {
		if err := among.Machines[r.Name].Repo.CheckWhole(ctx, r.Base.Commit, goesOnFrom(s, r.Name)); err != nil {
			return err
		}
	}
	return nil
}
