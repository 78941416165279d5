package config

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
)

// triedPlan is a plan of one phase with what is said of it beside its name.
func triedPlan(t *testing.T, toml, number, said string) (work.PhaseSettings, error) {
	t.Helper()
	dir := projectWith(t, toml, `{"phases": [
 {"number": "`+number+`", "name": "first", "promise": "DONE"`+said+`}
]}`)
	cfg, _, err := Load(Sources{ProjectDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := LoadPlan(filepath.Join(dir, "phases.json"), nil)
	if err != nil {
		return work.PhaseSettings{}, err
	}
	kinds := Facts{Kinds: []KindFacts{{Name: "claude"}, {Name: "codex"}, {Name: "gemini"}}}
	set, err := Resolve(cfg, plan, kinds)
	return set.Phases[number], err
}

func projectWith(t *testing.T, toml, plan string) string {
	t.Helper()
	return project(t, map[string]string{ProjectFile: toml, "phases.json": plan})
}

const proven = "[agents.codex]\nmodel = \"small\"\n[verify]\ncommands = [\"make test\"]\n"

func TestTries(t *testing.T) {
	for _, tt := range []struct {
		name, project, said string
		want                work.PhaseSettings // of its tries
	}{
		{"once", proven, "", work.PhaseSettings{}},
		{"once, as it is said", proven, `, "tries": 1`, work.PhaseSettings{}},
		{"three times", proven, `, "tries": 3`, work.PhaseSettings{Tries: 3}},
		{"by others", proven, `, "tries": 3, "try_agents": ["claude:big", "codex"], "tries_until": "first"`, work.PhaseSettings{
			Tries: 3, TryAgents: []work.TryAgent{{Agent: "claude", Model: "big"}, {Agent: "codex", Model: "small"}}, TriesUntil: "first",
		}},
		{"by its name", proven + "[phases.overrides.\"fir*\"]\ntries = 2\ntry_agents = [\"codex:large\"]\ntries_until = \"best\"\n", "", work.PhaseSettings{
			Tries: 2, TryAgents: []work.TryAgent{{Agent: "codex", Model: "large"}}, TriesUntil: "best",
		}},
		{"the plan goes before its name", proven + "[phases.overrides.\"fir*\"]\ntries = 2\n", `, "tries": 4`, work.PhaseSettings{Tries: 4}},
	} {
		got, err := triedPlan(t, tt.project, "01", tt.said)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := (work.PhaseSettings{Tries: got.Tries, TryAgents: got.TryAgents, TriesUntil: got.TriesUntil}); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestTriesThatCannotBe(t *testing.T) {
	for _, tt := range []struct{ name, project, number, said, want string }{
		{"too many", proven, "01", `, "tries": 11`, "11 tries are too many"},
		{"none", proven, "01", `, "tries": 0`, "tries is 0"},
		{"agents without tries", proven, "01", `, "try_agents": ["codex"]`, "there are try_agents, and no tries"},
		{"an end without tries", proven, "01", `, "tries_until": "first"`, "there is tries_until, and no tries"},
		{"another end", proven, "01", `, "tries": 2, "tries_until": "last"`, `"last" is no end of tries`},
		{"more agents than tries", proven, "01", `, "tries": 2, "try_agents": ["claude", "codex", "gemini"]`, "3 agents for 2 tries"},
		{"an unknown agent", proven, "01", `, "tries": 2, "try_agents": ["cloude"]`, `unknown agent "cloude"`},
		{"an agent without a model", proven, "01", `, "tries": 2, "try_agents": ["codex:"]`, `"codex:" is no agent`},
		{"nothing proves it", "", "01", `, "tries": 2`, "no command proves any of it"},
		{"readonly", proven, "01", `, "tries": 2, "permission_mode": "readonly"`, "a readonly phase changes nothing"},
		{"a part", proven, "01.1", `, "tries": 2`, "its number is that of a part"},
	} {
		_, err := triedPlan(t, tt.project, tt.number, tt.said)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "phases.json:2") {
			t.Errorf("%s: %v, want %q with its line", tt.name, err, tt.want)
		}
	}
	_, err := triedPlan(t, "[phases.overrides.\"fir*\"]\ntries = 2\n", "01", "")
	if err == nil || !strings.Contains(err.Error(), "forge.toml:2") {
		t.Errorf("tries by name that nothing proves: %v, want the line of the override", err)
	}
}
