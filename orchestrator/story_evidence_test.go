package orchestrator

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// TestEvidenceIsOfWhatLands: what is said of one content does not count for
// another.
func TestEvidenceIsOfWhatLands(t *testing.T) {
	two := []func(*Spec){phases("01", "02 after 01"), ofIssue(makeTest, "it is quick"), reviewedBy("security")}
	seen := work.ReviewReport{Verdict: work.VerdictPass, Files: []string{"a.txt"}, Criteria: []work.CriterionAnswer{{ID: "c2", Met: true, Evidence: "a.txt:1"}}}
	quiet := work.ReviewReport{Verdict: work.VerdictPass, Files: []string{"a.txt"}}
	play := func(t *testing.T, first, second string, last work.ReviewReport) *story {
		st := tell(t, two...)
		for _, ph := range []struct {
			number, files string
			said          work.ReviewReport
		}{{"01", first, seen}, {"02", second, last}} {
			st.claims(ph.number)
			st.reports(ph.number, "security", ph.said)
			st.merge(ph.number, touches(strings.Fields(ph.files)...))
			st.land(ph.number)
		}
		return st
	}
	t.Run("other files", func(t *testing.T) {
		play(t, "a", "b", quiet).isPending("deliver")
	})
	t.Run("the same files", func(t *testing.T) {
		play(t, "a", "a b", quiet).stood(StandsInReview, review.ToInReview, "unverified", "c2")
	})
	t.Run("too many files to tell", func(t *testing.T) {
		play(t, "a", "", quiet).stood(StandsInReview, review.ToInReview, "unverified", "c2")
	})
	t.Run("the last reviewer denies it", func(t *testing.T) {
		denies := quiet
		denies.Criteria = []work.CriterionAnswer{{ID: "c2", Evidence: "b.txt:1"}}
		st := play(t, "a", "b", denies)
		p := st.stood(StandsInReview, review.ToInReview, "unverified", "c2")
		if e := p.Criteria[1].Evidence; len(e) != 1 || e[0].Met || e[0].Phase != "02" {
			t.Errorf("the evidence is %+v", e)
		}
		if cp := st.asked("", gates.PointPromote); !strings.Contains(cp.Facts, "c2 NOT met, says security: b.txt:1") {
			t.Errorf("the facts are\n%s", cp.Facts)
		}
	})
	t.Run("a fix that the reviewer said nothing about", func(t *testing.T) {
		st := tell(t, ofIssue("it is quick"), reviewedBy("security", "architecture"))
		st.claims("01")
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictPass, Files: []string{"a.txt"}, Criteria: []work.CriterionAnswer{{ID: "c1", Met: true, Evidence: "a.txt:1"}}})
		st.review("01", "architecture", work.VerdictFail, major)
		st.fix("01", true)
		st.pass("01", "security", "architecture")
		st.lands("01")
		st.stood(StandsInReview, review.ToInReview, "fix_attempts unverified", "c1")
	})
	t.Run("a verify of another tree", func(t *testing.T) {
		// The second phase has its own commands, and changes the tree.
		st := tell(t, phases("01", "02 after 01"), ofIssue(makeTest), ofPhaseN("02", func(ps *work.PhaseSettings) { ps.Verify = []string{"make phase"} }))
		st.done("01")
		st.done("02")
		st.stood(StandsInReview, review.ToInReview, "unverified", "c1")
	})
	t.Run("a tree that nothing was verified on", func(t *testing.T) {
		st := tell(t, phases("01", "02 after 01"), ofIssue(makeTest), ofPhaseN("02", func(ps *work.PhaseSettings) { ps.Verify = nil }))
		st.done("01")
		st.done("02")
		st.stood(StandsInReview, review.ToInReview, "unverified", "c1")
	})
	t.Run("what cannot be used is noted and proves nothing", func(t *testing.T) {
		st := tell(t, ofIssue("it is quick"), reviewedBy("security"))
		st.claims("01")
		rep := quiet
		rep.Criteria = []work.CriterionAnswer{{ID: "c9", Met: true, Evidence: "x"}, {ID: "c1", Met: true, Evidence: " "}}
		rep.Unread = []string{"criteria[2]: met is missing"}
		st.reports("01", "security", rep)
		st.lands("01")
		st.stood(StandsInReview, review.ToInReview, "unverified", "c1")
		if d := last[CriteriaAnsweredData](st, work.CriteriaAnswered); len(d.Criteria) != 0 || len(d.Ignored) != 3 {
			t.Errorf("recorded is %+v", d)
		}
	})
	t.Run("a reviewer whose no was passed over speaks for nothing", func(t *testing.T) {
		st := tell(t, ofIssue("it is quick"), reviewedBy("security"), asksOnFail)
		st.claims("01")
		rep := seen
		rep.Verdict, rep.Findings = work.VerdictFail, finds(major)
		rep.Criteria = []work.CriterionAnswer{{ID: "c1", Met: true, Evidence: "a.txt:1"}}
		st.reports("01", "security", rep)
		for st.phase("01").Stage != StageAsked { // its fixes
			st.fix("01", true)
			st.reports("01", "security", rep)
		}
		st.answer("01", gates.PointFindings, yes, "it is meant")
		st.lands("01")
		st.stood(StandsInReview, review.ToInReview, "review_warnings fix_attempts unverified", "c1")
	})
}
