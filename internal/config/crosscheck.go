package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// crossCheck finds what is wrong between keys, file by file, so that each
// problem has its line.
func (c *Config) crossCheck(col *collector) {
	for _, l := range c.layers {
		if l.kind == layerDefaults {
			continue
		}
		for _, name := range sortedKeys(l.said.Agents) {
			c.checkAgent(col, l, name)
		}
	}
	if said(c.File.Verify.None) && len(c.File.Verify.Commands) > 0 {
		file, at := c.where("verify", "none")
		col.add(file, at, "verify.none waives proof, but verify.commands are set", "remove one of them")
	}
	c.checkPages(col)
	c.checkNetwork(col)
	c.checkContainer(col)
	c.checkNotify(col)
	c.checkPlanning(col)
	c.checkDataSources(col)
	c.checkLLM(col)
	c.checkHost(col)
	c.checkTrackers(col)
	c.checkWorkspace(col)
	c.checkSlack(col)
	c.checkEngine(col)
	c.checkRequires(col)
	c.checkSchedules(col)
	c.checkLabels(col)
	c.checkReviews(col)
	c.checkPolicyWords(col)
	c.checkDecomposition(col)
	c.checkCouncil(col)
}

// checkNotify refuses a program that would be taken from wherever forge was
// called.
func (c *Config) checkNotify(col *collector) {
	if cmd := c.File.Notify.Command; len(cmd) > 0 && strings.Contains(cmd[0], "/") && !filepath.IsAbs(cmd[0]) && !strings.HasPrefix(cmd[0], "~/") {
		file, at := c.where("notify", "command")
		col.add(file, at, "notify.command is a relative path", "write an absolute path, one from ~/, or a name found in PATH")
	}
}

// kinds are the agent kinds that the configuration knows; which of them this
// program can run is a fact given to Resolve.
func kinds() []string {
	f, _ := fieldByKey(reflect.TypeFor[Agent](), "kind")
	return strings.Split(f.Tag.Get("rule"), "|")
}

// checkAgent looks at one entry of one file together with what lies below it.
func (c *Config) checkAgent(col *collector, l *layer, name string) {
	bad := func(key, what, fix string) {
		path := []string{"agents", name}
		if key != "" {
			path = append(path, key)
		}
		col.add(l.file, l.index.find(path), dotted(path)+" "+what, fix)
	}
	if strings.TrimSpace(name) == "" || strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 }) {
		bad("", "has no usable name", "name the agent in letters and digits")
		return
	}
	merged, mine := c.File.Agents[name], l.said.Agents[name]
	kind := agentKind(name, merged)
	switch {
	case kind == "" && l.index.has("agents", name, "kind"): // of a wrong type, said already
	case kind == "":
		bad("", "has no kind", `write kind = "exec" for a command of your own, or one of `+strings.Join(kinds(), ", "))
	case kind == "exec" && len(merged.Command) == 0 && !l.index.has("agents", name, "command"):
		bad("", "has no command", `write command = ["./agent.sh"]`)
	case kind == "script" && said(merged.File) == "" && !l.index.has("agents", name, "file"):
		bad("", "has no file", `write file = "script.toml"`)
	}
	if kind != "script" && mine.File != nil && kind != "" {
		bad("file", "is for script agents only", `remove it, or write kind = "script"`)
	}
	if (mine.USDPerMTokIn == nil) != (mine.USDPerMTokOut == nil) && (merged.USDPerMTokIn == nil) != (merged.USDPerMTokOut == nil) {
		bad("", "has one price of two", "set both usd_per_mtok_in and usd_per_mtok_out")
	}
	for _, v := range sortedKeys(mine.SetEnv) {
		if l.kind == layerProject && SecretName(v) && mine.SetEnv[v] != "" {
			bad("set_env", "holds a value for "+v+", which is named like a secret", "name it in env and set it in the environment")
		}
	}
	// A path that each project fills in anew would let any project replace
	// a program that this user trusts.
	if l.kind == layerUser {
		if len(mine.Command) > 0 && isRelative(mine.Command[0]) {
			bad("command", "is a relative path in the user's configuration", "write an absolute path, or a name found in PATH")
		}
		if f := said(mine.File); f != "" && !filepath.IsAbs(f) {
			bad("file", "is a relative path in the user's configuration", "write an absolute path")
		}
	}
}

// agentKind is the kind said, or the name where that is a kind.
func agentKind(name string, a Agent) string {
	if a.Kind != nil {
		return *a.Kind
	}
	if slices.Contains(kinds(), name) {
		return name
	}
	return ""
}

// isRelative is true for a program that is a path and not an absolute one; a
// bare name is looked up in PATH.
func isRelative(program string) bool {
	return strings.ContainsAny(program, `/\`) && !filepath.IsAbs(program)
}

// checkPlanning holds the older alias against the word it stands for.
func (c *Config) checkPlanning(col *collector) {
	for _, l := range c.layers {
		p := l.said.Planning.Interactive
		if p == nil {
			continue
		}
		preset := planningPreset(*p)
		at := []string{"planning", "interactive"}
		if !slices.Contains(presetNames(), preset) {
			col.add(l.file, l.index.find(at), fmt.Sprintf("planning.interactive stands for the preset %s, which this version does not have", preset),
				"write autonomy.level, one of "+strings.Join(presetNames(), ", "))
		}
		if level := said(l.said.Autonomy.Level); level != "" && level != preset {
			col.add(l.file, l.index.find(at), fmt.Sprintf("planning.interactive stands for %s, but autonomy.level is %s", preset, level), "keep autonomy.level alone")
		}
	}
}

func planningPreset(interactive bool) string {
	if interactive {
		return "partial"
	}
	return "review"
}
