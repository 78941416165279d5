package review

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPromoteLaws(t *testing.T) {
	clean := RunResult{Pipeline: "completed", Reviews: "passed", Autonomy: true, Auto: true, OnClean: true}
	if d, hold := Promote(clean); d != ToDone || len(hold) != 0 {
		t.Errorf("clean: %s, %v", d, hold)
	}
	order := []HoldReason{HoldAutonomy, HoldAutoPromote, HoldOnClean, HoldWarnings, HoldProceeded, HoldFixed, HoldUnverified, HoldAssumption}
	if d, hold := Promote(RunResult{Pipeline: "completed", Reviews: "odd", Proceeded: true, Fixes: 1, Unverified: true, Assumed: true}); d != ToInReview || !slices.Equal(hold, order) {
		t.Errorf("all at once: %s, %v", d, hold)
	}
	if d, hold := Promote(RunResult{}); d != NotMoved || hold != nil {
		t.Errorf("nothing known: %s, %v", d, hold)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := RunResult{
			Pipeline: rapid.SampledFrom([]string{"completed", "completed", "failed", "cancelled", "", "Completed"}).Draw(t, "pipeline"),
			Reviews:  rapid.SampledFrom([]string{"none", "passed", "warnings", ""}).Draw(t, "reviews"), Fixes: rapid.IntRange(-1, 2).Draw(t, "fixes"),
			Proceeded: rapid.Bool().Draw(t, "proceeded"), Autonomy: rapid.Bool().Draw(t, "autonomy"), Auto: rapid.Bool().Draw(t, "auto"),
			OnClean: rapid.Bool().Draw(t, "clean"), Unverified: rapid.Bool().Draw(t, "unverified"), Assumed: rapid.Bool().Draw(t, "assumed"),
		}
		d, hold := Promote(r)
		good := (r.Reviews == "none" || r.Reviews == "passed") && r.Fixes == 0 && !r.Proceeded && r.Autonomy && r.Auto && r.OnClean && !r.Unverified && !r.Assumed
		switch {
		case r.Pipeline != "completed" && (d != NotMoved || len(hold) > 0), r.Pipeline == "completed" && good != (d == ToDone), (d == ToInReview) != (len(hold) > 0):
			t.Fatalf("%+v: %s, %v", r, d, hold)
		}
		if !slices.IsSortedFunc(hold, func(a, b HoldReason) int { return slices.Index(order, a) - slices.Index(order, b) }) {
			t.Fatalf("%v", hold)
		}
	})
}

func TestSensitive(t *testing.T) {
	for _, tt := range []struct {
		patterns []string
		name     string
		pattern  string
		ok       bool
	}{
		{nil, "auth-login", "", false},
		{[]string{"database-*", "auth-*", "*"}, "auth-login", "auth-*", true},
		{[]string{"auth-*"}, "Auth-login", "", false},
		{[]string{"auth-*"}, "auth", "", false},
		{[]string{"auth-*"}, "auth-", "auth-*", true},
		{[]string{"auth-*"}, "my-auth-login", "", false},
		{[]string{"*auth*"}, "my/auth.login page", "*auth*", true},
		{[]string{"db-[0-9]?", "{a,b}"}, "db-12", "db-[0-9]?", true},
		{[]string{"db-[0-9]?", "{a,b}"}, "b", "{a,b}", true},
		{[]string{"*"}, "", "*", true},
	} {
		pattern, ok, err := Sensitive(tt.patterns, tt.name)
		if err != nil || pattern != tt.pattern || ok != tt.ok {
			t.Errorf("%q %q: %q, %v, %v", tt.patterns, tt.name, pattern, ok, err)
		}
	}
	for _, bad := range [][]string{{"ok", "{a"}, {"*", "["}, {""}, {string(make([]byte, 501))}} {
		if pattern, ok, err := Sensitive(bad, "ok"); err == nil || ok || pattern != "" {
			t.Errorf("%.40q: %q, %v, %v", bad, pattern, ok, err)
		}
	}
}
