package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/patterns"
	"forge/internal/refusal"
	"forge/internal/runs"
)

func (a *App) patternsCommand() *cli.Command {
	last := &cli.IntFlag{Name: "last", Usage: "look at so many runs, the newest first", Value: 200}
	return &cli.Command{
		Name: "patterns", Usage: "what past phases took, and what that suggests for the plan",
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(c, "patterns")
			}
			return cli.ShowSubcommandHelp(c)
		},
		Subcommands: []*cli.Command{
			{
				Name: "stats", Usage: "how often phases were done, with how many iterations, time and money",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "by", Usage: "group them by " + strings.Join(patternGroups(), ", "), Value: "type"}, last, outputFlag("text", "json"),
				},
				Action: a.patternsStats,
			},
			{
				Name: "recommend", Usage: "budgets and agents for the phases of .forge/phases.json, from past phases that are like them",
				Flags:  []cli.Flag{last, outputFlag("text", "json")},
				Action: a.patternsRecommend,
			},
			{
				Name: "compare", Usage: "two agents, or two runs, beside each other", ArgsUsage: "A B",
				Flags:  []cli.Flag{last, outputFlag("text", "json")},
				Action: a.patternsCompare,
			},
		},
	}
}

// patternsBy are what past phases can be grouped by.
var patternsBy = map[string]func(patterns.Phase) string{
	"type":  func(p patterns.Phase) string { return cmp.Or(p.Type, "(no type)") },
	"agent": func(p patterns.Phase) string { return p.Agent },
	"name":  func(p patterns.Phase) string { return p.Name },
}

func patternGroups() []string { return []string{"type", "agent", "name"} }

// pastOf opens the journal and reads what past phases took; p has to be closed.
func (a *App) pastOf(c *cli.Context) (p *checkout, past []patterns.Phase, json bool, err error) {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return nil, nil, false, err
	}
	if n := c.Int("last"); n < 1 {
		return nil, nil, false, refusal.New("give a number from 1", "--last %d is no number of runs", n)
	}
	if p, err = a.openJournal(c.Context); err != nil {
		return nil, nil, false, err
	}
	if past, err = runs.Past(c.Context, p.Checkout, c.Int("last")); err != nil {
		p.Close()
		return nil, nil, false, err
	}
	if len(past) == 0 {
		p.Close()
		return nil, nil, false, refusal.New("forge run starts one", "no phase of this project has been done or has failed yet")
	}
	return p, past, out == "json", nil
}

func (a *App) patternsStats(c *cli.Context) error {
	by := patternsBy[c.String("by")]
	if by == nil {
		return refusal.New("one of "+strings.Join(patternGroups(), ", "), "--by %q is nothing to group phases by", c.String("by"))
	}
	if c.Args().Present() {
		return refusal.New("", "forge patterns %s takes no arguments, got %q", c.Command.Name, c.Args().First())
	}
	p, past, json, err := a.pastOf(c)
	if err != nil {
		return err
	}
	defer p.Close()
	groups := patterns.By(past, by)
	if json {
		return printJSON(a.Stdout, map[string]any{"phases": len(past), "by": c.String("by"), "groups": groups})
	}
	_, err = fmt.Fprint(a.Stdout, patterns.Table(c.String("by"), groups))
	return err
}

func (a *App) patternsRecommend(c *cli.Context) error {
	if c.Args().Present() {
		return refusal.New("", "forge patterns %s takes no arguments, got %q", c.Command.Name, c.Args().First())
	}
	planned, err := a.plannedPhases(c.Context)
	if err != nil {
		return err
	}
	p, past, json, err := a.pastOf(c)
	if err != nil {
		return err
	}
	defer p.Close()
	all := []patterns.Advice{}
	for _, ph := range planned {
		all = append(all, patterns.Advise(ph, past))
	}
	if json {
		return printJSON(a.Stdout, map[string]any{"phases": all})
	}
	_, err = fmt.Fprint(a.Stdout, patterns.AdviceText(all))
	return err
}

// plannedPhases are the phases of the plan as they would run.
func (a *App) plannedPhases(ctx context.Context) ([]patterns.Planned, error) {
	p, err := a.openProject(ctx)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	plan, err := p.Plan()
	if err != nil {
		return nil, err
	}
	spec, _, err := p.Resolve(plan, config.PolicyFlags{})
	if err != nil {
		return nil, err
	}
	var out []patterns.Planned
	for _, ph := range spec.Plan.Phases {
		set := spec.Settings.Phases[ph.Number]
		out = append(out, patterns.Planned{Number: ph.Number, Name: ph.Name, Type: ph.PhaseType, About: ph.Reasoning, Agent: set.Agent, Budget: set.Budget})
	}
	return out, nil
}

func (a *App) patternsCompare(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) != 2 {
		return refusal.New("forge patterns compare A B", "two agents, or two runs, are compared; %d are given", len(args))
	}
	p, past, json, err := a.pastOf(c)
	if err != nil {
		return err
	}
	defer p.Close()
	var both [2]patterns.Group
	for i, name := range args {
		of := slices.DeleteFunc(slices.Clone(past), func(q patterns.Phase) bool { return q.Agent != name && q.Run != name })
		if len(of) == 0 {
			return refusal.New("forge patterns stats --by agent lists agents, forge status --all runs", "no past phase is of an agent or a run called %q", name)
		}
		both[i] = patterns.Of(name, of)
	}
	if json {
		return printJSON(a.Stdout, map[string]any{"a": both[0], "b": both[1], "better": patterns.Better(both[0], both[1])})
	}
	_, err = fmt.Fprint(a.Stdout, patterns.Versus(both[0], both[1]))
	return err
}
