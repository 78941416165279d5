package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/engine/embedded"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// CancelWait is how long the process that drives a job may take to stop; a
// clean stop takes at most 7 s.
const CancelWait = 15 * time.Second

// Judged says what people said earlier of the files of a checkpoint.
type Judged = func(ctx context.Context, checkpoint string) (string, error)

// CancelOptions are what a run is cancelled with.
type CancelOptions struct {
	// Judged is for the run's pull requests.
	Judged Judged
	// Stop ends this process's driving of the run, waits until it has, and says
	// whether it did drive it; nil = this process drives none.
	Stop func(ctx context.Context, run string) (bool, error)
}

// Why a run was not cancelled.
var (
	ErrOver    = errors.New("the run is over: there is nothing to cancel")
	ErrTakenUp = errors.New("another process takes the run up again and again")
)

// Cancel ends a run or job for good: whoever drives it is asked to stop, which
// ends its agents, and then the end is written with its reason. It returns ErrOver
// and ErrTakenUp.
func Cancel(ctx context.Context, p *project.Checkout, run, reason string, o CancelOptions) (*orchestrator.State, error) {
	lease, err := take(ctx, p, run, o)
	if err != nil {
		return nil, err
	}
	s, err := end(ctx, p, lease, reason, o.Judged)
	if err = errors.Join(err, lease.Release(context.WithoutCancel(ctx))); err != nil {
		return s, err
	}
	repo, err := p.Repo(ctx)
	if err == nil {
		err = repo.DropBase(ctx, run)
	}
	if err != nil {
		p.Log.Warn("drop the ref that kept the base", "err", err)
	}
	return s, nil
}

// take stops whoever drives a run, and takes the run over. What is just being
// resumed while it is asked is stopped as soon as it is driven.
func take(ctx context.Context, p *project.Checkout, run string, o CancelOptions) (*journal.Lease, error) {
	self := journal.Self()
	for deadline := time.Now().Add(CancelWait); ; {
		row, err := p.Journal.RunOf(ctx, run)
		if err != nil {
			return nil, err
		}
		if row.Outcome.Final() {
			return nil, ErrOver
		}
		drivenHere := false
		if o.Stop != nil {
			drivenHere, err = o.Stop(ctx, run)
		}
		switch {
		case drivenHere || err != nil:
		case row.Alive && row.Owner != nil && row.Owner.PID == self.PID && row.Owner.Host == self.Host:
			err = journal.ErrLease // it begins, or ends, within this process
		default:
			err = stopOwner(ctx, p, row)
		}
		var lease *journal.Lease
		if err == nil {
			lease, err = p.Journal.AcquireRun(ctx, run, journal.Self())
		}
		if !errors.Is(err, journal.ErrLease) {
			return lease, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%w (%w)", ErrTakenUp, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stopOwner asks the process that drives a job to stop, and waits until it has.
// It ends its agents itself; when it does not stop in time, nothing is done
// behind its back.
func stopOwner(ctx context.Context, p *project.Checkout, row journal.RunRow) error {
	if !row.Alive || row.Owner == nil {
		return nil
	}
	self := journal.Self()
	if row.Owner.Host != self.Host {
		return refusal.New("cancel it there", "job %s is being driven on %s", row.ID, row.Owner.Host)
	}
	owner, err := os.FindProcess(row.Owner.PID)
	if err == nil {
		err = owner.Signal(syscall.SIGTERM)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return refusal.New("cancel as the user who started it", "stop process %d, which drives job %s: %v", row.Owner.PID, row.ID, err)
	}
	p.Log.Info("stopping", "process", row.Owner.PID)
	patience := p.Now().Add(CancelWait)
	for {
		now, err := p.PickRun(ctx, row.ID)
		if err != nil {
			return err
		}
		if !now.Alive {
			return nil
		}
		if p.Now().After(patience) {
			return refusal.New("end it, then cancel again", "process %d, which drives job %s, does not stop", row.Owner.PID, row.ID)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// end writes the end of a run that no process drives, after what a dead one
// left running is gone.
func end(ctx context.Context, p *project.Checkout, lease *journal.Lease, reason string, judged Judged) (*orchestrator.State, error) {
	run := lease.Run()
	s, _, err := p.LoadRun(ctx, run)
	if err != nil {
		return nil, err
	}
	h := &runs.Held{Store: p.Journal, Lease: lease, Now: p.Now}
	left, err := h.Attempts(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range left {
		if err := (runs.Processes{Kill: proc.KillMarked, Log: p.Log}).End(ctx, a.Mark); err != nil {
			return nil, fmt.Errorf("end what %s left running: %w", a.Command, err)
		}
	}
	b := engine.Batch{Upkeep: engine.Upkeep{Over: left}, Expire: true}
	// Nothing may come between going on and stopping: neither is fed until
	// nothing follows, as a driver would.
	for _, f := range []orchestrator.Fact{
		orchestrator.Resumed{RunResumedData: orchestrator.RunResumedData{By: p.User()}},
		orchestrator.Stop{Outcome: work.RunCancelled, Reason: reason},
	} {
		evs := orchestrator.Decide(s, orchestrator.Input{Now: p.Now(), Fact: f})
		for _, e := range evs {
			if err := orchestrator.Apply(s, e); err != nil {
				return nil, err
			}
		}
		b.Events = append(b.Events, evs...)
	}
	evs, err := orchestrator.Feed(s, orchestrator.Input{Now: p.Now(), Fact: orchestrator.Drained{}})
	if err != nil {
		return nil, err
	}
	b.Events = append(b.Events, evs...)
	toClose := s.Live && len(orchestrator.Pending(s)) > 0
	if s.Outcome != work.RunCancelled && !toClose {
		return nil, fmt.Errorf("job %s cannot be cancelled from here: it ended %s", run, s.Outcome)
	}
	if err := h.Append(ctx, b); err != nil || !toClose {
		return s, err
	}
	return s, closePulls(ctx, p, h, s, judged)
}

// closePulls ends a cancelled run that has nothing left to do but to close its
// pull requests, for which it has effect.CloseWait. What stays open is
// said.
func closePulls(ctx context.Context, p *project.Checkout, h *runs.Held, s *orchestrator.State, judged Judged) error {
	d := &embedded.Engine{
		Journal: h, Processes: runs.Processes{Kill: proc.KillMarked, Log: p.Log}, Watch: &narrate.LogWatcher{Log: p.Log}, Now: p.Now, NewMark: runs.NewMark,
		Effects: &effect.Machine{Host: pullCloser(ctx, p, s.Spec, judged), Layout: p.Layout(), Now: p.Now},
	}
	if _, err := d.Run(ctx, s, orchestrator.Drained{}); err != nil {
		return err
	}
	if s.Outcome != work.RunCancelled {
		return fmt.Errorf("job %s could not be cancelled: it ended %s", s.Run, s.Outcome)
	}
	return nil
}

// pullCloser is the code host of a run whose configuration may not be read yet; nil
// where it cannot be spoken with.
func pullCloser(ctx context.Context, p *project.Checkout, spec orchestrator.Spec, judged Judged) effect.Host {
	own, err := p, error(nil)
	if p.Config == nil {
		own, err = project.Open(ctx, p.Env)
	}
	if err == nil {
		var repo *git.Store
		if repo, err = p.Repo(ctx); err == nil {
			return pullrequest.PortOf(own, spec, repo, judged)
		}
	}
	p.Log.Warn("the code host of this run cannot be asked", "err", err)
	return nil
}
