package orchestrator

import (
	"strings"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// unusable are the answers of a gating reviewer that are none.
var unusable = map[string]work.ReviewReport{
	"unknown":                {Verdict: work.VerdictUnknown, Why: "it timed out"},
	"no word":                {},
	"a word that is none":    {Verdict: "Pass"},
	"a fail without finding": {Verdict: work.VerdictFail},
	"a pass of a part":       {Verdict: work.VerdictPass, Unreviewed: []string{"big.txt"}},
	"a fail of a part":       {Verdict: work.VerdictFail, Findings: finds(major), Unreviewed: []string{"big.txt"}},
}

func TestUnknownReviews(t *testing.T) {
	for name, rep := range unusable {
		t.Run(name+", three times", func(t *testing.T) {
			st := inReview(t, reviewedBy("security", "architecture"))
			st.pass("01", "architecture")
			for ask, wait := range []time.Duration{15 * time.Second, time.Minute} {
				st.reports("01", "security", rep)
				if d := last[ReviewFinishedData](st, work.ReviewFinished); d.Verdict != work.VerdictUnknown || d.Ask != ask+1 {
					t.Errorf("ask %d is on record as %d, %s", ask+1, d.Ask, d.Verdict)
				}
				c := Pending(st.s)
				if len(c) != 1 || c[0].Step != StepWait || !c[0].Until.Equal(st.now.Add(wait)) {
					t.Fatalf("after ask %d pending is %+v, want a wait of %s", ask+1, c, wait)
				}
				st.later(wait - time.Second)
				st.feed(Tick{})
				st.isPending("01 wait")
				st.later(time.Second)
				st.feed(Tick{})
				st.areAsked("01", "security about c1")
			}
			st.reports("01", "security", rep)
			if d := st.ruled(review.FailPhase, review.ReasonUnknown); len(d.Unknown) != 1 || d.Unknown[0] != "security" {
				t.Errorf("the arbiter misses the answer of %q, want security", d.Unknown)
			}
			st.ended("01", work.PhaseFailed, work.ReasonReviewUnknown)
			if n := st.count(work.ReviewFinished); n != 4 {
				t.Errorf("%d answers are on record, want 4", n)
			}
			if detail := st.phase("01").Detail; !strings.Contains(detail, "security") {
				t.Errorf("the failure does not name who said nothing: %q", detail)
			}
		})
	}
	t.Run("then an answer", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"))
		st.pass("01", "architecture")
		st.review("01", "security", work.VerdictUnknown)
		st.later(time.Hour)
		st.feed(Tick{})
		st.pass("01", "security")
		if d := last[ReviewStartedData](st, work.ReviewStarted); d.Ask != 2 {
			t.Errorf("the review that passed is ask %d, want 2", d.Ask)
		}
		st.lands("01")
	})
	t.Run("the others do not wait for it", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"))
		st.review("01", "security", work.VerdictUnknown)
		st.isPending("01 wait", "01 review")
		st.pass("01", "architecture")
		st.isPending("01 wait")
	})
	t.Run("nor where they are asked one by one", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"), reviewSetting(func(r *work.ReviewSettings) { r.OneByOne = true }))
		st.review("01", "security", work.VerdictUnknown)
		st.isPending("01 wait", "01 review")
		st.later(time.Hour)
		st.feed(Tick{})
		st.areAsked("01", "architecture about c1")
		st.pass("01", "architecture")
		st.areAsked("01", "security about c1")
	})
	t.Run("it is never fixed, whatever others found", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"))
		st.review("01", "architecture", work.VerdictFail, major)
		st.neverAnswers("01", "security")
		st.ruled(review.FailPhase, review.ReasonUnknown)
		st.ended("01", work.PhaseFailed, work.ReasonReviewUnknown)
	})
	t.Run("no model is asked what nobody knows", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), arbiterModel)
		st.neverAnswers("01", "security")
		st.ended("01", work.PhaseFailed, work.ReasonReviewUnknown)
		if n := st.count(work.ArbiterStarted); n != 0 {
			t.Errorf("the model was asked %d times", n)
		}
	})
	t.Run("major ones may stand, unknown ones may not", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), reviewSetting(func(r *work.ReviewSettings) { r.KeepMajor = true }))
		st.neverAnswers("01", "security")
		st.ended("01", work.PhaseFailed, work.ReasonReviewUnknown)
	})
	t.Run("a pass of another tree does not stand for it", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"))
		st.pass("01", "security")
		st.review("01", "architecture", work.VerdictFail, major)
		st.fix("01", true)
		st.pass("01", "architecture")
		st.neverAnswers("01", "security")
		st.ended("01", work.PhaseFailed, work.ReasonReviewUnknown)
	})
	t.Run("of the whole change it is asked again of the whole", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"))
		st.review("01", "security", work.VerdictUnknown)
		st.later(time.Hour)
		st.feed(Tick{})
		st.areAsked("01", "security about c1", "architecture about c1")
	})
	t.Run("of what changed it is asked again of what changed", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"))
		st.pass("01", "security")
		st.review("01", "architecture", work.VerdictFail, major)
		st.fix("01", true)
		st.review("01", "security", work.VerdictUnknown)
		st.later(time.Hour)
		st.feed(Tick{})
		st.areAsked("01", "security about c2 since c1", "architecture about c2")
	})
	t.Run("an advisory one is asked about the whole next tree", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "performance?"))
		st.review("01", "performance", work.VerdictUnknown)
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", true)
		st.areAsked("01", "security about c2", "performance about c2")
	})
	t.Run("the wait outlives the process", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"))
		st.review("01", "security", work.VerdictUnknown)
		st.dies(Resumed{})
		st.isPending("01 wait")
		st.later(15 * time.Second)
		st.dies(Resumed{})
		st.areAsked("01", "security about c1")
		if d := st.asking("01", "security"); !strings.Contains(string(d.ID), "/2/1/review-security") {
			t.Errorf("the second ask is %s", d.ID)
		}
	})
	t.Run("where the policy asks, a person decides", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), asksOnFail)
		st.neverAnswers("01", "security")
		st.ruled(review.AskHuman, review.ReasonUnknown)
		cp := st.asked("01", gates.PointFindings)
		if cp.ReasonDue || !strings.Contains(cp.Facts, "no usable answer of security: because") {
			t.Errorf("the question is %+v", cp)
		}
		st.approve("01", gates.PointFindings)
		st.lands("01")
	})
}

// What asking again cannot change is not asked again: it costs, and a person or
// the rules wait for it.
func TestUnknownForGood(t *testing.T) {
	for name, rep := range map[string]work.ReviewReport{
		"as the reviewer says": {Verdict: work.VerdictUnknown, Unreviewed: []string{"a.bin"}, Final: true, Why: "not reviewed: a.bin (binary)"},
		"as the core says":     {Verdict: work.VerdictPass, Unreviewed: []string{"a.bin"}, Final: true},
	} {
		t.Run(name, func(t *testing.T) {
			st := inReview(t, reviewedBy("security"))
			st.reports("01", "security", rep)
			if d := last[ReviewFinishedData](st, work.ReviewFinished); !d.Final || d.Verdict != work.VerdictUnknown {
				t.Errorf("on record is %s, final %v", d.Verdict, d.Final)
			}
			st.ruled(review.FailPhase, review.ReasonUnknown)
			st.ended("01", work.PhaseFailed, work.ReasonReviewUnknown)
			if n := st.count(work.ReviewFinished); n != 1 {
				t.Errorf("%d answers are on record, want 1", n)
			}
		})
	}
	t.Run("an answer is no unknown", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"))
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictPass, Final: true})
		if d := last[ReviewFinishedData](st, work.ReviewFinished); d.Final || d.Verdict != work.VerdictPass {
			t.Errorf("on record is %s, final %v", d.Verdict, d.Final)
		}
	})
}

// The owner's word on how soon to ask again holds.
func TestAskAgainSecs(t *testing.T) {
	secs := 2
	st := inReview(t, reviewedBy("security"), func(s *Spec) { s.Settings.Reviews.AskAgainSecs = &secs })
	for _, wait := range []time.Duration{2 * time.Second, 8 * time.Second} {
		st.review("01", "security", work.VerdictUnknown)
		if c := Pending(st.s); len(c) != 1 || c[0].Step != StepWait || !c[0].Until.Equal(st.now.Add(wait)) {
			t.Fatalf("pending is %+v, want a wait of %s", c, wait)
		}
		st.later(wait)
		st.feed(Tick{})
		st.areAsked("01", "security about c1")
	}
}

// neverAnswers is a specialist that gives no usable answer as often as it is
// asked.
func (st *story) neverAnswers(n, who string) {
	st.t.Helper()
	for ask := range mostAsks {
		if ask > 0 {
			st.later(time.Hour)
			st.feed(Tick{})
		}
		st.review(n, who, work.VerdictUnknown)
	}
}
