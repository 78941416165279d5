package config

import (
	"strings"
	"testing"

	"forge/gates"
)

func TestBuiltInExperts(t *testing.T) {
	cfg, _, err := load(t, "")
	must(t, err)
	all, err := cfg.Experts()
	must(t, err)
	if len(all) != len(gates.Experts()) {
		t.Fatalf("%d experts", len(all))
	}
	for _, e := range all {
		if len(e.Prompt) < 200 || !e.BuiltIn || strings.Contains(e.Prompt, "<") {
			t.Errorf("%s: %+v", e.Name, e)
		}
		want := map[string]string{"debugger": "full", "validator": "review"}[e.Name]
		if want == "" {
			want = "partial"
		}
		if e.Level != want {
			t.Errorf("%s has level %s, want %s", e.Name, e.Level, want)
		}
	}
}

func TestOwnExperts(t *testing.T) {
	cfg, _, err := Load(Sources{ProjectDir: project(t, map[string]string{
		ExpertFolder + "/lawyer/config.toml": "about = \"Contracts.\"\nlevel = \"guided\"\nagent = \"mine\"\nmodel = \"m\"\nbudget = 3\n",
		ExpertFolder + "/lawyer/prompt.md":   "You read contracts.\n",
		ExpertFolder + "/coder/config.toml":  "level = \"full\"\n",
		ExpertFolder + "/plain/prompt.md":    "You are plain.",
	})})
	must(t, err)
	e, err := cfg.Expert("lawyer")
	must(t, err)
	if e != (Expert{Name: "lawyer", About: "Contracts.", Level: "guided", Agent: "mine", Model: "m", Budget: 3, Prompt: "You read contracts.", File: ExpertFolder + "/lawyer/config.toml"}) {
		t.Errorf("%+v", e)
	}
	if e, err = cfg.Expert("coder"); err != nil || e.Level != "full" || e.Prompt != builtInExpert("coder").Prompt {
		t.Errorf("a built-in one with another level: %+v, %v", e, err)
	}
	if e, err = cfg.Expert("plain"); err != nil || e.Level != "partial" || e.Prompt != "You are plain." {
		t.Errorf("one without a config: %+v, %v", e, err)
	}
	if _, err = cfg.Expert("codr"); err == nil || !strings.Contains(err.Error(), `there is no expert "codr" (did you mean "coder"?)`) {
		t.Errorf("unknown: %v", err)
	}
}

// An expert of [job] that is not there is a problem of the configuration, with
// its place, whether a job is started or the configuration validated.
func TestExpertOfJobsIsNotThere(t *testing.T) {
	cfg, _, err := load(t, "[job]\nexpert = \"codr\"\n")
	must(t, err)
	const want = `.forge/forge.toml:2: job.expert: there is no expert "codr" (did you mean "coder"?)`
	if _, err := cfg.Expert("codr"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := cfg.Experts(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := cfg.Expert("wrter"); err == nil || !strings.HasPrefix(err.Error(), `there is no expert "wrter"`) {
		t.Errorf("one that a flag names: %v", err)
	}
	cfg, _, err = load(t, "[job]\nexpert = \"coder\"\n")
	must(t, err)
	if _, err := cfg.Experts(); err != nil {
		t.Error(err)
	}
}

func TestBadExperts(t *testing.T) {
	cfg, _, err := Load(Sources{ProjectDir: project(t, map[string]string{
		ExpertFolder + "/a/config.toml": "level = \"partail\"\nbudget = 0\nwhat = 1\n", ExpertFolder + "/a/prompt.md": " \n",
		ExpertFolder + "/b/config.toml": "level = \n", ExpertFolder + "/c": "a file", ExpertFolder + "/D E/prompt.md": "x",
		ExpertFolder + "/f/config.toml": "",
	})})
	must(t, err)
	_, err = cfg.Experts()
	got := lines(t, err)
	for _, want := range []string{
		`.forge/experts/a/config.toml:1: level is "partail", which is no preset (did you mean "partial"?)`, "/a/config.toml:2: budget is 0", "/a/config.toml:3: unknown key what in config.toml",
		".forge/experts/a/prompt.md: is empty", "/b/config.toml:1: broken TOML", ".forge/experts/c: is not a folder", ".forge/experts/D E: has a name that is no word", ".forge/experts/f/prompt.md: there is no such file",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q in\n%s", want, got)
		}
	}
	if _, err := cfg.Expert("a"); err == nil {
		t.Error("a broken expert is given")
	}
}

func TestPlanningInteractiveIsAnAlias(t *testing.T) {
	for text, want := range map[string]string{"true": "partial", "false": "review"} {
		cfg, _, err := load(t, "[planning]\ninteractive = "+text+"\n")
		must(t, err)
		p, origin, err := Policy(cfg, PolicyFlags{BuiltIn: "partial"})
		must(t, err)
		if p.Preset != want || origin.Source != "planning.interactive" {
			t.Errorf("interactive = %s: %s from %s", text, p.Preset, origin.Source)
		}
	}
}

// The most specific word wins: flag, job, expert, project, environment,
// built-in; and the ceiling bounds whatever was chosen.
func TestLevelOfAJob(t *testing.T) {
	flags := PolicyFlags{Level: "full", Job: "review", Expert: "guided", BuiltIn: "partial"}
	toml, env := "[autonomy]\nlevel = \"dependent\"\n", "FORGE_AUTONOMY=review"
	for _, want := range []string{"full", "review", "guided", "dependent", "review", "partial"} {
		cfg, _, err := Load(Sources{ProjectDir: project(t, map[string]string{ProjectFile: toml}), Environ: []string{env}})
		must(t, err)
		p, origin, err := Policy(cfg, flags)
		must(t, err)
		if p.Preset != want {
			t.Errorf("%+v, %q, %q: %s from %s, want %s", flags, toml, env, p.Preset, origin.Source, want)
		}
		switch {
		case flags.Level != "":
			flags.Level = ""
		case flags.Job != "":
			flags.Job = ""
		case flags.Expert != "":
			flags.Expert = ""
		case toml != "":
			toml = ""
		default:
			env = "X="
		}
	}
}

func TestResolveJob(t *testing.T) {
	cfg, _, err := load(t, "[agent]\nuse = \"dry\"\n[agents.dry]\nkind = \"exec\"\ncommand = [\"x\"]\n[agents.other]\nkind = \"exec\"\ncommand = [\"y\"]\n[verify]\ncommands = [\"true\"]\n[autonomy.sensitive_patterns]\npatterns = [\"jo*\"]\n")
	must(t, err)
	set, ph, err := ResolveJob(cfg, JobFacts{}, kindFacts())
	must(t, err)
	if ph.Agent != "dry" || ph.Budget != 8 || ph.Sensitive != "jo*" || !ph.Reviewed || strings.Join(ph.Verify, "") != "true" || len(set.Phases) != 0 {
		t.Errorf("%+v", ph)
	}
	set, ph, err = ResolveJob(cfg, JobFacts{Agent: "other", Model: "m", Budget: 3}, kindFacts())
	must(t, err)
	if ph.Agent != "other" || ph.Model != "m" || ph.Budget != 3 || len(set.Agents) != 1 {
		t.Errorf("%+v, %+v", ph, set.Agents)
	}
	if _, _, err := ResolveJob(cfg, JobFacts{Agent: "othr", Source: ".forge/experts/x/config.toml"}, kindFacts()); err == nil || !strings.Contains(err.Error(), `unknown agent "othr"`) {
		t.Errorf("unknown agent: %v", err)
	}
}
