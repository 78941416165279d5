package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/approval"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) jobCancelCommand() *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "end a job for good; what it did so far can still be looked at", ArgsUsage: "JOB",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "`WHY`, for the record"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := oneArg(c.Args().Slice(), "job")
			if err == nil && id == "" {
				err = refusal.New("forge job cancel JOB; forge job list shows the jobs", "forge job cancel takes one job")
			}
			if err != nil {
				return err
			}
			why, err := a.comment(c.String("message"))
			if err != nil {
				return err
			}
			return a.cancelJob(c.Context, id, why, out)
		},
	}
}

// cancelWait is how long the process that drives a job may take to stop; a
// clean stop takes at most 7 s.
const cancelWait = 15 * time.Second

// cancelJob ends a job: the process that drives it is asked to stop, which ends
// its agents, and then the end is written.
func (a *App) cancelJob(ctx context.Context, id, why, output string) error {
	p, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.CheckKey(); err != nil {
		return err
	}
	row, _, err := pickJob(ctx, p.Checkout, id)
	if err != nil {
		return err
	}
	if row.Outcome.Final() {
		return refusal.New("forge job show "+row.ID, "job %s is %s: there is nothing to cancel", row.ID, jobStatus(row, nil))
	}
	if err := stopOwner(ctx, p.Checkout, row); err != nil {
		return err
	}
	lease, err := p.Journal.AcquireRun(ctx, row.ID, journal.Self())
	if err != nil {
		return err
	}
	reason := "cancelled by " + a.env().User()
	if why != "" {
		reason += ": " + text.FirstLine(why, 300)
	}
	s, err := endJob(ctx, p.Checkout, lease, reason)
	if err = errors.Join(err, lease.Release(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	if e, openErr := p.Repo(ctx); openErr == nil {
		if err := e.DropBase(ctx, s.Run); err != nil {
			a.log.Warn("drop the ref that kept the base", "err", err)
		}
	}
	if row, err = p.PickRun(ctx, s.Run); err != nil {
		return err
	}
	if output == "json" {
		j, err := p.summaryOf(ctx, row, s)
		if err != nil {
			return err
		}
		return printJSON(a.Stdout, j)
	}
	_, err = fmt.Fprintf(a.Stdout, "Job %s: cancelled. Nothing of it was merged; its documents: forge job show %s\n%s", row.ID, row.ID, pullsText(s))
	return err
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
	patience := p.Now().Add(cancelWait)
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

// endJob writes the end of a job that no process drives, after what a dead one
// left running is gone.
func endJob(ctx context.Context, p *project.Checkout, lease *journal.Lease, reason string) (*orchestrator.State, error) {
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
	b := orchestrator.Batch{Over: left, Expire: true}
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
	return s, closePulls(ctx, p, h, s)
}

// closePulls ends a cancelled run that has nothing left to do but to close its
// pull requests, for which it has orchestrator.CloseWait. What stays open is
// said.
func closePulls(ctx context.Context, p *project.Checkout, h *runs.Held, s *orchestrator.State) error {
	d := &orchestrator.Driver{
		Host: pullCloser(ctx, p, s.Spec), Journal: h, Processes: runs.Processes{Kill: proc.KillMarked, Log: p.Log},
		Watch: &narrate.LogWatcher{Log: p.Log}, Layout: p.Layout(), Now: p.Now, NewMark: runs.NewMark,
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
func pullCloser(ctx context.Context, p *project.Checkout, spec orchestrator.Spec) orchestrator.Host {
	own, err := p, error(nil)
	if p.Config == nil {
		own, err = project.Open(ctx, p.Env)
	}
	if err == nil {
		var repo *git.Store
		if repo, err = p.Repo(ctx); err == nil {
			return pullrequest.PortOf(own, spec, repo, approval.JudgedIn(own))
		}
	}
	p.Log.Warn("the code host of this run cannot be asked", "err", err)
	return nil
}
