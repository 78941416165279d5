package config

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// allGating are the built-in reviewers of a sensitive phase.
func allGating() []work.Specialist {
	return []work.Specialist{{Name: "security", Gating: true}, {Name: "architecture", Gating: true}, {Name: "performance", Gating: true}, {Name: "simplicity", Gating: true}}
}

const reviewPlan = `{"phases": [
{"number": "01", "name": "plain", "promise": "A"},
{"number": "02", "name": "db-one", "promise": "B", "reviews": ["security"]},
{"number": "03", "name": "DB-two", "promise": "C", "reviews": ["house", "simplicity"]}
]}`

func TestWhoReviews(t *testing.T) {
	s, _, err := resolveIn(t, map[string]string{
		ProjectFile: `
[reviews]
enabled = true
max_fix_attempts = 3
parallel = false
fail_phase_on_unresolved = false
[[reviews.specialists]]
type = "simplicity"
gate = true
[[reviews.specialists]]
type = "security"
focus_areas = ["injection"]
[[reviews.specialists]]
type = "house"
[[reviews.specialists]]
type = "docs"
gate = false
[autonomy.sensitive_patterns]
patterns = ["db-*"]
extra_fix_attempts = 4
[llm]
base_url = "http://127.0.0.1:1/v1"
model = "m"
`,
		PromptFolder + "/security.md": "own words\n", PromptFolder + "/house.md": "house rules\n",
	}, reviewPlan)
	if err != nil {
		t.Fatal(err)
	}
	security := work.Specialist{Name: "security", Gating: true, FocusAreas: []string{"injection"}, Prompt: "own words\n"}
	architecture := work.Specialist{Name: "architecture", Gating: true}
	simplicity := work.Specialist{Name: "simplicity", Gating: true}
	house := work.Specialist{Name: "house", Gating: true, Prompt: "house rules\n"}
	for number, want := range map[string][]work.Specialist{
		"01": {security, architecture, {Name: "performance"}, simplicity, house, {Name: "docs"}},
		// The glob minds case; what a sensitive phase names does not narrow it.
		"02": {security, architecture, {Name: "performance", Gating: true}, simplicity, house, {Name: "docs", Gating: true}},
		"03": {simplicity, house},
	} {
		if got := s.Phases[number]; !got.Reviewed || !reflect.DeepEqual(got.Reviewers, want) {
			t.Errorf("phase %s\ngot  %+v\nwant %+v", number, got.Reviewers, want)
		}
	}
	if a, b := s.Phases["01"].MaxFixes, s.Phases["02"].MaxFixes; a != 3 || b != 7 {
		t.Errorf("fixes %d and %d, want 3 and 7", a, b)
	}
	if want := (work.ReviewSettings{By: "llm", Model: "m", Arbiter: "m", OneByOne: true, Threshold: 0.7, KeepMajor: true, AskAgainSecs: s.Reviews.AskAgainSecs}); s.Reviews != want {
		t.Errorf("got %+v, want %+v", s.Reviews, want)
	}
	if a, b := s.Reviews.AskWait(1), s.Reviews.AskWait(2); a != 15*time.Second || b != time.Minute {
		t.Errorf("waits of %s and %s without a word about them, want 15s and 1m0s", a, b)
	}
}

// Without a word about reviews nobody reviews, save what names its own.
func TestReviewsAreOff(t *testing.T) {
	s, _, err := resolveIn(t, nil, `{"phases": [{"number": "01", "name": "a", "promise": "A"}, {"number": "02", "name": "b", "promise": "B", "reviews": ["performance"]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Phases["01"]; p.Reviewed || p.Reviewers != nil || p.MaxFixes != 0 {
		t.Errorf("phase 01: %+v", p)
	}
	if p := s.Phases["02"]; !p.Reviewed || !reflect.DeepEqual(p.Reviewers, []work.Specialist{{Name: "performance"}}) || p.MaxFixes != 2 {
		t.Errorf("phase 02: %+v", p)
	}
	if s.Reviews.By != "" || s.Reviews.Threshold != 0.7 {
		t.Errorf("settings %+v", s.Reviews)
	}
}

func TestWhoIsAsked(t *testing.T) {
	const on = "[reviews]\nenabled = true\n"
	const dry = "[agents.dry]\nkind = \"script\"\nfile = \"s.toml\"\nmodel = \"x\"\n"
	for name, tc := range map[string]struct {
		toml, by, model, arbiter string
		agent                    bool
	}{
		"nobody":               {toml: on},
		"an address alone":     {toml: on + "[llm]\nbase_url = \"http://127.0.0.1/v1\"\n"},
		"a model alone":        {toml: on + "[llm]\nmodel = \"m\"\n"},
		"a model":              {toml: on + "[llm]\nbase_url = \"http://127.0.0.1/v1\"\nmodel = \"m\"\n", by: "llm", model: "m", arbiter: "m"},
		"roles":                {toml: on + "[llm]\nbase_url = \"http://127.0.0.1/v1\"\nroles = { reviewer = \"r\", arbiter = \"a\" }\n", by: "llm", model: "r", arbiter: "a"},
		"the arbiter's model":  {toml: on + "model = \"own\"\n[llm]\nbase_url = \"http://127.0.0.1/v1\"\nmodel = \"m\"\n", by: "llm", model: "m", arbiter: "own"},
		"the arbiter's, alone": {toml: on + "model = \"own\"\n"},
		"an agent":             {toml: on + "agent = \"dry\"\n" + dry, by: "agent:dry", model: "x", agent: true},
		"an agent, no reviews": {toml: "[reviews]\nagent = \"dry\"\n" + dry, by: "agent:dry", model: "x"},
		"both":                 {toml: on + "agent = \"dry\"\n" + dry + "[llm]\nbase_url = \"http://127.0.0.1/v1\"\nmodel = \"m\"\n", by: "llm", model: "m", arbiter: "m"},
		"an agent and a judge": {toml: on + "agent = \"dry\"\n" + dry + "[llm]\nbase_url = \"http://127.0.0.1/v1\"\nroles = { arbiter = \"a\" }\n", by: "agent:dry", model: "x", arbiter: "a", agent: true},
	} {
		s, _, err := resolveIn(t, map[string]string{ProjectFile: tc.toml}, `{"phases": [{"number": "01", "name": "a", "promise": "A"}]}`)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r := s.Reviews; r.By != tc.by || r.Model != tc.model || r.Arbiter != tc.arbiter {
			t.Errorf("%s: got %+v", name, r)
		}
		if _, has := s.Agents["dry"]; has != tc.agent {
			t.Errorf("%s: the agent is among those that are used: %v", name, has)
		}
	}
}

func TestBadReviews(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		plan  string
		want  []string
	}{
		"unknown reviewer of a phase": {plan: `{"phases": [{"number": "01", "name": "a", "promise": "A", "reviews": ["simplicity",
"securty"]}]}`, want: []string{`.forge/phases.json:2: phase 01: unknown reviewer "securty" (did you mean "security"?)`}},
		"unknown agent": {files: map[string]string{ProjectFile: "[reviews]\nenabled = true\nagent = \"clade\"\n"},
			want: []string{`.forge/forge.toml:3: reviews.agent: unknown agent "clade" (did you mean "claude"?)`}},
		"a prompt that is no text":  {files: map[string]string{ProjectFile: "[reviews]\nenabled = true\n", PromptFolder + "/security.md": "\xff\xfe"}, want: []string{PromptFolder + "/security.md:1: is not UTF-8 text"}},
		"a prompt that is empty":    {files: map[string]string{ProjectFile: "[reviews]\nenabled = true\n", PromptFolder + "/security.md": " \n"}, want: []string{PromptFolder + "/security.md: is empty"}},
		"a prompt that is too long": {files: map[string]string{ProjectFile: "[reviews]\nenabled = true\n", PromptFolder + "/security.md": strings.Repeat("x", MaxPromptBytes+1)}, want: []string{PromptFolder + "/security.md: has 32769 bytes"}},
		"a cap without a price": {files: map[string]string{ProjectFile: "[reviews]\nenabled = true\n[llm]\nbase_url = \"http://127.0.0.1/v1\"\nmodel = \"m\"\n[cost]\nrun_usd = 5.0\n"},
			want: []string{`.forge/forge.toml:7: cost.run_usd caps dollars, but the model m, which reviews, has no price (set usd_per_mtok_in and usd_per_mtok_out in [llm], or cost.iteration_usd)`}},
		"a prompt that leads elsewhere": {files: map[string]string{ProjectFile: "[reviews]\nenabled = true\n", PromptFolder + "/security.md/x": "x"}, want: []string{PromptFolder + "/security.md: is a folder"}},
	} {
		if tc.plan == "" {
			tc.plan = `{"phases": [{"number": "01", "name": "a", "promise": "A"}, {"number": "02", "name": "b", "promise": "B"}]}`
		}
		_, _, err := resolveIn(t, tc.files, tc.plan)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(tc.want) || !strings.HasPrefix(lines[0], tc.want[0]) {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, strings.Join(tc.want, "\n"))
		}
	}
	for _, well := range []string{"[cost]\nrun_usd = 5.0\niteration_usd = 1.0\n", "usd_per_mtok_in = 1.0\nusd_per_mtok_out = 2.0\n[cost]\nrun_usd = 5.0\n"} {
		toml := "[reviews]\nenabled = true\n[llm]\nbase_url = \"http://127.0.0.1/v1\"\nmodel = \"m\"\n" + well
		if _, _, err := resolveIn(t, map[string]string{ProjectFile: toml}, `{"phases": [{"number": "01", "name": "a", "promise": "A"}]}`); err != nil {
			t.Errorf("%s: %v", well, err)
		}
	}
}

func TestPromptsOfNobody(t *testing.T) {
	dir := project(t, map[string]string{
		ProjectFile:                  "[[reviews.specialists]]\ntype = \"house\"\n",
		PromptFolder + "/securty.md": "x", PromptFolder + "/house.md": "x", PromptFolder + "/security.md": "x", PromptFolder + "/README": "x",
	})
	_, warnings, err := Load(Sources{ProjectDir: dir})
	must(t, err)
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	want := []string{
		PromptFolder + `/README: is the prompt of no reviewer (known here: security, architecture, performance, simplicity, house)`,
		PromptFolder + `/securty.md: is the prompt of no reviewer (did you mean "security"?)`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBadWordsOfReviewsAndLLM(t *testing.T) {
	for toml, want := range map[string]string{
		"[llm]\ntiers = { m = \"frontier_fats\" }\n":                                               `2: llm.tiers.m is "frontier_fats", which is no tier (did you mean "frontier_fast"?)`,
		"[llm]\n[llm.tiers]\nm = \"frontier_fast\"\nn = \"\"\n":                                    `4: llm.tiers.n is "", which is no tier (known here: local_tool_calling, local_fast, frontier_fast, frontier_balanced, frontier_best, agent_headless, user)`,
		"[llm.roles]\nreviwer = \"m\"\n":                                                           `2: llm.roles.reviwer is no role (did you mean "reviewer"?)`,
		"[llm.roles]\narbiter = \" \"\n":                                                           `2: llm.roles.arbiter names no model (write a model, or remove it)`,
		"[llm]\nusd_per_mtok_in = 1.0\n":                                                           `1: llm has one price of two (set both usd_per_mtok_in and usd_per_mtok_out)`,
		"[llm]\nbase_url = \"https://me:pw@h/v1\"\n":                                               `2: llm.base_url holds a user or password (write the address alone, and name the key's variable in llm.api_key_env)`,
		"[llm]\ntimeout_secs = 0\n":                                                                `2: llm.timeout_secs is 0 (use 1 or more)`,
		"[llm]\ncontext_tokens = 1\n":                                                              `2: llm.context_tokens is 1 (use 4000 or more)`,
		"[[reviews.specialists]]\ngate = true\n":                                                   `1: a reviewer has no type (write type = "security", or a name of your own)`,
		"[[reviews.specialists]]\ntype = \"Security\"\n":                                           `2: reviews.specialists[0].type is "Security" (did you mean "security"?)`,
		"[[reviews.specialists]]\ntype = \"../x\"\n":                                               `2: reviews.specialists[0].type is "../x", which is no name of a reviewer (write letters, digits, _ and -, at most 60)`,
		"[[reviews.specialists]]\ntype = \"house\"\n\n[[reviews.specialists]]\ntype = \"house\"\n": `5: the reviewer "house" is there twice (remove one of them; the first is on line 2)`,
	} {
		_, _, err := load(t, toml)
		if err == nil {
			t.Errorf("%s: accepted", toml)
		} else if got := err.Error(); want != "" && got != ".forge/forge.toml:"+want && !strings.Contains(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", toml, got, want)
		}
	}
}

func TestModel(t *testing.T) {
	const toml = "[llm]\nbase_url = \"https://llm.example/v1\"\nmodel = \"m\"\napi_key_env = \"OPENAI_API_KEY\"\ntimeout_secs = 7\nusd_per_mtok_in = 1.0\nusd_per_mtok_out = 2.0\n"
	dir := project(t, map[string]string{ProjectFile: toml})
	user := filepath.Join(t.TempDir(), "config.toml")
	write(t, user, "[trust]\nhosts = [\"llm.example\"]\n[llm.roles]\narbiter = \"a\"\n")
	environ := []string{"OPENAI_API_KEY=the-key"}
	cfg, _, err := Load(Sources{ProjectDir: dir, UserFile: user, Environ: environ})
	must(t, err)
	m, ok, err := cfg.Model()
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if m.Key != "the-key" || m.KeyEnv != "OPENAI_API_KEY" || m.Timeout.Seconds() != 7 || m.ContextTokens != 100_000 || m.MaxOutputTokens != 8000 ||
		!m.Priced() || m.For("arbiter") != "a" || m.For("reviewer") != "m" {
		t.Errorf("got %+v", m)
	}
	// The key is not even looked up where it must not go.
	cfg, _, err = Load(Sources{ProjectDir: dir, Environ: environ})
	must(t, err)
	m, ok, err = cfg.Model()
	if err == nil || ok || m.Key != "" || !strings.Contains(err.Error(), "forge trust") {
		t.Errorf("got %+v, %v, %v", m, ok, err)
	}
	cfg, _, err = load(t, "")
	must(t, err)
	if _, ok, err := cfg.Model(); ok || err != nil {
		t.Errorf("without an address: %v, %v", ok, err)
	}
}
