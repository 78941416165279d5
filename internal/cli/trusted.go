package cli

import (
	"context"
	"slices"

	"forge/internal/evidence"
	"forge/internal/git"
	"forge/internal/work"
	"forge/orchestrator"
)

// trustedFor finds the evidence that a new run's proofs are held against: what
// a person last accepted on the branch that its result is meant for.
func (p *project) trustedFor(ctx context.Context, e *engine, run, target string, spec *orchestrator.Spec) error {
	commit, err := e.evidence.Trusted(ctx, target, spec.Base.Commit, evidenceSettings(spec.Settings))
	if err != nil {
		return err
	}
	spec.Trusted = commit
	// Kept for as long as the run is, whatever the target's state becomes.
	return e.repo.UpdateRef(ctx, orchestrator.Ref(run, "trusted"), commit, "")
}

// evidenceSettings are the settings that say what is evidence.
func evidenceSettings(set work.Settings) work.EvidenceRequest {
	return work.EvidenceRequest{
		Protected: set.Verify.Protected, Proof: set.Proof,
		Commands: slices.Concat(set.Verify.Commands, set.Proof.Also, set.Worktree.Setup),
	}
}

// touchedBetween is the evidence that differs between two commits, with what is
// gone of it apart.
func touchedBetween(ctx context.Context, repo *git.Store, rules *evidence.Store, set work.Settings, base, commit string, mayChange []string) (touched, gone []string, err error) {
	req := evidenceSettings(set)
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
