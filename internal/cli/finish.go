package cli

import (
	"context"
	"errors"
	"fmt"

	"forge/internal/approval"
	"forge/internal/handoff"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// carryOn drives s and says at the end what came of it.
func (p *checkout) carryOn(ctx context.Context, e *project.Machine, lease *journal.Lease, s *orchestrator.State, first orchestrator.Fact, o runOptions) error {
	var opts runs.Options
	if p.app.With.Engine != nil {
		opts.Elsewhere = p.app.With.Engine(p.Checkout)
	}
	if o.deadline > 0 {
		opts.Deadline = p.Now().Add(o.deadline)
	}
	opts.Beside, opts.Judged = p.app.beside(p.Journal), approval.JudgedIn(p.Checkout)
	view, asks, done := p.watcher(ctx, e, s, o)
	// A panic must not keep the terminal either.
	defer done()
	opts.Watch, opts.Answers = &project.Keeper{Watcher: view, Checkout: p.Checkout, Saved: s.Seq}, asks
	end, err := runs.Drive(ctx, p.Checkout, e, lease, s, first, opts)
	done()
	if err != nil {
		return err
	}
	if err := runs.Anchor(ctx, p.Checkout, e, s.Run); err != nil {
		p.Log.Warn("note the journal's length in Forge's repository", "err", err)
	}
	if err := p.after(ctx, e, s, end, o); err != nil {
		return err
	}
	if code := exitOfRun(end); code != exitDone {
		return codeError(code)
	}
	return nil
}

// after does what belongs to the end of a run in the user's repository.
func (p *checkout) after(ctx context.Context, e *project.Machine, s *orchestrator.State, end work.RunFinishedData, o runOptions) error {
	ctx = context.WithoutCancel(ctx)
	pushErr := handoff.SendEnd(ctx, p.Checkout, e.Repo, s, end, o.push, o.remote)
	runs.TidyAfter(ctx, p.Checkout, e.Repo, s.Run, end)
	runs.TidyOld(ctx, p.Checkout, e.Repo)
	if o.change && o.output != "json" && !p.app.quiet {
		p.showChange(ctx, e.Repo, s)
	}
	p.report(ctx, e.Repo, s, end, o)
	if o.redHint != "" && end.Reason == orchestrator.ReasonRedBaseline {
		p.Log.Warn(o.redHint)
	}
	p.reportCI(s, end)
	runs.Notify(ctx, p.Checkout, s, end)
	if pushErr == nil {
		return nil
	}
	if code := exitOfRun(end); code != exitDone {
		// What the run waits for stays its exit code.
		if errors.As(pushErr, new(*handoff.BranchLeftError)) {
			fmt.Fprintf(p.app.Stderr, "forge: %v\n", pushErr)
			return nil
		}
		fmt.Fprintf(p.app.Stderr, "forge: run %s was not sent: %v\n", s.Run, pushErr)
		return nil
	}
	return refusal.New("forge push "+s.Run+" --remote NAME tries again", "push the result: %v", pushErr)
}
