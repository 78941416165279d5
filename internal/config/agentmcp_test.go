package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// An agent has Forge's tools where its entry says so, and never by itself; of a kind
// that takes none it is refused, with the key to leave out.
func TestAgentsWithTools(t *testing.T) {
	for _, c := range []struct {
		kind, said string
		takes, has bool
		wrong      string
	}{
		{kind: "claude", takes: true},
		{kind: "claude", said: "mcp = false", takes: true},
		{kind: "claude", said: "mcp = true", takes: true, has: true},
		{kind: "claude", said: "mcp = true", wrong: "take none"},
	} {
		dir := projectWith(t, "[agents.one]\nkind = \""+c.kind+"\"\n"+c.said+"\n[agent]\nuse = \"one\"\n[verify]\ncommands = [\"true\"]\n", `{"phases": [{"number": "01", "name": "a", "promise": "A"}]}`)
		cfg, _, err := Load(Sources{ProjectDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		plan, _, err := LoadPlan(filepath.Join(dir, "phases.json"), nil)
		if err != nil {
			t.Fatal(err)
		}
		set, err := Resolve(cfg, plan, Facts{Kinds: []KindFacts{{Name: c.kind, MCP: c.takes}}})
		if (err == nil) != (c.wrong == "") || err != nil && (!strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), "agents.one.mcp")) {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil && set.Agents["one"].MCP != c.has {
			t.Errorf("%+v: %+v", c, set.Agents["one"])
		}
	}
}
