package config

import (
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
)

// members is a council of two, as the Rust Forge wrote it.
const members = proven + `[council]
enabled = true
chairman = "claude"
chairman_model = "big"
[council.workers.claude]
cmd = "claude"
role = "worker"
[council.workers.second]
cmd = "codex"
model = "large"
`

func TestCouncil(t *testing.T) {
	two := []work.TryAgent{{Agent: "claude"}, {Agent: "codex", Model: "large"}}
	big := work.TryAgent{Agent: "claude", Model: "big"}
	for _, tt := range []struct {
		name, project, said string
		want                work.PhaseSettings // of its tries
	}{
		{"as the Rust Forge wrote it", members, "", work.PhaseSettings{Tries: 2, TryAgents: two, Council: &work.Council{Chairman: big, Budget: 3}}},
		{"off for a phase", members, `, "council": {"enabled": false}`, work.PhaseSettings{}},
		{"off for a phase by its name", members + "[phases.overrides.\"fir*\"]\ncouncil = { enabled = false }\n", "", work.PhaseSettings{}},
		{"on for a phase", strings.Replace(members, "enabled = true", "enabled = false", 1), `, "council": true`, work.PhaseSettings{Tries: 2, TryAgents: two, Council: &work.Council{Chairman: big, Budget: 3}}},
		{"its own tries are the workers", members, `, "tries": 3, "try_agents": ["gemini", "codex"]`, work.PhaseSettings{
			Tries: 3, TryAgents: []work.TryAgent{{Agent: "gemini"}, {Agent: "codex", Model: "small"}}, Council: &work.Council{Chairman: big, Budget: 3},
		}},
		{"reviewers, and the first worker as chairman", proven + "[council]\nenabled = true\nreviewers = [\"gemini:pro\"]\nchairman_retry_budget = 1\n", `, "tries": 2`, work.PhaseSettings{
			Tries: 2, Council: &work.Council{Reviewers: []work.TryAgent{{Agent: "gemini", Model: "pro"}}, Chairman: work.TryAgent{Agent: "claude"}, Budget: 1},
		}},
		{"one worker is none, as in the Rust Forge", proven + "[council]\nenabled = true\n[council.workers.claude]\ncmd = \"claude\"\n", "", work.PhaseSettings{}},
		{"a readonly phase is done once", members, `, "permission_mode": "readonly"`, work.PhaseSettings{}},
	} {
		got, err := triedPlan(t, tt.project, "01", tt.said)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := (work.PhaseSettings{Tries: got.Tries, TryAgents: got.TryAgents, TriesUntil: got.TriesUntil, Council: got.Council}); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v with %+v, want %+v with %+v", tt.name, got, got.Council, tt.want, tt.want.Council)
		}
	}
}

func TestACouncilThatCannotBe(t *testing.T) {
	for _, tt := range []struct{ name, project, said, want string }{
		{"nothing proves it", strings.Replace(members, proven, "", 1), "", "no command proves any of its work"},
		{"the first try is taken", members, `, "tries": 2, "tries_until": "first"`, "a council judges all tries"},
		{"one who would judge itself", members, `, "tries": 3`, "all made by one worker"},
		{"an unknown worker", members + "[council.workers.cloude]\n", "", `unknown agent "cloude"`},
		{"an unknown chairman", strings.Replace(members, `chairman = "claude"`, `chairman = "cloude"`, 1), "", `unknown agent "cloude"`},
		{"an unknown reviewer", strings.Replace(members, "enabled = true", "enabled = true\nreviewers = [\"cloude\"]", 1), "", `unknown agent "cloude"`},
		{"no workers at all", proven, `, "council": {"enabled": true}`, "its council has 0 workers"},
		{"a word", members, `, "council": "yes"`, "want true or false"},
		{"a readonly phase that wants one", members, `, "permission_mode": "readonly", "council": true`, "has no council"},
	} {
		_, err := triedPlan(t, tt.project, "01", tt.said)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	_, _, err := load(t, "[council]\nenabled = true\nanonymize_reviews = false\n")
	if err == nil || !strings.Contains(err.Error(), "forge.toml:3") || !strings.Contains(err.Error(), "never told whose") {
		t.Errorf("a council that is not anonymous: %v", err)
	}
}

// The phases of a job cannot be tried several times: that is said, and nothing is
// passed over.
func TestAJobIsDoneOnce(t *testing.T) {
	kinds := Facts{Kinds: []KindFacts{{Name: "claude"}, {Name: "codex"}}}
	for _, tt := range []struct{ name, project, want string }{
		{"once", proven + "[phases.overrides.\"first\"]\ntries = 3\n", ""},
		{"by a glob", proven + "[phases.overrides.\"*\"]\ntries = 3\n", "forge.toml:6:"},
		{"with a council", members, "forge.toml:6:"},
		{"with its council off", members + "[phases.overrides.job]\ncouncil = { enabled = false }\n", ""},
	} {
		cfg, _, err := load(t, tt.project)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = ResolveJob(cfg, JobFacts{}, kinds)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "phases.overrides.\"job\"")):
			t.Errorf("%s: %v, want an error at %q with the way out", tt.name, err, tt.want)
		}
	}
}
