package worker

import (
	"context"

	"forge/internal/proc"
	"forge/internal/project"
)

// SayStart says what a person should know before the board is worked on.
func (s *Worker) SayStart(ctx context.Context) {
	var facts project.StartFacts
	servers, err := s.Journal.Servers(ctx, s.Project)
	if err != nil {
		s.Log.Debug("look for other servers", "err", err)
	}
	for _, v := range servers {
		if !v.Dead && v.Owner != s.owner.ID {
			facts.Servers = append(facts.Servers, v)
		}
	}
	s.SayAtStart(ctx, s.Machine.Repo, facts)
	if a, err := s.Admission(ctx); err == nil && a.MaxRunning > s.concurrency.Most() {
		s.Log.Warn("this server drives fewer runs than the project lets: forge factory --max-runs N", "project", s.Project, "at once", s.concurrency.Most(), "factory.max_running", a.MaxRunning)
	}
}

// KillAgents kills at once whatever works on the issues of the project. The
// journal is whole at any moment, so that all goes on later.
func (s *Worker) KillAgents(ctx context.Context) {
	rows, _ := s.Journal.IssueRuns(ctx, s.Project)
	for _, r := range rows {
		left, _ := s.Journal.Attempts(ctx, r.ID)
		for _, a := range left {
			_, _ = proc.KillMarked(a.Mark, 0)
		}
	}
}
