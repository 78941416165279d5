package gates

import (
	"slices"
	"strings"
	"testing"
)

func TestDefine(t *testing.T) {
	c, problems := Define([]Definition{
		{Name: "later", Use: "After it.", Extends: "careful", Axes: map[string]any{"gates": map[string]any{"plan.later": "auto"}}},
		{Name: "careful", Extends: "guided", Axes: map[string]any{"confidence_floor": 0.8}},
		{Name: "bare", Axes: map[string]any{}},
	})
	if problems != nil {
		t.Fatal(problems)
	}
	if got := c.Names()[len(Presets()):]; !slices.Equal(got, []string{"bare", "careful", "later"}) {
		t.Errorf("own presets %v", got)
	}
	later, ok := c.Preset("later")
	if !ok || later.Preset != "later" || later.ConfidenceFloor != 0.8 || later.At(PointPlanLater) != Auto || later.At(PointPlanInitial) != Human {
		t.Errorf("later: %+v", later)
	}
	if bare, _ := c.Preset("bare"); len(Compare(bare, Bottom())) > 0 {
		t.Errorf("without extends it differs from where every gate asks: %v", Compare(bare, Bottom()))
	}
	last := c.List()[len(Presets())+2]
	if !last.Own || last.Use != "After it." || c.List()[0].Own {
		t.Errorf("%+v", last)
	}
	later.Gates[PointFinal] = Auto
	if again, _ := c.Preset("later"); again.At(PointFinal) != Human {
		t.Error("callers share a policy")
	}
	p, origin, err := Choose(Choice{Level: "careful", Presets: c})
	if err != nil || p.ConfidenceFloor != 0.8 || origin.Preset != "careful" {
		t.Errorf("chosen: %+v, %v", origin, err)
	}
	if _, _, err := Choose(Choice{Ceiling: "careful", Presets: c}); err == nil {
		t.Error("a project bounds itself")
	}
}

func TestDefineRefuses(t *testing.T) {
	long := []Definition{{Name: "a", Extends: "b0"}}
	for i := range 50 {
		long = append(long, Definition{Name: "b" + string(rune('0'+i)), Extends: "b" + string(rune('0'+(i+1)%50))})
	}
	for _, tt := range []struct {
		name  string
		defs  []Definition
		path  string
		says  string
		keeps string // names that stay
	}{
		{"itself", []Definition{{Name: "a", Extends: "a"}, {Name: "b"}}, "extends", "cycle: a → a", "b"},
		{"two", []Definition{{Name: "a", Extends: "b"}, {Name: "b", Extends: "a"}, {Name: "c", Extends: "full"}}, "extends", "cycle: a → b → a", "c"},
		{"behind it", []Definition{{Name: "x", Extends: "a"}, {Name: "a", Extends: "b"}, {Name: "b", Extends: "a"}}, "extends", "cycle: a → b → a", ""},
		{"long", long, "extends", "cycle", ""},
		{"unknown", []Definition{{Name: "careful", Extends: "carefl"}}, "extends", `did you mean "careful"`, ""},
		{"unknown built-in", []Definition{{Name: "a", Extends: "gided"}}, "extends", `did you mean "guided"`, ""},
		{"taken", []Definition{{Name: "full"}}, "name", "already", ""},
		{"twice", []Definition{{Name: "a", Extends: "full"}, {Name: "a"}}, "name", "already", "a"},
		{"bad axis", []Definition{{Name: "a", Axes: map[string]any{"budget": 1.0}}, {Name: "b", Extends: "a"}}, "budget", "unknown axis", ""},
		{"tiers that cross", []Definition{{Name: "a", Axes: map[string]any{"tier_floor": "user"}}}, "tier_floor", "above the ceiling", ""},
	} {
		c, problems := Define(tt.defs)
		if len(problems) != 1 || problems[0].Path != tt.path || !strings.Contains(problems[0].String(), tt.says) {
			t.Errorf("%s: %v, want one at %s saying %q", tt.name, problems, tt.path, tt.says)
		}
		if got := strings.Join(c.Names()[len(Presets()):], " "); got != tt.keeps {
			t.Errorf("%s: keeps %q, want %q", tt.name, got, tt.keeps)
		}
	}
}
