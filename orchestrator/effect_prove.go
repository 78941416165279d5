package orchestrator

import (
	"fmt"
	"slices"

	"forge/internal/work"
)

// Proof is what the proofs of a command have in common.
type Proof struct {
	Run       string
	Verify    work.VerifyRequest
	Evidence  work.EvidenceRequest
	PhaseName string
	Log       string // name of the log
	// Protected and Settings decide, beside the verify, what names the proof.
	Protected []string
	Settings  work.ProofSettings
}

// VerifyEffect runs the verify commands. Its fact is VerifyDone.
type VerifyEffect struct {
	Command Command
	Proof   Proof
	Mix     bool // the evidence of Command.On is put back first
	Judge   bool // a green proof is held against the evidence, and hidden checks are asked
	Beliefs Beliefs
	// Trusted and Base are compared where the base is proven: what runs on
	// accepted work alone may fill caches.
	Trusted, Base string
	// Rides is the verify that stands for the commands, of a member of a train: only
	// what its change does to evidence is asked.
	Rides work.CommandID
}

// ControlEffect asks test runners about a tree whose proofs are green. Its fact
// is ControlDone.
type ControlEffect struct {
	Command Command
	Proof   Proof
	Request work.ControlRequest
}

// proof is what c's proofs have in common; p is nil for the base.
func (s *State) proof(c Command, p *Phase) Proof {
	set := s.settingsOf(c.Repository)
	of := Proof{
		Run: s.Run, Log: "base-verify", Protected: set.Verify.Protected, Settings: set.Proof,
		Verify: work.VerifyRequest{
			Phase: c.Phase, Commit: c.Commit, Commands: set.Verify.Commands, TimeoutSecs: set.Verify.TimeoutSecs,
			Worktree: set.Worktree, Sandbox: set.Sandbox,
			OneHome: set.Verify.OneHome, MayWrite: set.Verify.MayWrite, Caches: set.Verify.Caches,
		},
	}
	if p == nil {
		of.Verify.Phase = work.BasePhase
		if s.warmsUp(c.Repository) {
			of.Verify.Commands = set.Verify.Warm
		}
		of.Evidence = work.EvidenceRequest{
			Trusted: s.trustedIn(c.Repository), Moves: s.movesIn(c.Repository, len(s.Moves)), Base: c.Commit, Commit: c.Commit, Protected: set.Verify.Protected, Proof: set.Proof,
			Commands: slices.Concat(of.Verify.Commands, set.Proof.Also, set.Worktree.Setup),
		}
	} else {
		of.Verify.Commands, of.Verify.Env = p.Set.Verify, set.Agents[p.Set.Agent].Env
		of.Evidence = s.evidenceOf(c, p)
		of.PhaseName = p.Plan.Name
		of.Log = LogName(c.Phase, c.Iteration, c.Step, c.On)
	}
	of.Verify.Commands = slices.Concat(of.Verify.Commands, set.Proof.Also)
	return of
}

// ProofSettings say what is product and what evidence in the run. The documents of a
// job are its work, whatever they are called.
func (s *State) ProofSettings() work.ProofSettings {
	return s.proofIn("")
}

func (s *State) proofIn(repository string) work.ProofSettings {
	proof := s.settingsOf(repository).Proof
	if s.Job != nil {
		proof.Product = append(slices.Clip(proof.Product), work.JobDir+"/**")
	}
	return proof
}

// evidenceOf is what is asked about the evidence of p's change.
func (s *State) evidenceOf(c Command, p *Phase) work.EvidenceRequest {
	repo := p.Plan.Repository
	set := s.settingsOf(repo)
	base := p.Base
	if p.Merge != nil {
		base = p.Merge.Head
	}
	proof := s.proofIn(repo)
	return work.EvidenceRequest{
		Trusted: s.trustedIn(repo), Moves: s.movesIn(repo, len(s.Moves)), Base: base, Commit: c.Commit, Parts: p.Parts,
		Protected: set.Verify.Protected, MayChange: p.Set.MayChange, Proof: proof,
		Commands: slices.Concat(set.Verify.Commands, p.Set.Verify, set.Proof.Also, set.Worktree.Setup),
	}
}

// LogName is the name of the log of a proof.
func LogName(phase string, iteration int, step Step, on work.VerifyOn) string {
	return fmt.Sprintf("%s-%d-%s-%s", phase, iteration, step, on)
}

func (s *State) verifyEffect(c Command, p *Phase) VerifyEffect {
	e := VerifyEffect{
		Command: c, Proof: s.proof(c, p), Mix: slices.Contains(floors(), c.On), Judge: c.On == work.OnSnapshot || c.On == work.OnMerged,
		Beliefs: s.beliefs(c), Trusted: s.trustedIn(c.Repository), Base: s.BaseOf(c.Repository).Commit, Rides: s.rides(p),
	}
	e.Proof.Verify.Asked = !c.On.OfBase() && s.controlled(c.Repository)
	return e
}

func (s *State) controlEffect(c Command, p *Phase) ControlEffect {
	return s.controlOf(c, s.proof(c, p), p.Proving.Millis)
}

// controlOf asks about a proof whose verify took as long as millis say.
func (s *State) controlOf(c Command, of Proof, millis int64) ControlEffect {
	set := s.settingsOf(c.Repository).Proof
	return ControlEffect{Command: c, Proof: of, Request: work.ControlRequest{
		Phase: c.Phase, Trusted: of.Evidence.Trusted, Snapshot: c.Commit, Base: of.Evidence.Base, Commands: of.Verify.Commands, Env: of.Verify.Env,
		TimeoutSecs: of.Verify.TimeoutSecs, BudgetSecs: set.ControlSecs, VerifyMillis: millis, Ablate: set.Ablate, AblateSecs: set.AblateSecs,
		Worktree: of.Verify.Worktree, Sandbox: of.Verify.Sandbox, Caches: of.Verify.Caches, Began: s.BaseOf(c.Repository).Commit, MayWrite: of.Verify.MayWrite,
		// Evidence that may differ is in part the agent's own.
		Accepted: len(of.Evidence.Moves)+len(of.Evidence.MayChange) == 0,
	}}
}

func (e VerifyEffect) Of() Command  { return e.Command }
func (e ControlEffect) Of() Command { return e.Command }

func (VerifyEffect) effect()  {}
func (ControlEffect) effect() {}
