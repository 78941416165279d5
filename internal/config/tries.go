package config

import (
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// tries resolves how often a phase is tried side by side, and refuses what cannot
// be: what nothing can tell apart, and what tries do not go together with.
func (r *resolver) tries(ph work.Phase, over Override, ps *work.PhaseSettings, where func(string) (string, place)) {
	n := firstOf(ph.Tries, said(over.Tries))
	agents, until := over.TryAgents, firstOf(ph.TriesUntil, said(over.TriesUntil))
	if ph.TryAgents != nil {
		agents = ph.TryAgents
	}
	bad := func(own bool, field, what, fix string) {
		file, at := r.cfg.overrideOf(ph.Name, field)
		if own {
			file, at = where(field)
		}
		r.once(Problem{File: file, Line: at.line, Col: at.col, What: "phase " + text.Clip(ph.Number, mostQuoted) + ": " + what, Fix: fix})
	}
	switch {
	case n < 2 && ph.TryAgents != nil:
		bad(true, "try_agents", "there are try_agents, and no tries", `write "tries": 2 or more, or leave it out`)
		return
	case n < 2 && ph.TriesUntil != "":
		bad(true, "tries_until", "there is tries_until, and no tries", `write "tries": 2 or more, or leave it out`)
		return
	case n < 2:
		return
	}
	own := ph.Tries > 0
	switch {
	case n > work.MaxTries:
		bad(own, "tries", fmt.Sprintf("%d tries are too many", n), fmt.Sprintf("use %d at most", work.MaxTries))
	case until != "" && until != work.TriesBest && until != work.TriesFirst:
		bad(ph.TriesUntil != "", "tries_until", fmt.Sprintf("%q is no end of tries", text.Clip(until, mostQuoted)), "write best or first")
	case len(agents) > n:
		bad(ph.TryAgents != nil, "try_agents", fmt.Sprintf("%d agents for %d tries", len(agents), n), "name one for each try at most")
	case len(ps.Verify) == 0:
		bad(own, "tries", "it is tried several times, and no command proves any of it", "name verify commands, or try it once: only what is proven can be chosen")
	case ps.Permission == work.PermissionReadonly:
		bad(own, "tries", "a readonly phase changes nothing that tries could differ in", "leave tries out, or let it change files")
	case strings.Contains(ph.Number, "."):
		bad(own, "tries", "its number is that of a part, and each try needs one below it", `give it a number without a point, such as "05"`)
	default:
		ps.Tries, ps.TriesUntil = n, until
		r.tryAgents(agents, ps, func(what, fix string) { bad(ph.TryAgents != nil, "try_agents", what, fix) })
	}
}

// tryAgents resolves who makes the tries.
func (r *resolver) tryAgents(names []string, ps *work.PhaseSettings, bad func(what, fix string)) {
	for _, one := range names {
		name, model, _ := strings.Cut(one, ":")
		if name == "" || strings.HasSuffix(one, ":") {
			bad(fmt.Sprintf("%q is no agent", text.Clip(one, mostQuoted)), "write AGENT, or AGENT:MODEL")
			continue
		}
		if _, done := r.out.Agents[name]; !done {
			set, what, fix := r.agent(name)
			if what != "" {
				bad(what, fix)
				continue
			}
			r.out.Agents[name] = set
		}
		if model == "" && name != ps.Agent {
			model = r.out.Agents[name].Model
		}
		ps.TryAgents = append(ps.TryAgents, work.TryAgent{Agent: name, Model: model})
	}
}

// overrideOf is where the last matching override says a key.
func (c *Config) overrideOf(name, key string) (file string, at place) {
	for _, o := range c.overrides {
		p, says := o.all.at[keyPath([]string{"phases", "overrides", o.glob, key})]
		if says && c.matches(o.glob, name) {
			file, at = o.file, p
		}
	}
	return file, at
}
