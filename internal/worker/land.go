package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/factory/landing"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// endLanding ends what a process that died left running of the run.
func (s *Worker) endLanding(ctx context.Context, lease *journal.Lease) error {
	left, err := s.Journal.Attempts(ctx, lease.Run())
	if err != nil {
		return err
	}
	for _, a := range left {
		if err := (runs.Processes{Kill: proc.KillMarked, Log: s.Log}).End(ctx, a.Mark); err != nil {
			return fmt.Errorf("end what %s left running: %w", a.Command, err)
		}
		if err := s.Journal.DropAttempt(ctx, lease, a.Command); err != nil {
			return err
		}
	}
	return nil
}

// verified has the project's own commands judge a commit that would land, or has;
// problem says what is red. mark names their processes.
func (s *Worker) verified(ctx context.Context, p *project.Checkout, state *orchestrator.State, mark, commit, onto string) (v landing.Verdict, problem string, err error) {
	set := state.Spec.Settings
	if len(set.Verify.Commands) == 0 {
		return landing.NoCommands, "", nil
	}
	problem, err = s.proveLanding(ctx, p, state, work.VerifyRequest{
		Phase: "landing", Checkout: p.Base.RepoRoot, Commit: commit, Commands: slices.Concat(set.Verify.Commands, set.Proof.Also), TimeoutSecs: set.Verify.TimeoutSecs,
		Worktree: set.Worktree, Sandbox: set.Sandbox, Hide: []string{p.State}, Mark: mark, OneHome: set.Verify.OneHome, MayWrite: set.Verify.MayWrite, Caches: set.Verify.Caches,
		Dir: p.Layout().VerifyDir(state.Run, "landing"), LogPath: p.Layout().Log(state.Run, "landing-verify"),
	}, onto)
	switch {
	case err != nil:
		return "", "", err
	case problem != "":
		return landing.Red, problem, nil
	}
	return landing.Green, "", nil
}

// proveLanding proves what would land: as it is, and with the evidence that a
// person last accepted on the target. What a person approved with the result is
// accepted by that, and so is what people merged themselves: then onto is "".
func (s *Worker) proveLanding(ctx context.Context, p *project.Checkout, state *orchestrator.State, req work.VerifyRequest, onto string) (problem string, err error) {
	held := project.EvidenceSettings(state.Spec.Settings)
	held.Trusted, held.Moves, held.Base, held.Commit = cmp.Or(state.Spec.Trusted, state.Spec.Base.Commit), state.Moves, onto, req.Commit
	req.Base = state.Spec.Base.Commit
	if req.Evidence, req.Earlier, err = s.Machine.Evidence.Fixed(ctx, held, req.Commit); err != nil {
		return "", err
	}
	if problem, err := s.proveOnce(ctx, p, state, req); err != nil || problem != "" {
		return problem, err
	}
	if problem, err := s.askHidden(ctx, req, held); err != nil || problem != "" {
		return problem, err
	}
	if state.Final.Approved != "" || onto == "" {
		return "", nil
	}
	seen, err := s.Machine.Evidence.Judge(ctx, held)
	if err != nil {
		return "", err
	}
	for _, floor := range seen.Floors {
		if req.Commit, err = s.Machine.Evidence.Mix(ctx, held, floor); err != nil {
			return "", err
		}
		if req.Evidence, req.Earlier, err = s.Machine.Evidence.Fixed(ctx, held, req.Commit); err != nil {
			return "", err
		}
		problem, err := s.proveOnce(ctx, p, state, req)
		if err != nil {
			return "", err
		}
		if problem != "" {
			return "with the " + string(floor) + " evidence: " + problem, nil
		}
	}
	return "", nil
}

// proveOnce runs the commands, unless they were green on the same before; that is
// said in the log of the landing.
func (s *Worker) proveOnce(ctx context.Context, p *project.Checkout, state *orchestrator.State, req work.VerifyRequest) (problem string, err error) {
	set := state.Spec.Settings
	proofs := runs.ProofsOf(p, s.Machine)
	key, err := proofs.Key(ctx, work.ProofQuestion{Verify: req, Protected: set.Verify.Protected, Proof: set.Proof})
	if err == nil && key.Key != "" {
		if before, ok := proofs.Find(ctx, key.Key); ok && state.StandsForLanding(key, before, s.Now()) {
			if LandingSaid(req.LogPath) != "" {
				return "", nil // once for all that it is proven with
			}
			s.Log.Info(before.Said(), "project", s.Project, "run", state.Run, "on", "landing")
			return "", appendLine(req.LogPath, before.Said())
		}
	}
	rep, err := s.Machine.Bench.Verify(ctx, req, nil)
	if err != nil {
		return "", err
	}
	problem = unproven(rep)
	if problem != "" && key.Key != "" {
		err = proofs.Refute(ctx, key.Key)
	}
	return problem, err
}

// askHidden holds what would land against the checks that the owner keeps from
// agents.
func (s *Worker) askHidden(ctx context.Context, req work.VerifyRequest, held work.EvidenceRequest) (problem string, err error) {
	if len(held.Proof.Hidden) == 0 {
		return "", nil
	}
	if held.Base != "" {
		if req.Commit, err = s.Machine.Evidence.Mix(ctx, held, work.OnTrusted); err != nil {
			return "", err
		}
		if req.Evidence, req.Earlier, err = s.Machine.Evidence.Fixed(ctx, held, req.Commit); err != nil {
			return "", err
		}
	}
	req.LogPath = strings.TrimSuffix(req.LogPath, ".log") + ".hidden.log"
	rep, err := s.Machine.Bench.Hidden(ctx, work.HiddenRequest{Verify: req, Whole: true, Folders: held.Proof.Hidden})
	switch {
	case err != nil:
		return "", err
	case rep.Disturbed != "":
		return rep.Disturbed, nil
	case rep.Red != "":
		return "a check of the project's owner is red: " + rep.Red, nil
	}
	return "", nil
}

// unproven is why a report proves nothing, "" = it does. Where nothing ran
// nothing is proven, and a failure that does not say why is one.
func unproven(rep work.CommandsReport) string {
	switch {
	case rep.OK && len(rep.Ran) > 0:
		return ""
	case len(rep.Ran) == 0:
		return cmp.Or(rep.Problem, "no verify command ran")
	}
	return cmp.Or(rep.Problem, "verify failed and does not say why")
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the log of the landing: %w", err)
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// keepLease says that this process lives while it does something that takes its
// time. One that is lost shows at the next write.
func keepLease(ctx context.Context, lease *journal.Lease) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var over sync.WaitGroup
	over.Go(func() {
		tick := time.NewTicker(journal.HeartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = lease.Heartbeat(ctx)
			}
		}
	})
	return func() {
		cancel()
		over.Wait()
	}
}

// LandingSaid is what the log of a landing says of a proof that was not run; "" =
// it ran.
func LandingSaid(log string) string {
	body, _ := os.ReadFile(log) // without one, nothing is to be said
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "proven before: ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
