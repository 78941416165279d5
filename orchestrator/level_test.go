package orchestrator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// levelled gives a phase levels of its own.
func levelled(n string, names ...string) func(*Spec) {
	return func(sp *Spec) {
		set := sp.Settings.Phases[n]
		set.Levels = names
		sp.Settings.Phases[n] = set
		if sp.Levels == nil {
			sp.Levels = map[string]gates.Policy{}
		}
		for _, name := range names {
			if p, known := gates.Preset(name); known {
				sp.Levels[name] = p
			}
		}
	}
}

// A phase can only ask for more than the run's level does, never for less.
func TestAPhaseHasALevelOfItsOwn(t *testing.T) {
	t.Run("it asks where the run does not", func(t *testing.T) {
		st := tell(t, phases("01", "02"), levelled("02", "manual"))
		st.work("01")
		if st.phase("01").Iteration != 1 || len(st.s.Open) != 1 {
			t.Fatalf("phase 01 had %d iterations; open are %v", st.phase("01").Iteration, st.s.Open)
		}
		for _, cp := range st.s.Open {
			if cp.Phase != "02" || cp.Kind != string(gates.PointPhaseStart) || cp.Policy != st.s.policyOf(st.phase("02")).Version() || cp.Policy == st.s.version {
				t.Errorf("the checkpoint is %+v", cp)
			}
		}
	})
	t.Run("a freer one frees nothing", func(t *testing.T) {
		st := tell(t, human(gates.PointPhaseStart), levelled("01", gates.PresetFull))
		st.isPending()
		if len(st.s.Open) != 1 {
			t.Errorf("open are %v", st.s.Open)
		}
	})
	t.Run("a freer level of the run frees nothing", func(t *testing.T) {
		st := tell(t, levelled("01", "manual"))
		st.choose(preset(t, gates.PresetFull))
		if st.isPending(); len(st.s.Open) != 1 || st.s.policyOf(st.phase("01")).At(gates.PointIteration) != gates.Human {
			t.Errorf("open are %v", st.s.Open)
		}
	})
	t.Run("one that the run was not opened with asks everywhere", func(t *testing.T) {
		st := tell(t, levelled("01", "nobody-knows"))
		if st.isPending(); len(st.s.Open) != 1 {
			t.Errorf("open are %v", st.s.Open)
		}
	})
	t.Run("a part has that of what it is a part of", func(t *testing.T) {
		st := tell(t, levelled("01", "guided"))
		st.work("01", asksFor(part("Q", 1)))
		if sub := st.phase("01.1"); st.s.policyOf(sub).At(gates.PointPhaseTransition) != gates.Human {
			t.Errorf("the levels of the part are %q", sub.Set.Levels)
		}
	})
	t.Run("the result is asked about when one of its phases wants that", func(t *testing.T) {
		st := tell(t, phases("01", "02"), levelled("02", gates.PresetReview))
		if st.s.passes(nil, gates.PointFinal) || !st.s.passes(st.phase("01"), gates.PointFinal) {
			t.Error("the level of phase 02 counts for phase 01, or not for the result")
		}
		st.phase("02").Outcome = work.PhaseSkipped
		if !st.s.passes(nil, gates.PointFinal) {
			t.Error("a phase that was skipped counts for the result")
		}
	})
}

// Every gate asks policyOf: whoever looks at the run's policy elsewhere would not
// see the level of a phase.
func TestOnlyOneFileLooksAtTheRunsPolicy(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "Spec.Policy") != (file == "level.go") && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s: looks at Spec.Policy, or level.go does not", file)
		}
	}
}
