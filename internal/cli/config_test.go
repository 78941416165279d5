package cli

import (
	"strings"
	"testing"
)

func TestConfigShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "make test")
	w.write(w.home+"/.config/forge/config.toml", "[sandbox]\nmode = \"off\"\n[agents.dry]\nkind = \"script\"\nset_env = { SERVICE_TOKEN = \"hunter2hunter2\", MODE = \"x\" }\n")
	got := w.forge("config", "show").want(exitDone).says(
		`verify.commands = ["make test"] # .forge/forge.toml:9`, "defaults.budget = 8 # default", `sandbox.mode = "off" # `, `MODE = "x"`)
	if strings.Contains(got.stdout, "hunter2") {
		t.Errorf("a secret is shown:\n%s", got.stdout)
	}
	var out struct {
		State  string
		Values []struct{ Key, Value, Origin string }
	}
	got = w.forge("config", "show", "--output", "json").want(exitDone).json(&out)
	if strings.Contains(got.stdout, "hunter2") {
		t.Error("a secret is shown as JSON")
	}
	found := false
	for _, v := range out.Values {
		found = found || v.Key == "project.name" && v.Value == `"demo"` && v.Origin == ".forge/forge.toml:2"
	}
	if !found || out.State != w.state {
		t.Errorf("state %q, values %+v", out.State, out.Values)
	}
}

type validated struct {
	OK                 bool
	Problems, Warnings []struct {
		File      string
		Line, Col int
		What, Fix string
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "true")
	w.plan(phase("01", "first", 1))
	if got := w.forge("config", "validate").want(exitDone); got.stdout != "ok\n" {
		t.Errorf("stdout %q, want ok", got.stdout)
	}
	var out validated
	w.forge("config", "validate", "--output", "json").want(exitDone).json(&out)
	if !out.OK || len(out.Problems) != 0 {
		t.Errorf("%+v", out)
	}
	// A sensitive phase without a reviewer is a warning here, and refused by run.
	w.configure("[autonomy.sensitive_patterns]\npatterns = [\"first\"]\n", "true")
	w.forge("config", "validate").want(exitDone).says("ok").warns("no reviewer can be asked", "sensitive")
	w.forge("list").want(exitDone).warns("forge run will refuse")
	w.forge("run", "--autonomous").want(exitUsage).warns("sensitive")
}

// All problems of all files come together, each with its place; nothing is
// made.
func TestConfigValidateFindsAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[[step]]\nphas = \"01\"\n")
	w.write(".forge/forge.toml", "[agent]\nuse = \"dry\"\n[defaults]\nbudgt = 3\nmax_parallel = \"x\"\n[autonomy]\nlevel = \"nonsense\"\n[agents.dry]\nkind = \"script\"\nfile = \".forge/agent.toml\"\n")
	w.write(".forge/phases.json", `{"phases":[{"number":"01","name":"a","promise":"A","budget":2,"depends_on":["02"]},{"number":"02","name":"b","promise":"A","depends_on":["01","09"]}]}`)
	var out validated
	got := w.forge("config", "validate", "--output", "json").want(exitUsage).json(&out)
	for _, want := range []string{"budgt", "max_parallel", "nonsense", `the promise \"A\" is also`, `\"09\"`, "cycle"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not among the problems:\n%s", want, got.stdout)
		}
	}
	for _, p := range out.Problems {
		if p.File == "" || p.Line == 0 || p.Fix == "" {
			t.Errorf("a problem without file, line or way out: %+v", p)
		}
	}
	text := w.forge("config", "validate").want(exitUsage)
	if n := strings.Count(text.stderr, "forge: "); n != len(out.Problems) {
		t.Errorf("%d lines for %d problems:\n%s", n, len(out.Problems), text.stderr)
	}
	if w.exists(w.state) {
		t.Error("validating made the state folder")
	}
}

func TestConfigValidateLooksAtAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[[step]]\nphas = \"01\"\n")
	w.plan(phase("01", "first", 1))
	w.forge("config", "validate").want(exitUsage).warns(`agent "dry"`, "phas")
	w.forge("config", "validate", "--level", "nonsense").want(exitUsage).warns("nonsense")
	w.write(".git/MERGE_HEAD", "")
	w.forge("config", "validate").want(exitUsage).warns("a merge is in progress", `agent "dry"`)
	w.write(".forge/agent.toml", done("01"))
	w.write(".forge/phases.json", "{")
	w.forge("config", "validate").want(exitUsage).warns(".forge/phases.json:1", "a merge is in progress")
}
