package gates

import (
	"math"
	"strings"
	"testing"
)

func TestLooks(t *testing.T) {
	sure := func(f float64) *float64 { return &f }
	for _, tt := range []struct {
		what  string
		looks Looks
		end   PhaseEnd
		why   string // part of it, "" = it passes
	}{
		{"no rule", Looks{}, PhaseEnd{Name: "a", Unseen: 99}, ""},
		{"each one", Looks{Every: 1}, PhaseEnd{}, "each phase"},
		{"the second of three", Looks{Every: 3}, PhaseEnd{Unseen: 1}, ""},
		{"the third of three", Looks{Every: 3}, PhaseEnd{Unseen: 2}, "every 3 phases"},
		{"more than that at once", Looks{Every: 3}, PhaseEnd{Unseen: 7}, "every 3 phases"},
		{"no such number", Looks{Every: -3}, PhaseEnd{}, "each phase"},
		{"named", Looks{Milestones: []string{"x", "design-*"}}, PhaseEnd{Name: "design-api"}, "milestone (design-*)"},
		{"not named", Looks{Milestones: []string{"design-*"}}, PhaseEnd{Name: "redesign-api"}, ""},
		{"unreadable", Looks{Milestones: []string{"{"}}, PhaseEnd{Name: "a"}, "cannot be read"},
		{"sure enough", Looks{ConfidenceBelow: 0.6}, PhaseEnd{Confidence: sure(0.6)}, ""},
		{"not sure enough", Looks{ConfidenceBelow: 0.6}, PhaseEnd{Confidence: sure(0.59)}, "59 % sure"},
		{"unknown", Looks{ConfidenceBelow: 0.6}, PhaseEnd{}, "nobody said"},
		{"no number", Looks{ConfidenceBelow: 0.6}, PhaseEnd{Confidence: sure(math.NaN())}, "nobody said"},
		{"too sure", Looks{ConfidenceBelow: 0.6}, PhaseEnd{Confidence: sure(60)}, "nobody said"},
		{"no such bound", Looks{ConfidenceBelow: 60}, PhaseEnd{Confidence: sure(1)}, "100 % sure"},
		{"two reasons", Looks{Every: 1, Milestones: []string{"a"}}, PhaseEnd{Name: "a"}, "looked at; it is a milestone"},
	} {
		if why := tt.looks.Due(tt.end); (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %q, want %q", tt.what, why, tt.why)
		}
	}
}

// Rules as a person writes them, and what is said of mistakes.
func TestLooksAreWritten(t *testing.T) {
	full := preset(t, PresetFull)
	p, problems := full.With(map[string]any{"every": int64(3), "milestones": []any{"design-*"}, "confidence_below": 0.6})
	if len(problems) > 0 || p.Every != 3 || len(p.Milestones) != 1 || p.ConfidenceBelow != 0.6 || len(p.Validate()) > 0 {
		t.Fatalf("%+v, %v, %v", p.Looks, problems, p.Validate())
	}
	stops := Explain(p).Stops
	want := "before the work of a phase is merged: at the latest after every 3 phases; of each phase that is named design-*; where its review is less than 60 % sure, or was not asked"
	if last := stops[len(stops)-1]; last.Point != PointPhaseTransition || last.When != want {
		t.Errorf("%+v", last)
	}
	if freer := Exceeds(full, p); strings.Join(freer, " ") != "every milestones confidence_below" {
		t.Errorf("full is freer on %q", freer)
	}
	if spawn := CheckSpawn(full, p); strings.Join(spawn.Others, " ") != "every milestones confidence_below" {
		t.Errorf("a child that is never looked at: %+v", spawn)
	}
	for axis, v := range map[string]any{"every": 1.5, "milestones": "design-*", "confidence_below": 60.0} {
		if q, problems := full.With(map[string]any{axis: v}); len(problems) != 1 || problems[0].Path != axis || q.Due(PhaseEnd{}) != "" {
			t.Errorf("%s = %v: %v", axis, v, problems)
		}
	}
	if q, problems := full.With(map[string]any{"milestones": []any{"ok", 7.0}}); len(problems) != 1 || problems[0].Path != "milestones[1]" || len(q.Milestones) > 0 {
		t.Errorf("%v", problems)
	}
	bad := full
	bad.Looks = Looks{Every: -1, Milestones: []string{"ok", "{a"}, ConfidenceBelow: 2}
	var paths []string
	for _, pr := range bad.Validate() {
		paths = append(paths, pr.Path)
	}
	if strings.Join(paths, " ") != "every milestones[1] confidence_below" {
		t.Errorf("%q", paths)
	}
	for path, list := range map[string][]string{
		"milestones": strings.Split(strings.Repeat("a ", 20)+"a", " "), "milestones[0]": {strings.Repeat("a", 101)}, "milestones[1]": {"a", "b\x1b[31m"},
	} {
		bad.Looks = Looks{Milestones: list}
		if problems := bad.Validate(); len(problems) != 1 || problems[0].Path != path {
			t.Errorf("%s: %v", path, problems)
		}
	}
}
