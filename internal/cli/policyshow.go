package cli

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/report"
)

func (a *App) policyShow(p policies) error {
	var s report.Policy
	var axes []config.PolicyAxis
	if len(p.args) == 1 {
		name := p.args[0]
		if p.flags != (config.PolicyFlags{}) {
			return refusal.New("leave one of them out", "forge policy show takes a preset or the flags of a run, not both")
		}
		policy, err := project.Preset(p.cfg, name)
		if err != nil {
			return err
		}
		_, axes, _ = config.PresetAxes(p.cfg, name)
		s = report.Policy{Preset: name, Policy: policy}
	} else {
		if p.at == "" {
			return refusal.New("forge policy show NAME shows a preset", "there is no project here whose policy could be shown")
		}
		policy, origin, all, err := config.PolicyAxes(p.cfg, p.flags)
		if err != nil {
			return err
		}
		axes = all
		s = report.Policy{Preset: origin.Preset, Chosen: chosenBy(p.cfg, origin), Ceiling: origin.Ceiling, Bounded: origin.Bounded, Policy: policy}
	}
	s.Version, s.Bounded = s.Policy.Version(), append([]string{}, s.Bounded...)
	for _, axis := range axes {
		s.Add(axis.AxisValue, axis.Origin)
	}
	if p.json {
		return printJSON(a.Stdout, s)
	}
	_, err := fmt.Fprint(a.Stdout, s.Text())
	return err
}

// chosenBy is the place of the word that chose, as closely as it is known.
func chosenBy(cfg *config.Config, origin gates.Origin) string {
	key, more, _ := strings.Cut(origin.Source, " ")
	if at := cfg.Origin(key); at != "" {
		key = at + " (" + key + ")"
	}
	return strings.TrimSpace(key + " " + more)
}

// policyCheck ends with exit code 1 when the child is refused.
func (a *App) policyCheck(p policies) error {
	child, err := project.Preset(p.cfg, p.args[0])
	if err != nil {
		return err
	}
	parents := p.args[1:]
	if len(parents) > 0 && p.flags != (config.PolicyFlags{}) {
		return refusal.New("leave one of them out", "forge policy check takes parents or the flags of a run, not both")
	}
	var chain []gates.Policy
	for _, name := range parents {
		parent, err := project.Preset(p.cfg, name)
		if err != nil {
			return err
		}
		chain = append(chain, parent)
	}
	below := strings.Join(parents, ", ")
	if len(parents) == 0 {
		if p.at == "" {
			return refusal.New("name a parent: forge policy check CHILD PARENT", "there is no project here whose policy could be the parent's")
		}
		here, origin, err := config.Policy(p.cfg, p.flags)
		if err != nil {
			return err
		}
		chain, below = []gates.Policy{here}, origin.String()
	}
	s := gates.CheckSpawn(child, chain...)
	if p.json {
		err = printJSON(a.Stdout, report.SpawnOf(p.args[0], parents, s))
	} else {
		_, err = fmt.Fprint(a.Stdout, report.SpawnText(p.args[0], below, s))
	}
	if err == nil && !s.Allowed() {
		err = codeError(exitFailed)
	}
	return err
}

func (a *App) policyDiff(p policies) error {
	one, err := project.Preset(p.cfg, p.args[0])
	if err != nil {
		return err
	}
	other, err := project.Preset(p.cfg, p.args[1])
	if err != nil {
		return err
	}
	d := report.Differ(p.args[0], one, p.args[1], other)
	if p.json {
		return printJSON(a.Stdout, d)
	}
	_, err = fmt.Fprint(a.Stdout, d.Text())
	return err
}
