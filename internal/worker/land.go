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

	"forge/factory"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// landTries is how often a landing is done anew because the target moved.
const landTries = 20

// Land merges the result of an issue's completed run into the target branch, on
// the code host where the project has one. That it is there already, from before
// a crash or by hand, is found by looking; nothing else is done where the issue is
// unwanted.
func (s *Worker) Land(ctx context.Context, i work.Issue, unwanted string, shown func(work.IssuePull) error) (factory.Landed, error) {
	f, err := s.For(ctx, i)
	if err != nil {
		return factory.Landed{}, err
	}
	p := f.Project()
	r, err := s.resultOf(ctx, p, i)
	if err != nil {
		return factory.Landed{}, err
	}
	if r.Delivery == nil || r.Delivery.Commit == "" {
		return factory.Landed{}, fmt.Errorf("run %s has no result that could land", i.Run)
	}
	h, err := s.resultHost(p)
	if err != nil {
		return s.unhosted(i, err), nil
	}
	s.landing.Lock()
	defer s.landing.Unlock()
	lease, err := s.acquire(ctx, i.Run)
	if err != nil {
		return factory.Landed{}, err
	}
	defer func() {
		if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
			s.Log.Warn("give the run back", "run", i.Run, "err", err)
		}
	}()
	if err := s.endLanding(ctx, lease); err != nil {
		return factory.Landed{}, err
	}
	if h != nil {
		out, err := s.landThere(ctx, landing{p, lease, h, r, unwanted, shown})
		return s.orWaits(i, out, err)
	}
	for n := 1; ; n++ {
		landed, err := s.land(ctx, p, lease, r.State, i, unwanted)
		var moved *git.MovedError
		if errors.As(err, &moved) && n < landTries {
			continue
		}
		return landed, err
	}
}

// notWanted is a result that stays where it is, since its issue is not wanted any
// more where it comes from.
func notWanted(out factory.Landed, why string) factory.Landed {
	out.Hold, out.Reason, out.Waits = factory.HoldUnwanted, why, true
	return out
}

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

// land tries it once, onto the target as it is now.
func (s *Worker) land(ctx context.Context, p *project.Checkout, lease *journal.Lease, state *orchestrator.State, i work.Issue, unwanted string) (factory.Landed, error) {
	repo, result := s.Machine.Repo, state.Delivery.Commit
	out := factory.Landed{Target: target(p)}
	head, err := repo.BranchHead(ctx, out.Target)
	if err != nil {
		return out, err
	}
	if head != "" {
		if there, err := repo.Holds(ctx, head, result); err != nil || there {
			out.Commit = head
			return out, err
		}
	}
	if unwanted != "" {
		return notWanted(out, unwanted), nil
	}
	here, err := repo.OutHere(ctx, out.Target)
	if err != nil {
		return out, err
	}
	if !here {
		var branch *git.BranchError
		if err := repo.NowhereOut(ctx, out.Target); errors.As(err, &branch) {
			out.Hold = factory.HoldTargetOut
			out.Reason = fmt.Sprintf("factory.target %s, so it is not moved: git merge %s there, or set another target; then forge issue retry %d", branch, state.Delivery.Branch, i.ID)
			return out, nil
		} else if err != nil {
			return out, err
		}
	}
	from := cmp.Or(head, p.Base.Commit) // it begins where people are, so that it holds what they have
	commit, held, err := s.merged(ctx, state, i, from, result)
	if err != nil || held.Hold != "" {
		held.Target = out.Target
		return held, err
	}
	under := work.Base{Commit: from, Branch: out.Target, Shallow: p.Base.Shallow}
	if here {
		// Before it is proven: that may take long, and comes to nothing.
		if why, err := repo.InTheWay(ctx, under, commit); err != nil || why != "" {
			return s.waitsForCheckout(i, out, why), err
		}
	}
	problem, err := s.verified(ctx, p, lease, state, commit, from)
	if err != nil {
		return out, err
	}
	if problem != "" && commit == result {
		out.Hold, out.Reason = factory.HoldLandingRed, fmt.Sprintf("%s, on its result (%s): mend what it needs, then forge issue retry %d", problem, landingLog, i.ID)
		return out, nil
	}
	if problem != "" {
		out.Hold = factory.HoldLandingRed
		out.Reason = fmt.Sprintf("%s, on its result merged with what has landed meanwhile (%s)", problem, landingLog)
		return s.toAgent(i, out), nil
	}
	if here {
		d, err := repo.FastForward(ctx, under, commit)
		if err != nil || !d.FastForwarded {
			return s.waitsForCheckout(i, out, d.Reason), err
		}
		out.Commit = commit
		out.Reason = fmt.Sprintf("landed on %s, your checked-out branch, as %s (undo: %s)", out.Target, text.Short(commit), d.Undo)
		return out, nil
	}
	if err := repo.Land(ctx, out.Target, commit, head); err != nil {
		return out, err
	}
	out.Commit = commit
	return out, nil
}

// waitsForCheckout holds a result whose target people have checked out, until
// nothing of theirs is in the way any more; that is looked at again by itself.
func (s *Worker) waitsForCheckout(i work.Issue, out factory.Landed, why string) factory.Landed {
	out.Hold, out.Waits, out.Until = factory.HoldTargetOut, true, s.comeBack(i.ID, nil)
	out.Reason = fmt.Sprintf("factory.target %s is checked out, and not moved: %s; tried again by itself", out.Target, why)
	return out
}

// toAgent holds a result that does not go together with the target until a run
// has made it: the next look at the card begins with that. Once for a run: when
// none was begun, people have to see to it.
func (s *Worker) toAgent(i work.Issue, out factory.Landed) factory.Landed {
	s.pulls.Lock()
	defer s.pulls.Unlock()
	if s.pulls.parted == nil {
		s.pulls.parted = map[int64]string{}
	}
	out.Waits = true
	if s.pulls.parted[i.ID] == i.Run {
		out.Reason += fmt.Sprintf(": mend that, then forge issue retry %d", i.ID)
		return out
	}
	s.pulls.parted[i.ID] = i.Run
	out.Until = s.Now()
	out.Reason += ": a run takes both together"
	return out
}

// merged is the commit that would be the target's head: the result itself when
// it grew out of what is there.
func (s *Worker) merged(ctx context.Context, state *orchestrator.State, i work.Issue, onto, result string) (string, factory.Landed, error) {
	repo, none := s.Machine.Repo, factory.Landed{}
	if grown, err := repo.Holds(ctx, result, onto); err != nil || grown {
		return result, none, err
	}
	if there, err := repo.Holds(ctx, onto, result); err != nil || there {
		return onto, none, err
	}
	m, err := repo.Merge(ctx, onto, result)
	if err != nil {
		return "", none, err
	}
	if len(m.Conflicts) > 0 {
		return "", s.toAgent(i, factory.Landed{Hold: factory.HoldLandingConflict, Reason: "its result conflicts with what has landed meanwhile, in " + strings.Join(m.Conflicts, ", ")}), nil
	}
	message := fmt.Sprintf("%s\n\nForge-Issue: %d\nForge-Run: %s\n", strings.TrimSpace(i.Title), i.ID, state.Run)
	commit, err := repo.MergeCommit(ctx, m.Tree, []string{onto, result}, message, orchestrator.Ref(state.Run, "landing"))
	return commit, none, err
}

// verified proves the commit that would land with the project's own commands;
// problem says what is red.
func (s *Worker) verified(ctx context.Context, p *project.Checkout, lease *journal.Lease, state *orchestrator.State, commit, onto string) (problem string, err error) {
	set := state.Spec.Settings
	if len(set.Verify.Commands) == 0 {
		return "", nil
	}
	dir := p.Layout().VerifyDir(state.Run, "landing")
	// Noted before its first process starts, so that whoever comes after a death
	// finds them.
	note := journal.AttemptRow{Run: state.Run, Command: work.CommandID(state.Run + "/landing/1/1/verify"), Mark: runs.NewMark(), Started: s.Now()}
	if err := s.Journal.PutAttempt(ctx, lease, note); err != nil {
		return "", err
	}
	stop := keepLease(ctx, lease)
	problem, err = s.proveLanding(ctx, p, state, work.VerifyRequest{
		Phase: "landing", Checkout: p.Base.RepoRoot, Commit: commit, Commands: slices.Concat(set.Verify.Commands, set.Proof.Also), TimeoutSecs: set.Verify.TimeoutSecs,
		Worktree: set.Worktree, Sandbox: set.Sandbox, Hide: []string{p.State}, Mark: note.Mark, OneHome: set.Verify.OneHome, MayWrite: set.Verify.MayWrite, Caches: set.Verify.Caches,
		Dir: dir, LogPath: p.Layout().Log(state.Run, "landing-verify"),
	}, onto)
	stop()
	if dropErr := s.Journal.DropAttempt(context.WithoutCancel(ctx), lease, note.Command); err == nil {
		err = dropErr
	}
	return problem, err
}

// proveLanding proves what would land: as it is, and with the evidence that a
// person last accepted on the target. What a person approved with the result is
// accepted by that, and so is what people merged themselves: then onto is "".
func (s *Worker) proveLanding(ctx context.Context, p *project.Checkout, state *orchestrator.State, req work.VerifyRequest, onto string) (problem string, err error) {
	if problem, err := s.proveOnce(ctx, p, state, req); err != nil || problem != "" {
		return problem, err
	}
	held := project.EvidenceSettings(state.Spec.Settings)
	held.Trusted, held.Moves, held.Base, held.Commit = cmp.Or(state.Spec.Trusted, state.Spec.Base.Commit), state.Moves, onto, req.Commit
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

// landingLog is what verify printed, in the folder of the run.
const landingLog = "logs/landing-verify.log"

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
