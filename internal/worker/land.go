package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

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

// toLand is a commit that would land, or has.
type toLand struct {
	commit string
	onto   string // that it is held against; "" = people merged it themselves
	before string // that its pages are compared with
	// trusted are the states whose evidence it is held against, where it holds more than
	// the result of this run.
	trusted []string
}

// judged is what a commit came to that would land.
type judged struct {
	verdict landing.Verdict
	problem string // what is red
	// mixed says that it is red for more than what its tree holds.
	mixed bool
	pages []work.PageShown
}

// verified has the project's own commands judge a commit that would land, or has.
// mark names their processes.
func (s *Worker) verified(ctx context.Context, p *project.Checkout, state *orchestrator.State, mark string, at toLand) (judged, error) {
	set := state.Spec.Settings
	switch {
	case len(set.Verify.Commands) > 0:
	case len(set.Proof.Pages) > 0:
		// Phases may have commands of their own, which are not those of what would land.
		return judged{verdict: landing.Red, problem: "proof.pages names pages, and the project has no verify.commands with which they are shown: set them, if only to \"true\""}, nil
	default:
		return judged{verdict: landing.NoCommands}, nil
	}
	out, err := s.proveLanding(ctx, p, state, work.VerifyRequest{
		Phase: work.LandingPhase, Checkout: p.Base.RepoRoot, Commit: at.commit, Commands: slices.Concat(set.Verify.Commands, set.Proof.Also), TimeoutSecs: set.Verify.TimeoutSecs,
		Worktree: set.Worktree, Sandbox: set.Sandbox, Hide: []string{p.State}, Mark: mark, OneHome: set.Verify.OneHome, MayWrite: set.Verify.MayWrite, Caches: set.Verify.Caches,
		Dir: p.Layout().VerifyDir(state.Run, work.LandingPhase), LogPath: p.Layout().Log(state.Run, "landing-verify"),
	}, at)
	if err != nil {
		return judged{}, err
	}
	if out.verdict = landing.Green; out.problem != "" {
		out.verdict = landing.Red
		// A test that cannot write is red, and says so about the work.
		if err := s.room(p); err != nil {
			return judged{}, err
		}
	}
	return out, nil
}

// proveLanding proves what would land: as it is, with its pages, and with the evidence
// that a person last accepted on the target. What a person approved with the result is
// accepted by that, and so is what people merged themselves.
func (s *Worker) proveLanding(ctx context.Context, p *project.Checkout, state *orchestrator.State, req work.VerifyRequest, at toLand) (out judged, err error) {
	var held []work.EvidenceRequest // for each trusted state
	for _, trusted := range slices.Concat(at.trusted, []string{state.Trusted()}) {
		if slices.ContainsFunc(held, func(h work.EvidenceRequest) bool { return h.Trusted == trusted }) {
			continue
		}
		h := project.EvidenceSettings(state.Spec.Settings)
		h.Trusted, h.Moves, h.Base, h.Commit = trusted, state.Moves, at.onto, req.Commit
		held = append(held, h)
	}
	req.Base = state.Spec.Base.Commit
	if req.Evidence, req.Earlier, err = s.fixed(ctx, held, req.Commit); err != nil {
		return out, err
	}
	problem, stood, err := s.proveOnce(ctx, p, state, req)
	if err != nil || problem != "" {
		return judged{problem: problem}, err
	}
	if problem, err := s.askHidden(ctx, req, held[0]); err != nil || problem != "" {
		return judged{problem: problem}, err
	}
	if out, err = s.showPages(ctx, p, state, req, at, stood); err != nil || out.problem != "" {
		return out, err
	}
	if state.Final.Approved != "" || at.onto == "" {
		return out, nil
	}
	proven := map[string]bool{} // trees that were
	for _, h := range held {
		if out.problem, err = s.proveFloors(ctx, p, state, req, held, h, proven); err != nil || out.problem != "" {
			out.mixed = err == nil
			return out, err
		}
	}
	return out, nil
}

// proveFloors proves what would land with the evidence of one trusted state, and of the
// target, as far as that makes trees that were not proven yet.
func (s *Worker) proveFloors(ctx context.Context, p *project.Checkout, state *orchestrator.State, req work.VerifyRequest, all []work.EvidenceRequest, held work.EvidenceRequest, proven map[string]bool) (problem string, err error) {
	seen, err := s.Machine.Evidence.Judge(ctx, held)
	if err != nil {
		return "", err
	}
	for _, floor := range seen.Floors {
		if req.Commit, err = s.Machine.Evidence.Mix(ctx, held, floor); err != nil {
			return "", err
		}
		tree, err := s.Machine.Repo.TreeOf(ctx, req.Commit)
		if err != nil {
			return "", err
		}
		if proven[tree] {
			continue
		}
		proven[tree] = true
		if req.Evidence, req.Earlier, err = s.fixed(ctx, all, req.Commit); err != nil {
			return "", err
		}
		problem, _, err := s.proveOnce(ctx, p, state, req)
		if err != nil {
			return "", err
		}
		if problem != "" {
			return withTheEvidence + string(floor) + " evidence: " + problem, nil
		}
	}
	return "", nil
}

// fixed are the files of a commit that are evidence to any of these states and that its
// proof may not change: those that stand there as in the state, and earlier ones.
func (s *Worker) fixed(ctx context.Context, held []work.EvidenceRequest, commit string) (evidence, earlier []string, err error) {
	for _, h := range held {
		its, before, err := s.Machine.Evidence.Fixed(ctx, h, commit)
		if err != nil {
			return nil, nil, err
		}
		evidence, earlier = append(evidence, its...), append(earlier, before...)
	}
	if len(held) > 1 {
		slices.Sort(evidence)
		evidence = slices.Compact(evidence)
		slices.Sort(earlier)
		earlier = slices.DeleteFunc(slices.Compact(earlier), func(path string) bool {
			_, is := slices.BinarySearch(evidence, path)
			return is
		})
	}
	return evidence, earlier, nil
}

// showPages shows the pages of the project on what would land, beside the target as it
// is: two results whose pages are good may break one together. What a run showed of
// the very tree, by the verify that stands for this one, is not shown again.
func (s *Worker) showPages(ctx context.Context, p *project.Checkout, state *orchestrator.State, req work.VerifyRequest, at toLand, stood *work.ProvenBefore) (out judged, err error) {
	asked := state.Spec.Settings.Proof.Pages
	if len(asked) == 0 {
		return out, nil
	}
	if stood != nil && runs.ProofsOf(p, s.Machine).Shown(ctx, *stood) {
		s.Log.Info("its pages were shown before", "project", s.Project, "run", state.Run, "by", stood.Run, "on", "landing")
		return out, nil
	}
	show := work.PagesRequest{Verify: req, Pages: asked}
	if at.before != at.commit {
		show.Before = at.before
	}
	rep, err := s.Machine.Pages(s.Journal.PutBlob).Show(ctx, show, nil)
	if err != nil {
		return out, err
	}
	var red []string
	if out.pages, red = rep.Held(asked); len(red) > 0 {
		out.problem = strings.Join(red, "; ")
		for _, page := range out.pages {
			// What could not be shown is red by itself; what counts as new is so beside
			// this target.
			out.mixed = out.mixed || page.Problem == "" && page.NewAll > 0
		}
	}
	return out, nil
}

// withTheEvidence begins what is red with other evidence than the commit's own.
const withTheEvidence = "with the "

// proveOnce runs the commands, unless they were green on the same before, as what
// stood says; that is said in the log of the landing.
func (s *Worker) proveOnce(ctx context.Context, p *project.Checkout, state *orchestrator.State, req work.VerifyRequest) (problem string, stood *work.ProvenBefore, err error) {
	set := state.Spec.Settings
	proofs := runs.ProofsOf(p, s.Machine)
	key, err := proofs.Key(ctx, work.ProofQuestion{Verify: req, Protected: set.Verify.Protected, Proof: set.Proof})
	if err == nil && key.Key != "" {
		if before, ok := proofs.Find(ctx, key.Key); ok && state.StandsForLanding(key, before, s.Now()) {
			if LandingSaid(req.LogPath) != "" {
				return "", &before, nil // once for all that it is proven with
			}
			s.Log.Info(before.Said(), "project", s.Project, "run", state.Run, "on", "landing")
			return "", &before, appendLine(req.LogPath, before.Said())
		}
	}
	rep, err := s.Machine.Bench.Verify(ctx, req, nil)
	if err != nil {
		return "", nil, err
	}
	problem = unproven(rep)
	if problem != "" && key.Key != "" {
		err = proofs.Refute(ctx, key.Key)
	}
	return problem, nil, err
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
