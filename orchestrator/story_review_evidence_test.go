package orchestrator

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

func makefile(d *VerifyDone) { touch(d, "Makefile") }

func touch(d *VerifyDone, paths ...string) {
	d.Evidence = &work.EvidenceReport{Touched: paths, Floors: []work.VerifyOn{work.OnProtected}}
}

// tampered is a phase whose proof does not stand with the base's own files.
func tampered(t *testing.T, change ...func(*Spec)) *story {
	t.Helper()
	st := tell(t, append([]func(*Spec){reviewedBy("security")}, change...)...)
	st.work("01", says("P01"))
	st.verify("01", true, makefile)
	st.verify("01", false)
	return st
}

// Where reviews are on, changed evidence is a critical finding of Forge's own.
func TestChangedEvidence(t *testing.T) {
	t.Run("is fixed", func(t *testing.T) {
		st := tampered(t)
		st.areAsked("01", "security about c1")
		st.review("01", "security", work.VerdictFail, critical)
		if d := st.ruled(review.Fix, review.ReasonFixBudget); len(d.Findings) != 2 {
			t.Errorf("the arbiter saw %v, want both", d.Findings)
		}
		first, second, _ := strings.Cut(st.phase("01").tellFindings(), "\n2. ")
		if !strings.HasPrefix(first, "1. critical (evidence_changed)") || !strings.Contains(first, "Makefile") || !strings.Contains(first, "may_change") || !strings.Contains(second, "(security)") {
			t.Errorf("the findings are\n%s\n2. %s", first, second)
		}
		st.fix("01", true)
		st.pass("01", "security")
		st.lands("01")
	})
	t.Run("is held against work that all reviewers pass", func(t *testing.T) {
		st := tampered(t, fixes(1))
		st.pass("01", "security")
		st.ruled(review.Fix, review.ReasonFixBudget)
		st.work("01")
		st.verify("01", true, makefile)
		st.verify("01", false)
		st.pass("01", "security")
		st.ruled(review.FailPhase, review.ReasonExhausted)
		st.ended("01", work.PhaseFailed, work.ReasonEvidenceChanged)
	})
	t.Run("stands after a red fix", func(t *testing.T) {
		st := tampered(t, fixes(1))
		st.pass("01", "security")
		st.fix("01", false)
		st.ended("01", work.PhaseFailed, work.ReasonEvidenceChanged)
	})
	t.Run("beside another finding it is a failed review", func(t *testing.T) {
		st := tampered(t, fixes(0))
		st.review("01", "security", work.VerdictFail, major)
		st.ended("01", work.PhaseFailed, work.ReasonReviewFailed)
	})
	t.Run("no model lets it pass, and no major ones' leave", func(t *testing.T) {
		st := tampered(t, fixes(0), arbiterModel, reviewSetting(func(r *work.ReviewSettings) { r.KeepMajor = true }))
		st.pass("01", "security")
		st.judges("01", work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(1)})
		st.ended("01", work.PhaseFailed, work.ReasonEvidenceChanged)
	})
	t.Run("a lost test file", func(t *testing.T) {
		st := tell(t, reviewedBy("security"))
		st.work("01", says("P01"))
		st.verify("01", true, func(d *VerifyDone) { touch(d, "a_test.go") })
		st.verify("01", false)
		st.pass("01", "security")
		st.ruled(review.Fix, review.ReasonFixBudget)
		if told := st.phase("01").tellFindings(); !strings.Contains(told, "a_test.go") {
			t.Errorf("the finding does not name the file:\n%s", told)
		}
		st.fix("01", true)
		st.pass("01", "security")
		st.lands("01")
	})
	t.Run("touched, and green with the base's files: nothing is wrong", func(t *testing.T) {
		st := tell(t, reviewedBy("security"))
		st.work("01", says("P01"))
		st.verify("01", true, makefile)
		st.verify("01", true)
		st.pass("01", "security")
		st.isPending("01 merge")
	})
	t.Run("without reviews it fails at once", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"))
		st.verify("01", true, makefile)
		st.verify("01", false)
		st.ended("01", work.PhaseFailed, work.ReasonEvidenceChanged)
	})
	t.Run("a fix that loses tests leaves the objection standing", func(t *testing.T) {
		st := tampered(t, fixes(1), func(sp *Spec) { sp.Settings.Proof.NoControls = false })
		st.pass("01", "security")
		st.ruled(review.Fix, review.ReasonFixBudget)
		st.fix("01", true)
		st.feed(ControlDone{Command: st.begun("01", StepControl), Report: work.ControlReport{Lost: []string{"TestAdd"}}})
		if p := st.phase("01"); !strings.Contains(p.Review.Evidence, "protected files") {
			t.Errorf("of the tree that stands, what is objected to is %q", p.Review.Evidence)
		}
		st.ended("01", work.PhaseFailed, work.ReasonEvidenceChanged)
	})
	t.Run("a second fix that comes to nothing leaves the first one's standing", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), fixes(2))
		st.review("01", "security", work.VerdictFail, major)
		st.ruled(review.Fix, review.ReasonFixBudget)
		st.work("01")
		st.verify("01", true, makefile)
		st.verify("01", false)
		st.pass("01", "security")
		st.ruled(review.Fix, review.ReasonFixBudget)
		st.work("01", ends(work.OutcomeAgentFailed))
		st.ended("01", work.PhaseFailed, work.ReasonEvidenceChanged)
	})
	t.Run("so does a sub-phase, which nobody reviews by itself", func(t *testing.T) {
		st := tell(t, reviewedBy("security"))
		st.work("01", asksFor(part("S", 1)))
		st.work("01.1", says("S"))
		st.verify("01.1", true, makefile)
		st.verify("01.1", false)
		st.ended("01.1", work.PhaseFailed, work.ReasonEvidenceChanged)
		st.isPending("01 iterate")
	})
	t.Run("at the merge it gives the turn back", func(t *testing.T) {
		st := inReview(t, phases("01", "02"), reviewedBy("security"))
		st.pass("01", "security")
		st.pass("02", "security")
		st.merge("01", moved())
		st.verify("01", true, makefile)
		st.verify("01", false)
		st.pass("01", "security")
		st.ruled(review.Fix, review.ReasonFixBudget)
		st.isPending("01 iterate", "02 merge")
	})
}

// A person may let changed evidence pass, and is asked once about it.
func TestAcceptedEvidence(t *testing.T) {
	begin := func(t *testing.T, told func(*VerifyDone), change ...func(*Spec)) *story {
		t.Helper()
		st := tell(t, append([]func(*Spec){reviewedBy("security"), asksOnFail, fixes(0)}, change...)...)
		st.work("01", says("P01"))
		st.verify("01", true, told)
		if st.phase("01").Stage == StageEvidence {
			st.verify("01", false)
		}
		st.pass("01", "security")
		st.answer("01", gates.PointFindings, work.CheckpointApproved)
		st.stands("01", StageAsked) // not without a reason
		st.answer("01", gates.PointFindings, work.CheckpointApproved, "the new target is right")
		return st
	}
	for name, told := range map[string]func(*VerifyDone){"touched": makefile} {
		t.Run(name+", onto an unmoved head", func(t *testing.T) {
			begin(t, told).lands("01")
		})
		t.Run(name+", onto a moved one: not asked again", func(t *testing.T) {
			st := begin(t, told)
			st.merge("01", moved())
			st.verify("01", true, told)
			st.isPending("01 land")
		})
		t.Run(name+", and the files differ: asked again", func(t *testing.T) {
			st := begin(t, told)
			st.merge("01", moved(), differing("Makefile"))
			st.verify("01", true, told)
			if st.phase("01").Stage == StageEvidence {
				st.verify("01", false)
			}
			st.areAsked("01", "security about c1+ since c1")
			st.pass("01", "security")
			st.asked("01", gates.PointFindings)
		})
	}
	t.Run("other evidence than was accepted", func(t *testing.T) {
		st := begin(t, makefile)
		st.merge("01", moved())
		st.verify("01", true, func(d *VerifyDone) { touch(d, "Makefile", "ci.yml") })
		st.isPending("01 verify")
		st.verify("01", false)
		st.areAsked("01", "security about c1+ since c1")
	})
	t.Run("a resolved conflict: asked again", func(t *testing.T) {
		st := begin(t, makefile)
		st.merge("01", moved("Makefile"))
		st.work("01")
		st.verify("01", true, makefile)
		st.isPending("01 verify")
	})
	t.Run("a rework is judged anew, and so is its merge", func(t *testing.T) {
		st := begin(t, makefile, human(gates.PointPhaseTransition))
		st.answer("01", gates.PointPhaseTransition, changes, "make it smaller")
		st.work("01")
		st.verify("01", true, makefile)
		st.isPending("01 verify") // with the base's files
		st.verify("01", true)
		st.pass("01", "security")
		st.approve("01", gates.PointPhaseTransition)
		st.merge("01", moved())
		st.verify("01", true, makefile)
		st.isPending("01 verify") // nobody accepted what the file holds now
		st.verify("01", false)
		st.pass("01", "security")
		st.asked("01", gates.PointFindings)
	})
	t.Run("no: it is the evidence that fails the phase", func(t *testing.T) {
		st := tampered(t, asksOnFail, fixes(0))
		st.pass("01", "security")
		st.answer("01", gates.PointFindings, no)
		st.ended("01", work.PhaseFailed, work.ReasonEvidenceChanged)
	})
}
