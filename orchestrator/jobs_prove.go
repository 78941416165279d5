package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/work"
)

// proofOf is what the proofs of a command have in common; p is nil for the
// base.
type proofOf struct {
	verify   work.VerifyRequest
	evidence work.EvidenceRequest
	phase    string // its name
	millis   int64
	// protected and settings decide, beside the verify, what names the proof.
	protected []string
	settings  work.ProofSettings
}

func (r *session) proofOf(c Command, p *Phase, mark string) proofOf {
	set := r.s.Spec.Settings
	of := proofOf{verify: work.VerifyRequest{
		Phase: c.Phase, Checkout: r.Layout.Checkout, Commit: c.Commit, Commands: set.Verify.Commands, TimeoutSecs: set.Verify.TimeoutSecs,
		Worktree: set.Worktree, Sandbox: set.Sandbox, Hide: []string{r.Layout.State}, Mark: mark,
		OneHome: set.Verify.OneHome, MayWrite: set.Verify.MayWrite, Caches: set.Verify.Caches,
	}}
	name := "base-verify"
	if p == nil {
		of.verify.Phase = "base"
	} else {
		of.verify.Commands, of.verify.Env = p.Set.Verify, set.Agents[p.Set.Agent].Env
		of.evidence = r.evidenceOf(c, p)
		of.millis, of.phase = p.Proving.Millis, p.Plan.Name
		name = fmt.Sprintf("%s-%d-%s-%s", c.Phase, c.Iteration, c.Step, c.On)
	}
	of.verify.Commands = slices.Concat(of.verify.Commands, set.Proof.Also)
	of.protected, of.settings = set.Verify.Protected, set.Proof
	of.verify.Dir = r.Layout.VerifyDir(r.s.Run, of.verify.Phase)
	of.verify.LogPath = r.Layout.Log(r.s.Run, name)
	return of
}

// evidenceOf is what is asked about the evidence of p's change.
func (r *session) evidenceOf(c Command, p *Phase) work.EvidenceRequest {
	set := r.s.Spec.Settings
	base := p.Base
	if p.Merge != nil {
		base = p.Merge.Head
	}
	proof := set.Proof
	if r.s.Job != nil {
		// Its documents are its work, whatever they are called.
		proof.Product = append(slices.Clip(proof.Product), work.JobDir+"/**")
	}
	return work.EvidenceRequest{
		Trusted: r.s.trusted(), Moves: r.s.Moves, Base: base, Commit: c.Commit,
		Protected: set.Verify.Protected, MayChange: p.Set.MayChange, Proof: proof,
		Commands: slices.Concat(set.Verify.Commands, p.Set.Verify, set.Proof.Also, set.Worktree.Setup),
	}
}

func (r *session) verifyJob(c Command, p *Phase, mark string) func(context.Context) Fact {
	of, view := r.proofOf(c, p, mark), r.s.beliefs(c)
	return func(ctx context.Context) Fact {
		done := VerifyDone{Command: c}
		var err error
		if slices.Contains(floors(), c.On) {
			if of.verify.Commit, err = r.Evidence.Mix(ctx, of.evidence, c.On); err != nil {
				return failed(ctx, c, "put the evidence back", err)
			}
		}
		of.verify.Accepted = c.On == work.OnBase && r.acceptedBase(ctx)
		if err = r.proveOnce(ctx, view, of, &done); err != nil {
			return failed(ctx, c, "verify", err)
		}
		if !done.Report.OK || c.On != work.OnSnapshot && c.On != work.OnMerged {
			return done
		}
		seen, err := r.Evidence.Judge(ctx, of.evidence)
		if err != nil {
			return failed(ctx, c, "hold the change against the evidence", err)
		}
		done.Evidence = &seen
		return r.askHidden(ctx, of, done)
	}
}

// proveOnce runs the commands, unless they were green on the same before.
func (r *session) proveOnce(ctx context.Context, view *State, of proofOf, done *VerifyDone) (err error) {
	if done.Key, done.Before = r.provenBefore(ctx, done.Command, view, of); done.Before != nil {
		done.Report.OK = true
		return nil
	}
	began := time.Now()
	if done.Report, err = r.Checks.Verify(ctx, of.verify, r.tell); err != nil {
		return err
	}
	done.Millis, done.Filled = time.Since(began).Milliseconds(), of.verify.Accepted
	// Tools that changed meanwhile: nobody knows which of them spoke.
	if done.Key.Key != "" && r.proofKey(ctx, of) != done.Key {
		done.Key = work.ProofKey{}
	}
	return nil
}

// askHidden runs the owner's hidden checks on the product of a green proof, with
// the evidence that a person last accepted: nothing that an agent wrote beside
// the product can answer them.
func (r *session) askHidden(ctx context.Context, of proofOf, done VerifyDone) Fact {
	folders := r.s.Spec.Settings.Proof.Hidden
	if len(folders) == 0 {
		return done
	}
	var err error
	if of.verify.Commit, err = r.Evidence.Mix(ctx, of.evidence, work.OnTrusted); err != nil {
		return failed(ctx, done.Command, "put the evidence back", err)
	}
	of.verify.LogPath = strings.TrimSuffix(of.verify.LogPath, ".log") + ".hidden.log"
	rep, err := r.Checks.Hidden(ctx, work.HiddenRequest{Verify: of.verify, PhaseName: of.phase, Folders: folders})
	if err != nil {
		return failed(ctx, done.Command, "run the hidden checks", err)
	}
	done.Hidden = &rep
	return done
}

// acceptedBase says that the base is what a person last accepted, so that its
// proof may fill caches which others are lent. Where that is not known it is not.
func (r *session) acceptedBase(ctx context.Context) bool {
	trusted, base := r.s.trusted(), r.s.Spec.Base.Commit
	if trusted == base {
		return true
	}
	changes, err := r.Repo.Changes(ctx, trusted, base)
	return err == nil && len(changes) == 0
}

// controlJob asks test runners about a tree whose proofs are green.
func (r *session) controlJob(c Command, p *Phase, mark string) func(context.Context) Fact {
	of, set := r.proofOf(c, p, mark), r.s.Spec.Settings.Proof
	req := work.ControlRequest{
		Phase: c.Phase, Checkout: of.verify.Checkout, Dir: of.verify.Dir + ".control", Mark: mark, LogPath: of.verify.LogPath,
		Trusted: of.evidence.Trusted, Snapshot: c.Commit, Base: of.evidence.Base, Commands: of.verify.Commands, Env: of.verify.Env,
		TimeoutSecs: of.verify.TimeoutSecs, BudgetSecs: set.ControlSecs, VerifyMillis: of.millis, Ablate: set.Ablate, AblateSecs: set.AblateSecs,
		Worktree: of.verify.Worktree, Sandbox: of.verify.Sandbox, Hide: of.verify.Hide, Caches: of.verify.Caches,
		// Evidence that may differ is in part the agent's own.
		Accepted: len(of.evidence.Moves)+len(of.evidence.MayChange) == 0,
	}
	return func(ctx context.Context) Fact {
		seen, err := r.Evidence.Judge(ctx, of.evidence)
		if err == nil {
			req.Product, req.Settings = seen.Product, seen.Settings
			req.Commit, err = r.Evidence.Mix(ctx, of.evidence, work.OnTrusted)
		}
		if err == nil && len(of.evidence.Moves)+len(of.evidence.MayChange) > 0 {
			// Evidence that may differ is asked about as it stands now: what
			// passes with it on the old product has to pass on the new one.
			req.Trusted, err = r.Evidence.Mix(ctx, work.EvidenceRequest{
				Trusted: req.Commit, Base: req.Commit, Commit: of.evidence.Trusted,
				Protected: of.evidence.Protected, Commands: of.evidence.Commands, Proof: of.evidence.Proof,
			}, work.OnTrusted)
		}
		if err != nil {
			return failed(ctx, c, "put the trusted evidence back", err)
		}
		rep, err := r.Checks.Control(ctx, req, r.tell)
		if err != nil {
			return failed(ctx, c, "ask the test runners", err)
		}
		return ControlDone{Command: c, Report: rep}
	}
}
