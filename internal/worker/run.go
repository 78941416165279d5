package worker

import (
	"context"
	"errors"
	"maps"
	"slices"

	"charm.land/log/v2"

	"forge/factory"
	"forge/internal/approval"
	"forge/internal/engine"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/work"
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
	drive := s.driveHere
	if s.engineOf(p) != nil {
		drive = s.driveElsewhere
	}
	end, err := drive(ctx, p, t, runs.Options{
		Judged: approval.JudgedIn(p), Watch: &project.Keeper{Watcher: narrate.NewBrief(t.Log), Checkout: p, Saved: state.Seq},
	})
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

// driveHere drives a run in this process.
func (s *Worker) driveHere(ctx context.Context, p *project.Checkout, t Turn, o runs.Options) (end work.RunFinishedData, err error) {
	after := context.WithoutCancel(ctx)
	if err := runs.CheckEngine(p); err != nil {
		return end, errors.Join(err, t.Lease.Release(after))
	}
	d, done, err := runs.Driver(ctx, p, s.Machine, t.Lease, t.State, o)
	if err != nil {
		return end, errors.Join(err, t.Lease.Release(after))
	}
	if t.Journal != nil {
		d.Journal = t.Journal(d.Journal)
	}
	end, err = d.Run(ctx, t.State, t.First)
	done()
	if releaseErr := t.Lease.Release(after); releaseErr != nil && err == nil {
		s.Log.Warn("give the run back", "run", t.State.Run, "err", releaseErr)
	}
	return end, err
}

// driveElsewhere has a run driven by other processes, and watches. When this one ends,
// or has lost the issue, the run goes on: whoever has the issue next finds it as it is
// then. When the issue itself was taken away, the run is stopped.
func (s *Worker) driveElsewhere(ctx context.Context, p *project.Checkout, t Turn, o runs.Options) (work.RunFinishedData, error) {
	leave := make(chan struct{})
	driving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		if why := context.Cause(ctx); errors.Is(why, factory.ErrStop) || errors.Is(why, factory.ErrLost) {
			close(leave)
			return
		}
		stop()
	})()
	o.Leave = leave
	o.Unserved = func(what string) { s.unservedNow(t, what) }
	defer s.unservedNow(t, "")
	return s.engineOf(p)(driving, p, t.Lease, t.State, t.First, o)
}

// unservedNow notes why nobody takes what a run needs done, "" = somebody does.
func (s *Worker) unservedNow(t Turn, what string) {
	s.unserved.Lock()
	defer s.unserved.Unlock()
	if s.unserved.of == nil {
		s.unserved.of = map[string]string{}
	}
	if was := s.unserved.of[t.State.Run]; what == "" {
		delete(s.unserved.of, t.State.Run)
	} else if was != what {
		t.Log.Warn(what, "run", t.State.Run)
		s.unserved.of[t.State.Run] = what
	}
}

// stalled lets people see at every door that nobody takes what runs need done.
type stalled struct {
	factory.Standings
	worker *Worker
}

// Serve says it beside why nothing is claimed.
func (s stalled) Serve(ctx context.Context, project, note string) error {
	s.worker.unserved.Lock()
	if waiting := slices.Sorted(maps.Keys(s.worker.unserved.of)); len(waiting) > 0 { // one is enough to look
		if note != "" {
			note += "; "
		}
		note += factory.Line("run " + waiting[0] + " waits: " + s.worker.unserved.of[waiting[0]])
	}
	s.worker.unserved.Unlock()
	return s.Standings.Serve(ctx, project, note)
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
	if err := runs.CheckWork(ctx, p, s.Machine, state); err != nil {
		return state, err
	}
	set := state.Spec.Settings.Sandbox
	_, err = project.ChooseSandbox(ctx, set, s.Machine.Caps)
	return state, err
}
