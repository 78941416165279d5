package worker

import (
	"context"
	"errors"

	"github.com/charmbracelet/log"

	"forge/internal/approval"
	"forge/internal/engine"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/orchestrator"
)

// Turn is one time that this process drives a run which nobody watches.
type Turn struct {
	Lease *journal.Lease // given back when the turn is over
	State *orchestrator.State
	First orchestrator.Fact
	Log   *log.Logger // is told what a person should not miss
	// Journal is put around the run's own; nil = nothing is.
	Journal func(engine.Journal) engine.Journal
}

// DriveRun drives a run of the project until it ends, freezes or ctx is cancelled,
// and does what belongs to its end.
func (s *Worker) DriveRun(ctx context.Context, p *project.Checkout, t Turn) error {
	after, state := context.WithoutCancel(ctx), t.State
	d, done, err := runs.Driver(p, s.Machine, t.Lease, state, runs.Options{
		Judged: approval.JudgedIn(p), Watch: &project.Keeper{Watcher: narrate.NewBrief(t.Log), Checkout: p, Saved: state.Seq},
	})
	if err != nil {
		return errors.Join(err, t.Lease.Release(after))
	}
	if t.Journal != nil {
		d.Journal = t.Journal(d.Journal)
	}
	end, err := d.Run(ctx, state, t.First)
	done()
	if releaseErr := t.Lease.Release(after); releaseErr != nil && err == nil {
		s.Log.Warn("give the run back", "run", state.Run, "err", releaseErr)
	}
	if err != nil {
		return err
	}

	if err := runs.Anchor(after, p, s.Machine, state.Run); err != nil {
		s.Log.Warn("note the journal's length in Forge's repository", "err", err)
	}
	runs.TidyAfter(after, p, s.Machine.Repo, state.Run, end)
	s.tidyUp(after, p)
	runs.Notify(after, p, state, end)
	return nil
}

// TakenUp is a run of which this process has the lease, as it is now: whoever held
// it before may have written since. One that cannot go on here comes with the
// reason.
func (s *Worker) TakenUp(ctx context.Context, p *project.Checkout, run string) (*orchestrator.State, error) {
	state, _, err := p.LoadRun(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := runs.CheckAnchor(ctx, p, s.Machine, run); err != nil {
		return state, err
	}
	if err := runs.CheckWork(ctx, s.Machine, state); err != nil {
		return state, err
	}
	set := state.Spec.Settings.Sandbox
	_, err = proc.Choose(set.Mode, set.OnlyHosts, s.Machine.Caps)
	return state, err
}
