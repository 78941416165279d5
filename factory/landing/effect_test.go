package landing

import "testing"

// The target is pushed for several pull requests alone: one is merged by its host, and
// without a host there is nothing to mark.
func TestOneIsMergedByItsHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host bool
		with []int64
		want bool
	}{{true, []int64{2}, true}, {true, nil, false}, {false, []int64{2}, false}} {
		s := NewState("r")
		s.Stage, s.Look, s.Proof = StageLand, &Look{Host: c.host}, &Proof{Commit: "c", With: c.with}
		due, _ := Pending(s)
		if e, ok := EffectOf(s, due).(LandEffect); !ok || e.Together != c.want {
			t.Errorf("host %v, with %v: %+v", c.host, c.with, e)
		}
	}
}
