package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"forge/internal/text"
	"forge/internal/work"
)

// Agents are the agents of a phase: one, or several in the order in which they
// are wanted. In a file one may be written as a text.
type Agents []string

var agentsType = reflect.TypeFor[Agents]()

// First is the agent that is wanted most, "" when none is named.
func (a Agents) First() string {
	if len(a) == 0 {
		return ""
	}
	return a[0]
}

// agentsOf names the agents of a phase, and resolves each on first use.
func (r *resolver) agentsOf(ph work.Phase, over Override, where func(string) (string, place)) Agents {
	names, file, at := Agents(nil), "", place{}
	switch {
	case ph.Agent != "":
		names = append(Agents{ph.Agent}, ph.Fallback...)
		file, at = where("agent")
	case over.Agent != nil:
		names = over.Agent
		file, at = r.cfg.overridePlace(ph.Name)
	default:
		names = r.cfg.File.Agent.Use
		file, at = r.cfg.where("agent", "use")
	}
	for i, name := range names {
		what, fix := "", ""
		if slices.Contains(names[:i], name) {
			what, fix = fmt.Sprintf("agent %q is named twice", text.Clip(name, mostQuoted)), "name each agent once, the one that is wanted most first"
		} else if _, done := r.out.Agents[name]; done {
			continue
		} else if r.out.Agents[name], what, fix = r.agent(name); what == "" {
			continue
		} else {
			delete(r.out.Agents, name)
		}
		if ph.Agent != "" {
			what = "phase " + ph.Number + ": " + what
		}
		r.once(Problem{File: file, Line: at.line, Col: at.col, What: what, Fix: fix})
	}
	return names
}

// once adds a problem that several phases share a single time.
func (r *resolver) once(p Problem) {
	if !r.said[p] {
		r.said[p] = true
		r.problems = append(r.problems, p)
	}
}

// overridePlace is where the agent of the last matching override stands.
func (c *Config) overridePlace(name string) (file string, at place) {
	for _, o := range c.overrides {
		if o.said.Agent != nil && c.matches(o.glob, name) {
			file, at = o.file, o.all.find([]string{"phases", "overrides", o.glob, "agent"})
		}
	}
	return file, at
}

// agent fills in one agent; what says why it cannot be used.
func (r *resolver) agent(name string) (s work.AgentSettings, what, fix string) {
	entry, ok := r.cfg.File.Agents[name]
	kind := agentKind(name, entry)
	if kind == "" {
		return s, fmt.Sprintf("unknown agent %q", text.Clip(name, mostQuoted)), suggest(name, r.cfg.agentNames())
	}
	at := slices.IndexFunc(r.facts.Kinds, func(k KindFacts) bool { return k.Name == kind })
	if at < 0 {
		var have []string
		for _, k := range r.facts.Kinds {
			have = append(have, k.Name)
		}
		return s, fmt.Sprintf("agent %q is of kind %s, which this version cannot run", text.Clip(name, mostQuoted), kind), suggest("", have)
	}
	facts := r.facts.Kinds[at]
	if !ok && (kind == "exec" || kind == "script") {
		return s, fmt.Sprintf("agent %q has no entry", text.Clip(name, mostQuoted)), "write [agents." + quoteKey(name) + "] with its " + map[string]string{"exec": "command", "script": "file"}[kind]
	}
	s = work.AgentSettings{
		Name: name, Kind: kind, Model: said(entry.Model), Command: slices.Clone(entry.Command), Args: entry.Args, File: said(entry.File),
		Env: entry.Env, SetEnv: entry.SetEnv, USDPerMTokIn: entry.USDPerMTokIn, USDPerMTokOut: entry.USDPerMTokOut,
		SkipPermission: said(orElse(entry.SkipPermissions, r.cfg.File.Defaults.SkipPermissions)),
		MCP:            said(entry.MCP),
		Checkout:       r.cfg.Root, Continues: facts.Continues, ReportsCost: facts.ReportsCost, Listens: facts.Listens,
	}
	if s.MCP && !facts.MCP {
		return s, fmt.Sprintf("agent %q cannot be given tools: those of kind %s take none", text.Clip(name, mostQuoted), kind), "leave agents." + quoteKey(name) + ".mcp out"
	}
	if cmd := said(r.cfg.File.Project.ClaudeCmd); name == "claude" && kind == "claude" && cmd != "" && len(s.Command) == 0 {
		s.Command = []string{cmd}
	}
	// A relative command stays as it is: it is looked for in the checkout of the
	// machine that runs it, which the run may come to later.
	if s.File != "" && !filepath.IsAbs(s.File) {
		s.File = filepath.Join(r.cfg.Root, s.File)
	}
	return s, "", ""
}

// agentNames are the agents a phase may name: those with an entry, and the
// kinds that need none.
func (c *Config) agentNames() []string {
	names := sortedKeys(c.File.Agents)
	for _, k := range kinds() {
		if k != "exec" && k != "script" && !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	return names
}

// Agents are the agents that the configuration names, in the order of their
// names, with their defaults filled in. Those that cannot be used are left
// out; Resolve says why when a phase wants one.
func (c *Config) Agents(facts Facts) []work.AgentSettings {
	r := &resolver{collector: &collector{}, cfg: c, facts: facts}
	var out []work.AgentSettings
	for _, name := range slices.Sorted(maps.Keys(c.File.Agents)) {
		if s, what, _ := r.agent(name); what == "" {
			out = append(out, s)
		}
	}
	return out
}
