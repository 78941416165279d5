package gates

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestChoose(t *testing.T) {
	on, off := true, false
	tests := []struct {
		name           string
		c              Choice
		preset, source string
	}{
		{"nothing said", Choice{}, "interactive", "built-in"},
		{"environment", Choice{Environment: "autonomous"}, "autonomous", "FORGE_AUTONOMY"},
		{"enabled", Choice{ProjectEnabled: &on}, "full", "autonomy.enabled"},
		{"disabled stands above the environment", Choice{ProjectEnabled: &off, Environment: "autonomous"}, "interactive", "autonomy.enabled"},
		{"project level above the environment", Choice{ProjectLevel: "interactive", Environment: "autonomous"}, "interactive", "autonomy.level"},
		{"flag above all", Choice{Autonomous: true, ProjectEnabled: &off, Environment: "interactive"}, "full", "--autonomous"},
		{"level flag above all", Choice{Level: "interactive", ProjectLevel: "autonomous", Environment: "autonomous"}, "interactive", "--level"},
		{"enabled and level agree", Choice{ProjectEnabled: &on, ProjectLevel: "autonomous"}, "autonomous", "autonomy.level"},
		{"disabled and level agree", Choice{ProjectEnabled: &off, ProjectLevel: "interactive"}, "interactive", "autonomy.level"},
		{"flags agree", Choice{Autonomous: true, Level: "autonomous"}, "autonomous", "--level"},
		{"a wide ceiling", Choice{Ceiling: "autonomous"}, "interactive", "built-in"},
		{"a job's built-in", Choice{BuiltIn: "partial"}, "partial", "built-in"},
		{"the project above the built-in", Choice{BuiltIn: "partial", ProjectLevel: "guided"}, "guided", "autonomy.level"},
		{"the expert above the project", Choice{Expert: "full", ProjectLevel: "guided"}, "full", "expert"},
		{"the job above the expert", Choice{Job: "dependent", Expert: "full", ProjectLevel: "guided"}, "dependent", "job"},
		{"the flag above the job", Choice{Level: "review", Job: "dependent", Expert: "full"}, "review", "--level"},
		{"planning", Choice{ProjectInteractive: &on}, "partial", "planning.interactive"},
		{"planning off", Choice{ProjectInteractive: &off, Environment: "full"}, "review", "planning.interactive"},
		{"planning and level agree", Choice{ProjectInteractive: &on, ProjectLevel: "partial"}, "partial", "autonomy.level"},
		{"two names of one policy agree", Choice{Autonomous: true, Level: "end_to_end"}, "end_to_end", "--level"},
	}
	for _, tt := range tests {
		p, origin, err := Choose(tt.c)
		if err != nil || origin.Preset != tt.preset || origin.Source != tt.source || len(origin.Bounded) > 0 {
			t.Errorf("%s: %+v, %v, want %s from %s", tt.name, origin, err, tt.preset, tt.source)
		}
		if want := preset(t, tt.preset); !reflect.DeepEqual(p, want) {
			t.Errorf("%s: %+v, want preset %s", tt.name, p, tt.preset)
		}
	}
}

func TestChooseUnderACeiling(t *testing.T) {
	p, origin, err := Choose(Choice{Autonomous: true, Ceiling: "interactive"})
	if err != nil || !reflect.DeepEqual(p, preset(t, PresetInteractive)) {
		t.Fatalf("%+v, %v", p, err)
	}
	if origin.Preset != "full" || origin.Ceiling != "interactive" || !slices.Contains(origin.Bounded, "final") {
		t.Errorf("origin %+v", origin)
	}
	if s := origin.String(); !strings.HasPrefix(s, "full (--autonomous), bounded by the ceiling interactive on action, blocker, ckpt.question, decompose, final,") {
		t.Errorf("origin reads %q", s)
	}
}

func TestChooseRefuses(t *testing.T) {
	on, off := true, false
	tests := []struct {
		name string
		c    Choice
		path string
		says []string
	}{
		{"enabled against level", Choice{ProjectEnabled: &on, ProjectLevel: "interactive"}, "autonomy.level", []string{"autonomy.enabled says full"}},
		{"disabled against level", Choice{ProjectEnabled: &off, ProjectLevel: "autonomous"}, "autonomy.level", []string{"autonomy.enabled says interactive"}},
		{"a flag does not hide it", Choice{Autonomous: true, ProjectEnabled: &off, ProjectLevel: "autonomous"}, "autonomy.level", []string{"remove one"}},
		{"flags disagree", Choice{Autonomous: true, Level: "interactive"}, "--level", []string{"--autonomous says full"}},
		{"unknown level", Choice{ProjectLevel: "guidded"}, "autonomy.level", []string{`"guidded"`, `did you mean "guided"`, "full, review, partial, guided, dependent, semi_supervised"}},
		{"unknown flag", Choice{Level: "Interactive"}, "--level", []string{`did you mean "interactive"`}},
		{"unknown environment", Choice{Environment: "yes"}, "FORGE_AUTONOMY", []string{"unknown preset", "full, review, partial, guided, dependent, semi_supervised"}},
		{"unknown and outranked", Choice{Autonomous: true, Environment: "ful"}, "FORGE_AUTONOMY", []string{`did you mean "full"`}},
		{"planning against enabled", Choice{ProjectEnabled: &on, ProjectInteractive: &on}, "autonomy.enabled", []string{"planning.interactive says partial"}},
		{"planning against level", Choice{ProjectLevel: "full", ProjectInteractive: &on}, "autonomy.level", []string{"planning.interactive says partial"}},
		{"unknown job", Choice{Job: "fulll"}, "job", []string{`did you mean "full"`}},
		{"unknown and outranked expert", Choice{Level: "full", Expert: "debugger"}, "expert", []string{"unknown preset"}},
		{"unknown ceiling", Choice{Ceiling: "none"}, "autonomy.ceiling", []string{"unknown preset"}},
	}
	for _, tt := range tests {
		p, _, err := Choose(tt.c)
		var choice *ChoiceError
		if !errors.As(err, &choice) || choice.Problem.Path != tt.path {
			t.Errorf("%s: %v, want a ChoiceError at %s", tt.name, err, tt.path)
			continue
		}
		if p.Gates != nil {
			t.Errorf("%s: a policy beside the error: %+v", tt.name, p)
		}
		for _, say := range tt.says {
			if !strings.Contains(err.Error(), say) {
				t.Errorf("%s: %q does not say %q", tt.name, err, say)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	of := []string{"interactive", "autonomous", "full", "fall"}
	for word, want := range map[string]string{
		"autonomus": "autonomous", "AUTONOMOUS": "autonomous", "auto": "autonomous", "inter": "interactive",
		"interactiv e": "interactive", " full ": "full", "fulll": "full", "fill": "full",
		"": "", "  ": "", "xyz": "", "a": "", strings.Repeat("full", 1000): "", "partial": "",
	} {
		if got := Nearest(word, of); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Nearest("full", nil); got != "" {
		t.Errorf("nearest of nothing: %q", got)
	}
}

func TestDistanceAgainstOracle(t *testing.T) {
	var oracle func(a, b []rune) int
	oracle = func(a, b []rune) int {
		if len(a) == 0 || len(b) == 0 {
			return len(a) + len(b)
		}
		if a[0] == b[0] {
			return oracle(a[1:], b[1:])
		}
		return 1 + min(oracle(a[1:], b), oracle(a, b[1:]), oracle(a[1:], b[1:]))
	}
	word := rapid.StringOfN(rapid.SampledFrom([]rune("aäb")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := distance(a, b), oracle([]rune(a), []rune(b)); got != want {
			t.Fatalf("distance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}
