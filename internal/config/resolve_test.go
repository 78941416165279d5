package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
)

const resolveTOML = `[project]
name = "shop"

[defaults]
budget = 6
permission_mode = "autonomous"
context_limit = "50%"

[agents.mine]
kind = "exec"
command = ["./agent.sh", "-x"]
model = "small"

[agents.dry]
kind = "script"
file = "script.toml"
skip_permissions = true

[phases.overrides."db-*"]
budget = 9
agent = "mine"
skills = ["sql"]

[phases.overrides."*-core"]
budget = 10
verify = ["make core"]

[autonomy.sensitive_patterns]
patterns = ["*-core", "db-*"]

[skills]
global = ["house"]

[verify]
commands = ["make test"]
protected = ["@default", "schemas/**"]
`

func resolveFiles(extra map[string]string) map[string]string {
	files := map[string]string{
		ProjectFile: resolveTOML, SpecFile: "the spec\n", ".forge/skills/house.md": "house rules\n", ".forge/skills/sql/SKILL.md": "sql rules\n",
	}
	for k, v := range extra {
		files[k] = v
	}
	return files
}

func resolveIn(t *testing.T, files map[string]string, plan string) (work.Settings, string, error) {
	t.Helper()
	dir := project(t, files)
	cfg, _, err := Load(Sources{ProjectDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := parsePlan(plan, PlanFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Resolve(cfg, p, kindFacts())
	return s, dir, err
}

func TestResolve(t *testing.T) {
	s, dir, err := resolveIn(t, resolveFiles(nil), `{"phases": [
{"number": "01", "name": "plain", "promise": "A"},
{"number": "02", "name": "db-schema", "promise": "B"},
{"number": "03", "name": "db-core", "promise": "C", "agent": "claude", "model": "big"},
{"number": "04", "name": "own", "promise": "D", "budget": 2, "permission_mode": "readonly", "agent": "dry", "verify": ["true"],
 "context_limit": "1000", "iteration_timeout_secs": 60, "skills": ["sql", "house"], "may_change": ["tests/**"], "reviews": ["security"]},
{"number": "05", "name": "DB-x", "promise": "E", "permission_mode": "strict", "verify": []}
]}`)
	if err != nil {
		t.Fatal(err)
	}
	wantPhases := map[string]work.PhaseSettings{
		"01": {Budget: 6, Agent: "claude", Permission: "autonomous", Verify: []string{"make test"}, IterationSecs: 3600, ContextTokens: 100_000, Skills: []string{"house"}},
		"02": {Budget: 9, Agent: "mine", Model: "small", Permission: "autonomous", Verify: []string{"make test"}, IterationSecs: 3600, ContextTokens: 100_000, Skills: []string{"house", "sql"}, Sensitive: "db-*", Reviewed: true, Reviewers: allGating(), MaxFixes: 4},
		// Both overrides match; the later one in the file wins on budget.
		"03": {Budget: 10, Agent: "claude", Model: "big", Permission: "autonomous", Verify: []string{"make core"}, VerifyOwn: true, IterationSecs: 3600, ContextTokens: 100_000, Skills: []string{"house", "sql"}, Sensitive: "*-core", Reviewed: true, Reviewers: allGating(), MaxFixes: 4},
		"04": {Budget: 2, Agent: "dry", Permission: "readonly", Verify: []string{"true"}, VerifyOwn: true, MayChange: []string{"tests/**"}, IterationSecs: 60, ContextTokens: 1000, Skills: []string{"house", "sql"}, Reviewed: true,
			Reviewers: []work.Specialist{{Name: "security", Gating: true}}, MaxFixes: 2},
		"05": {Budget: 6, Agent: "claude", Permission: "standard", AskIteration: true, Verify: []string{"make test"}, IterationSecs: 3600, ContextTokens: 100_000, Skills: []string{"house"}, Sensitive: "DB-x", Reviewed: true, Reviewers: allGating(), MaxFixes: 4},
	}
	for number, want := range wantPhases {
		if got := s.Phases[number]; !reflect.DeepEqual(got, want) {
			t.Errorf("phase %s\ngot  %+v\nwant %+v", number, got, want)
		}
	}
	if got, want := s.Agents["mine"].Command, []string{"./agent.sh", "-x"}; !reflect.DeepEqual(got, want) {
		t.Errorf("command %q, want %q", got, want)
	}
	if a := s.Agents["dry"]; a.File != filepath.Join(dir, "script.toml") || !a.SkipPermission || a.Checkout != dir || !a.ReportsCost || a.Continues {
		t.Errorf("dry: %+v", a)
	}
	if a := s.Agents["claude"]; a.Kind != "claude" || !a.Continues || !a.ReportsCost || a.Name != "claude" || a.SkipPermission {
		t.Errorf("claude: %+v", a)
	}
	if s.Project != "shop" || s.Spec != "the spec\n" || s.Skills["house"] != "house rules\n" || s.Skills["sql"] != "sql rules\n" {
		t.Errorf("%+v", s)
	}
	if s.MaxParallel != 4 || s.AutoApproveThreshold != 5 || s.OutageWaitSecs != 1800 || s.Stale.Threshold != 3 || s.Verify.TimeoutSecs != 600 ||
		s.Limits != (work.Limits{StartSecs: 60, IdleSecs: 900, IterationSecs: 3600, PostResultSecs: 30, DrainSecs: 10}) || s.Sandbox.Mode != "auto" || !s.Sandbox.Network {
		t.Errorf("defaults: %+v", s)
	}
	last := s.Verify.Protected[len(s.Verify.Protected)-1]
	if s.Verify.Protected[0] != TestFiles || last != "schemas/**" || len(s.Verify.Protected) != len(ProtectedDefaults())+1 {
		t.Errorf("protected: %q", s.Verify.Protected)
	}
}

func TestResolveIsDeterministic(t *testing.T) {
	dir := project(t, resolveFiles(nil))
	var first work.Settings
	for i := range 5 {
		cfg, _, err := Load(Sources{ProjectDir: dir})
		must(t, err)
		p, _, err := parsePlan(goodPlan, PlanFile, nil)
		must(t, err)
		s, err := Resolve(cfg, p, kindFacts())
		must(t, err)
		if i == 0 {
			first = s
		} else if !reflect.DeepEqual(s, first) {
			t.Fatalf("differs: %+v", s)
		}
	}
}

func TestBadResolves(t *testing.T) {
	plan := func(fields string) string {
		return "{\"phases\": [\n{\"number\": \"01\", \"name\": \"db-x\", \"promise\": \"A\"" + fields + "}\n]}"
	}
	tests := []struct {
		name  string
		files map[string]string
		plan  string
		want  []string
	}{
		{"agent of a phase", nil, plan(",\n\"agent\": \"mime\""), []string{`.forge/phases.json:3: phase 01: unknown agent "mime" (did you mean "mine"?)`}},
		{"agents of a phase", nil, plan(",\n\"agent\": [\"claude\", \"mime\", \"claude\"]"), []string{
			`.forge/phases.json:3: phase 01: unknown agent "mime" (did you mean "mine"?)`,
			`.forge/phases.json:3: phase 01: agent "claude" is named twice (name each agent once, the one that is wanted most first)`,
		}},
		{"agent of an override", map[string]string{ProjectFile: "[phases.overrides.\"db-*\"]\nbudget = 2\nagent = \"calude\"\n"}, plan(""), []string{`.forge/forge.toml:3: unknown agent "calude" (did you mean "claude"?)`}},
		{"agent of all", map[string]string{ProjectFile: "[agent]\nuse = \"mime\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"x\"]\n"}, plan(""), []string{`.forge/forge.toml:2: unknown agent "mime" (did you mean "mine"?)`}},
		{"a kind to come", nil, plan(`, "agent": "codex"`), []string{`.forge/phases.json:2: phase 01: agent "codex" is of kind codex, which this version cannot run (known here: claude, exec, script)`}},
		{"exec without entry", nil, plan(`, "agent": "exec"`), []string{`.forge/phases.json:2: phase 01: agent "exec" has no entry (write [agents.exec] with its command)`}},
		{"skill of a phase", nil, plan(`, "skills": ["housse"]`), []string{`.forge/phases.json:2: unknown skill "housse" (did you mean "house"?)`}},
		{"skill of an override", map[string]string{ProjectFile: "[phases.overrides.\"db-*\"]\nskills = [\"sql\",\n \"xyz\"]\n"}, plan(""), []string{`.forge/forge.toml:3: unknown skill "xyz" (write .forge/skills/xyz.md)`}},
		{"a cap that cannot be held", map[string]string{ProjectFile: "[cost]\nrun_usd = 5\n[agents.mine]\nkind = \"exec\"\ncommand = [\"x\"]\n"}, plan(`, "agent": "mine"`), []string{
			".forge/forge.toml:2: cost.run_usd caps dollars, but agent mine reports none (set usd_per_mtok_in and usd_per_mtok_out in [agents.mine], or cost.iteration_usd)",
		}},
		{"a spec that is none", map[string]string{SpecFile: "\xff"}, plan(""), []string{".forge/spec.md:1: is not UTF-8 text (save it as UTF-8)"}},
		{"a secret for a foreign command", map[string]string{ProjectFile: "[agents.mine]\nkind = \"exec\"\ncommand = [\"x\"]\nenv = [\"SOME_TOKEN\"]\n"}, plan(""), []string{
			`.forge/forge.toml:4: agents.mine.env gives SOME_TOKEN to a command that the project chose (if you trust it, allow it with forge trust SOME_TOKEN, which writes it into [trust.projects."ROOT"] of your configuration)`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, dir, err := resolveIn(t, resolveFiles(tt.files), tt.plan)
			var problems *Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error is %v, want *Problems", err)
			}
			if got := strings.ReplaceAll(err.Error(), dir, "ROOT"); got != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestCapsThatHold(t *testing.T) {
	for _, text := range []string{
		"[cost]\nrun_usd = 5\n", // claude reports money
		"[cost]\nrun_usd = 5\niteration_usd = 1\n[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"x\"]\n",
		"[cost]\nrun_usd = 5\n[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"x\"]\nusd_per_mtok_in = 0\nusd_per_mtok_out = 1\n",
		"[cost]\nrun_tokens = 5\n[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"x\"]\n",
	} {
		if _, _, err := resolveIn(t, map[string]string{ProjectFile: text}, goodPlan); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A skill is part of every prompt: a link must not carry foreign files there.
func TestSkillsStayInTheCheckout(t *testing.T) {
	dir := project(t, resolveFiles(nil))
	outside := filepath.Join(t.TempDir(), "key")
	write(t, outside, "private")
	must(t, os.Remove(filepath.Join(dir, ".forge/skills/house.md")))
	must(t, os.Symlink(outside, filepath.Join(dir, ".forge/skills/house.md")))
	cfg, _, err := Load(Sources{ProjectDir: dir})
	must(t, err)
	p, _, err := parsePlan(goodPlan, PlanFile, nil)
	must(t, err)
	if _, err := Resolve(cfg, p, kindFacts()); err == nil || !strings.Contains(err.Error(), "must not lead out of the checkout") {
		t.Errorf("got %v", err)
	}
}

func TestStrictOfTheProject(t *testing.T) {
	s, _, err := resolveIn(t, map[string]string{ProjectFile: "[phases.overrides.\"db-*\"]\npermission_mode = \"strict\"\n"}, `{"phases": [
{"number": "1", "name": "db-x", "promise": "A", "permission_mode": "standard"}, {"number": "2", "name": "ui", "promise": "B"}]}`)
	must(t, err)
	if got := s.Phases["1"]; !got.AskIteration || got.Sensitive != "db-*" || !got.Reviewed || got.Permission != "standard" {
		t.Errorf("db-x: %+v", got)
	}
	if got := s.Phases["2"]; got.AskIteration || got.Sensitive != "" || got.Reviewed {
		t.Errorf("ui: %+v", got)
	}
}

// Of several agents the first works, and the others are known: of a plan, of an
// override, of all phases.
func TestSeveralAgents(t *testing.T) {
	plan := func(agent string) string {
		return "{\"phases\": [{\"number\": \"01\", \"name\": \"db-x\", \"promise\": \"A\"" + agent + "}]}"
	}
	for _, tt := range []struct{ name, toml, plan, want string }{
		{"of a plan", "", plan(`, "agent": ["mine", "claude"]`), "mine of [mine claude]"},
		{"of a plan, written otherwise", "", plan(`, "agent": "mine", "fallback": ["claude"]`), "mine of [mine claude]"},
		{"of an override", "[phases.overrides.\"db-*\"]\nagent = [\"claude\", \"mine\"]\n", plan(""), "claude of [claude mine]"},
		{"of all", "[agent]\nuse = [\"mine\", \"claude\"]\n", plan(""), "mine of [mine claude]"},
		{"one in a list", "[agent]\nuse = [\"mine\"]\n", plan(""), "mine of []"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{ProjectFile: tt.toml + "[agents.mine]\nkind = \"exec\"\ncommand = [\"x\"]\n"}
			s, _, err := resolveIn(t, resolveFiles(files), tt.plan)
			must(t, err)
			if got := fmt.Sprintf("%s of %v", s.Phases["01"].Agent, s.Phases["01"].Agents); got != tt.want || len(s.Agents) != max(1, len(s.Phases["01"].Agents)) {
				t.Errorf("%s, %d agents are known, want %s", got, len(s.Agents), tt.want)
			}
		})
	}
}

func TestClaudeCmd(t *testing.T) {
	dir := project(t, nil)
	cfg, _, err := Load(Sources{ProjectDir: dir, Environ: []string{"CLAUDE_CMD=/opt/claude", "HOME=/home/u"}})
	must(t, err)
	p, _, err := parsePlan(goodPlan, PlanFile, nil)
	must(t, err)
	s, err := Resolve(cfg, p, kindFacts())
	must(t, err)
	if got := s.Agents["claude"].Command; !reflect.DeepEqual(got, []string{"/opt/claude"}) {
		t.Errorf("command %q", got)
	}
}
