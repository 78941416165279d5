package discovery

import "forge/internal/config"

// The sources of what is found, where a file's name or a flag stands else.
const (
	foundAgent    = "the agent that was found"
	foundCommands = "the project's files"
)

// Found is what was found of a project.
type Found struct {
	Agent    Agent // its zero value where nobody looked for one
	Commands config.Proposal
}

// Settings are the settings that f gives a project that has no file of its own:
// they decide nothing that cfg says, of the user or of a variable.
func (f Found) Settings(cfg *config.Config) []config.Setting {
	var out []config.Setting
	silent := func(key string) bool {
		from := cfg.Origin(key)
		return from == "" || from == "default"
	}
	if f.Agent.Name != "" && !f.Agent.Configured && silent("agent.use") {
		out = append(out, config.Setting{Flag: foundAgent, Key: "agent.use", Value: f.Agent.Name})
	}
	list := func(key string, items []string) {
		if len(items) > 0 && silent(key) {
			out = append(out, config.Setting{Flag: foundCommands, Key: key, List: items})
		}
	}
	if silent("verify.none") {
		list("verify.commands", Lines(f.Commands.Verify))
	}
	list("worktree.setup", Lines(f.Commands.Setup))
	if silent("worktree.setup") {
		list("worktree.cache_key", f.Commands.CacheKey)
	}
	return out
}
