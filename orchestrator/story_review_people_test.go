package orchestrator

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// A person is asked where the arbiter would fail the phase and the policy says
// so.
func TestFindingsCheckpoint(t *testing.T) {
	begin := func(t *testing.T, found ...work.Severity) *story {
		t.Helper()
		st := inReview(t, phases("01", "02"), reviewedBy("security"), asksOnFail, fixes(0))
		st.pass("02", "security")
		st.review("01", "security", work.VerdictFail, found...)
		st.ruled(review.AskHuman, review.ReasonExhausted)
		return st
	}
	t.Run("with attempts left it is fixed first", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), asksOnFail)
		st.review("01", "security", work.VerdictFail, critical)
		st.ruled(review.Fix, review.ReasonFixBudget)
	})
	t.Run("the question says what was found", func(t *testing.T) {
		st := begin(t, major)
		cp := st.asked("01", gates.PointFindings)
		if !strings.Contains(cp.Facts, "major (security) a.txt:1: major thing 1") || cp.ReasonDue || cp.Hash == "" {
			t.Errorf("the question is %+v", cp)
		}
		st.isPending("02 merge") // only its phase waits
	})
	t.Run("yes: it goes on, and who said so is on record", func(t *testing.T) {
		st := begin(t, major)
		st.approve("01", gates.PointFindings)
		if let := st.phase("01").Review.Let; let != "person:test" {
			t.Errorf("it went on by %q", let)
		}
		st.lands("02")
		st.lands("01")
	})
	t.Run("yes to a critical one needs a reason", func(t *testing.T) {
		st := begin(t, minor, critical)
		if !st.asked("01", gates.PointFindings).ReasonDue {
			t.Error("the question does not ask for a reason")
		}
		for _, blank := range []string{"", "  \n"} {
			st.answer("01", gates.PointFindings, work.CheckpointApproved, blank)
			if d := last[CheckpointAnsweredData](st, work.CheckpointAnswered); d.Refused != work.ErrEmptyFeedback.Error() {
				t.Errorf("a yes with the reason %q was refused with %q", blank, d.Refused)
			}
			st.stands("01", StageAsked)
		}
		st.answer("01", gates.PointFindings, work.CheckpointApproved, "it is behind a flag")
		st.stands("01", StageTurn)
		if d := last[work.GateDecidedData](st, work.GateDecided); d.Gate != string(gates.PointPhaseTransition) {
			t.Errorf("the last decision is %+v", d)
		}
		found := false
		for _, e := range st.events {
			var d work.GateDecidedData
			found = found || decode(e, &d) == nil && d.Gate == string(gates.PointFindings) && d.Reason == "it is behind a flag" && d.By == "person:test"
		}
		if !found {
			t.Error("the reason is not on record")
		}
	})
	t.Run("changes: a fix with the comment, beyond the attempts", func(t *testing.T) {
		st := begin(t, critical)
		st.answer("01", gates.PointFindings, changes, "use the other lock")
		prompt := st.prompt("01")
		if !strings.Contains(prompt, "use the other lock") || !strings.Contains(prompt, "critical thing 1") {
			t.Errorf("the prompt lacks the comment or the finding:\n%s", prompt)
		}
		st.fix("01", true)
		st.areAsked("01", "security about c3")
		st.review("01", "security", work.VerdictFail, critical)
		st.asked("01", gates.PointFindings)
		st.answer("01", gates.PointFindings, changes, "once more")
		st.fix("01", true)
		st.pass("01", "security")
		st.lands("02")
		st.lands("01")
	})
	t.Run("changes without a word are refused", func(t *testing.T) {
		st := begin(t, major)
		st.answer("01", gates.PointFindings, changes, " ")
		st.stands("01", StageAsked)
	})
	t.Run("no: the phase fails", func(t *testing.T) {
		st := begin(t, major)
		st.answer("01", gates.PointFindings, no, "not like this")
		st.ended("01", work.PhaseFailed, work.ReasonReviewFailed)
		if detail := st.phase("01").Detail; !strings.Contains(detail, "not like this") {
			t.Errorf("the failure does not have the person's words: %q", detail)
		}
	})
	t.Run("no to what nobody could say", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), asksOnFail)
		st.neverAnswers("01", "security")
		st.answer("01", gates.PointFindings, no)
		st.ended("01", work.PhaseFailed, work.ReasonReviewUnknown)
	})
	t.Run("changes to what nobody could say", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), asksOnFail)
		st.neverAnswers("01", "security")
		st.answer("01", gates.PointFindings, changes, "make it smaller")
		st.fix("01", true, changesNothing)
		st.areAsked("01", "security about c1")
		st.pass("01", "security")
		st.lands("01")
	})
	t.Run("nobody answers: frozen, and asked still", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), asksOnFail, fixes(0))
		st.review("01", "security", work.VerdictFail, major)
		st.isPending()
		st.feed(Drained{})
		st.runEnded(work.RunFrozen)
		st.dies(Resumed{})
		st.isPending()
		st.approve("01", gates.PointFindings)
		st.lands("01")
	})
	t.Run("abort", func(t *testing.T) {
		st := begin(t, major)
		st.feed(Answered{work.Answer{Checkpoint: st.asked("01", gates.PointFindings).ID, Status: work.CheckpointRejected, Choice: ChoiceAbort, By: "test", Door: "cli"}})
		st.runEnded(work.RunCancelled)
	})
	t.Run("the question of another tree cannot be answered any more", func(t *testing.T) {
		st := begin(t, major)
		old := st.asked("01", gates.PointFindings).ID
		st.answer("01", gates.PointFindings, changes, "mend it")
		st.fix("01", true)
		st.review("01", "security", work.VerdictFail, critical)
		st.feed(Answered{work.Answer{Checkpoint: old, Status: work.CheckpointApproved, Comment: "fine", By: "test", Door: "cli"}})
		st.stands("01", StageAsked)
		if st.asked("01", gates.PointFindings).ID == old {
			t.Error("both questions have the same id")
		}
	})
	t.Run("a yes is for that tree: the next one is reviewed", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), asksOnFail, fixes(0), human(gates.PointPhaseTransition))
		st.review("01", "security", work.VerdictFail, critical)
		st.answer("01", gates.PointFindings, work.CheckpointApproved, "known")
		st.answer("01", gates.PointPhaseTransition, changes, "add a test")
		st.fix("01", true)
		st.review("01", "security", work.VerdictFail, critical)
		st.asked("01", gates.PointFindings)
	})
	t.Run("after a red last fix a yes goes on with what was proven", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), asksOnFail, fixes(1))
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", false)
		if cp := st.asked("01", gates.PointFindings); !strings.Contains(cp.Facts, "the last fix does not pass verify") {
			t.Errorf("the question does not say so: %s", cp.Facts)
		}
		st.approve("01", gates.PointFindings)
		c := st.begun("01", StepMerge)
		if p := st.phase("01"); c.Commit != "c1" || p.Last != "c1" || p.Tree != "t1" || !p.Reset {
			t.Errorf("merged is %s of %s, %s (folder set back: %v), want c1, t1", c.Commit, p.Last, p.Tree, p.Reset)
		}
	})
	t.Run("likewise where major ones may stand", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), fixes(1), reviewSetting(func(r *work.ReviewSettings) { r.KeepMajor = true }))
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", false)
		st.ruled(review.Proceed, review.ReasonMajorStands)
		if c := st.begun("01", StepMerge); c.Commit != "c1" {
			t.Errorf("merged is %s, want c1", c.Commit)
		}
	})
	t.Run("after a red last fix, changes go on from it", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), asksOnFail, fixes(1))
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", false)
		st.answer("01", gates.PointFindings, changes, "look at the log")
		if c := st.begun("01", StepIterate); c.Commit != "c2" {
			t.Errorf("the fix goes on from %s, want c2", c.Commit)
		}
	})
}

func TestReworkIsReviewed(t *testing.T) {
	t.Run("before the merge", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), human(gates.PointPhaseTransition))
		st.pass("01", "security")
		st.answer("01", gates.PointPhaseTransition, changes, "add a test")
		st.fix("01", true)
		st.areAsked("01", "security about c2 since c1")
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", true)
		st.pass("01", "security")
		st.isPending()
		st.approve("01", gates.PointPhaseTransition)
		st.lands("01")
	})
	t.Run("a rework that changes nothing", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), human(gates.PointPhaseTransition))
		st.pass("01", "security")
		st.answer("01", gates.PointPhaseTransition, changes, "look again")
		st.fix("01", true, changesNothing)
		st.asked("01", gates.PointPhaseTransition)
		if n := st.count(work.ReviewStarted); n != 1 {
			t.Errorf("%d reviews began, want 1", n)
		}
	})
	atTheEnd := func(t *testing.T, change ...func(*Spec)) *story {
		t.Helper()
		st := inReview(t, append([]func(*Spec){reviewedBy("security"), human(gates.PointFinal)}, change...)...)
		st.pass("01", "security")
		st.lands("01")
		st.answer("", gates.PointFinal, changes, "add a test")
		return st
	}
	t.Run("of the result", func(t *testing.T) {
		st := atTheEnd(t)
		st.work("01")
		st.verify("01", true)
		st.areAsked("01", "security about c2")
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", true)
		st.pass("01", "security")
		st.lands("01")
		st.approve("", gates.PointFinal)
		st.deliver()
		st.runEnded(work.RunCompleted)
	})
	t.Run("of the result, to no avail: what was merged before stands", func(t *testing.T) {
		st := atTheEnd(t, fixes(0))
		st.work("01")
		st.verify("01", true)
		st.review("01", "security", work.VerdictFail, critical)
		st.ended("01", work.PhaseDone, "")
		if cp := st.asked("", gates.PointFinal); !strings.Contains(cp.Facts, "review_failed") || st.s.Head != "landed-01" {
			t.Errorf("the head is %s, and the question %s", st.s.Head, cp.Facts)
		}
	})
}

// Whoever lands a result is told which findings were let pass, and by whom.
func TestFinalNamesWhatWasLetPass(t *testing.T) {
	st := inReview(t, reviewedBy("security"), asksOnFail, fixes(0), human(gates.PointFinal))
	st.review("01", "security", work.VerdictFail, critical)
	st.answer("01", gates.PointFindings, work.CheckpointApproved, "a dummy")
	st.merge("01")
	st.land("01")
	if facts := st.asked("", gates.PointFinal).Facts; !strings.Contains(facts, "findings let pass by person:test") {
		t.Errorf("the person reads %q", facts)
	}
}
