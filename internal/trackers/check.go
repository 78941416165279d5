package trackers

import (
	"context"
	"errors"
	"fmt"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/work"
)

// Checked is how a tracker answers.
type Checked struct {
	Name, Where string
	Err         error // nil = it answers
	Fix         string
}

// Check asks each tracker that the user named for its news, and keeps none of it.
func Check(ctx context.Context, env project.Env) ([]Checked, error) {
	all, err := settings(env)
	if err != nil {
		return nil, err
	}
	var out []Checked
	for _, set := range all {
		now := Checked{Name: set.Name, Where: set.Kind}
		on, err := client(set)
		if err == nil {
			now.Where = on.Name()
			_, _, err = on.Changed(ctx, work.TrackerMark{Since: env.Now()})
		}
		now.Err, now.Fix = err, wayOut(set, err)
		out = append(out, now)
	}
	return out, nil
}

// wayOut is what mends that a tracker does not answer, by the names that it has in
// the configuration; "" = nothing that is known.
func wayOut(set config.TrackerSettings, err error) string {
	var t *work.HostTrouble
	if !errors.As(err, &t) {
		return ""
	}
	mine := "[trackers." + set.Name + "] of your own configuration"
	if set.Name == config.WorkflowTracker {
		mine = config.WorkflowFile
	}
	switch t.Kind {
	case work.HostUnauthorized:
		fix := fmt.Sprintf("put a token that is not expired into %s: %s", set.Token.Name, tokenOf(set))
		if set.Kind == "jira" {
			fix += fmt.Sprintf("; user = %q in %s says that it is %s", set.User, mine, map[bool]string{true: "a server of your own", false: "Jira Cloud"}[set.User == ""])
		}
		return fix
	case work.HostNoRepository:
		return fmt.Sprintf("check repo = %q in %s, and that the account of the token in %s may see it", set.Path, mine, set.Token.Name)
	case work.HostForbidden, work.HostMissingScope:
		return fmt.Sprintf("give the account of the token in %s more rights: %s", set.Token.Name, tokenOf(set))
	case work.HostUnreachable:
		return "it is asked again by itself; if it stays away, check url in " + mine
	case work.HostRateLimited:
		return "it is asked again by itself; with a longer poll_secs in " + mine + " it is asked less often"
	}
	return t.Fix
}

// tokenOf says which token a kind of tracker takes, and what its account must be.
func tokenOf(set config.TrackerSettings) string {
	switch set.Kind {
	case "gitlab":
		return "one with the scope api, of a member with the role Developer or more"
	case "jira":
		if set.User == "" {
			return "a personal access token of an administrator of the project"
		}
		return "an API token of an account that administers the project"
	case "linear":
		return "a personal API key of a member of the team"
	}
	return "one of an administrator of the repository"
}
