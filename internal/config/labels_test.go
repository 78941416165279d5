package config

import (
	"slices"
	"strings"
	"testing"
)

const labelsFile = `
[agent]
use = "dry"
[agents.dry]
kind = "exec"
command = ["x"]
[agents.other]
kind = "exec"
command = ["y"]
[verify]
commands = ["true"]
[factory.labels.careful]
level = "guided"
agent = "other"
[factory.labels.large]
budget = 20
target = "wide"
[factory.labels.huge]
budget = 40
`

// What the labels of an issue say holds for it alone, whatever letters they are
// written in; labels that nobody mapped say nothing.
func TestLabelsSayHowAnIssueIsWorkedOn(t *testing.T) {
	for name, c := range map[string]struct {
		labels               []string
		agent, level, target string
		budget               int
		says                 []string
	}{
		"none":       {nil, "dry", "plan_then_review", "forge/landed", 0, nil},
		"not mapped": {[]string{"bug", "carefully"}, "dry", "plan_then_review", "forge/landed", 0, nil},
		"one":        {[]string{"Careful"}, "other", "guided", "forge/landed", 0, []string{"careful: agent other, level guided"}},
		"that agree": {[]string{"large", "careful"}, "other", "guided", "wide", 20, []string{"careful: agent other, level guided", "large: budget 20, target wide"}},
	} {
		dir := t.TempDir()
		write(t, dir+"/"+ProjectFile, labelsFile)
		cfg, _, err := Load(Sources{ProjectDir: dir, Labels: c.labels})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f := cfg.File
		if got := f.Agent.Use; !slices.Equal(got, Agents{c.agent}) || said(f.Factory.DefaultPolicy) != c.level || said(f.Factory.Target) != c.target || cfg.LabelBudget() != c.budget {
			t.Errorf("%s: agent %v, level %s, target %s, budget %d", name, got, said(f.Factory.DefaultPolicy), said(f.Factory.Target), cfg.LabelBudget())
		}
		if got := cfg.LabelsSay(c.labels); !slices.Equal(got, c.says) {
			t.Errorf("%s: it says %q", name, got)
		}
		if want := map[bool]string{true: "", false: c.target}[c.target == "forge/landed"]; cfg.PullTarget() != want {
			t.Errorf("%s: on a host it is for %q", name, cfg.PullTarget())
		}
	}
}

// Which of two labels is meant that say different things, nobody knows.
func TestLabelsThatDisagreeAreRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/"+ProjectFile, labelsFile)
	_, _, err := Load(Sources{ProjectDir: dir, Labels: []string{"large", "huge"}})
	if err == nil || !strings.Contains(err.Error(), "the labels huge and large of this issue name different things for budget") {
		t.Errorf("%v", err)
	}
}

// A label cannot take an outsider's issue out of its sandbox, nor any issue past
// the ceiling.
func TestALabelRaisesNothingPastWhatBindsAnIssue(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/"+ProjectFile, strings.Replace(labelsFile, `"guided"`, `"full"`, 1))
	user := dir + "/user.toml"
	write(t, user, "[autonomy]\nceiling = \"plan_then_review\"\n")
	cfg, _, err := Load(Sources{ProjectDir: dir, UserFile: user, Labels: []string{"careful"}, External: &External{}})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.SandboxSettings().Mode != "required" {
		t.Errorf("its sandbox is %q", cfg.SandboxSettings().Mode)
	}
	_, origin, err := Policy(cfg, PolicyFlags{Job: said(cfg.File.Factory.DefaultPolicy)})
	if err != nil || origin.Ceiling != "plan_then_review" || len(origin.Bounded) == 0 {
		t.Errorf("%+v, %v", origin, err)
	}
}

// All that is wrong with labels is said at once, each with its line.
func TestWrongLabelsAreAllNamed(t *testing.T) {
	_, _, err := load(t, labelsFile+`
[factory.labels.Large]
level = "nothing"
[factory.labels.empty]
[factory.labels.agentless]
agent = "nobody"
budget = 0
[factory.labels." two "]
target = "a b"
`)
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, want := range []string{
		`factory.labels.Large.level is "nothing", which is no preset`, "in other letters", "factory.labels.empty says nothing", `factory.labels.agentless.agent is "nobody", which is no agent`,
		"factory.labels.agentless.budget", "is no label that an issue can have", "target",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q:\n%v", want, err)
		}
	}
}
