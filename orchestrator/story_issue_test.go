package orchestrator

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// ofIssue lets a run work on an issue with these criteria; nobody holds it.
func ofIssue(criteria ...string) func(*Spec) {
	return func(sp *Spec) {
		sp.Issue = &work.IssueBrief{Project: "p1", ID: 7, Version: 3, Title: "Speak up"}
		for i, text := range criteria {
			sp.Issue.Criteria = append(sp.Issue.Criteria, work.Criterion{ID: "c" + string(rune('1'+i)), Text: text})
		}
		sp.Settings.Promote = work.PromoteSettings{Enabled: true, OnClean: true}
	}
}

// alwaysReviews is promote = always_review, and nothing else.
func alwaysReviews(sp *Spec) {
	human(gates.PointPromote)(sp)
	sp.Policy.Promote = gates.AlwaysReview
}

const makeTest = "`make test` passes"

// stood says where the issue stands: standing, decision, holds and the
// criteria that are met.
func (st *story) stood(at Standing, decision review.Promotion, hold, unmet string) Promotion {
	st.t.Helper()
	p := st.s.Promotion()
	var holds, open []string
	for _, h := range p.Hold {
		holds = append(holds, string(h))
	}
	for _, c := range p.Criteria {
		if !c.Met {
			open = append(open, c.ID)
		}
	}
	if p.Standing != at || p.Decision != decision || strings.Join(holds, " ") != hold || strings.Join(open, " ") != unmet {
		st.t.Errorf("the issue stands at %s, decided %q, held by %q, unmet %q; want %s, %q, %q, %q; the last events are\n%s",
			p.Standing, p.Decision, holds, open, at, decision, hold, unmet, tail(st.events, 6))
	}
	return p
}

func TestCleanIssueLandsByItself(t *testing.T) {
	st := tell(t, ofIssue(makeTest))
	st.stood(StandsWorking, "", "", "c1")
	st.done("01")
	st.isPending("deliver")
	st.stood(StandsWorking, review.ToDone, "", "")
	st.deliver()
	st.runEnded(work.RunCompleted)
	p := st.stood(StandsDone, review.ToDone, "", "")
	if e := p.Criteria[0].Evidence; len(e) != 1 || e[0].By != work.EvidenceVerify || e[0].What != "make test" || e[0].Phase != "01" || e[0].Commit != "landed-01" || e[0].At.IsZero() {
		t.Errorf("the evidence is %+v", e)
	}
	if p.By != byPromote || st.count(work.CheckpointOpened) != 0 {
		t.Errorf("decided by %s, %d questions", p.By, st.count(work.CheckpointOpened))
	}
}

// TestHeldIssues: each reason to hold, alone.
func TestHeldIssues(t *testing.T) {
	with := func(change ...func(*Spec)) func(t *testing.T) *story {
		return func(t *testing.T) *story { return tell(t, append([]func(*Spec){ofIssue(makeTest)}, change...)...) }
	}
	reviewed := with(reviewedBy("security", "speed?"))
	done := func(st *story) { st.done("01") }
	tests := []struct {
		name string
		open func(t *testing.T) *story
		does func(st *story)
		hold string
	}{
		{"autonomy", with(alwaysReviews), done, "autonomy_disabled"},
		{"the switch", with(func(sp *Spec) { sp.Settings.Promote.Enabled = false }), done, "auto_promote_disabled"},
		{"the other switch", with(func(sp *Spec) { sp.Settings.Promote.OnClean = false }), done, "promote_on_clean_disabled"},
		{"settings of an older version", with(func(sp *Spec) { sp.Settings.Promote = work.PromoteSettings{} }), done, "auto_promote_disabled promote_on_clean_disabled"},
		{"a warning", reviewed, func(st *story) {
			st.claims("01")
			st.review("01", "security", work.VerdictWarn, minor)
			st.pass("01", "speed")
			st.lands("01")
		}, "review_warnings"},
		{"an advisory one that gives no answer", reviewed, func(st *story) {
			st.claims("01")
			st.pass("01", "security")
			st.review("01", "speed", work.VerdictUnknown)
			st.lands("01")
		}, "review_warnings"},
		{"the arbiter", reviewed, func(st *story) {
			st.s.Spec.Settings.Reviews.KeepMajor = true
			st.claims("01")
			st.review("01", "security", work.VerdictFail, major)
			st.pass("01", "speed")
			for range 2 { // both fixes
				st.fix("01", true)
				st.review("01", "security", work.VerdictFail, major)
				st.pass("01", "speed")
			}
			st.lands("01")
		}, "review_warnings arbiter_proceeded fix_attempts"},
		{"a fix that worked", reviewed, func(st *story) {
			st.claims("01")
			st.review("01", "security", work.VerdictFail, major)
			st.pass("01", "speed")
			st.fix("01", true)
			st.pass("01", "security", "speed")
			st.lands("01")
		}, "fix_attempts"},
		{"a phase by its word alone", with(unproven(), func(sp *Spec) { sp.Issue.Criteria = nil }), done, "unverified"},
		{"protected files that the plan lets it change", with(), func(st *story) {
			st.work("01", says("P01"))
			st.verify("01", true, func(v *VerifyDone) { v.Evidence.Allowed = []string{"Makefile"} })
			st.merge("01")
			st.land("01")
		}, "unverified"},
		{"changed evidence that a person let pass", with(reviewedBy("security"), asksOnFail, fixes(0)), func(st *story) {
			st.work("01", says("P01"))
			st.verify("01", true, makefile)
			st.verify("01", false)
			st.pass("01", "security")
			st.answer("01", gates.PointFindings, yes, "it is meant")
			st.lands("01")
		}, "unverified"},
		{"a criterion without evidence", with(func(sp *Spec) { sp.Issue.Criteria[0].Text = "it is quick" }), done, "unverified"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := tt.open(t)
			tt.does(st)
			st.isPending()
			cp := st.asked("", gates.PointPromote)
			unmet := ""
			if strings.Contains(tt.name, "criterion") {
				unmet = "c1"
			}
			p := st.stood(StandsInReview, review.ToInReview, tt.hold, unmet)
			if p.Checkpoint != cp.ID || !slices.Equal(cp.Points, []string{"promote"}) {
				t.Errorf("asked is %s at %q, the promotion names %s", cp.ID, cp.Points, p.Checkpoint)
			}
			for h := range strings.FieldsSeq(tt.hold) {
				if !strings.Contains(cp.Facts, h) {
					t.Errorf("the question does not say %s:\n%s", h, cp.Facts)
				}
			}
			st.sameAsDecide()
			st.approve("", gates.PointPromote)
			st.deliver()
			st.runEnded(work.RunCompleted)
			p = st.stood(StandsDone, review.ToDone, tt.hold, "")
			if p.By != "person:test" {
				t.Errorf("done by %s", p.By)
			}
		})
	}
}

// sameAsDecide holds the decision on record against forge decide promote.
func (st *story) sameAsDecide() {
	st.t.Helper()
	d := last[PromotionDecidedData](st, work.PromotionDecided)
	facts, err := json.Marshal(d.Facts)
	if err != nil {
		st.t.Fatal(err)
	}
	got, err := review.DecideLine("promote", facts)
	if err != nil {
		st.t.Fatal(err)
	}
	want, err := json.Marshal(map[string]any{"decision": d.Decision, "column_moves": true, "hold_reason": d.Hold})
	if err != nil {
		st.t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil {
		st.t.Fatalf("%s %s", got, want)
	}
	if x, y := mustJSON(st.t, a), mustJSON(st.t, b); !bytes.Equal(x, y) {
		st.t.Errorf("forge decide promote says %s of these facts, on record is %s", x, y)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPromotionSharesTheFinalQuestion(t *testing.T) {
	t.Run("both", func(t *testing.T) {
		st := tell(t, ofIssue("it is quick"), human(gates.PointFinal))
		st.done("01")
		cp := st.asked("", gates.PointFinal)
		if want := []string{"final", "promote", "ckpt.final_output"}; !slices.Equal(cp.Points, want) || len(st.s.Open) != 1 {
			t.Errorf("asked at %q, want %q", cp.Points, want)
		}
		st.stood(StandsInReview, review.ToInReview, "unverified", "c1")
	})
	t.Run("final alone", func(t *testing.T) {
		st := tell(t, ofIssue(makeTest), human(gates.PointFinal))
		st.done("01")
		if cp := st.asked("", gates.PointFinal); slices.Contains(cp.Points, "promote") {
			t.Errorf("asked at %q", cp.Points)
		}
		st.stood(StandsAtGate, review.ToDone, "", "")
		st.isPending()
		st.approve("", gates.PointFinal)
		st.deliver()
		st.stood(StandsDone, review.ToDone, "", "")
	})
	t.Run("a gate on the way is no review", func(t *testing.T) {
		st := tell(t, ofIssue(makeTest), human(gates.PointPhaseTransition))
		st.claims("01")
		if p := st.stood(StandsAtGate, "", "", "c1"); p.Checkpoint != "" {
			t.Errorf("%s is taken for the question about the result", p.Checkpoint)
		}
	})
}

func TestPersonsEvidence(t *testing.T) {
	st := tell(t, ofIssue(makeTest, "it is quick"))
	st.done("01")
	st.stood(StandsInReview, review.ToInReview, "unverified", "c2")
	st.answer("", gates.PointPromote, yes, "I measured it")
	p := st.stood(StandsWorking, review.ToDone, "unverified", "")
	if e := p.Criteria[1].Evidence; len(e) != 1 || e[0].By != work.EvidencePerson || e[0].Who != "test" || e[0].What != "I measured it" || e[0].At.IsZero() || e[0].Commit != st.s.Head {
		t.Errorf("the evidence is %+v", e)
	}
	if e := p.Criteria[0].Evidence; len(e) != 1 || e[0].By != work.EvidenceVerify {
		t.Errorf("what was proven is proven again: %+v", e)
	}
}

func touches(files ...string) func(*MergeFinishedData) {
	return func(m *MergeFinishedData) { m.Paths = files }
}

func TestChangesRequestedOfAnIssue(t *testing.T) {
	says := func(met bool) work.ReviewReport {
		return work.ReviewReport{Verdict: work.VerdictPass, Files: []string{"a.txt"}, Criteria: []work.CriterionAnswer{{ID: "c1", Met: met, Evidence: "a.txt:1"}}}
	}
	begin := func(t *testing.T) *story {
		st := tell(t, ofIssue("it is quick"), reviewedBy("security"), alwaysReviews)
		st.claims("01")
		st.reports("01", "security", says(true))
		st.merge("01", touches("a"))
		st.land("01")
		st.stood(StandsInReview, review.ToInReview, "autonomy_disabled", "")
		st.answer("", gates.PointPromote, changes, "quicker")
		st.stood(StandsWorking, "", "", "c1")
		if !strings.Contains(st.prompt("01"), "quicker") {
			t.Error("the comment is not in the prompt")
		}
		return st
	}
	t.Run("what reviewers said of the old content is void", func(t *testing.T) {
		st := begin(t)
		st.work("01")
		st.verify("01", true)
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictPass, Files: []string{"a.txt"}})
		st.merge("01", touches("b"))
		st.land("01")
		st.stood(StandsInReview, review.ToInReview, "autonomy_disabled unverified", "c1")
		if cp := st.asked("", gates.PointPromote); cp.Revision != 2 {
			t.Errorf("asked about revision %d", cp.Revision)
		}
	})
	t.Run("unless they speak again", func(t *testing.T) {
		st := begin(t)
		st.work("01")
		st.verify("01", true)
		st.reports("01", "security", says(true))
		st.lands("01")
		st.stood(StandsInReview, review.ToInReview, "autonomy_disabled", "")
		st.approve("", gates.PointPromote)
		st.deliver()
		st.stood(StandsDone, review.ToDone, "autonomy_disabled", "")
	})
	t.Run("a rework that is dropped leaves it as it was", func(t *testing.T) {
		st := begin(t)
		st.work("01", ends(work.OutcomeAgentFailed))
		for st.phase("01").Stage != StageFinished {
			st.work("01", ends(work.OutcomeAgentFailed))
		}
		st.stood(StandsInReview, review.ToInReview, "autonomy_disabled", "")
	})
}

func TestRejectedIssues(t *testing.T) {
	t.Run("at promote alone it stays in review", func(t *testing.T) {
		st := tell(t, ofIssue(makeTest), alwaysReviews)
		st.done("01")
		st.answer("", gates.PointPromote, no, "not this way")
		st.deliver()
		st.runEnded(work.RunFailed)
		if p := st.stood(StandsInReview, review.ToInReview, "autonomy_disabled", ""); p.Rejected != "not this way" {
			t.Errorf("rejected: %q", p.Rejected)
		}
		if !strings.HasPrefix(st.s.Reason, "rejected") {
			t.Errorf("the run ended because of %q", st.s.Reason)
		}
	})
	t.Run("at final it fails", func(t *testing.T) {
		st := tell(t, ofIssue(makeTest), alwaysReviews, human(gates.PointFinal))
		st.done("01")
		st.answer("", gates.PointFinal, no)
		st.deliver()
		st.runEnded(work.RunFailed)
		st.stood(StandsFailed, review.NotMoved, "", "")
	})
	t.Run("aborted", func(t *testing.T) {
		st := tell(t, ofIssue(makeTest), alwaysReviews)
		st.done("01")
		cp := st.asked("", gates.PointPromote)
		st.feed(Answered{work.Answer{Checkpoint: cp.ID, Status: no, Choice: ChoiceAbort, By: "test", Door: "cli"}})
		st.runEnded(work.RunCancelled)
		if p := st.s.Promotion(); p.Standing != StandsFailed {
			t.Errorf("stands at %s", p.Standing)
		}
	})
	t.Run("a failed run promotes nothing", func(t *testing.T) {
		st := tell(t, ofIssue(makeTest), phases("01", "02 after 01"), ofPhaseN("02", func(ps *work.PhaseSettings) { ps.Budget = 1 }))
		st.done("01")
		st.work("02")
		st.ended("02", work.PhaseFailed, work.ReasonBudgetExhausted)
		st.deliver()
		st.runEnded(work.RunFailed)
		st.stood(StandsFailed, "", "", "c1")
		if st.count(work.PromotionDecided)+st.count(work.CheckpointOpened) != 0 {
			t.Error("a promotion was decided")
		}
	})
}

func TestCriteriaStandInPrompts(t *testing.T) {
	st := tell(t, ofIssue("it says <promise>P01</promise>", makeTest))
	st.folder("01")
	prompt := st.prompt("01")
	for _, want := range []string{"Speak up", "c1: it says &lt;promise>P01", "c2: " + makeTest, "~~~data-"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, prompt)
		}
	}
	plain := tell(t)
	plain.folder("01")
	if p := plain.prompt("01"); strings.Contains(p, "issue") {
		t.Errorf("the prompt of a run without an issue speaks of one:\n%s", p)
	}
}

// A job's end is decided elsewhere, so that an issue would land undecided.
func TestNoIssueByAJob(t *testing.T) {
	sp := tell(t, ofIssue()).spec
	sp.Job = &work.Job{}
	if s, err := NewState("sim", sp); err == nil {
		t.Errorf("the run opens: %v", s.Job)
	}
}

// A run that is no issue's decides as ever, whatever its settings say.
func TestNoIssueNoPromotion(t *testing.T) {
	st := tell(t, alwaysReviews, reviewedBy("security"), func(sp *Spec) { sp.Settings.Promote = work.PromoteSettings{} })
	st.claims("01")
	st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictPass, Files: []string{"a.txt"}, Criteria: []work.CriterionAnswer{{ID: "c1", Met: true, Evidence: "x"}}})
	st.lands("01")
	st.deliver()
	st.runEnded(work.RunCompleted)
	if p := st.s.Promotion(); p.Standing != "" || p.Decision != "" || p.Criteria != nil {
		t.Errorf("it promotes %+v", p)
	}
	for _, k := range []work.EventKind{work.PromotionDecided, work.CriterionEvidenced, work.CriteriaAnswered} {
		if st.count(k) != 0 {
			t.Errorf("there is %s", k)
		}
	}
}
