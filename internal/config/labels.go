package config

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// FactoryLabel is one [factory.labels.<name>]: what holds for issues that have that
// label.
type FactoryLabel struct {
	Level  *string `toml:"level" doc:"Their level, where the issue names none." sample:"\"guided\"" rule:"preset"`
	Agent  *string `toml:"agent" doc:"The agent that works on them, as agent.use is; phases and overrides may name another." sample:"\"codex\"" rule:"filled"`
	Budget *int    `toml:"budget" doc:"Iterations of each phase, where the issue names none." sample:"20" rule:"min=1 max=1000"`
	Target *string `toml:"target" doc:"Branch that they are merged into, as factory.target is." sample:"\"docs\"" rule:"branch"`
}

// labelled are the words of one label by their keys.
func (l FactoryLabel) labelled() map[string]string {
	out := map[string]string{}
	for key, value := range map[string]*string{"level": l.Level, "agent": l.Agent, "target": l.Target} {
		if value != nil {
			out[key] = *value
		}
	}
	if l.Budget != nil {
		out["budget"] = fmt.Sprint(*l.Budget)
	}
	return out
}

// checkLabels looks at each label, file by file.
func (c *Config) checkLabels(col *collector) {
	for _, l := range c.layers {
		for _, name := range sortedKeys(l.said.Factory.Labels) {
			path := []string{"factory", "labels", name}
			bad := func(key, what, fix string) {
				at := path
				if key != "" {
					at = append(slices.Clone(path), key)
				}
				col.add(l.file, l.index.find(at), dotted(at)+" "+what, fix)
			}
			of := c.File.Factory.Labels[name]
			switch {
			case text.PlainLine(name) != name || name == "" || len(name) > work.MaxIssueLabel:
				bad("", "is no label that an issue can have", fmt.Sprintf("use one plain line of at most %d bytes", work.MaxIssueLabel))
			case len(of.labelled()) == 0:
				bad("", "says nothing", "write level, agent, budget or target")
			}
			if a := said(l.said.Factory.Labels[name].Agent); a != "" && agentKind(a, c.File.Agents[a]) == "" {
				bad("agent", fmt.Sprintf("is %q, which is no agent", text.Clip(a, mostQuoted)), suggest(a, c.agentNames()))
			}
			for _, other := range sortedKeys(c.File.Factory.Labels) {
				if other < name && strings.EqualFold(other, name) {
					bad("", fmt.Sprintf("is %q in other letters, which hosts take for the same", other), "keep one of them")
				}
			}
		}
	}
}

// MappedLabels are the labels that the owner mapped, by name.
func (c *Config) MappedLabels() []string { return sortedKeys(c.File.Factory.Labels) }

// LabelsSay is what the labels of an issue say of how it is worked on, one line for
// each label that is mapped.
func (c *Config) LabelsSay(labels []string) (lines []string) {
	for _, name := range c.mapped(labels) {
		words := c.File.Factory.Labels[name].labelled()
		var all []string
		for _, key := range sortedKeys(words) {
			all = append(all, key+" "+words[key])
		}
		lines = append(lines, name+": "+strings.Join(all, ", "))
	}
	return lines
}

// mapped are those of the owner's labels that an issue has.
func (c *Config) mapped(labels []string) (names []string) {
	for _, name := range c.MappedLabels() {
		if slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, name) }) {
			names = append(names, name)
		}
	}
	return names
}

// LabelBudget is the budget that the labels of the issue name that this
// configuration is for, 0 = none.
func (c *Config) LabelBudget() int { return c.labelBudget }

// labelled lays what the labels of an issue say over the configuration. Two that
// do not agree are a problem: which of them is meant, nobody knows.
func (c *Config) labelled(col *collector, labels []string) {
	c.labels = labels
	by, set := map[string]string{}, map[string]string{}
	for _, name := range c.mapped(labels) {
		of := c.File.Factory.Labels[name]
		words, at := of.labelled(), []string{"factory", "labels", name}
		for _, key := range sortedKeys(words) {
			if was, twice := set[key]; twice && was != words[key] {
				file, place := c.where(append(at, key)...)
				col.add(file, place, fmt.Sprintf("the labels %s and %s of this issue name different things for %s", by[key], name, key), "take one of them away from the issue")
				continue
			}
			by[key], set[key] = name, words[key]
			c.origins[map[string]string{"level": "factory.default_policy", "agent": "agent.use", "target": "factory.target"}[key]] = "label " + name
		}
		c.File.Factory.DefaultPolicy = orElse(of.Level, c.File.Factory.DefaultPolicy)
		if of.Agent != nil {
			c.File.Agent.Use = Agents{*of.Agent}
		}
		if of.Target != nil {
			c.File.Factory.Target, c.issueTarget = of.Target, true
		}
		if of.Budget != nil {
			c.labelBudget = *of.Budget
		}
	}
	delete(c.origins, "")
}

// targeted has results be for the branch that an issue itself names.
func (c *Config) targeted(branch string) {
	if c.target = branch; branch == "" {
		return
	}
	c.File.Factory.Target, c.issueTarget = &branch, true
	c.origins["factory.target"] = "the issue"
}

// Target is the branch that the issue names which this configuration is for, "" =
// none.
func (c *Config) Target() string {
	if c == nil {
		return ""
	}
	return c.target
}

// Labels are those of the issue that this configuration is for.
func (c *Config) Labels() []string {
	if c == nil {
		return nil
	}
	return c.labels
}
