package config

import (
	"fmt"
	"slices"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// levels are the levels that a phase has of its own: of every override that
// matches it, of the plan, and of its agents in every file. None takes the place of
// another, since each can only ask for more.
func (r *resolver) levels(ph work.Phase, agents Agents, where func(string) (string, place)) []string {
	var out []string
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, o := range r.cfg.overrides {
		if r.cfg.matches(o.glob, ph.Name) {
			add(said(o.said.Level))
		}
	}
	if ph.Level != "" {
		if _, known := r.cfg.policies.catalogue.Preset(ph.Level); !known {
			file, at := where("level")
			r.add(file, at, fmt.Sprintf("phase %s: level is %q, which is no preset", ph.Number, text.Clip(ph.Level, mostQuoted)), suggest(ph.Level, r.cfg.policies.catalogue.Names()))
		}
		add(ph.Level)
	}
	for _, l := range r.cfg.layers {
		for _, agent := range agents {
			add(said(l.said.Agents[agent].Level))
		}
	}
	return out
}

// Levels are the policies of the levels that phases have of their own, by name; nil
// where none has one.
func (c *Config) Levels(phases ...work.PhaseSettings) map[string]gates.Policy {
	var out map[string]gates.Policy
	for _, set := range phases {
		for _, name := range set.Levels {
			policy, known := c.policies.catalogue.Preset(name)
			if !known {
				policy = gates.Bottom()
			}
			if out == nil {
				out = map[string]gates.Policy{}
			}
			out[name] = policy.WithCheckpointTypes(c.File.Autonomy.CheckpointTypes)
		}
	}
	return out
}
