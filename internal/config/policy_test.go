package config

import (
	"path/filepath"
	"strings"
	"testing"

	"forge/gates"
)

func TestPolicyOrder(t *testing.T) {
	tests := []struct {
		name, user, project, env string
		flags                    PolicyFlags
		preset, source           string
		err                      string
	}{
		{name: "nothing said", preset: "interactive", source: "built-in"},
		{name: "user", user: "level = \"autonomous\"", preset: "autonomous", source: "USER"},
		{name: "variable over user", user: "level = \"autonomous\"", env: "interactive", preset: "interactive", source: "FORGE_AUTONOMY"},
		{name: "project over variable", project: "enabled = false", env: "autonomous", preset: "interactive", source: "autonomy.enabled"},
		{name: "project level", project: "level = \"autonomous\"", user: "enabled = false", preset: "autonomous", source: "autonomy.level"},
		{name: "flag over project", project: "level = \"autonomous\"", flags: PolicyFlags{Level: "interactive"}, preset: "interactive", source: "--level"},
		{name: "--autonomous", flags: PolicyFlags{Autonomous: true}, preset: "full", source: "--autonomous"},
		{name: "agreeing words", project: "enabled = true\nlevel = \"autonomous\"", preset: "autonomous", source: "autonomy.level"},
		{name: "words that disagree", project: "enabled = true\nlevel = \"interactive\"", err: ".forge/forge.toml:3: autonomy.level: "},
		{name: "the user's words disagree", user: "enabled = true\nlevel = \"interactive\"", err: "USER:3: autonomy.level is \"interactive\", but autonomy.enabled stands for \"full\" (keep autonomy.level alone)"},
		{name: "flags that disagree", flags: PolicyFlags{Autonomous: true, Level: "interactive"}, err: "--"},
		{name: "an unknown flag", flags: PolicyFlags{Level: "autonomus"}, err: `--level: unknown preset "autonomus" (did you mean "full"`},
		{name: "ceiling", user: "ceiling = \"interactive\"", flags: PolicyFlags{Autonomous: true}, preset: "", source: "--autonomous"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, user := policyConfig(t, tt.user, tt.project, tt.env)
			policy, origin, err := Policy(cfg, tt.flags)
			if tt.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), strings.ReplaceAll(tt.err, "USER", user)) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.preset != "" && policy.Preset != tt.preset || origin.Source != strings.ReplaceAll(tt.source, "USER", user) {
				t.Errorf("preset %q by %q, want %q by %q", policy.Preset, origin.Source, tt.preset, tt.source)
			}
			if tt.name == "ceiling" && policy.At(gates.PointFinal) != gates.Human {
				t.Error("the ceiling did not bind")
			}
		})
	}
}

func policyConfig(t *testing.T, user, projectText, env string) (*Config, string) {
	t.Helper()
	dir := project(t, map[string]string{ProjectFile: "[autonomy]\n" + projectText})
	file := filepath.Join(t.TempDir(), "config.toml")
	write(t, file, "[autonomy]\n"+user)
	cfg, _, err := Load(Sources{ProjectDir: dir, UserFile: file, Environ: []string{"FORGE_AUTONOMY=" + env}})
	must(t, err)
	return cfg, file
}

func TestSingleAxes(t *testing.T) {
	axes := "level = \"autonomous\"\n[autonomy.policy]\non_stale = \"ask\"\ngates = { \"final\" = \"human\" }\nconfidence_floor = 0.9\n"
	cfg, _ := policyConfig(t, "", axes, "")
	p, origin, err := Policy(cfg, PolicyFlags{})
	must(t, err)
	if p.At(gates.PointFinal) != gates.Human || p.At(gates.PointStale) != gates.Human || p.OnStale != gates.AskOnStale || p.ConfidenceFloor != 0.9 || p.At(gates.PointPhaseStart) != gates.Auto || p.Preset != "" {
		t.Errorf("got %+v", p)
	}
	if origin.Source != "autonomy.level with axes of .forge/forge.toml" {
		t.Errorf("origin %q", origin.Source)
	}
	// A flag replaces the whole choice of the file: its free axes must not
	// loosen a stricter flag.
	free := "[autonomy.policy.gates]\n\"phase.start\" = \"auto\"\n"
	cfg, _ = policyConfig(t, "", free, "")
	if p, _, err = Policy(cfg, PolicyFlags{Level: "interactive"}); err != nil || p.At(gates.PointPhaseStart) != gates.Human {
		t.Errorf("%v %v", p.At(gates.PointPhaseStart), err)
	}
	// The ceiling bounds axes, too.
	cfg, _ = policyConfig(t, "ceiling = \"interactive\"", free, "")
	if p, origin, err = Policy(cfg, PolicyFlags{}); err != nil || p.At(gates.PointPhaseStart) != gates.Human || len(origin.Bounded) == 0 {
		t.Errorf("%v %+v %v", p.At(gates.PointPhaseStart), origin, err)
	}
	if got, _ := gates.Preset("interactive"); got.At(gates.PointFinal) != gates.Human {
		t.Error("the preset itself changed")
	}
}

func TestBadAxes(t *testing.T) {
	cfg, _ := policyConfig(t, "", "[autonomy.policy]\non_stael = \"ask\"\npromote = \"never\"\n[autonomy.policy.gates]\n\"fnial\" = \"human\"\n\"final\" = \"maybe\"\n", "")
	_, _, err := Policy(cfg, PolicyFlags{})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`.forge/forge.toml:3: autonomy.policy.on_stael: unknown axis (did you mean "on_stale"?`,
		`.forge/forge.toml:4: autonomy.policy.promote: unknown word "never"`,
		`.forge/forge.toml:6: autonomy.policy.gates.fnial: unknown gate`,
		`.forge/forge.toml:7: autonomy.policy.gates.final: unknown word "maybe" (use one of auto, human)`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %s in\n%v", want, err)
		}
	}
}
