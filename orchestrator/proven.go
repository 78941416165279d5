package orchestrator

import (
	"context"
	"path"
	"strings"
	"time"

	"forge/internal/work"
)

// A verify that was green stands for the next one of the same: the same tree,
// commands, environment, settings and tools. What a change does to evidence, the
// owner's hidden checks and the test runners are asked all the same. A red,
// disturbed or unsteady verify stands for nothing, and takes that from a green one
// of the same; where anything is not known, the commands run.

// Proofs remembers which verifies were green, out of every agent's reach. It may
// be called for several phases at once.
type Proofs interface {
	// Key names the verify that is asked for. Without an error, what cannot be
	// told is an empty key.
	Key(ctx context.Context, q work.ProofQuestion) (work.ProofKey, error)
	// Find is the record of a key that the journal of its run bears out. One that
	// is damaged or refuted is none.
	Find(ctx context.Context, key string) (work.ProvenBefore, bool)
	// Keep remembers a verify that was green, once its event is in the journal.
	Keep(ctx context.Context, green work.ProvenBefore) error
	// Refute makes every record of key count for nothing.
	Refute(ctx context.Context, key string) error
}

// reuses says that a green verify may stand for another one of the same.
func (s *State) reuses() bool {
	return !s.Fresh && !s.Spec.Fresh && s.Spec.Settings.Verify.ReuseSecs > 0
}

// believes says that b stands for carrying c out, of which key is the name now.
func (s *State) believes(c Command, key work.ProofKey, b work.ProvenBefore, now time.Time) bool {
	age := now.Sub(b.At)
	bound := time.Duration(s.Spec.Settings.Verify.ReuseSecs) * time.Second
	switch {
	case !s.reuses(), key.Key == "", key.Tree == "":
		return false
	case b.Key != key.Key, b.Tree != key.Tree, b.Run == "", b.Command == "":
		return false
	case age < 0, age > bound:
		// Of a record from the future nobody knows how old it is.
		return false
	case s.wasRed(key.Tree):
		return false
	}
	p := s.Phases[c.Phase]
	own := c.On == work.OnSnapshot || c.On == work.OnMerged
	return !own || p != nil && p.judgedTree() == key.Tree
}

// wasRed says that verify was red on a tree in this run, whatever its commands
// were. Green once more, it would be flaky: that is for a run of them to say.
func (s *State) wasRed(tree string) bool {
	for key, verdict := range s.Verdicts {
		if strings.HasPrefix(key, tree+" ") && verdict != verdictGreen {
			return true
		}
	}
	return false
}

// beliefs is what an effect may believe of the run that it is carried out for: a
// copy of what State.believes reads.
func (s *State) beliefs(c Command) *State {
	view := &State{Spec: s.Spec, Fresh: s.Fresh, Verdicts: map[string]string{}, Phases: map[string]*Phase{}}
	for key, verdict := range s.Verdicts {
		view.Verdicts[key] = verdict
	}
	if p := s.Phases[c.Phase]; p != nil {
		view.Phases[c.Phase] = &Phase{Tree: p.judgedTree()}
	}
	return view
}

// provenBefore looks for the record that stands for a verify, and names it.
func (r *session) provenBefore(ctx context.Context, c Command, view *State, of proofOf) (work.ProofKey, *work.ProvenBefore) {
	key := r.proofKey(ctx, of)
	if key.Key == "" || !view.reuses() {
		return key, nil
	}
	b, ok := r.Proofs.Find(ctx, key.Key)
	if !ok || !view.believes(c, key, b, r.Now()) || r.fills(ctx, c, of, b) {
		return key, nil
	}
	return key, &b
}

// proofKey names a verify; nothing where nobody remembers any, or a part of the
// name cannot be told.
func (r *session) proofKey(ctx context.Context, of proofOf) work.ProofKey {
	if r.Proofs == nil {
		return work.ProofKey{}
	}
	key, err := r.Proofs.Key(ctx, work.ProofQuestion{Verify: of.verify, Protected: of.protected, Proof: of.settings})
	if err != nil {
		return work.ProofKey{}
	}
	return key
}

// fills says that a run of the base is due for what it leaves in caches of tools:
// nothing that ran on accepted work since brought the dependencies that are new.
func (r *session) fills(ctx context.Context, c Command, of proofOf, b work.ProvenBefore) bool {
	if c.On != work.OnBase || !of.verify.Accepted || of.verify.Caches.Off || b.Filled {
		return false
	}
	if b.Base == "" {
		return true
	}
	changes, err := r.Repo.Changes(ctx, b.Base, c.Commit)
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

// refute takes from the records what is red or disturbed by the events, before
// these are written: a death in between costs a run of the commands, no more.
func (r *session) refute(ctx context.Context, evs []work.Event) error {
	if r.Proofs == nil {
		return nil
	}
	for _, e := range evs {
		key := ""
		switch e.Kind {
		case work.VerifyFinished:
			var d work.VerifyFinishedData
			if err := decode(e, &d); err != nil {
				return err
			}
			if !d.OK {
				key = d.Key
			}
		case work.ControlFinished:
			var d work.ControlFinishedData
			if err := decode(e, &d); err != nil {
				return err
			}
			key = d.Refutes
		}
		if key == "" {
			continue
		}
		if err := r.Proofs.Refute(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// keepProven remembers what is green by events that are written. What cannot be
// kept is run again.
func (r *session) keepProven(ctx context.Context, evs []work.Event) {
	if r.Proofs == nil {
		return
	}
	for _, e := range evs {
		var d work.VerifyFinishedData
		if e.Kind != work.VerifyFinished || decode(e, &d) != nil || !d.OK || d.Key == "" || d.Before != nil {
			continue
		}
		_ = r.Proofs.Keep(ctx, work.ProvenBefore{
			Key: d.Key, Tree: d.Tree, Run: r.s.Run, Command: d.ID, At: e.Time, Millis: d.Millis, Base: r.s.Spec.Base.Commit, Filled: d.Filled,
		})
	}
}
