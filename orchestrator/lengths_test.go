package orchestrator

import (
	"slices"
	"testing"
	"time"

	"forge/internal/work"
)

// lasting gives phases the time that such ones took.
func lasting(secs map[string]int64) func(*Spec) {
	return func(sp *Spec) {
		for n, s := range secs {
			ofPhaseN(n, func(ps *work.PhaseSettings) { ps.ExpectSecs = s })(sp)
		}
	}
}

// What is longest ahead begins first: by what such phases took where that is known
// of each, else by budgets.
func TestLongestAheadBeginsFirst(t *testing.T) {
	plan := phases("01", "02", "03", "04 after 02")
	one := setting(func(s *work.Settings) { s.MaxParallel = 1 })
	for name, tt := range map[string]struct {
		spec []func(*Spec)
		want string
	}{
		"nothing is known":             {nil, "02"},
		"the lengths are known":        {[]func(*Spec){lasting(map[string]int64{"01": 10, "02": 10, "03": 500, "04": 10})}, "03"},
		"one of them is not":           {[]func(*Spec){lasting(map[string]int64{"01": 10, "02": 10, "03": 500})}, "02"},
		"a large budget, and no times": {[]func(*Spec){ofPhaseN("01", func(ps *work.PhaseSettings) { ps.Budget = 11 })}, "01"},
	} {
		st := open(t, append([]func(*Spec){plan, one}, tt.spec...)...)
		st.base(true)
		if begun := Pending(st.s); len(begun) != 1 || begun[0].Phase != tt.want {
			t.Errorf("%s: %v begins, want %s", name, begun, tt.want)
		}
	}
}

func TestChainIsWhatIsLeft(t *testing.T) {
	secs := map[string]int64{"01": 60, "02": 10, "03": 100, "04": 10}
	st := open(t, phases("01", "02", "03 after 01", "04 after 02,03"), lasting(secs))
	st.base(true)
	begun := st.now
	if got := st.s.Chain(begun); !slices.Equal(got.Phases, []string{"01", "03", "04"}) || got.Left != 170*time.Second {
		t.Errorf("at the beginning: %+v", got)
	}
	// 01 is at work since then, and may end at any time.
	if got := st.s.Chain(begun.Add(40 * time.Second)); got.Left > 131*time.Second || got.Left < 129*time.Second {
		t.Errorf("after forty seconds: %+v", got)
	}
	if got := st.s.Chain(begun.Add(time.Hour)); got.Left != 111*time.Second || got.Phases[0] != "01" {
		t.Errorf("after an hour: %+v", got)
	}
	st.s.Phases["01"].Stage, st.s.Phases["03"].Stage = StageFinished, StageFinished
	if got := st.s.Chain(begun); !slices.Equal(got.Phases, []string{"02", "04"}) || got.Left < 19*time.Second {
		t.Errorf("with 01 and 03 over: %+v", got)
	}
	for _, p := range st.s.Phases {
		p.Stage = StageFinished
	}
	if got := st.s.Chain(begun); len(got.Phases) != 0 || got.Left != 0 {
		t.Errorf("with all over: %+v", got)
	}
	unknown := open(t, phases("01", "02 after 01"))
	if got := unknown.s.Chain(begun); len(got.Phases) != 2 || got.Left != 0 {
		t.Errorf("where nothing is known: %+v", got)
	}
}
