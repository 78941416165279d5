package machine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"forge/internal/effect"
	"forge/internal/git"
	"forge/internal/objects"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// travel carries an effect out on a machine that has of the run what is at place: that is
// brought before, and what the effect made is there before its fact counts. A place that
// is out of reach is waited for, with the agent's work kept here.
type travel struct {
	place *objects.Place
	run   string
	// refused is told where what was made stands that does not count.
	refused func(ref string)
}

func (t travel) do(ctx context.Context, of orchestrator.Effect, a effect.Attending, do func(orchestrator.Effect) orchestrator.Fact) orchestrator.Fact {
	if _, tells := of.(orchestrator.TellEffect); tells {
		return do(of) // its agent is here, and nothing is made
	}
	err := t.place.Patiently(ctx, func(ctx context.Context) error {
		_, err := t.place.Bring(ctx, t.run)
		return err
	})
	if err != nil {
		return t.unkept(ctx, of, "have the run's commits", err)
	}
	if it, iterates := of.(orchestrator.IterateEffect); iterates {
		return t.iterate(ctx, it, a, do)
	}
	fact := do(of)
	if fact == nil {
		return nil
	}
	err = t.push(ctx, func(ctx context.Context) error {
		made, err := made(ctx, t.place.Repo, t.run, false)
		if err != nil {
			return err
		}
		return t.place.Keep(ctx, t.run, made...)
	})
	if err != nil {
		return t.unkept(ctx, of, "keep what it made", err)
	}
	return fact
}

// iterate has the phase to itself at the place. A worker that was silent for too long
// may work on for a while: nothing that it makes is taken after somebody else began.
func (t travel) iterate(ctx context.Context, it orchestrator.IterateEffect, a effect.Attending, do func(orchestrator.Effect) orchestrator.Fact) orchestrator.Fact {
	phase := it.Command.Phase
	err := t.place.Patiently(ctx, func(ctx context.Context) error { return t.place.Fence(ctx, t.run, phase, a.Mark) })
	if err != nil {
		return t.unkept(ctx, it, "take the phase", err)
	}
	if it.Head == "" {
		// The folder may be one that this machine had before another one went on.
		it.Reset = true
	}
	fact := do(it)
	done, is := fact.(orchestrator.IterationDone)
	if !is {
		return fact
	}
	err = t.push(ctx, func(ctx context.Context) error {
		return t.place.KeepFenced(ctx, t.run, phase, a.Mark, done.Snapshot.Commit)
	})
	var taken *objects.TakenError
	switch {
	case errors.As(err, &taken):
		t.refused(it.Ref)
		return interrupted(it, "another worker has taken it over: what this one made is refused, and kept there as "+it.Ref)
	case err != nil:
		return t.unkept(ctx, it, "keep its snapshot", err)
	}
	return done
}

// push does so also for what was made just before ctx ended, and is to count.
func (t travel) push(ctx context.Context, do func(context.Context) error) error {
	after := context.WithoutCancel(ctx)
	return t.place.Patiently(ctx, func(context.Context) error { return do(after) })
}

// unkept is an effect of which nothing counts: it is done again where the place was out
// of reach when it was to end, and fails else.
func (t travel) unkept(ctx context.Context, of orchestrator.Effect, doing string, err error) orchestrator.Fact {
	it, iterates := of.(orchestrator.IterateEffect)
	switch {
	case ctx.Err() != nil && iterates:
		return interrupted(it, doing+": "+objects.Plain(err.Error()))
	case ctx.Err() != nil:
		return nil
	}
	return orchestrator.Broke{Command: of.Of(), Problem: doing + ": " + objects.Plain(err.Error())}
}

func interrupted(it orchestrator.IterateEffect, why string) orchestrator.Fact {
	return orchestrator.IterationDone{Command: it.Command, Report: work.IterationReport{Outcome: work.OutcomeInterrupted, Detail: why}}
}

// made are the commits that the run's references here hold, with those of iterations or
// without: while workers go on, these are kept by whoever has the phase, or not at all.
func made(ctx context.Context, repo *git.Store, run string, iterations bool) ([]string, error) {
	refs, err := repo.RefsBelow(ctx, orchestrator.Ref(run, ""))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(refs, func(ref, _ string) bool { return !iterations && ofIteration().MatchString(ref) })
	return slices.Sorted(maps.Values(refs)), nil
}

var ofIteration = text.Lazy(`/[0-9]+-[0-9]+$`)

// carried is this machine's repository for a run whose result belongs to a checkout on
// another one: who watches the run there, or asks for it, has it.
type carried struct {
	*git.Store
	run string
}

// Deliver leaves the branch to the checkout that the result is brought to.
func (c carried) Deliver(context.Context, string, string) error { return nil }

// FastForward says how the result gets there.
func (c carried) FastForward(_ context.Context, base work.Base, commit string) (work.Delivery, error) {
	return work.Delivery{Commit: commit, Reason: "a worker on another machine made it", Next: "forge-temporal bring " + c.run}, nil
}
