package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/doctor"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
)

// listedAgent is one agent of forge agents --output json.
type listedAgent struct {
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

func (a *App) agentsCommand() *cli.Command {
	return &cli.Command{
		Name: "agents", Usage: "list the agents, what is installed, and what they can do",
		Flags: []cli.Flag{outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			list, err := a.listAgents(c.Context)
			if err != nil {
				return err
			}
			if out == "json" {
				return printJSON(a.Stdout, list)
			}
			var rows [][]string
			for _, g := range list {
				name := g.Name
				if g.Used {
					name += " *"
				}
				rows = append(rows, []string{name, g.Kind, found(g), g.Login, yesNo(g.Resume), yesNo(g.Cost), yesNo(g.Readonly), yesNo(g.TurnLimit), text.FirstLine(cmp.Or(g.out(a.env().Now()), g.Why, g.Untried), 100)})
			}
			_, err = fmt.Fprint(a.Stdout, text.Table([]string{"AGENT", "KIND", "INSTALLED", "LOGIN", "RESUMES", "COST", "READONLY", "TURNS", "NOTE"}, rows), agentsLegend(list))
			return err
		},
	}
}

// agentsLegend says what the table does not explain by itself.
func agentsLegend(list []listedAgent) string {
	text := "\n* the agent of phases that name none\n"
	said := map[string]bool{}
	for _, g := range list {
		if g.TurnLimit && !said[g.Kind] {
			said[g.Kind] = true
			text += fmt.Sprintf("TURNS of an iteration are bounded for %s by %s\n", g.Kind, g.TurnLimitBy)
		}
	}
	return text
}

// out says until when its provider is out, "" where nobody knows of that.
func (g listedAgent) out(now time.Time) string {
	if g.OutUntil.IsZero() {
		return ""
	}
	return fmt.Sprintf("at a limit until %s (in %s)", g.OutUntil.Local().Format("15:04"), text.Took(g.OutUntil.Sub(now)))
}

func found(g listedAgent) string {
	switch {
	case g.Found && g.Version != "":
		return g.Version
	case g.Found:
		return "yes"
	}
	return "no"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// listAgents are the built-in kinds and the project's own agents. Outside a
// repository there are the built-in ones alone.
func (a *App) listAgents(ctx context.Context) ([]listedAgent, error) {
	p, err := a.openProject(ctx)
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
			away, err = runs.Away(ctx, p.Checkout, a.env().Now())
		}
		if err != nil {
			p.Log.Warn("at which limits the agents are is not known", "err", err)
		}
		use = p.Config.File.Agent.Use.First()
		for _, s := range p.Config.Agents(config.Facts{Kinds: project.AgentKinds()}) {
			add(s)
		}
	}
	var out []listedAgent
	for _, name := range names {
		s := settings[name]
		d := agent.Detect(ctx, s, a.Environ)
		f, _ := agent.FactsOf(s.Kind)
		out = append(out, listedAgent{
			Name: name, Kind: s.Kind, Used: name == use, Found: d.Found, Version: d.Version, Login: string(d.LoggedIn), Why: d.Why,
			Resume: f.Continues, Cost: f.ReportsCost, Readonly: f.ReadOnly, TurnLimit: f.TurnLimit != "", TurnLimitBy: f.TurnLimit, Untried: d.Untried, OutUntil: away[name],
		})
	}
	return out, nil
}

func (a *App) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "find what is missing on this machine and in this project, and say how to get it",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "try", Usage: "also ask the agent one question (costs a little), and run a proof cold and warm"}},
		Action: func(c *cli.Context) error {
			d := &doctor.Doctor{Env: a.env(), Out: a.Stdout}
			d.Look(c.Context, c.Bool("try"))
			fmt.Fprintln(a.Stdout)
			if d.Bad > 0 {
				fmt.Fprintf(a.Stdout, "%s.\n", text.Number(d.Bad, "problem"))
				return codeError(exitUsage)
			}
			fmt.Fprintln(a.Stdout, "Everything that forge run needs is there.")
			return nil
		},
	}
}
