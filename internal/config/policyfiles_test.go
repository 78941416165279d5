package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/gates"

	"pgregory.net/rapid"
)

// policies loads a project with these files in .forge/policies and this
// forge.toml.
func loadPolicies(t testing.TB, toml string, files map[string]string) (*Config, error) {
	t.Helper()
	all := map[string]string{ProjectFile: toml}
	for name, text := range files {
		all[PolicyFolder+"/"+name] = text
	}
	cfg, _, err := Load(Sources{ProjectDir: project(t, all)})
	return cfg, err
}

func TestOwnPresets(t *testing.T) {
	cfg, err := loadPolicies(t, "[autonomy]\nlevel = \"wider\"\n[autonomy.policy]\nbudget_usd = 0.1\n", map[string]string{
		"careful.toml": "use = \"Payments.\"\nextends = \"guided\"\nconfidence_floor = 0.8\nauto_advance = [\"intent\"]\n",
		"wider.toml":   "extends = \"careful\"\n[gates]\n\"plan.later\" = \"auto\"\n\"stale\" = \"human\"\n",
		"bare.toml":    "",
		"notes.md":     "not a policy",
		".hidden.toml": "nonsense",
	})
	must(t, err)
	if got := strings.Join(cfg.Presets().Names()[len(gates.Presets()):], " "); got != "bare careful wider" {
		t.Errorf("own presets: %s", got)
	}
	policy, origin, axes, err := PolicyAxes(cfg, PolicyFlags{})
	must(t, err)
	if policy.ConfidenceFloor != 0.8 || policy.BudgetUSD != 0.1 || policy.At(gates.PointPlanLater) != gates.Auto || policy.OnStale != gates.AskOnStale || origin.Preset != "wider" {
		t.Errorf("%+v, %+v", policy, origin)
	}
	from := map[string]string{}
	for _, a := range axes {
		from[fmt.Sprint(a.Gate, a.Name)] = a.Origin
	}
	for axis, want := range map[string]string{
		"falseconfidence_floor": ".forge/policies/careful.toml:3", "trueintent": ".forge/policies/careful.toml:4",
		"trueplan.later": ".forge/policies/wider.toml:3", "trueplan.initial": "preset guided", "falsebudget_usd": ".forge/forge.toml:4",
		"truestale": ".forge/policies/wider.toml:4", "falseon_stale": ".forge/policies/wider.toml", "falsepromote": "preset guided", "truepromote": "preset guided",
	} {
		if from[axis] != want {
			t.Errorf("%s comes from %q, want %q", axis, from[axis], want)
		}
	}
	if _, _, ok := PresetAxes(cfg, "nobody"); ok {
		t.Error("there is a preset nobody")
	}
	bare, all, _ := PresetAxes(cfg, "bare")
	if bare.ConfidenceFloor != 0.3 || all[0].Origin != "no preset: every gate asks" {
		t.Errorf("without extends: %+v, %+v", bare, all[0])
	}
}

// Only words that are more specific than a file's take its axes away.
func TestJobAndExpertChoose(t *testing.T) {
	cfg, err := loadPolicies(t, "[autonomy]\nlevel = \"guided\"\n[autonomy.policy]\nbudget_usd = 0.1\n", nil)
	must(t, err)
	for _, tt := range []struct {
		flags        PolicyFlags
		preset, from string
		budget       float64
	}{
		{PolicyFlags{BuiltIn: "partial"}, "guided", "autonomy.level with axes of .forge/forge.toml", 0.1},
		{PolicyFlags{Expert: "full", BuiltIn: "partial"}, "full", "expert", 0.5},
		{PolicyFlags{Job: "dependent", Expert: "full"}, "dependent", "job", 0.2},
		{PolicyFlags{Autonomous: true}, "full", "--autonomous", 0.5},
		{PolicyFlags{Level: "review", Job: "dependent"}, "review", "--level", 0.5},
	} {
		p, origin, err := Policy(cfg, tt.flags)
		if err != nil || origin.Preset != tt.preset || origin.Source != tt.from || p.BudgetUSD != tt.budget {
			t.Errorf("%+v: %+v, %v, %v", tt.flags, origin, p.BudgetUSD, err)
		}
	}
	plain, err := loadPolicies(t, "", nil)
	must(t, err)
	if p, _, err := Policy(plain, PolicyFlags{BuiltIn: "partial"}); err != nil || p.Preset != "partial" {
		t.Errorf("%q, %v", p.Preset, err)
	}
	if _, _, err := Policy(plain, PolicyFlags{Job: "partail"}); err == nil || !strings.Contains(err.Error(), `did you mean "partial"`) {
		t.Errorf("%v", err)
	}
}

func TestPlanningChoosesForTheUserToo(t *testing.T) {
	for text, want := range map[string]string{
		"[planning]\ninteractive = true\n":                                    "partial",
		"[planning]\ninteractive = false\n":                                   "review",
		"[planning]\ninteractive = true\n[autonomy]\nlevel = \"partial\"\n":   "partial",
		"[autonomy]\nenabled = true\nlevel = \"end_to_end\"\n":                "end_to_end",
		"[planning]\ninteractive = true\n[autonomy]\nenabled = false\n":       "USER:4: autonomy.enabled is \"interactive\", but planning.interactive stands for \"partial\" (keep autonomy.level alone)",
		"[autonomy]\nlevel = \"guided\"\nenabled = true\n":                    "USER:2: autonomy.level is \"guided\", but autonomy.enabled stands for \"full\" (keep autonomy.level alone)",
		"[planning]\ninteractive = false\n[autonomy]\nceiling = \"manual\"\n": "manual",
	} {
		user := filepath.Join(t.TempDir(), "config.toml")
		write(t, user, text)
		cfg, _, err := Load(Sources{ProjectDir: t.TempDir(), UserFile: user})
		must(t, err)
		p, origin, err := Policy(cfg, PolicyFlags{})
		switch {
		case err != nil:
			if got := strings.ReplaceAll(err.Error(), user, "USER"); got != want {
				t.Errorf("%s\n got %s\nwant %s", text, got, want)
			}
		case p.Preset != want || origin.Source != user:
			t.Errorf("%s: %q by %q, want %q", text, p.Preset, origin.Source, want)
		}
	}
}

func TestBadPolicyFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"wrong types":        {map[string]string{"a.toml": "confidence_floor = true\nbudget_usd = 2020-01-01\n"}, ".forge/policies/a.toml:1: confidence_floor: is true (use a number from 0 to 1)\n.forge/policies/a.toml:2: budget_usd: is of another type (use dollars, 0 or more)"},
		"no number":          {map[string]string{"a.toml": "confidence_floor = nan\n"}, ".forge/policies/a.toml:1: confidence_floor: is NaN (use a number from 0 to 1)"},
		"extends a number":   {map[string]string{"a.toml": "\nextends = 1\n"}, ".forge/policies/a.toml:2: extends is no text (write it in quotes, or leave it out)"},
		"extends blank":      {map[string]string{"a.toml": "extends = \" \"\n"}, ".forge/policies/a.toml:1: extends is no text (write it in quotes, or leave it out)"},
		"itself":             {map[string]string{"a.toml": "extends = \"a\"\n"}, ".forge/policies/a.toml:1: extends: the presets form a cycle: a → a (remove one extends)"},
		"below a broken one": {map[string]string{"a.toml": "extends = \"b\"\n", "b.toml": "use = 1\n"}, ".forge/policies/b.toml:1: use is no text (write it in quotes, or leave it out)"},
		"an odd name":        {map[string]string{"Care.toml": ""}, ".forge/policies/Care.toml: has a name that is no word for a preset (use small letters, digits, _ and -, a letter first)"},
		"tiers that cross":   {map[string]string{"a.toml": "tier_floor = \"user\"\n"}, ".forge/policies/a.toml:1: tier_floor: the floor user is above the ceiling agent_headless (lower the floor or raise the ceiling)"},
		"not text":           {map[string]string{"a.toml": "use = \"\xff\"\n"}, ".forge/policies/a.toml:1: is not UTF-8 text (save it as UTF-8)"},
	} {
		if _, err := loadPolicies(t, "", tt.files); err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, tt.want)
		}
	}
	dir := project(t, map[string]string{PolicyFolder: "a file"})
	if _, _, err := Load(Sources{ProjectDir: dir}); err == nil || !strings.HasPrefix(err.Error(), ".forge/policies: cannot be read") {
		t.Errorf("a file for the folder: %v", err)
	}
	// A link must not bring in what is not the project's.
	outside := filepath.Join(t.TempDir(), "free.toml")
	write(t, outside, "extends = \"full\"\n")
	dir = project(t, map[string]string{PolicyFolder + "/a.toml": ""})
	must(t, os.Symlink(outside, filepath.Join(dir, PolicyFolder, "free.toml")))
	if _, _, err := Load(Sources{ProjectDir: dir}); err == nil || !strings.Contains(err.Error(), "free.toml: cannot be read") {
		t.Errorf("a link that leaves the checkout: %v", err)
	}
}

// Whatever a project's files say, the user's ceiling holds on every axis.
func TestTheCeilingHolds(t *testing.T) {
	names := presetNames()
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(label string) string { return rapid.SampledFrom(names).Draw(rt, label) }
		dir, user := t.TempDir(), filepath.Join(t.TempDir(), "config.toml")
		ceiling := pick("ceiling")
		write(t, user, fmt.Sprintf("[autonomy]\nceiling = %q\n", ceiling))
		write(t, filepath.Join(dir, PolicyFolder, "own.toml"), fmt.Sprintf("extends = %q\nconsent = []\ntier_ceiling = \"user\"\n", pick("own")))
		level := rapid.SampledFrom(append(names, "own")).Draw(rt, "level")
		write(t, filepath.Join(dir, ProjectFile), fmt.Sprintf("[autonomy]\nlevel = %q\n[autonomy.policy]\nbudget_usd = 5\nauto_advance = [\"action\"]\n", level))
		cfg, _, err := Load(Sources{ProjectDir: dir, UserFile: user})
		if err != nil {
			rt.Fatal(err)
		}
		flags := PolicyFlags{}
		if rapid.Bool().Draw(rt, "flag") {
			flags.Level = rapid.SampledFrom(append(names, "own")).Draw(rt, "flag's level")
		}
		p, _, err := Policy(cfg, flags)
		if err != nil {
			rt.Fatal(err)
		}
		bound, _ := gates.Preset(ceiling)
		if axes := gates.Exceeds(p, bound); axes != nil {
			rt.Fatalf("%s under %s is freer on %v", level, ceiling, axes)
		}
	})
}

// An old name chooses what it did, and is told from where it stands, also where
// another layer outranks it.
func TestOldNamesAreTold(t *testing.T) {
	text := "[autonomy]\nlevel = \"hands_off\"\n[factory]\ndefault_policy = \"end_to_end\"\n"
	cfg, warnings, err := Load(Sources{ProjectDir: project(t, map[string]string{ProjectFile: text}), Environ: []string{"FORGE_AUTONOMY=default"}})
	must(t, err)
	var said []string
	for _, w := range warnings {
		said = append(said, w.String())
	}
	for _, want := range []string{
		".forge/forge.toml:2: autonomy.level: preset hands_off is an old name: write manual, which is the same",
		".forge/forge.toml:4: factory.default_policy: preset end_to_end is an old name: write full, which is the same",
		"FORGE_AUTONOMY: autonomy.level: preset default is an old name: write interactive,",
	} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(said, "\n"))
		}
	}
	policy, _, err := Policy(cfg, PolicyFlags{})
	must(t, err)
	if manual, _ := gates.Preset("manual"); len(gates.Compare(policy, manual)) > 0 {
		t.Errorf("hands_off is another policy than it was: %+v", policy)
	}
}
