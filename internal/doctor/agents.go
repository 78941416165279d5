package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
)

// Agent is one agent of forge agents --output json.
type Agent struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Used     bool   `json:"used"` // by [agent] use
	Found    bool   `json:"found"`
	Version  string `json:"version,omitempty"`
	Login    string `json:"login"`
	Why      string `json:"why,omitempty"`
	Resume   bool   `json:"resume"`
	Cost     bool   `json:"cost"`
	Readonly bool   `json:"readonly"`
	// TurnLimit says that the turns of an iteration can be bounded, by what
	// TurnLimitBy shows as a sample.
	TurnLimit   bool   `json:"turn_limit"`
	TurnLimitBy string `json:"turn_limit_by,omitempty"`
	Untried     string `json:"untried,omitempty"`
	// OutUntil is when the limit of its provider ends, as a run of the project was
	// told.
	OutUntil time.Time `json:"out_until,omitzero"`
}

// Out says until when its provider is out, "" where nobody knows of that.
func (g Agent) Out(now time.Time) string {
	if g.OutUntil.IsZero() {
		return ""
	}
	return fmt.Sprintf("at a limit until %s (in %s)", g.OutUntil.Local().Format("15:04"), text.Took(g.OutUntil.Sub(now)))
}

// Agents are the built-in kinds and the project's own agents. Outside a
// repository there are the built-in ones alone.
func Agents(ctx context.Context, env project.Env) ([]Agent, error) {
	p, err := project.Open(ctx, env)
	var state *git.StateError
	if errors.As(err, &state) {
		p, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	settings := map[string]work.AgentSettings{}
	add := func(s work.AgentSettings) {
		if _, known := settings[s.Name]; !known {
			names = append(names, s.Name)
		}
		settings[s.Name] = s
	}
	for _, kind := range agent.Kinds() {
		// A kind without a login of its own needs a command or file of the
		// user's: it is listed where one is configured.
		if f, _ := agent.FactsOf(kind); len(f.SecretEnv) > 0 {
			add(work.AgentSettings{Name: kind, Kind: kind})
		}
	}
	use, away := "", map[string]time.Time{}
	if p != nil {
		defer p.Close()
		there, err := p.OpenStore(ctx, false)
		if err == nil && there {
			away, err = runs.Away(ctx, p, env.Now())
		}
		if err != nil {
			p.Log.Warn("at which limits the agents are is not known", "err", err)
		}
		use = p.Config.File.Agent.Use.First()
		for _, s := range p.Config.Agents(config.Facts{Kinds: project.AgentKinds()}) {
			add(s)
		}
	}
	var out []Agent
	for _, name := range names {
		s := settings[name]
		d := agent.Detect(ctx, s, env.Environ)
		f, _ := agent.FactsOf(s.Kind)
		out = append(out, Agent{
			Name: name, Kind: s.Kind, Used: name == use, Found: d.Found, Version: d.Version, Login: string(d.LoggedIn), Why: d.Why,
			Resume: f.Continues, Cost: f.ReportsCost, Readonly: f.ReadOnly, TurnLimit: f.TurnLimit != "", TurnLimitBy: f.TurnLimit, Untried: d.Untried, OutUntil: away[name],
		})
	}
	return out, nil
}
