package project

import (
	"context"
	"slices"

	"forge/internal/evidence"
	"forge/internal/git"
	"forge/internal/work"
	"forge/orchestrator"
)

// TrustedFor finds the evidence that a new run's proofs are held against: what
// a person last accepted on the branch that its result is meant for.
func (p *Checkout) TrustedFor(ctx context.Context, e *Machine, run, target string, spec *orchestrator.Spec) error {
	commit, err := e.Evidence.Trusted(ctx, target, spec.Base.Commit, EvidenceSettings(spec.Settings))
	if err != nil {
		return err
	}
	spec.Trusted = commit
	// Kept for as long as the run is, whatever the target's state becomes.
	return e.Repo.UpdateRef(ctx, orchestrator.Ref(run, "trusted"), commit, "")
}

// EvidenceSettings are the settings that say what is evidence.
func EvidenceSettings(set work.Settings) work.EvidenceRequest {
	return work.EvidenceRequest{
		Protected: set.Verify.Protected, Proof: set.Proof,
		Commands: slices.Concat(set.Verify.Commands, set.Proof.Also, set.Worktree.Setup),
	}
}

// TouchedBetween is the evidence that differs between two commits, with what is
// gone of it apart.
func TouchedBetween(ctx context.Context, repo *git.Store, rules *evidence.Store, set work.Settings, base, commit string, mayChange []string) (touched, gone []string, err error) {
	req := EvidenceSettings(set)
	req.Trusted, req.Base, req.Commit, req.MayChange = base, base, commit, mayChange
	rep, err := rules.Judge(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	changes, err := repo.Changes(ctx, base, commit)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range rep.Touched {
		if slices.ContainsFunc(changes, func(c work.FileChange) bool { return c.Path == path && c.Status == "D" }) {
			gone = append(gone, path)
		} else {
			touched = append(touched, path)
		}
	}
	return touched, gone, nil
}
