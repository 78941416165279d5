package orchestrator

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// differing: the merge brought other content into these files of the phase.
func differing(files ...string) func(*MergeFinishedData) {
	return func(m *MergeFinishedData) { m.Differs = files }
}

func TestReviewsAndTheMerge(t *testing.T) {
	ready := func(t *testing.T, change ...func(*Spec)) *story {
		t.Helper()
		st := inReview(t, append([]func(*Spec){reviewedBy("security", "architecture")}, change...)...)
		st.pass("01", "security", "architecture")
		return st
	}
	t.Run("the base moved: a review holds", func(t *testing.T) {
		st := ready(t)
		st.merge("01", moved())
		st.verify("01", true)
		st.isPending("01 land")
		if n := st.count(work.ReviewStarted); n != 2 {
			t.Errorf("%d reviews began, want the first 2", n)
		}
	})
	t.Run("files differ: they are reviewed again", func(t *testing.T) {
		st := ready(t)
		st.merge("01", moved(), differing("a.txt"))
		st.isPending("01 verify")
		st.verify("01", true)
		st.areAsked("01", "security about c1+ since c1", "architecture about c1+ since c1")
		st.pass("01", "security", "architecture")
		st.isPending("01 land")
		st.land("01")
		st.ended("01", work.PhaseDone, "")
	})
	t.Run("without verify commands, too", func(t *testing.T) {
		st := ready(t, unproven())
		st.merge("01", moved(), differing("a.txt"))
		st.areAsked("01", "security about c1+ since c1", "architecture about c1+ since c1")
		st.pass("01", "security", "architecture")
		st.isPending("01 land")
	})
	t.Run("one who never gave an answer sees the whole", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "performance?"))
		st.pass("01", "security")
		st.review("01", "performance", work.VerdictUnknown)
		st.merge("01", moved(), differing("a.txt"))
		st.verify("01", true)
		st.areAsked("01", "security about c1+ since c1", "performance about c1+")
	})
	t.Run("a red merged tree is not reviewed", func(t *testing.T) {
		st := ready(t)
		st.merge("01", moved(), differing("a.txt"))
		st.verify("01", false)
		st.isPending("01 iterate")
		if p := st.phase("01"); p.Kind != IterationWork || p.Last != "c1+" {
			t.Errorf("a %s goes on from %s, want work from c1+", p.Kind, p.Last)
		}
		st.claims("01")
		st.areAsked("01", "security about c2 since c1", "architecture about c2 since c1")
	})
	for _, verified := range []bool{true, false} {
		t.Run(map[bool]string{true: "a resolved conflict is reviewed", false: "also without verify commands"}[verified], func(t *testing.T) {
			var change []func(*Spec)
			if !verified {
				change = append(change, unproven())
			}
			st := ready(t, change...)
			st.merge("01", moved("a.txt"))
			st.work("01")
			if verified {
				st.verify("01", true)
			}
			st.areAsked("01", "security about c2 since c1", "architecture about c2 since c1")
			st.pass("01", "security", "architecture")
			st.isPending("01 land")
			st.land("01")
			st.ended("01", work.PhaseDone, "")
		})
	}
	t.Run("what fails there gives the turn back, and goes on from the merged tree", func(t *testing.T) {
		st := inReview(t, phases("01", "02"), reviewedBy("security"))
		st.pass("01", "security")
		st.pass("02", "security")
		st.merge("01", moved(), differing("a.txt"))
		st.verify("01", true)
		st.isPending("01 review") // 02 waits for its turn
		st.review("01", "security", work.VerdictFail, major)
		st.ruled(review.Fix, review.ReasonFixBudget)
		if p := st.phase("01"); p.Last != "c1+" || p.Tree != "t1+" || p.Base != "c0" || !p.Reset || p.Merge != nil {
			t.Errorf("the fix goes on from %s, %s on %s, want c1+, t1+ on c0", p.Last, p.Tree, p.Base)
		}
		st.isPending("01 iterate", "02 merge")
		st.merge("02")
		st.land("02")
		if c := st.begun("01", StepIterate); c.Commit != "c1+" {
			t.Errorf("the fix begins at %s, want c1+", c.Commit)
		}
		st.feed(IterationDone{Command: st.begun("01", StepIterate), Report: work.IterationReport{Outcome: work.OutcomeOK}, Snapshot: work.Snapshot{Commit: "c9", Tree: "t9", Changed: true}})
		st.verify("01", true)
		st.areAsked("01", "security about c9")
		st.pass("01", "security")
		st.merge("01", moved())
		st.verify("01", true)
		st.land("01")
		st.ended("01", work.PhaseDone, "")
	})
	t.Run("a model may let the merged tree pass", func(t *testing.T) {
		st := ready(t, arbiterModel)
		st.merge("01", moved(), differing("a.txt"))
		st.verify("01", true)
		st.pass("01", "security")
		st.review("01", "architecture", work.VerdictFail, minor)
		st.judges("01", work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(1)})
		c := st.begun("01", StepMerge)
		if c.Commit != "c1+" {
			t.Errorf("merged is %s, want c1+", c.Commit)
		}
	})
	t.Run("a person, asked there, holds up nobody's merge", func(t *testing.T) {
		st := inReview(t, phases("01", "02"), reviewedBy("security"), asksOnFail, fixes(0))
		st.pass("01", "security")
		st.pass("02", "security")
		st.merge("01", moved(), differing("a.txt"))
		st.verify("01", true)
		st.review("01", "security", work.VerdictFail, critical)
		st.isPending("02 merge")
		st.lands("02")
		st.answer("01", gates.PointFindings, work.CheckpointApproved, "known")
		st.lands("01")
	})
	t.Run("likewise what fails for good", func(t *testing.T) {
		st := inReview(t, phases("01", "02"), reviewedBy("security"), fixes(0))
		st.pass("01", "security")
		st.pass("02", "security")
		st.merge("01", moved(), differing("a.txt"))
		st.verify("01", true)
		st.review("01", "security", work.VerdictFail, major)
		st.ended("01", work.PhaseFailed, work.ReasonReviewFailed)
		st.isPending("02 merge")
	})
	t.Run("a resolution that fails its review is no conflict any more", func(t *testing.T) {
		st := ready(t, arbiterModel)
		st.merge("01", moved("a.txt"))
		st.work("01")
		st.verify("01", true)
		st.pass("01", "security")
		st.review("01", "architecture", work.VerdictFail, minor)
		st.judges("01", work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(1)})
		st.merge("01", moved())
		st.verify("01", false)
		if p := st.phase("01"); p.Stage == StageFinished || p.Kind != IterationWork {
			t.Fatalf("a red merge ends the phase %s (%s), with iterations left", p.Reason, p.Detail)
		}
		st.isPending("01 iterate")
		if prompt := st.prompt("01"); strings.Contains(prompt, "onflict") {
			t.Errorf("the prompt is about a conflict:\n%s", prompt)
		}
	})
}
