package worker

import (
	"context"
	"errors"
	"time"

	"forge/factory"
	"forge/internal/tracker/linear"
	"forge/internal/trackers"
	"forge/internal/work"
	"forge/internal/workflow"
	"forge/orchestrator"
)

// A worker may work by a WORKFLOW.md. Its issues are issues of the board like all
// others, with its tracker, their runs are runs, and what they come to is proven;
// what the file adds is here: where the agent works and what it is told, the hooks
// around that, and that what failed is tried again.

// WorkBy has the board worked on by a WORKFLOW.md.
func (s *Worker) WorkBy(k *workflow.Kept) { s.Flow = workflow.New(k, s.Opened) }

// followFlow takes the issues of the file's tracker.
func (s *Worker) followFlow(t *trackers.All) error {
	if s.Flow == nil {
		return nil
	}
	cfg, err := trackers.UserConfig(s.Env)
	if err != nil {
		return err
	}
	f := s.Flow
	t.Follow(s.goal(), trackers.Beside{
		Settings: f.Settings(cfg.TrackerSandboxes()), Host: f.Project, Spell: linear.Identifier,
		Every: func() time.Duration { return f.Kept.Settings().Poll },
	})
	f.Refresh = func() bool {
		s.forgetAdmission()
		Control{s.Opened, s.Poke}.wake()
		return t.Refresh(s.Opened)
	}
	return nil
}

// forgetAdmission has the configuration read again at the next look.
func (s *Worker) forgetAdmission() {
	s.admission.Lock()
	defer s.admission.Unlock()
	s.admission.at = time.Time{}
}

// flowOf is what an issue's run begins with by the file; nothing where the issue did
// not come by it.
func (s *Worker) flowOf(ctx context.Context, i work.Issue) (workflow.Begun, error) {
	if s.Flow == nil || !workflow.Ours(i) {
		return workflow.Begun{}, nil
	}
	return s.Flow.Begin(ctx, i, func(commit string) (bool, error) {
		found, err := s.Machine.Repo.FindCommit(ctx, commit)
		return found != "", err
	})
}

// inWorkspace drives a run with the hooks around that, where it has a workspace.
func (s *Worker) inWorkspace(ctx context.Context, state *orchestrator.State, drive func() error) error {
	is := state.Spec.Issue
	if s.Flow == nil || is.Workspace == "" {
		return drive()
	}
	card, err := s.Journal.Issue(ctx, s.Project, is.ID)
	if err != nil {
		return err
	}
	return s.Flow.Around(ctx, card, is.Workspace, drive)
}

// exhausted says that a run failed since a phase used up its iterations, and for nothing
// else.
func exhausted(state *orchestrator.State) bool {
	used := false
	for _, n := range state.Order {
		p := state.View(n)
		if p.Outcome != work.PhaseFailed {
			continue
		}
		if p.Reason != work.ReasonBudgetExhausted {
			return false
		}
		used = true
	}
	return used
}

// retried tries again what failed, as the file says.
type retried struct{ placed }

// Drive goes on with what is tried again, and says of what fails when it is.
func (s retried) Drive(ctx context.Context, o factory.Order) (factory.Ended, error) {
	if !workflow.Ours(o.Issue) {
		return s.placed.Drive(ctx, o)
	}
	again, err := s.Flow.Again(ctx, o.Issue)
	if err != nil {
		return factory.Ended{}, err
	}
	o.Again = o.Again || again && !o.Finish
	ended, err := s.placed.Drive(ctx, o)
	switch {
	case ctx.Err() != nil, errors.Is(err, factory.ErrHeld), errors.Is(err, work.ErrNotClaimed):
		return ended, err
	case err != nil:
		ended = factory.Ended{Outcome: work.RunFailed, Reason: err.Error()}
	}
	return s.Flow.Settle(ctx, o.Issue, ended)
}

// warned lets people see at every door that the file is wrong.
type warned struct {
	factory.Standings
	kept *workflow.Kept
}

// Serve says it beside why nothing is claimed.
func (s warned) Serve(ctx context.Context, project, note string) error {
	if wrong := s.kept.Wrong(); wrong != "" {
		if note != "" {
			note += "; "
		}
		note += factory.Line(factory.NoteBeside + wrong)
	}
	return s.Standings.Serve(ctx, project, note)
}
