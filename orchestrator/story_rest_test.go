package orchestrator

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

func leaves(l work.ControlLeft) work.ControlReport {
	return work.ControlReport{Skipped: []string{"2 of 3 changed functions were not taken out: budget"}, Green: work.Sampled{Done: 1, Of: 3}, Left: &l}
}

// left is a run whose only phase landed with controls that there was no time for.
func left(t *testing.T, rep work.ControlReport, change ...func(*Spec)) *story {
	t.Helper()
	st := tell(t, append([]func(*Spec){setting(func(set *work.Settings) { set.Proof.NoControls = false })}, change...)...)
	st.work("01", says("P01"))
	st.verify("01", true, func(d *VerifyDone) {
		d.Evidence, d.Millis, d.Key = &work.EvidenceReport{}, 9000, work.ProofKey{Key: "k"}
	})
	st.feed(ControlDone{Command: st.begun("01", StepControl), Report: rep})
	st.merge("01")
	st.land("01")
	return st
}

func (st *story) rest(rep work.ControlReport) {
	st.t.Helper()
	st.feed(ControlDone{Command: st.begun("01", StepRest), Report: rep})
}

// What there was no time for at the claim is tried once all phases are done,
// before anybody is asked and before anything is delivered.
func TestWhatControlsLeft(t *testing.T) {
	functions := work.ControlLeft{Functions: work.LeftMarks([]string{"a.go:3"})}
	runners := work.ControlLeft{Runners: work.LeftMarks([]string{"go test in ."})}
	t.Run("it is tried on what was claimed, and nothing is found", func(t *testing.T) {
		st := left(t, leaves(functions), setting(func(set *work.Settings) { set.Proof.RestSecs = 77 }))
		st.isPending("01 rest")
		e, err := EffectOf(st.s, Pending(st.s)[0], Known{})
		if err != nil {
			t.Fatal(err)
		}
		req := e.(ControlEffect).Request
		if req.Rest == nil || !slices.Equal(req.Rest.Functions, functions.Functions) || req.RestSecs != 77 || req.Snapshot != "c1" || req.Base != "c0" || req.VerifyMillis != 9000 {
			t.Errorf("asked is %+v", req)
		}
		st.rest(work.ControlReport{Green: work.Sampled{Done: 2}})
		st.isPending("deliver")
		if r := st.phase("01").Record.Control; r.Green != (work.Sampled{Done: 3, Of: 3}) || len(r.Skipped) > 0 || r.Left != nil {
			t.Errorf("the record says %+v", r)
		}
	})
	t.Run("green without it is unproven", func(t *testing.T) {
		st := left(t, leaves(functions))
		st.rest(work.ControlReport{Unproven: []work.Place{{Path: "a.go", Line: 3, Name: "Add"}}})
		if cp := st.asked("", gates.PointEvidence); !strings.Contains(cp.Facts, "unproven a.go:3: the body of Add") {
			t.Errorf("the facts are %s", cp.Facts)
		}
		if len(st.phase("01").Record.Doubts) != 1 {
			t.Errorf("the phase's own record has %v", st.phase("01").Record.Doubts)
		}
	})
	t.Run("where an owner says that it passes, it does", func(t *testing.T) {
		st := left(t, leaves(functions), setting(func(set *work.Settings) { set.Proof.Unproven = work.UnprovenSay }))
		st.rest(work.ControlReport{Unproven: []work.Place{{Path: "a.go", Line: 3, Name: "Add"}}})
		st.isPending("deliver")
	})
	t.Run("a test that cannot fail is held whatever the policy lets pass", func(t *testing.T) {
		st := left(t, leaves(runners), func(sp *Spec) {
			sp.Policy.Gates = maps.Clone(sp.Policy.Gates)
			sp.Policy.Gates[gates.PointEvidence] = gates.Auto
			for _, pt := range gates.DoubtPoints() {
				sp.Policy.Gates[pt] = gates.Auto
			}
		})
		st.rest(work.ControlReport{Deaf: []string{"TestAdd: its expectation was made wrong, and it is reported as passed"}})
		if d := last[work.RestFinishedData](st, work.RestFinished); d.Refutes != "k" || d.Problem == "" {
			t.Errorf("the event is %+v", d)
		}
		if cp := st.asked("", gates.PointEvidence); !strings.Contains(cp.Facts, "proof_disturbed: with the work of phase 01 in place a test cannot fail any more: TestAdd") {
			t.Errorf("the facts are %s", cp.Facts)
		}
		st.answer("", gates.PointEvidence, yes, "I know why")
		st.isPending("deliver")
	})
	t.Run("what could not be tried holds the result, and fails no phase", func(t *testing.T) {
		st := left(t, leaves(runners))
		st.feed(Broke{Command: st.begun("01", StepRest), Problem: "no such program"})
		st.ended("01", work.PhaseDone, "")
		if cp := st.asked("", gates.PointEvidence); !strings.Contains(cp.Facts, "could not be tried: no such program") {
			t.Errorf("the facts are %s", cp.Facts)
		}
	})
	t.Run("a full disk stops the run, and it is tried again", func(t *testing.T) {
		st := left(t, leaves(runners))
		st.feed(Broke{Command: st.begun("01", StepRest), Problem: "no room", Short: "the disk is full"})
		st.feed(Drained{})
		st.feed(Resumed{})
		st.isPending("01 rest")
	})
	t.Run("what there was no time to take back is looked at now", func(t *testing.T) {
		late := work.ControlReport{
			Ablation: &work.Ablation{Hunks: 2, Tried: 1, Needed: 1, Skipped: "1 of 2 hunks were not taken back: budget"},
			Left:     &work.ControlLeft{Hunks: work.LeftMarks([]string{"a.go:3"})},
		}
		require := setting(func(set *work.Settings) { set.Proof.Ablate = work.AblateRequire })
		st := left(t, late, require)
		st.rest(work.ControlReport{Ablation: &work.Ablation{Tried: 1, Needed: 1}})
		st.isPending("deliver")
		st = left(t, late, require)
		st.rest(work.ControlReport{Ablation: &work.Ablation{Skipped: "1 of 1 hunks were not taken back: budget"}})
		if cp := st.asked("", gates.PointEvidence); !strings.Contains(cp.Facts, "1 of 1 hunks") || strings.Contains(cp.Facts, "1 of 2") {
			t.Errorf("the facts are %s", cp.Facts)
		}
		for name, nothing := range map[string]*work.Ablation{"no word of it": nil, "an empty word": {}} {
			st = left(t, late, require)
			st.rest(work.ControlReport{Ablation: nothing})
			if cp := st.asked("", gates.PointEvidence); !strings.Contains(cp.Facts, "1 of 2 hunks") {
				t.Errorf("%s: the facts are %s", name, cp.Facts)
			}
		}
	})
	t.Run("it waits for phases that are not done", func(t *testing.T) {
		st := left(t, leaves(functions), phases("01", "02 after 01"))
		st.isPending("02 folder")
		st.work("02", says("P02"))
		st.verify("02", true, func(d *VerifyDone) { d.Evidence = &work.EvidenceReport{} })
		st.feed(ControlDone{Command: st.begun("02", StepControl)})
		st.merge("02")
		st.land("02")
		st.isPending("01 rest")
	})
}

// What an event has no room to name is counted, and said where it stands.
func TestMoreThanAnEventNames(t *testing.T) {
	var all []work.Place
	for i := range 20 {
		all = append(all, work.Place{Path: "a.go", Line: i + 1, Name: "F"})
	}
	st := left(t, work.ControlReport{Unproven: all, Ablation: &work.Ablation{Hunks: 20, Tried: 20, Idle: all}},
		setting(func(set *work.Settings) { set.Proof.Ablate = work.AblateRequire }))
	cp := st.asked("", gates.PointEvidence)
	for _, want := range []string{"a.go:8", "and 12 more of these (forge logs --verify names all)", "and 12 more such parts (forge logs --verify names all)"} {
		if !strings.Contains(cp.Facts, want) {
			t.Errorf("%q is not said in\n%s", want, cp.Facts)
		}
	}
	var told strings.Builder
	for _, line := range st.phase("01").Record.Tell() {
		told.WriteString(line.Name + " " + line.Text + "\n")
	}
	if got := told.String(); !strings.Contains(got, "a.go:8 F, and 12 more (forge logs --verify names all)") {
		t.Errorf("told is\n%s", got)
	}
	if line := st.phase("01").Record.Line(); !strings.Contains(line, "20 functions unproven") {
		t.Errorf("the line is %q", line)
	}
}
