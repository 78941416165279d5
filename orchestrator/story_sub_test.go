package orchestrator

import (
	"fmt"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

func TestSubPhases(t *testing.T) {
	t.Run("carved from the parent's budget, the rest returns", func(t *testing.T) {
		st := tell(t, budget(5))
		st.work("01", asksFor(part("LINT CLEAN", 3)))
		st.isPending("01.1 folder")
		child := st.phase("01.1")
		if child.Budget != 3 || child.Parent != "01" || child.Base != "c1" || child.Plan.Promise != "LINT CLEAN" {
			t.Fatalf("the sub-phase is %+v, want budget 3 at c1", child)
		}
		st.work("01.1", says("LINT CLEAN"))
		st.verify("01.1", true)
		st.ended("01.1", work.PhaseDone, "")
		p := st.phase("01")
		if p.Spent != 2 || p.Last != child.Last || !p.Reset {
			t.Errorf("the parent has spent %d and stands at %s (folder set: %v), want 2 and the sub-phase's %s", p.Spent, p.Last, p.Reset, child.Last)
		}
		if !strings.Contains(st.prompt("01"), "Sub-phase 01.1 is done") {
			t.Error("the parent is not told")
		}
		st.isPending("01 iterate")
		if st.count(work.MergeStarted) != 0 {
			t.Error("the sub-phase merged by itself")
		}
	})
	t.Run("a failure is fed back, and its work dropped", func(t *testing.T) {
		st := tell(t, budget(5))
		st.work("01", asksFor(part("S", 2)))
		st.work("01.1")
		st.work("01.1")
		st.ended("01.1", work.PhaseFailed, work.ReasonBudgetExhausted)
		p := st.phase("01")
		if p.Spent != 3 || p.Last != "c1" || p.Stage != StageIterate {
			t.Errorf("the parent has spent %d, stands at %s, %s; want 3, c1 and to go on", p.Spent, p.Last, p.Stage)
		}
		if !strings.Contains(st.prompt("01"), "Sub-phase 01.1 did not succeed") {
			t.Error("the parent is not told")
		}
	})
	t.Run("any end ends the wait", func(t *testing.T) {
		for name, end := range map[string]func(st *story){
			"broken":    func(st *story) { st.feed(Broke{Command: st.begun("01.1", StepFolder), Problem: "no space"}) },
			"setup":     func(st *story) { st.feed(FolderDone{Command: st.begun("01.1", StepFolder)}) },
			"cancelled": func(st *story) { st.work("01.1", ends(work.OutcomeCancelled)) },
			"hung": func(st *story) {
				st.work("01.1", ends(work.OutcomeIdleTimeout))
				st.work("01.1", ends(work.OutcomeIdleTimeout))
			},
			"no evidence": func(st *story) {
				st.work("01.1", says("S"))
				st.verify("01.1", true, makefile)
				st.verify("01.1", false)
			},
		} {
			t.Run(name, func(t *testing.T) {
				st := tell(t, budget(9))
				st.work("01", asksFor(part("S", 3)))
				end(st)
				st.stands("01", StageIterate)
			})
		}
	})
	t.Run("one after the other", func(t *testing.T) {
		st := tell(t, budget(9))
		st.work("01", asksFor(part("A", 1), part("B", 1)))
		st.isPending("01.1 folder")
		st.work("01.1", says("A"))
		st.verify("01.1", true)
		st.isPending("01.2 folder")
		if got, want := st.phase("01.2").Base, st.phase("01.1").Last; got != want {
			t.Errorf("the second begins at %s, want at the first's work, %s", got, want)
		}
		st.work("01.2", says("B"))
		st.verify("01.2", true)
		st.isPending("01 iterate")
	})
	t.Run("they draw on one budget together", func(t *testing.T) {
		st := tell(t, budget(4))
		st.work("01", asksFor(part("A", 3), part("B", 1)))
		for range 3 {
			st.work("01.1")
		}
		st.ended("01", work.PhaseFailed, work.ReasonBudgetExhausted)
		if st.s.Phases["01.2"] != nil {
			t.Error("the second was spawned with nothing left")
		}
	})
}

func TestRefusedSubPhases(t *testing.T) {
	tests := []struct {
		name    string
		request work.SubPhaseRequest
		want    string // in the parent's next prompt
	}{
		{"more than is left", part("S", 5), "more than the 4 that remain"},
		{"no iterations", part("S", 0), "not a number of iterations"},
		{"a negative number", part("S", -1), "not a number of iterations"},
		{"the parent's promise", part("P01", 1), "promise is that of phase 01"},
		{"another phase's promise", part(" P02 ", 1), "promise is that of phase 02"},
		{"a promise with a bracket", part("a > b", 1), "contains < or >"},
		{"an empty promise", part(" ", 1), "promise is empty"},
		{"a name with a separator", work.SubPhaseRequest{Name: "../x", Promise: "S", Budget: 1}, "path separator"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := tell(t, phases("01", "02"), budget(5))
			st.work("01", asksFor(tt.request))
			st.stands("01", StageIterate)
			if prompt := st.prompt("01"); !strings.Contains(prompt, tt.want) {
				t.Errorf("the prompt does not say %q:\n%s", tt.want, prompt)
			}
		})
	}
	t.Run("a promise that a sub-phase has", func(t *testing.T) {
		st := tell(t, budget(5))
		st.work("01", asksFor(part("S", 1), part("S", 1)))
		st.work("01.1")
		st.stands("01", StageIterate)
		if st.s.Phases["01.2"] != nil {
			t.Error("a second sub-phase has the same promise")
		}
	})
	t.Run("of a sub-phase", func(t *testing.T) {
		st := tell(t, budget(9))
		st.work("01", asksFor(part("S", 3)))
		st.work("01.1", asksFor(part("T", 1)))
		st.stands("01.1", StageIterate)
		if !strings.Contains(st.prompt("01.1"), "do not nest") {
			t.Error("the agent is not told that sub-phases do not nest")
		}
	})
	t.Run("of a phase that is numbered as a part", func(t *testing.T) {
		st := tell(t, phases("01.5"))
		st.work("01.5", asksFor(part("S", 1)))
		st.stands("01.5", StageIterate)
	})
	t.Run("the eleventh", func(t *testing.T) {
		st := tell(t, budget(99))
		for i := range 11 {
			st.work("01", asksFor(part(fmt.Sprintf("S%d", i), 1)))
			if n := fmt.Sprintf("01.%d", i+1); st.s.Phases[n] != nil {
				st.work(n)
			}
		}
		if n := st.phase("01").Spawned; n != 10 {
			t.Errorf("%d sub-phases were spawned, want 10", n)
		}
		if !strings.Contains(st.prompt("01"), "at most 10") {
			t.Error("the agent is not told about the limit")
		}
	})
}

func TestSubPhaseAnswers(t *testing.T) {
	begin := func(t *testing.T, requests ...work.SubPhaseRequest) *story {
		st := tell(t, human(gates.PointSubPhase), budget(9))
		st.work("01", asksFor(requests...))
		return st
	}
	t.Run("spawn, then start", func(t *testing.T) {
		st := begin(t, part("A", 3))
		if cp := st.asked("01", gates.PointSubPhase); !strings.Contains(cp.Facts, "budget 3 of the 8") {
			t.Errorf("the question does not show budget against remainder: %q", cp.Facts)
		}
		st.approve("01", gates.PointSubPhase)
		st.isPending()
		st.approve("01.1", gates.PointPhaseStart)
		st.isPending("01.1 folder")
	})
	t.Run("spawned, and then not started", func(t *testing.T) {
		st := begin(t, part("A", 3))
		st.approve("01", gates.PointSubPhase)
		st.answer("01.1", gates.PointPhaseStart, no)
		st.ended("01.1", work.PhaseSkipped, work.ReasonUser)
		st.isPending("01 iterate")
	})
	t.Run("skip one", func(t *testing.T) {
		st := begin(t, part("A", 1), part("B", 1))
		st.answer("01", gates.PointSubPhase, no, "too early")
		if cp := st.asked("01", gates.PointSubPhase); !strings.Contains(cp.Question, "part B") {
			t.Errorf("the next question is %q, want B", cp.Question)
		}
	})
	t.Run("changes: not spawned, the comment is fed back", func(t *testing.T) {
		st := begin(t, part("A", 1))
		st.answer("01", gates.PointSubPhase, changes, "do it yourself")
		st.isPending("01 iterate")
		if !strings.Contains(st.prompt("01"), "do it yourself") {
			t.Error("the comment is not in the prompt")
		}
	})
	t.Run("reject all", func(t *testing.T) {
		st := begin(t, part("A", 1), part("B", 1), part("C", 1))
		st.feed(Answered{work.Answer{Checkpoint: st.asked("01", gates.PointSubPhase).ID, Status: no, Choice: choiceRejectAll, By: "test"}})
		st.isPending("01 iterate")
	})
	t.Run("a request that does not fit is not asked about", func(t *testing.T) {
		st := begin(t, part("A", 9))
		st.isPending("01 iterate")
	})
}

// What a sub-phase was proven with has to be green in the end as well.
func TestEvidenceOfASubPhase(t *testing.T) {
	begin := func(t *testing.T) *story {
		st := tell(t)
		st.work("01", asksFor(part("S", 1)))
		st.work("01.1", says("S"))
		st.verify("01.1", true)
		st.work("01", says("P01"))
		if e, err := EffectOf(st.s, Pending(st.s)[0], Known{}); err != nil || len(e.(VerifyEffect).Proof.Evidence.Parts) != 1 {
			t.Errorf("what is proven is %+v, %v", e, err)
		}
		st.verify("01", true, func(d *VerifyDone) {
			d.Evidence = &work.EvidenceReport{Parts: []string{"s_test.go"}, Floors: []work.VerifyOn{work.OnParts}}
		})
		if c := Pending(st.s); len(c) != 1 || c[0].On != work.OnParts {
			t.Fatalf("pending is %+v, want a verify with the evidence of the part", c)
		}
		return st
	}
	t.Run("green", func(t *testing.T) {
		st := begin(t)
		st.verify("01", true)
		st.isPending("01 merge")
	})
	t.Run("red", func(t *testing.T) {
		st := begin(t)
		st.verify("01", false)
		st.ended("01", work.PhaseFailed, work.ReasonEvidenceChanged)
		if detail := st.phase("01").Detail; !strings.Contains(detail, "parts of this work were proven with: s_test.go") {
			t.Errorf("the failure is %q", detail)
		}
	})
}
