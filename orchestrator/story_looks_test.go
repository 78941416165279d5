package orchestrator

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

func looking(l gates.Looks) func(*Spec) {
	return func(sp *Spec) { sp.Policy.Preset, sp.Policy.Looks = "", l }
}

// lookIs is why a person is asked before the merge of a phase.
func (st *story) lookIs(n, want string) {
	st.t.Helper()
	if cp := st.asked(n, gates.PointPhaseTransition); !strings.Contains(cp.Facts, want) {
		st.t.Errorf("phase %s: %q, want %q in it", n, cp.Facts, want)
	}
}

func TestEverySecondPhaseIsLookedAt(t *testing.T) {
	chain := phases("01", "02 after 01", "03 after 02", "04 after 03")
	st := tell(t, chain, looking(gates.Looks{Every: 2}))
	st.done("01")
	st.claims("02")
	st.lookIs("02", "You are asked here since one of every 2 phases is looked at.")
	st.approve("02", gates.PointPhaseTransition)
	st.merge("02")
	st.land("02")
	st.done("03")
	st.claims("04")
	st.lookIs("04", "one of every 2")
}

// Phases side by side are counted when they go on, not when they have landed.
func TestPhasesSideBySideAreCounted(t *testing.T) {
	st := tell(t, phases("01", "02", "03"), looking(gates.Looks{Every: 3}))
	st.claims("01")
	st.claims("02")
	st.stands("01", StageTurn)
	st.claims("03")
	st.lookIs("03", "one of every 3")
	// Work that is looked at and sent back was looked at.
	st.answer("03", gates.PointPhaseTransition, work.CheckpointChangesRequested, "again")
	st.claims("03")
	st.stands("03", StageTurn)
}

// A phase that failed is not one of those that went by.
func TestWhatFailedIsNotCounted(t *testing.T) {
	st := tell(t, phases("01", "02"), looking(gates.Looks{Every: 2}))
	st.s.Phases["01"].Unseen, st.s.Phases["01"].Outcome = true, work.PhaseFailed
	if e := st.s.endOf(st.s.Phases["02"]); e.Unseen != 0 {
		t.Errorf("%+v", e)
	}
}

func TestMilestonesAreLookedAt(t *testing.T) {
	st := tell(t, phases("01", "02"), looking(gates.Looks{Milestones: []string{"*02"}}))
	st.done("01")
	st.claims("02")
	st.lookIs("02", "since it is a milestone (*02).")
}

// What counts as confidence: the least of all reviewers and of the arbiter; unknown
// where one of them says none.
func TestConfidenceBelow(t *testing.T) {
	below := looking(gates.Looks{ConfidenceBelow: 0.6})
	for _, tt := range []struct {
		what   string
		said   map[string]*float64
		asked  string
		change func(*Spec)
	}{
		{"all are sure", map[string]*float64{"security": sure(0.9), "architecture": sure(0.6)}, "", nil},
		{"one is not", map[string]*float64{"security": sure(0.9), "architecture": sure(0.5)}, "50 % sure", nil},
		{"one does not say", map[string]*float64{"security": sure(0.9), "architecture": nil}, "nobody said", nil},
		{"one says no number", map[string]*float64{"security": sure(0.9), "architecture": sure(7)}, "nobody said", nil},
		{"nobody is asked", nil, "nobody said", nil},
	} {
		change := []func(*Spec){below}
		if tt.said != nil {
			change = append(change, reviewedBy("security", "architecture"))
		}
		st := inReview(t, change...)
		for _, who := range []string{"security", "architecture"} {
			if c, ok := tt.said[who]; ok {
				st.reports("01", who, work.ReviewReport{Verdict: work.VerdictPass, Files: []string{"a.txt"}, Confidence: c})
			}
		}
		if tt.asked == "" {
			st.stands("01", StageTurn)
			continue
		}
		st.lookIs("01", tt.asked)
	}

	// An advisory reviewer whose answer cannot be used holds nothing up, and is sure
	// of nothing.
	st := inReview(t, reviewedBy("security?"), below)
	st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictUnknown, Why: "no answer", Confidence: sure(1)})
	st.lookIs("01", "nobody said")

	st = inReview(t, reviewedBy("security"), arbiterModel, below)
	st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictWarn, Findings: finds(minor), Files: []string{"a.txt"}, Confidence: sure(0.9)})
	if st.phase("01").Stage == StageArbiter {
		st.judges("01", work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(0.55)})
	}
	if c := st.phase("01").confidence(); c == nil || *c > 0.9 {
		t.Errorf("confidence %v", c)
	}
}

// A level can be freed of its looks by a person, and a job has them too.
func TestALookAtTheEndOfAJobsPhase(t *testing.T) {
	st := aJob(t, gates.PresetFull, looking(gates.Looks{Every: 2}))
	st.plans("1")
	st.joins("1")
	st.does("2")
	cp := st.asked("2", gates.PointTactical)
	if !strings.HasPrefix(cp.Facts, "You are asked here since one of every 2") {
		t.Errorf("%q", cp.Facts)
	}
	if prompt := st.s.whoReads(st.s.Phases["2"]); !strings.HasPrefix(prompt, "A person reads") {
		t.Errorf("%q", prompt)
	}
	st.approve("2", gates.PointTactical)
	if st.s.Phases["1"].Unseen || st.s.Phases["2"].Unseen {
		t.Error("what a person looked at counts as unseen")
	}

	doubt := aJob(t, gates.PresetFull, looking(gates.Looks{ConfidenceBelow: 0.5}))
	if prompt := doubt.s.whoReads(doubt.s.Phases["1"]); !strings.Contains(prompt, "unless its reviewers are sure") {
		t.Errorf("%q", prompt)
	}
}
