package orchestrator

import (
	"math"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// costs is what a review reports.
func costs(usd float64, tokens int64) work.Usage {
	zero := int64(0)
	return work.Usage{CostUSD: &usd, InputTokens: &tokens, OutputTokens: &zero}
}

func TestReviewsAndMoney(t *testing.T) {
	three := reviewedBy("security", "architecture", "performance?")
	t.Run("each reserves, its report replaces it, silence leaves it", func(t *testing.T) {
		st := tell(t, three, caps(work.Cost{IterationUSD: usd(1), RunUSD: usd(10)}))
		st.work("01", says("P01"), uses(0.5, 10))
		st.verify("01", true)
		for _, c := range Pending(st.s) {
			st.feed(Began{Command: c})
		}
		if l, p := st.s.Ledger, st.phase("01").Usage; l.reservedSum() != 3 || p.reservedSum() != 3 {
			t.Errorf("%v are reserved of the run and %v of the phase, want 3", l.reservedSum(), p.reservedSum())
		}
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictPass, Usage: costs(0.25, 100)})
		st.reports("01", "architecture", work.ReviewReport{Verdict: work.VerdictPass})
		if l := st.s.Ledger; l.USD != 1.75 || l.reservedSum() != 1 || l.Tokens != 110 {
			t.Errorf("the ledger is %+v, want 0.5 + 0.25 + the reservation of 1 spent, 1 reserved, 110 tokens", l)
		}
		if u := st.phase("01").Usage; u.USD != 1.75 {
			t.Errorf("the phase spent %v, want 1.75", u.USD)
		}
	})
	t.Run("the arbiter's model, too", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), arbiterModel, caps(work.Cost{IterationUSD: usd(1)}))
		st.review("01", "security", work.VerdictFail, major)
		c, before := st.begun("01", StepArbiter), st.s.Ledger.USD
		if held := st.s.Ledger.reservedSum(); held != 1 {
			t.Errorf("%v is reserved, want 1", held)
		}
		st.feed(ArbiterDone{Command: c, Answer: work.ArbiterAnswer{Verdict: "Fix", Usage: costs(0.125, 5)}})
		if l := st.s.Ledger; l.USD != before+0.125 || l.reservedSum() != 0 {
			t.Errorf("the ledger is %+v, want 0.125 more and nothing reserved", l)
		}
	})
	t.Run("a cap ends the run before they begin, and with more money they do", func(t *testing.T) {
		st := tell(t, three, caps(work.Cost{IterationUSD: usd(1), RunUSD: usd(3)}))
		st.work("01", says("P01"), uses(0.5, 10))
		st.verify("01", true)
		st.stopped(work.RunLimit, "run_usd")
		st.runEnded(work.RunLimit)
		if n := st.count(work.ReviewStarted); n != 0 {
			t.Errorf("%d reviews began", n)
		}
		st.dies(Resumed{})
		st.stopped(work.RunLimit, "run_usd")
		st.runEnded(work.RunLimit)
		st.dies(Resumed{RunResumedData: RunResumedData{Cost: &work.Cost{IterationUSD: usd(1), RunUSD: usd(4)}}})
		st.areAsked("01", "security about c1", "architecture about c1", "performance about c1")
	})
	t.Run("one by one, they need money for one", func(t *testing.T) {
		st := tell(t, three, reviewSetting(func(r *work.ReviewSettings) { r.OneByOne = true }), caps(work.Cost{IterationUSD: usd(1), RunUSD: usd(2)}))
		st.work("01", says("P01"), uses(0.5, 10))
		st.verify("01", true)
		st.areAsked("01", "security about c1")
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictPass, Usage: costs(0.5, 1)})
		st.areAsked("01", "architecture about c1")
		st.reports("01", "architecture", work.ReviewReport{Verdict: work.VerdictPass, Usage: costs(0.5, 1)})
		st.stopped(work.RunLimit, "run_usd")
		st.runEnded(work.RunLimit)
		st.dies(Resumed{RunResumedData: RunResumedData{Cost: &work.Cost{}}})
		st.areAsked("01", "performance about c1")
	})
	t.Run("a second ask passes the same gate", func(t *testing.T) {
		st := tell(t, reviewedBy("security"), caps(work.Cost{IterationUSD: usd(1), RunUSD: usd(2)}))
		st.work("01", says("P01"), uses(0.5, 10))
		st.verify("01", true)
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictUnknown, Usage: costs(0.75, 1)})
		st.later(mostOutageWait)
		st.feed(Tick{})
		st.stopped(work.RunLimit, "run_usd")
	})
	t.Run("so does the arbiter's model", func(t *testing.T) {
		st := tell(t, reviewedBy("security"), arbiterModel, caps(work.Cost{IterationUSD: usd(1), PhaseUSD: usd(2)}))
		st.work("01", says("P01"), uses(0.5, 10))
		st.verify("01", true)
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictFail, Findings: finds(major), Usage: costs(0.75, 1)})
		st.stopped(work.RunLimit, "phase_usd")
		st.runEnded(work.RunLimit)
		st.dies(Resumed{RunResumedData: RunResumedData{Cost: &work.Cost{}}})
		st.isPending("01 arbiter")
	})
	t.Run("and a fix", func(t *testing.T) {
		st := tell(t, reviewedBy("security"), caps(work.Cost{IterationTokens: tokens(100), RunTokens: tokens(250)}))
		st.work("01", says("P01"), uses(0, 90))
		st.verify("01", true)
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictFail, Findings: finds(major), Usage: costs(0, 90)})
		st.ruled(review.Fix, review.ReasonFixBudget)
		st.stopped(work.RunLimit, "run_tokens")
		st.runEnded(work.RunLimit)
		st.dies(Resumed{RunResumedData: RunResumedData{Cost: &work.Cost{}}})
		st.isPending("01 iterate")
		if p := st.phase("01"); p.Kind != IterationFix || p.Review.Attempts != 1 {
			t.Errorf("a %s is due after %d fix(es), want the one fix", p.Kind, p.Review.Attempts)
		}
	})
	t.Run("what is unknown under a cap stops what is next", func(t *testing.T) {
		for name, u := range map[string]work.Usage{"missing": {}, "negative": costs(-1, -1), "no number": costs(math.NaN(), 1)} {
			st := tell(t, reviewedBy("security"), caps(work.Cost{RunUSD: usd(100)}))
			st.work("01", says("P01"), uses(0, 1))
			st.verify("01", true)
			st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictFail, Findings: finds(major), Usage: u})
			if stop := st.s.Stopping; stop == nil || stop.Outcome != work.RunLimit {
				t.Errorf("after a review whose cost is %s the run goes on", name)
			}
		}
	})
	t.Run("reviews of two phases do not pass a cap together", func(t *testing.T) {
		st := tell(t, phases("01", "02"), reviewedBy("security"), caps(work.Cost{IterationUSD: usd(1), RunUSD: usd(2.5)}))
		for _, n := range []string{"01", "02"} {
			st.work(n, says("P"+n), uses(0.5, 1))
		}
		st.verify("01", true)
		st.verify("02", true)
		st.isPending("01 review")
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictPass, Usage: costs(0.5, 1)})
		st.isPending("01 merge", "02 review")
	})
	t.Run("a phase without a place sets nothing aside", func(t *testing.T) {
		st := inReview(t, phases("01", "02"), reviewedBy("security"), asksOnFail, fixes(0))
		st.s.Spec.Settings.MaxParallel = 1
		st.review("01", "security", work.VerdictFail, major)
		st.asked("01", gates.PointFindings)
		st.isPending("02 review")
		st.answer("01", gates.PointFindings, changes, "mend it")
		st.isPending("02 review")
	})
}

func TestReviewsAndDeath(t *testing.T) {
	t.Run("who has answered is not asked again", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture", "performance?"), caps(work.Cost{IterationUSD: usd(1)}))
		st.asking("01", "security")
		st.asking("01", "performance")
		st.review("01", "architecture", work.VerdictFail, minor)
		before := st.s.Ledger.USD
		st.dies(Resumed{})
		st.areAsked("01", "security about c1", "performance about c1")
		if l := st.s.Ledger; l.USD != before+2 || l.reservedSum() != 0 {
			t.Errorf("the ledger is %+v, want what the dead process had reserved spent", l)
		}
		st.pass("01", "security", "performance")
		st.ruled(review.Fix, review.ReasonFixBudget)
	})
	t.Run("they pass the gate of the money again", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), caps(work.Cost{IterationUSD: usd(1)}))
		st.asking("01", "security")
		st.dies(Resumed{RunResumedData: RunResumedData{Cost: &work.Cost{IterationUSD: usd(1), RunUSD: usd(2.5)}}})
		st.stopped(work.RunLimit, "run_usd")
	})
	t.Run("a stop ends them, and the run goes on with them", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"))
		st.asking("01", "security")
		c := st.asking("01", "architecture")
		st.feed(Stop{Outcome: work.RunInterrupted})
		st.feed(ReviewDone{Command: c, Report: work.ReviewReport{Verdict: work.VerdictPass}}) // it was about to end
		st.runEnded(work.RunInterrupted)
		st.dies(Resumed{})
		st.areAsked("01", "security about c1")
		st.pass("01", "security")
		st.lands("01")
	})
	t.Run("an answer of before the resume is not one of after it", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"))
		c := st.asking("01", "security")
		st.dies(Resumed{})
		st.feed(ReviewDone{Command: c, Report: work.ReviewReport{Verdict: work.VerdictPass}})
		st.areAsked("01", "security about c1")
	})
	t.Run("one that could not be carried out is neither yes nor no", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"), caps(work.Cost{IterationUSD: usd(1)}))
		st.feed(Broke{Command: st.asking("01", "security"), Problem: "no folder"})
		st.ended("01", work.PhaseFailed, work.ReasonInternal)
	})
	t.Run("a phase that fails takes its other reviews with it", func(t *testing.T) {
		st := inReview(t, phases("01", "02"), reviewedBy("security", "architecture"), caps(work.Cost{IterationUSD: usd(1)}))
		other := st.asking("01", "architecture")
		before := st.s.Ledger.USD
		st.feed(Broke{Command: st.asking("01", "security"), Problem: "no folder"})
		st.isPending("02 review", "02 review")
		if l := st.s.Ledger; l.reservedSum() != 0 || l.USD != before+2 {
			t.Errorf("the ledger is %+v, want nothing reserved and 2 more spent", l)
		}
		st.feed(ReviewDone{Command: other, Report: work.ReviewReport{Verdict: work.VerdictPass, Usage: costs(5, 5)}})
		if d := last[WarnedData](st, work.Warned); d.What == "" || st.s.Ledger.USD != before+2 {
			t.Errorf("a late answer is taken: %+v", d)
		}
	})
}
