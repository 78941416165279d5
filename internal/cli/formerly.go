package cli

import (
	"strings"

	"forge/internal/refusal"
)

// formerly are words of the Rust Forge's command line that this one has in another
// way, by command or flag.
var formerly = map[string]string{
	"swarm":           `phases run beside each other by themselves, up to --max-parallel; forge status shows them, Ctrl-C ends them`,
	"autoresearch":    `forge eval holds reviewers against cases whose answer is known`,
	"config init":     `forge init writes .forge/forge.toml`,
	"--context-limit": `context_limit in [defaults] of .forge/forge.toml, or of a phase`,
	"--otlp-endpoint": `forge factory serves /metrics; forge run --output json is a stream of events`,
	"--init":          `forge init, then forge factory`,
	"--open":          `forge factory url prints a link that signs you in`,
	"--dev":           `forge factory is enough`,
}

// refuseFormer refuses a command of the Rust Forge's with this one's word for it,
// whatever flags it is called with.
func (a *App) refuseFormer(args []string) error {
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		if way := formerly[arg]; way != "" {
			return refusal.New(way, "unknown command %q", arg)
		}
		break
	}
	return nil
}
