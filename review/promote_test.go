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
