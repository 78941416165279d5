package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"forge/gates"
)

// A phase has the levels of every override that matches it, of the plan, and of its
// agent in every file: a project takes none of its user's away.
func TestLevelsOfPhasesAndAgents(t *testing.T) {
	dir := project(t, map[string]string{
		ProjectFile: "[autonomy]\nlevel = \"full\"\ncheckpoint_types = [\"notes\"]\n[agents.claude]\nlevel = \"full\"\n" +
			"[phases.overrides.\"db-*\"]\nlevel = \"careful\"\n[phases.overrides.\"*-core\"]\nlevel = \"review\"\n",
		PolicyFolder + "/careful.toml": "extends = \"full\"\n[gates]\niteration = \"human\"\n",
	})
	user := filepath.Join(t.TempDir(), "config.toml")
	write(t, user, "[agents.claude]\nlevel = \"guided\"\n")
	cfg, _, err := Load(Sources{ProjectDir: dir, UserFile: user})
	must(t, err)
	plan, _, err := parsePlan(`{"phases": [
{"number": "01", "name": "plain", "promise": "A"},
{"number": "02", "name": "db-core", "promise": "B", "level": "manual"}
]}`, PlanFile, nil)
	must(t, err)
	set, err := Resolve(cfg, plan, kindFacts())
	must(t, err)
	for number, want := range map[string][]string{"01": {"guided", "full"}, "02": {"careful", "review", "manual", "guided", "full"}} {
		if got := set.Phases[number].Levels; !slices.Equal(got, want) {
			t.Errorf("phase %s has the levels %q, want %q", number, got, want)
		}
	}
	levels := cfg.Levels(set.Phases["01"], set.Phases["02"])
	careful := levels["careful"]
	if len(levels) != 5 || careful.At(gates.PointIteration) != gates.Human || careful.At(gates.PointFinal) != gates.Auto {
		t.Errorf("%d levels, careful is %+v", len(levels), careful)
	}
	plain := set.Phases["01"]
	plain.Levels = nil
	if got := cfg.Levels(plain); got != nil {
		t.Errorf("without levels there are %v", got)
	}
}

// Every level that is none is said, with its place.
func TestUnknownLevelsOfPhases(t *testing.T) {
	dir := project(t, map[string]string{ProjectFile: "[agents.claude]\nlevel = \"guidde\"\n[phases.overrides.\"db-*\"]\nbudget = 2\nlevel = \"none\"\n"})
	_, _, err := Load(Sources{ProjectDir: dir})
	want := []string{
		`.forge/forge.toml:2: agents.claude.level is "guidde", which is no preset (did you mean "guided"?)`,
		`.forge/forge.toml:5: phases.overrides."db-*".level is "none", which is no preset`,
	}
	if err == nil {
		t.Fatal("unknown levels are taken")
	}
	for _, line := range want {
		if !strings.Contains(err.Error(), line) {
			t.Errorf("got %v, want %s", err, line)
		}
	}

	_, _, err = resolveIn(t, nil, "{\"phases\": [\n{\"number\": \"01\", \"name\": \"a\", \"promise\": \"A\", \"level\": \"ful\"},\n{\"number\": \"02\", \"name\": \"b\", \"promise\": \"B\",\n\"level\": \"x\"}]}")
	lines := []string{".forge/phases.json:2: phase 01: level is \"ful\", which is no preset (did you mean \"full\"?)", ".forge/phases.json:4: phase 02: level is \"x\", which is no preset"}
	for _, line := range lines {
		if err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("got %v, want %s", err, line)
		}
	}
	if t.Failed() {
		return
	}

	cfg, _, err := load(t, "[phases.overrides.job]\nlevel = \"guided\"\n")
	must(t, err)
	job, phase, err := ResolveJob(cfg, JobFacts{}, kindFacts())
	if err != nil || !reflect.DeepEqual(phase.Levels, []string{"guided"}) || len(job.Phases) != 0 {
		t.Errorf("a job's phases have the levels %q: %v", phase.Levels, err)
	}
}
