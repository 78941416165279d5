package config

import (
	"fmt"
	"strings"

	"forge/internal/text"
)

// InitFile is a file that init writes where there is none.
type InitFile struct {
	Path string // relative to the checkout
	Text string
}

// InitFiles renders what init writes: a minimal forge.toml that says why it
// proposes what it does, a spec to fill in, and the ignore file of .forge/.
// agent is the name of the agent to use; "" leaves the default.
func InitFiles(p Proposal, agent string) []InitFile {
	return []InitFile{
		{ProjectFile, initTOML(p, agent)},
		{SpecFile, initSpec},
		{".forge/.gitignore", initIgnore},
	}
}

func initTOML(p Proposal, agent string) string {
	var b strings.Builder
	b.WriteString("# Forge's configuration of this project. forge.toml.example of Forge and its\n# docs/config.md list every key; forge config show prints what is in force.\n\n")
	fmt.Fprintf(&b, "[project]\nname = %s\n", quoteString(p.Name))
	if agent != "" {
		fmt.Fprintf(&b, "\n[agent]\nuse = %s\n", quoteString(agent))
	}
	b.WriteString("\n# What proves a phase. Forge runs it, the agent's word is not enough.\n[verify]\n")
	if len(p.Verify) == 0 {
		b.WriteString("# No test command was found. Without one a phase is done by its claim alone and\n# nothing is merged by itself.\n# commands = [\"make test\"]\n")
	} else {
		b.WriteString(initList("commands", p.Verify))
	}
	if len(p.Setup) > 0 {
		b.WriteString("\n# What a fresh folder needs before work can start.\n[worktree]\n")
		b.WriteString(initList("setup", p.Setup))
		keys := make([]string, len(p.CacheKey))
		for i, k := range p.CacheKey {
			keys[i] = quoteString(k)
		}
		fmt.Fprintf(&b, "cache_key = [%s]\n", strings.Join(keys, ", "))
	}
	b.WriteString("\n# Where a person decides: interactive asks at the terminal, autonomous never asks.\n# [autonomy]\n# level = \"interactive\"\n")
	b.WriteString("\n# Phases that must be reviewed, by name.\n# [autonomy.sensitive_patterns]\n# patterns = [\"database-*\", \"security-*\", \"auth-*\"]\n")
	b.WriteString("\n# Caps; without any, only the budget of iterations ends a phase.\n# [cost]\n# run_usd = 20.0\n")
	return b.String()
}

func initList(key string, commands []Command) string {
	var b strings.Builder
	b.WriteString(key + " = [\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  %s, # %s\n", quoteString(c.Run), text.HarmlessLine(c.Why))
	}
	b.WriteString("]\n")
	return b.String()
}

const initSpec = `# What to build

Say in a few sentences what should exist when the work is done, and for whom.

## Must

- …

## Must not

- …

## How it is proven

- The verify commands of forge.toml pass.
- …
`

// The state of runs lives outside the repository; what older versions kept here
// and what people keep for themselves should not be committed.
const initIgnore = `# Configuration, spec, plan and skills are meant to be committed.
/state
/logs/
/audit/
/checkpoints/
/factory.db*
*.local.*
`
