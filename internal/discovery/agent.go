package discovery

import (
	"context"
	"strings"

	"forge/internal/agent"
	"forge/internal/refusal"
	"forge/internal/work"
)

// Agent is the agent that a project will use.
type Agent struct {
	Name       string // "" = none was found
	Kind       string
	Configured bool // by the project, the user's configuration or a variable
	Found      agent.Detection
	Others     []string // what else was looked for, and what came of it
}

// Configured is the agent that set describes, as it is found here.
func Configured(ctx context.Context, set work.AgentSettings, environ []string) Agent {
	return Agent{Name: set.Name, Kind: set.Kind, Configured: true, Found: agent.Detect(ctx, set, environ)}
}

// FindAgent takes the agent of a kind, "" = the first that is installed, claude
// before the others.
func FindAgent(ctx context.Context, kind string, environ []string) (Agent, error) {
	var g Agent
	candidates := []string{"claude"}
	for _, kind := range agent.Kinds() {
		// Of these there are as many as anyone writes; none can be found.
		if kind != "claude" && kind != "exec" && kind != "script" && kind != "acp" {
			candidates = append(candidates, kind)
		}
	}
	if kind != "" {
		if _, ok := agent.FactsOf(kind); !ok {
			return g, refusal.New("there are "+strings.Join(agent.Kinds(), ", "), "--agent %s: unknown kind of agent", kind)
		}
		g.Kind, g.Name = kind, map[string]string{"exec": "mine", "script": "dry"}[kind]
		if g.Name != "" {
			return g, nil
		}
		candidates, g.Name = []string{kind}, kind
	}
	for _, kind := range candidates {
		d := agent.Detect(ctx, work.AgentSettings{Name: kind, Kind: kind}, environ)
		if d.Found || g.Name == kind {
			g.Name, g.Kind, g.Found = kind, kind, d
			return g, nil
		}
		g.Others = append(g.Others, d.Why)
	}
	return g, nil
}
