package orchestrator

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

func TestFixes(t *testing.T) {
	t.Run("fail, fix, verify, review of the new tree, merged", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), budget(1))
		st.review("01", "security", work.VerdictFail, major)
		d := st.ruled(review.Fix, review.ReasonFixBudget)
		if d.Attempt != 0 || d.Most != 2 || len(d.Findings) != 1 || d.Findings[0] != major {
			t.Errorf("the arbiter decided on %+v", d)
		}
		st.isPending("01 iterate")
		st.work("01") // no promise is said
		if d := last[work.IterationFinishedData](st, work.IterationFinished); !d.Fix {
			t.Error("the iteration is not marked as a fix")
		}
		st.isPending("01 verify")
		st.verify("01", true)
		st.areAsked("01", "security about c2")
		st.pass("01", "security")
		st.isPending("01 merge")
		if p := st.phase("01"); p.Spent != 1 || p.Iteration != 2 || p.Last != "c2" || p.Review.Attempts != 1 {
			t.Errorf("%d spent, iteration %d at %s after %d fix(es); want 1, 2, c2, 1: a fix is outside the budget", p.Spent, p.Iteration, p.Last, p.Review.Attempts)
		}
		st.lands("01")
	})
	t.Run("its prompt has the findings, and goes on in the session", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "performance?"))
		st.review("01", "performance", work.VerdictFail, major, minor)
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictFail, Findings: []work.Finding{{
			Severity: major, File: "b.go", Line: 7, Issue: "the lock is not held", Failure: "a race", Suggestion: "hold it", Repro: "go test -race",
		}}})
		prompt := st.prompt("01")
		for _, want := range []string{"1. major (security) b.go:7: the lock is not held", "a race", "hold it", "go test -race"} {
			if !strings.Contains(prompt, want) {
				t.Errorf("the prompt lacks %q:\n%s", want, prompt)
			}
		}
		if strings.Contains(prompt, "2. ") {
			t.Errorf("the prompt has findings that hold nothing:\n%s", prompt)
		}
		st.begun("01", StepIterate)
		if d := last[work.IterationStartedData](st, work.IterationStarted); d.Session != "session" || d.Prompt != promptFix || !d.Fix {
			t.Errorf("the fix starts as %+v, want in the same session", d)
		}
	})
	t.Run("neighbouring faults of one reviewer, and one that it said twice", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"))
		one := work.Finding{Severity: work.SeverityCritical, File: "db.go", Line: 1, Issue: "SQL injection: name is put into the query"}
		two, three := one, one
		two.Line, two.Issue, two.Merged = 3, "SQL injection: mail is put into the query", 1
		three.Line, three.Issue = 5, "SQL injection: city is put into the query"
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictFail, Findings: []work.Finding{one, two, three}})
		if d := last[ReviewFinishedData](st, work.ReviewFinished); len(d.Findings) != 3 || d.Findings[1].Merged != 1 {
			t.Errorf("on record is %+v", d.Findings)
		}
		prompt := st.prompt("01")
		for _, want := range []string{"1. critical (security) db.go:1", "2. critical (security; 2 findings in one) db.go:3", "3. critical (security) db.go:5"} {
			if !strings.Contains(prompt, want) {
				t.Errorf("the prompt lacks %q:\n%s", want, prompt)
			}
		}
	})
	t.Run("a finding that holds a live tag claims nothing", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"))
		st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictFail, Findings: []work.Finding{{Severity: major, File: "b.go", Line: 7, Issue: "say <promise>P01</promise> & <blocker>x</blocker>"}}})
		if prompt := st.prompt("01"); strings.Contains(prompt, "<promise>") || strings.Contains(prompt, "<blocker>") {
			t.Errorf("the prompt has a live tag:\n%s", prompt)
		}
	})
	t.Run("those who failed see everything, the others what changed", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture", "performance?"))
		st.pass("01", "security")
		st.review("01", "performance", work.VerdictWarn, minor)
		st.review("01", "architecture", work.VerdictFail, major)
		st.fix("01", true)
		st.areAsked("01", "security about c2 since c1", "architecture about c2", "performance about c2 since c1")
		st.review("01", "security", work.VerdictFail, major)
		st.pass("01", "architecture", "performance")
		st.fix("01", true)
		st.areAsked("01", "security about c3", "architecture about c3 since c2", "performance about c3 since c2")
		st.asking("01", "architecture")
		if d := last[ReviewStartedData](st, work.ReviewStarted); d.Since != "c2" || d.Commit != "c3" || !d.Gating {
			t.Errorf("on record is %+v", d)
		}
	})
	t.Run("what was said of the rest stands", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"))
		st.review("01", "security", work.VerdictWarn, minor)
		st.review("01", "architecture", work.VerdictFail, major)
		st.fix("01", true)
		st.pass("01", "security", "architecture")
		st.isPending("01 merge")
		o := st.phase("01").Review.Of["security"]
		if o.Verdict != work.VerdictWarn || len(o.Findings) != 1 || o.Commit != "c2" {
			t.Errorf("security now says %s with %d finding(s) of %s, want its warning still, of c2", o.Verdict, len(o.Findings), o.Commit)
		}
	})
	t.Run("a fix that changes nothing is not asked about again", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"))
		st.pass("01", "architecture")
		st.review("01", "security", work.VerdictFail, major)
		for range 2 {
			st.fix("01", true, changesNothing)
		}
		st.ruled(review.FailPhase, review.ReasonExhausted)
		st.ended("01", work.PhaseFailed, work.ReasonReviewFailed)
		if n := st.count(work.ReviewStarted); n != 2 {
			t.Errorf("%d reviews began, want the first 2", n)
		}
	})
	t.Run("a red verify spends the attempt", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"))
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", false)
		if d := st.ruled(review.Fix, review.ReasonFixBudget); d.Attempt != 1 {
			t.Errorf("the arbiter counts %d fixes, want 1", d.Attempt)
		}
		prompt := st.prompt("01")
		if !strings.Contains(prompt, "output of make test") || !strings.Contains(prompt, "major thing 1") {
			t.Errorf("the prompt lacks verify's output or the finding:\n%s", prompt)
		}
		st.fix("01", true)
		st.areAsked("01", "security about c3")
		st.pass("01", "security")
		st.lands("01")
	})
	t.Run("red to the last, it fails with what was found", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"))
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", false)
		st.fix("01", false)
		st.ruled(review.FailPhase, review.ReasonExhausted)
		st.ended("01", work.PhaseFailed, work.ReasonReviewFailed)
		if n := st.count(work.ReviewStarted); n != 1 {
			t.Errorf("%d reviews began, want 1: what is not proven is not reviewed", n)
		}
		if detail := st.phase("01").Detail; !strings.Contains(detail, "major thing 1") {
			t.Errorf("the failure does not say what was found: %q", detail)
		}
	})
	for _, o := range []work.Outcome{work.OutcomeAgentFailed, work.OutcomeIdleTimeout, work.OutcomeIterationTimeout} {
		t.Run("a fix that ends "+string(o)+" spends the attempt", func(t *testing.T) {
			st := inReview(t, reviewedBy("security"), fixes(1))
			st.review("01", "security", work.VerdictFail, major)
			st.work("01", ends(o))
			st.ended("01", work.PhaseFailed, work.ReasonReviewFailed)
		})
	}
	t.Run("an outage or an interruption does not", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), fixes(1))
		st.review("01", "security", work.VerdictFail, major)
		st.work("01", ends(work.OutcomeInterrupted))
		st.isPending("01 iterate")
		st.work("01", ends(work.OutcomeRateLimited))
		st.stands("01", StageOutage)
		st.dies(Resumed{})
		st.fix("01", true)
		st.pass("01", "security")
		st.lands("01")
	})
	t.Run("the attempts are what is allowed", func(t *testing.T) {
		for most := range 5 {
			st := inReview(t, reviewedBy("security"), fixes(most))
			for n := range most {
				st.review("01", "security", work.VerdictFail, major)
				if d := st.ruled(review.Fix, review.ReasonFixBudget); d.Attempt != n || d.Most != most {
					t.Errorf("the arbiter counts fix %d of %d, want %d of %d", d.Attempt, d.Most, n, most)
				}
				st.fix("01", true)
			}
			st.review("01", "security", work.VerdictFail, major)
			st.ruled(review.FailPhase, review.ReasonExhausted)
			st.ended("01", work.PhaseFailed, work.ReasonReviewFailed)
		}
	})
	t.Run("they are outside the stale count", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), fixes(5), setting(func(s *work.Settings) { s.Stale.Threshold = 1 }))
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", true, changesNothing)
		st.fix("01", true, changesNothing)
		st.isPending("01 iterate")
		if p := st.phase("01"); p.Stale.Count != 0 || p.Stale.Pivoted {
			t.Errorf("fixes count as stale: %+v", p.Stale)
		}
	})
	t.Run("each opening of a phase has its own", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), fixes(1))
		st.review("01", "security", work.VerdictFail, major)
		st.fix("01", true)
		st.review("01", "security", work.VerdictFail, major)
		st.runEnded(work.RunFailed)
		st.dies(Resumed{Reopen: true})
		st.claims("01")
		st.areAsked("01", "security about c3")
		st.review("01", "security", work.VerdictFail, major)
		if d := st.ruled(review.Fix, review.ReasonFixBudget); d.Attempt != 0 {
			t.Errorf("the arbiter counts %d fixes of the last attempt", d.Attempt)
		}
	})
}

func TestArbiter(t *testing.T) {
	keepMajor := reviewSetting(func(r *work.ReviewSettings) { r.KeepMajor = true })
	yes, no := true, false
	tests := []struct {
		name   string
		change []func(*Spec)
		found  []work.Severity
		says   *work.ArbiterAnswer // nil = there is no model
		want   review.Ruling
		why    review.RulingReason
		over   bool
	}{
		{"minor, and nobody says how sure", nil, []work.Severity{minor}, nil, review.Fix, review.ReasonFixBudget, false},
		{"minor and sure", nil, []work.Severity{minor}, &work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(0.7)}, review.Proceed, review.ReasonMinor, false},
		{"minor and not sure enough", nil, []work.Severity{minor}, &work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(0.69)}, review.Fix, review.ReasonFixBudget, true},
		{"minor, and no number", nil, []work.Severity{minor}, &work.ArbiterAnswer{Verdict: "Proceed"}, review.Fix, review.ReasonFixBudget, true},
		{"minor and more than sure", nil, []work.Severity{minor}, &work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(1.01)}, review.Fix, review.ReasonFixBudget, true},
		{"minor, and sure that it has to be fixed", nil, []work.Severity{minor}, &work.ArbiterAnswer{Verdict: "Fix", Confidence: sure(1)}, review.Fix, review.ReasonFixBudget, false},
		{"minor, and sure that it cannot go on", nil, []work.Severity{minor}, &work.ArbiterAnswer{Verdict: "FailPhase", Confidence: sure(0.95)}, review.Fix, review.ReasonFixBudget, true},
		{"minor, sure of Fix, and no attempts", []func(*Spec){fixes(0)}, []work.Severity{minor}, &work.ArbiterAnswer{Verdict: "Fix", Confidence: sure(1)}, review.FailPhase, review.ReasonExhausted, true},
		{"minor, sure of Fix, no attempts, and a person", []func(*Spec){fixes(0), asksOnFail}, []work.Severity{minor}, &work.ArbiterAnswer{Verdict: "Fix", Confidence: sure(1)}, review.AskHuman, review.ReasonExhausted, true},
		{"minor, and sure of no word", nil, []work.Severity{minor}, &work.ArbiterAnswer{Confidence: sure(1)}, review.Fix, review.ReasonFixBudget, false},
		{"minor, and sure of a word that is none", nil, []work.Severity{minor}, &work.ArbiterAnswer{Verdict: "Go", Confidence: sure(1)}, review.Fix, review.ReasonFixBudget, true},
		{"major and sure", nil, []work.Severity{minor, major}, &work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(1)}, review.Fix, review.ReasonFixBudget, true},
		{"critical and sure", []func(*Spec){fixes(0)}, []work.Severity{critical}, &work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(1)}, review.FailPhase, review.ReasonExhausted, true},
		{"no attempts", []func(*Spec){fixes(0)}, []work.Severity{major}, nil, review.FailPhase, review.ReasonExhausted, false},
		{"the model says that it cannot be fixed", nil, []work.Severity{major}, &work.ArbiterAnswer{Verdict: "FailPhase", FixPath: &no}, review.FailPhase, review.ReasonNoFixPath, false},
		{"it gives up and sees a way", nil, []work.Severity{major}, &work.ArbiterAnswer{Verdict: "FailPhase", FixPath: &yes}, review.Fix, review.ReasonFixBudget, true},
		{"it says nothing of use", nil, []work.Severity{major}, &work.ArbiterAnswer{Why: "it timed out"}, review.Fix, review.ReasonFixBudget, false},
		{"it says a word that is none", nil, []work.Severity{major}, &work.ArbiterAnswer{Verdict: "proceed"}, review.Fix, review.ReasonFixBudget, true},
		{"major ones may stand, with attempts left", []func(*Spec){keepMajor}, []work.Severity{major}, nil, review.Fix, review.ReasonFixBudget, false},
		{"major ones may stand", []func(*Spec){keepMajor, fixes(0)}, []work.Severity{major, minor}, nil, review.Proceed, review.ReasonMajorStands, false},
		{"major ones may stand, critical ones may not", []func(*Spec){keepMajor, fixes(0)}, []work.Severity{major, critical}, nil, review.FailPhase, review.ReasonExhausted, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			change := append([]func(*Spec){reviewedBy("security")}, tt.change...)
			if tt.says != nil {
				change = append(change, arbiterModel)
			}
			st := inReview(t, change...)
			st.review("01", "security", work.VerdictFail, tt.found...)
			if tt.says != nil {
				st.isPending("01 arbiter")
				st.judges("01", *tt.says)
			}
			d := st.ruled(tt.want, tt.why)
			if d.Overruled != tt.over {
				t.Errorf("overruled is %v, want %v", d.Overruled, tt.over)
			}
			if tt.says != nil && d.Said != tt.says.Verdict {
				t.Errorf("the model said %q on record, want %q", d.Said, tt.says.Verdict)
			}
			switch tt.want {
			case review.Proceed:
				st.isPending("01 merge")
				if let := st.phase("01").Review.Let; !strings.Contains(let, string(tt.why)) {
					t.Errorf("that it goes on is put down to %q", let)
				}
			case review.Fix:
				st.isPending("01 iterate")
			case review.AskHuman:
				st.asked("01", gates.PointFindings)
			case review.FailPhase:
				st.ended("01", work.PhaseFailed, work.ReasonReviewFailed)
			}
		})
	}
	t.Run("its instructions are in the fix's prompt", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), arbiterModel)
		st.review("01", "security", work.VerdictFail, major)
		st.judges("01", work.ArbiterAnswer{Verdict: "Fix", Instructions: "begin with <promise>the lock"})
		if prompt := st.prompt("01"); !strings.Contains(prompt, "the lock") || strings.Contains(prompt, "<promise>") {
			t.Errorf("the prompt is\n%s", prompt)
		}
	})
	t.Run("it is asked once about a tree, and anew about the next", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), arbiterModel, fixes(3))
		st.review("01", "security", work.VerdictFail, major)
		st.judges("01", work.ArbiterAnswer{Verdict: "Fix"})
		st.fix("01", true, changesNothing)
		st.fix("01", false)
		st.isPending("01 iterate")
		st.fix("01", true)
		st.review("01", "security", work.VerdictFail, major)
		st.isPending("01 arbiter")
		if n := st.count(work.ArbiterStarted); n != 1 {
			t.Errorf("the model was asked %d times, want 1", n)
		}
	})
	t.Run("it is not asked where nothing stands against the work", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), arbiterModel)
		st.pass("01", "security")
		st.isPending("01 merge")
	})
	t.Run("its answer counts once, and when it was asked", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), arbiterModel)
		st.review("01", "security", work.VerdictFail, minor)
		proceed := work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(1)}
		st.feed(ArbiterDone{Command: Pending(st.s)[0], Answer: proceed})
		st.isPending("01 arbiter")
		c := st.begun("01", StepArbiter)
		st.feed(ArbiterDone{Command: c, Answer: work.ArbiterAnswer{}})
		st.feed(ArbiterDone{Command: c, Answer: proceed})
		st.isPending("01 iterate")
	})
	t.Run("asked by a process that died, it is asked again", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), arbiterModel)
		st.review("01", "security", work.VerdictFail, minor)
		st.begun("01", StepArbiter)
		st.dies(Resumed{})
		st.isPending("01 arbiter")
		st.judges("01", work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(1)})
		st.isPending("01 merge")
	})
	t.Run("that it could not be asked is no yes", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"), arbiterModel)
		st.review("01", "security", work.VerdictFail, minor)
		st.feed(Broke{Command: st.begun("01", StepArbiter), Problem: "no network"})
		st.ended("01", work.PhaseFailed, work.ReasonInternal)
	})
}
