package setup

import (
	"context"
	"strings"

	"forge/internal/project"
	"forge/internal/refusal"
)

// Plain writes the files of a project that has none, from what is found, without
// trying anything: no command of the project is run. What is there is kept.
func Plain(ctx context.Context, env project.Env) error {
	s, err := Look(ctx, env, "")
	if err != nil {
		return err
	}
	if s.Base.Commit == "" {
		return refusal.New("commit something there first", "the repository has no commit yet")
	}
	if s.Configured {
		return nil
	}
	if err := s.FindAgent(ctx, ""); err != nil {
		return err
	}
	if s.Agent.Name == "" {
		return refusal.New(strings.Join(s.Agent.Others, "; "), "no agent is installed on the server's machine")
	}
	_, _, err = s.Write(s.Files())
	return err
}
