package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"forge/factory"
	"forge/internal/engine"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/runs"
	"forge/internal/trackers"
	"forge/internal/work"
	"forge/orchestrator"
)

// limitPause is after how long a run that met a limit of its provider is tried
// again, where nobody says when that ends.
const limitPause = 15 * time.Minute

// shortPause is after how long it is tried again where the machine ran out of something,
// or what drives runs is away.
const shortPause = time.Minute

// heeds lets the watch of the code host look at what webhooks named before the
// question stood that they are about.
func (s *Worker) heeds() {
	if s.Hints != nil {
		s.Hints.Poke()
	}
}

// Drive opens the issue's run or goes on with it.
func (s *Worker) Drive(ctx context.Context, o factory.Order) (factory.Ended, error) {
	defer s.heeds()
	read, unread := s.For(ctx, o.Issue)
	open := func(run, after string) (factory.Ended, error) {
		if unread != nil {
			return factory.Ended{}, unread
		}
		return s.openIssue(ctx, read, o, run, after)
	}
	if o.Issue.Run == "" {
		return open(s.newRun(o), "")
	}
	p := read.Project()
	if unread != nil {
		// A run that is open goes on with what it was opened with.
		recorded, err := project.OpenRecorded(ctx, s.Env)
		if err != nil {
			return factory.Ended{}, err
		}
		p = recorded
		p.Journal = s.Journal
	}
	_, err := s.Journal.RunOf(ctx, o.Issue.Run)
	if errors.Is(err, journal.ErrNoRun) {
		if o.Again {
			o.Issue.Pull, o.Issue.After = nil, ""
		}
		// Forge died between the card and the run's first event.
		return open(o.Issue.Run, o.Issue.After)
	}
	if err != nil {
		return factory.Ended{}, err
	}
	state, _, err := p.LoadRun(ctx, o.Issue.Run)
	if err != nil {
		return factory.Ended{}, err
	}
	// It may have come to its end on other machines while no factory was here.
	if err := p.Bring(ctx, o.Issue.Run); err != nil {
		return factory.Ended{Outcome: work.RunLimit, Reason: err.Error(), Until: s.Now().Add(bringAgain)}, nil
	}
	left := s.endedOf(state)
	if len(state.HeldPulls()) > 0 && !o.Again {
		if moved, err := runs.PullsMoved(ctx, p, s.Machine, state); err != nil || !moved {
			return left, err
		}
	} else if left.Promote && !o.Again {
		if quiet, err := s.quiet(ctx, state); err != nil || quiet {
			return left, err
		}
	}
	if o.Finish && (left.Promoted || state.Outcome.Final()) {
		return left, nil
	}
	again := false
	if left.Promoted && len(state.Spec.Repositories) == 0 {
		if again, err = s.again(ctx, o, resultIn(state, o.Issue)); errors.Is(err, factory.ErrHeld) {
			return factory.Ended{}, err
		}
		if err != nil {
			return left, nil // it is looked at again where it lands
		}
	}
	switch {
	case again:
		return open(s.newRun(o), state.Run)
	case !state.Outcome.Final(), state.Outcome == work.RunFailed && o.Again && !left.Rejected:
		return s.resumeIssue(ctx, p, o, state)
	case o.Again && redBase(state) && o.Issue.After != "":
		// What it went on from is as good as before.
		return open(s.newRun(o), o.Issue.After)
	case o.Again && (!left.Promoted || notMoved(state)):
		o.Issue.Pull = nil
		return open(s.newRun(o), "")
	default:
		return left, nil
	}
}

// bringAgain is after how long it is tried again to have a run's commits here.
const bringAgain = time.Minute

// newRun names a run of an issue.
func (s *Worker) newRun(o factory.Order) string {
	return fmt.Sprintf("i%d-%s", o.Issue.ID, s.NewRunID())
}

// quiet says that nobody has said anything of what a run asks about its result:
// it is looked at again for its pull request's sake alone.
func (s *Worker) quiet(ctx context.Context, state *orchestrator.State) (bool, error) {
	answers, err := s.Journal.Unheard(ctx, s.Project)
	if err != nil || len(answers[state.Spec.Issue.ID]) > 0 {
		return false, err
	}
	over, err := s.overdue(ctx)
	return err == nil && !over[state.Run], err
}

// openIssue opens a new run, which goes on from the result of the run after
// where that is one. A row that was made for it before is used.
func (s *Worker) openIssue(ctx context.Context, read trackers.ForIssue, o factory.Order, run, after string) (factory.Ended, error) {
	p := read.Project()
	spec, err := s.Spec(ctx, read, o, after)
	if t := pullrequest.PullTrouble(err); t != nil && t.Passes {
		until, err := s.openAgain(ctx, o.Issue.ID, err)
		return factory.Ended{Outcome: work.RunLimit, Reason: t.What, Until: until}, err
	}
	if err != nil {
		return factory.Ended{}, pullrequest.HostRefused(err)
	}
	if len(spec.Repositories) > 0 {
		spec.Branch = "forge/run-" + run // the branch of the card may stand from an earlier run
	}
	opened, err := runs.Open(ctx, p, s.Machine, run, spec, target(p), func(ctx context.Context, run string, owner journal.Owner) (*journal.Lease, error) {
		if run != o.Issue.Run {
			if err := o.Named(run, after, o.Issue.Pull); err != nil {
				return nil, err
			}
		}
		lease, err := s.Journal.CreateIssueRun(ctx, run, owner, s.Project, o.Issue.ID)
		if errors.Is(err, journal.ErrRunExists) {
			lease, err = s.acquire(ctx, run)
		}
		return lease, err
	})
	if err != nil {
		return factory.Ended{}, err
	}
	if w := spec.Issue.Pushed; w != nil {
		err = s.Machine.Repo.UpdateRef(ctx, orchestrator.Ref(run, "result/pushed"), w.Commit, "")
	}
	if c := spec.Issue.Conflict; err == nil && c != nil {
		err = s.Machine.Repo.UpdateRef(ctx, orchestrator.Ref(run, "result/clash"), c.Commit, "")
	}
	if err != nil {
		return factory.Ended{}, errors.Join(err, opened.Lease.Release(context.WithoutCancel(ctx)))
	}
	return s.driveIssue(ctx, p, opened.Lease, opened.State, opened.First)
}

// resumeIssue goes on with a run where its events left it.
func (s *Worker) resumeIssue(ctx context.Context, p *project.Checkout, o factory.Order, seen *orchestrator.State) (factory.Ended, error) {
	lease, err := s.acquire(ctx, seen.Run)
	if err != nil {
		return factory.Ended{}, err
	}
	state, err := s.TakenUp(ctx, p, seen.Run)
	if err != nil {
		return factory.Ended{}, errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	first := orchestrator.Resumed{Reopen: o.Again}
	first.By, first.AcceptUnknown = "factory", o.Again
	return s.driveIssue(ctx, p, lease, state, first)
}

func (s *Worker) acquire(ctx context.Context, run string) (*journal.Lease, error) {
	lease, err := s.Journal.AcquireRun(ctx, run, journal.Self())
	if errors.Is(err, journal.ErrLease) {
		err = fmt.Errorf("%w (%w)", factory.ErrHeld, err)
	}
	return lease, err
}

// driveIssue drives a run until it ends, and gives everything back.
func (s *Worker) driveIssue(ctx context.Context, p *project.Checkout, lease *journal.Lease, state *orchestrator.State, first orchestrator.Fact) (factory.Ended, error) {
	s.estimates(ctx, p, state)
	driven := false
	err := s.inWorkspace(ctx, state, func() error {
		driven = true
		return s.DriveRun(ctx, p, Turn{
			Lease: lease, State: state, First: first, Log: s.Log.With("issue", state.Spec.Issue.ID),
			Journal: func(j engine.Journal) engine.Journal {
				return &overhearing{Journal: j, worker: s, p: p, state: state}
			},
		})
	})
	if !driven {
		err = errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return factory.Ended{}, err
	}
	return s.endedOf(state), nil
}

// tidyEvery is how often it is tidied up at most: it goes by all runs that there ever
// were, and hundreds may end in an hour.
const tidyEvery = time.Minute

// tidyUp removes the folders of old runs, one call at a time.
func (s *Worker) tidyUp(ctx context.Context, p *project.Checkout) {
	if !s.tidying.TryLock() {
		return
	}
	defer s.tidying.Unlock()
	if now := s.Now(); now.Sub(s.tidied) >= tidyEvery {
		s.tidied = now
		runs.TidyOld(ctx, p, s.Machine.Repo)
	}
}

// endedOf is how a run was left, as the board needs to know it.
func (s *Worker) endedOf(state *orchestrator.State) factory.Ended {
	end := factory.Ended{Outcome: state.Outcome, Reason: reasonOfRun(state), Spent: narrate.SpentText(state, s.Now())}
	if redBase(state) {
		end.Outcome = work.RunFailed // nobody took it away
	}
	pr := state.Promotion()
	for _, h := range pr.Hold {
		end.Hold = append(end.Hold, string(h))
	}
	end.Promoted = pr.Standing == orchestrator.StandsDone
	end.Promote = pr.Standing == orchestrator.StandsInReview && !state.Outcome.Final() || len(state.HeldPulls()) > 0
	// Whether promote or final was said no to, the work is finished and stays
	// where it is looked at.
	if end.Rejected = state.Outcome.Final() && pr.Rejected != ""; end.Rejected {
		end.Reason = "the result was rejected: " + pr.Rejected
	}
	switch {
	case state.Outcome == work.RunLimit:
		end.Until = s.untilLimit(state)
	case state.RanOut():
		end.Outcome, end.Until = work.RunLimit, s.Now().Add(shortPause)
	}
	end.Broken, end.Worked = agentsOf(state)
	end.Exhausted = exhausted(state)
	return end
}

// redBase says that the project's own commands failed before any work.
func redBase(state *orchestrator.State) bool {
	return state.Outcome == work.RunCancelled && state.Reason == orchestrator.ReasonRedBaseline
}

// untilLimit is when a run at a limit is worth another try: a provider's comes
// to an end by itself, a cap of the day with the day. Zero = a person raises it.
func (s *Worker) untilLimit(state *orchestrator.State) time.Time {
	now := s.Now()
	for _, n := range state.Order {
		p := state.View(n)
		if p.Outage == nil {
			continue
		}
		if at := p.Judged.ResetAt; at != nil && at.After(now) {
			return *at
		}
		return now.Add(limitPause)
	}
	if cost := state.Spec.Settings.Cost; (cost.DayUSD != nil || cost.DayTokens != nil) && strings.Contains(state.Reason, "day") {
		y, m, d := now.UTC().Date()
		return time.Date(y, m, d+1, 0, 1, 0, 0, time.UTC)
	}
	return time.Time{}
}

// reasonOfRun is why a run does not go on, in one line.
func reasonOfRun(state *orchestrator.State) string {
	switch state.Outcome {
	case work.RunFrozen:
		for _, id := range slices.Sorted(maps.Keys(state.Open)) {
			return fmt.Sprintf("waits for you: %s (%s)", state.Open[id].Question, id)
		}
	case work.RunFailed:
		for _, n := range state.Order {
			if p := state.View(n); p.Outcome == work.PhaseFailed {
				return narrate.WithKept(fmt.Sprintf("phase %s: %s", n, narrate.Cause(p)), state, p)
			}
		}
	case work.RunCancelled:
		if redBase(state) {
			return "the project's setup or verify commands fail before any work"
		}
	case work.RunLimit:
		return state.Reason
	}
	return state.Reason
}

// agentsOf are the agents because of which phases failed, and those of phases
// that are done.
func agentsOf(state *orchestrator.State) (broken, worked []string) {
	for _, n := range state.Order {
		p := state.View(n)
		switch {
		case p.Outcome == work.PhaseFailed && (p.Reason == work.ReasonAgentFailed || p.Reason == work.ReasonAgentHung):
			broken = append(broken, p.Set.Agent)
		case p.Outcome == work.PhaseDone:
			worked = append(worked, p.Set.Agent)
		}
	}
	slices.Sort(broken)
	slices.Sort(worked)
	return slices.Compact(broken), slices.Compact(worked)
}
