package effect

import (
	"context"
	"path"
	"strings"
	"time"

	"forge/internal/work"
	"forge/orchestrator"
)

// proof is p with what is this machine's.
func (m *Machine) proof(p orchestrator.Proof, mark string) orchestrator.Proof {
	v := &p.Verify
	v.Checkout, v.Dir, v.LogPath = m.Layout.Checkout, m.Layout.VerifyDir(p.Run, v.Phase), m.Layout.Log(p.Run, p.Log)
	v.Hide, v.Mark = m.hidden(), mark
	return p
}

func (m *Machine) verify(ctx context.Context, e orchestrator.VerifyEffect, a Attending) orchestrator.Fact {
	c, of := e.Command, m.proof(e.Proof, a.Mark)
	done := orchestrator.VerifyDone{Command: c, Rides: e.Rides}
	if e.Rides != "" {
		// Another verify stands for the commands, and for the hidden checks.
		seen, err := m.Evidence.Judge(ctx, of.Evidence)
		if err != nil {
			return failed(ctx, c, "hold the change against the evidence", err)
		}
		done.Evidence = &seen
		return done
	}
	var err error
	if e.Mix {
		if of.Verify.Commit, err = m.Evidence.Mix(ctx, of.Evidence, c.On); err != nil {
			return failed(ctx, c, "put the evidence back", err)
		}
	}
	of.Verify.Accepted = c.On.OfBase() && m.accepted(ctx, e)
	if c.On != work.OnWarm {
		of.Verify.Base = e.Base
	}
	if of.Verify.Evidence, of.Verify.Earlier, err = m.Evidence.Fixed(ctx, of.Evidence, of.Verify.Commit); err != nil {
		return failed(ctx, c, "see what is evidence", err)
	}
	if err = m.proveOnce(ctx, e.Beliefs, of, &done, a); err != nil {
		return failed(ctx, c, "verify", err)
	}
	if !done.Report.OK || !e.Judge {
		return done
	}
	seen, err := m.Evidence.Judge(ctx, of.Evidence)
	if err != nil {
		return failed(ctx, c, "hold the change against the evidence", err)
	}
	done.Evidence = &seen
	fact := m.askHidden(ctx, of, done)
	if green, ok := fact.(orchestrator.VerifyDone); ok && (green.Hidden == nil || green.Hidden.Red+green.Hidden.Disturbed == "") {
		return m.showPages(ctx, of, green, a)
	}
	return fact
}

// proveOnce runs the commands, unless they were green on the same before.
func (m *Machine) proveOnce(ctx context.Context, beliefs orchestrator.Beliefs, of orchestrator.Proof, done *orchestrator.VerifyDone, a Attending) (err error) {
	if done.Key, done.Before = m.provenBefore(ctx, done.Command, beliefs, of); done.Before != nil {
		done.Report.OK = true
		return nil
	}
	began := time.Now()
	if done.Report, err = m.Checks.Verify(ctx, of.Verify, a.Tell); err != nil {
		return err
	}
	done.Millis, done.Filled = time.Since(began).Milliseconds(), of.Verify.Accepted
	// Tools that changed meanwhile: nobody knows which of them spoke. Of what is red
	// no more is made than that it is run again.
	if done.Report.OK && done.Key.Key != "" && m.proofKey(ctx, of) != done.Key {
		done.Key = work.ProofKey{}
	}
	return nil
}

// askHidden runs the owner's hidden checks on the product of a green proof, with
// the evidence that a person last accepted: nothing that an agent wrote beside
// the product can answer them.
func (m *Machine) askHidden(ctx context.Context, of orchestrator.Proof, done orchestrator.VerifyDone) orchestrator.Fact {
	folders := of.Settings.Hidden
	if len(folders) == 0 {
		return done
	}
	var err error
	if of.Verify.Commit, err = m.Evidence.Mix(ctx, of.Evidence, work.OnTrusted); err != nil {
		return failed(ctx, done.Command, "put the evidence back", err)
	}
	if of.Verify.Evidence, of.Verify.Earlier, err = m.Evidence.Fixed(ctx, of.Evidence, of.Verify.Commit); err != nil {
		return failed(ctx, done.Command, "see what is evidence", err)
	}
	of.Verify.LogPath = strings.TrimSuffix(of.Verify.LogPath, ".log") + ".hidden.log"
	rep, err := m.Checks.Hidden(ctx, work.HiddenRequest{Verify: of.Verify, PhaseName: of.PhaseName, Folders: folders})
	if err != nil {
		return failed(ctx, done.Command, "run the hidden checks", err)
	}
	done.Hidden = &rep
	return done
}

// accepted says that the base is what a person last accepted, so that its proof
// may fill caches which others are lent. Where that is not known it is not.
func (m *Machine) accepted(ctx context.Context, e orchestrator.VerifyEffect) bool {
	if e.Trusted == e.Base {
		return true
	}
	changes, err := m.Repo.Changes(ctx, e.Trusted, e.Base)
	return err == nil && len(changes) == 0
}

// control asks test runners about a tree whose proofs are green.
func (m *Machine) control(ctx context.Context, e orchestrator.ControlEffect, a Attending) orchestrator.Fact {
	c, of, req := e.Command, m.proof(e.Proof, a.Mark), e.Request
	req.Checkout, req.Dir, req.LogPath = of.Verify.Checkout, of.Verify.Dir+".control", of.Verify.LogPath
	req.Hide, req.Mark = of.Verify.Hide, a.Mark
	seen, err := m.Evidence.Judge(ctx, of.Evidence)
	if err == nil {
		req.Product, req.Settings = seen.Product, seen.Settings
		req.Changed, req.Added = seen.Changed, seen.New
		req.Commit, err = m.Evidence.Mix(ctx, of.Evidence, work.OnTrusted)
	}
	if err == nil {
		// Whether it can be written must not tell product that this is a control.
		req.Evidence, req.Earlier, err = m.Evidence.Fixed(ctx, of.Evidence, req.Commit)
	}
	if err == nil && len(of.Evidence.Moves)+len(of.Evidence.MayChange) > 0 {
		// Evidence that may differ is asked about as it stands now: what
		// passes with it on the old product has to pass on the new one.
		req.Trusted, err = m.Evidence.Mix(ctx, work.EvidenceRequest{
			Trusted: req.Commit, Base: req.Commit, Commit: of.Evidence.Trusted,
			Protected: of.Evidence.Protected, Commands: of.Evidence.Commands, Proof: of.Evidence.Proof,
		}, work.OnTrusted)
	}
	if err != nil {
		return failed(ctx, c, "put the trusted evidence back", err)
	}
	rep, err := m.Checks.Control(ctx, req, a.Tell)
	if err != nil {
		return failed(ctx, c, "ask the test runners", err)
	}
	return orchestrator.ControlDone{Command: c, Report: rep}
}

// provenBefore looks for the record that stands for a verify, and names it.
func (m *Machine) provenBefore(ctx context.Context, c orchestrator.Command, beliefs orchestrator.Beliefs, of orchestrator.Proof) (work.ProofKey, *work.ProvenBefore) {
	key := m.proofKey(ctx, of)
	if key.Key == "" || beliefs.ReuseSecs <= 0 {
		return key, nil
	}
	b, ok := m.Proofs.Find(ctx, key.Key)
	if !ok || !beliefs.Stand(key, b, m.Now()) || m.fills(ctx, c, of, b) {
		return key, nil
	}
	return key, &b
}

// proofKey names a verify; nothing where nobody remembers any, or a part of the
// name cannot be told.
func (m *Machine) proofKey(ctx context.Context, of orchestrator.Proof) work.ProofKey {
	if m.Proofs == nil {
		return work.ProofKey{}
	}
	key, err := m.Proofs.Key(ctx, work.ProofQuestion{Verify: of.Verify, Protected: of.Protected, Proof: of.Settings})
	if err != nil {
		return work.ProofKey{}
	}
	return key
}

// fills says that a run of the base is due for what it leaves in caches of tools:
// nothing that ran on accepted work since brought the dependencies that are new.
func (m *Machine) fills(ctx context.Context, c orchestrator.Command, of orchestrator.Proof, b work.ProvenBefore) bool {
	if !c.On.OfBase() || !of.Verify.Accepted || of.Verify.Caches.Off || b.Filled {
		return false
	}
	if b.Base == "" {
		return true
	}
	changes, err := m.Repo.Changes(ctx, b.Base, c.Commit)
	if err != nil {
		return true
	}
	for _, one := range changes {
		if namesDependencies(one.Path) {
			return true
		}
	}
	return false
}

// namesDependencies says that a file tells tools what to download.
func namesDependencies(file string) bool {
	name := path.Base(file)
	switch name {
	case "go.mod", "go.sum", "go.work", "go.work.sum", "package.json", "Gemfile", "Pipfile", "pyproject.toml", "setup.py", "setup.cfg",
		"pom.xml", "gradle.properties", "composer.json", "deno.json", "packages.config", "npm-shrinkwrap.json", "pnpm-lock.yaml", "package-lock.json":
		return true
	}
	switch path.Ext(name) {
	case ".lock", ".lockb", ".lockfile", ".gradle", ".kts", ".csproj", ".fsproj", ".vbproj", ".gemspec":
		return true
	}
	return name == "Cargo.toml" || strings.HasPrefix(name, "requirements") || strings.HasPrefix(name, "Directory.")
}
