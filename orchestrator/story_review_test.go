package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// reviewedBy lets every phase be reviewed by these, with two fixes; one whose
// name ends in a question mark is advisory.
func reviewedBy(names ...string) func(*Spec) {
	var all []work.Specialist
	for _, name := range names {
		name, advisory := strings.CutSuffix(name, "?")
		all = append(all, work.Specialist{Name: name, Gating: !advisory})
	}
	return func(sp *Spec) {
		sp.Settings.Reviews = work.ReviewSettings{By: "llm", Threshold: 0.7}
		for n, ps := range sp.Settings.Phases {
			ps.Reviewed, ps.Reviewers, ps.MaxFixes = true, all, 2
			sp.Settings.Phases[n] = ps
		}
	}
}

func reviewSetting(change func(*work.ReviewSettings)) func(*Spec) {
	return func(sp *Spec) { change(&sp.Settings.Reviews) }
}

func fixes(n int) func(*Spec) { return ofPhase01(func(ps *work.PhaseSettings) { ps.MaxFixes = n }) }

// asksOnFail is fail_verdict = ask.
func asksOnFail(sp *Spec) { sp.Policy.FailVerdict = gates.AskOnFail }

// arbiterModel lets a model have a say before the rules decide.
var arbiterModel = reviewSetting(func(r *work.ReviewSettings) { r.Arbiter = "judge" })

// inReview is a run whose phases are proven, so that their reviews are due.
func inReview(t *testing.T, change ...func(*Spec)) *story {
	t.Helper()
	st := tell(t, change...)
	for _, n := range slices.Clone(st.s.Order) {
		st.claims(n)
	}
	return st
}

// claims is an iteration that claims, and is proven.
func (st *story) claims(n string) {
	st.t.Helper()
	st.work(n, says(st.phase(n).Plan.Promise))
	if st.phase(n).Stage == StageVerify {
		st.verify(n, true)
	}
}

func finds(severities ...work.Severity) []work.Finding {
	var out []work.Finding
	for i, s := range severities {
		out = append(out, work.Finding{Severity: s, File: "a.txt", Line: i + 1, Issue: fmt.Sprintf("%s thing %d", s, i+1), Failure: "it breaks", Suggestion: "mend it"})
	}
	return out
}

const (
	critical = work.SeverityCritical
	major    = work.SeverityMajor
	minor    = work.SeverityMinor
)

// asking is the review command of one specialist, on record.
func (st *story) asking(n, who string) Command {
	st.t.Helper()
	for _, c := range Pending(st.s) {
		if c.Phase == n && c.Step == StepReview && c.Specialist == who {
			st.feed(Began{Command: c})
			return c
		}
	}
	st.t.Fatalf("%s is not asked about phase %s; pending is %v, and the last events are\n%s", who, n, st.pending(), tail(st.events, 6))
	return Command{}
}

// review is the answer of one specialist.
func (st *story) review(n, who string, v work.Verdict, found ...work.Severity) {
	st.t.Helper()
	st.reports(n, who, work.ReviewReport{Verdict: v, Findings: finds(found...), Files: []string{"a.txt"}, Why: "because"})
}

func (st *story) reports(n, who string, rep work.ReviewReport) {
	st.t.Helper()
	rep.Specialist = who
	for i := range rep.Findings {
		rep.Findings[i].Specialist = who
	}
	st.feed(ReviewDone{Command: st.asking(n, who), Report: rep})
}

func (st *story) pass(n string, who ...string) {
	st.t.Helper()
	for _, name := range who {
		st.review(n, name, work.VerdictPass)
	}
}

// areAsked says which specialists have to answer now, and since which commit.
func (st *story) areAsked(n string, want ...string) {
	st.t.Helper()
	var got []string
	for _, c := range Pending(st.s) {
		if c.Phase == n && c.Step == StepReview {
			who := c.Specialist + " about " + c.Commit
			if since := st.phase(n).Review.Of[c.Specialist].since(); since != "" {
				who += " since " + since
			}
			got = append(got, who)
		}
	}
	if !slices.Equal(got, want) {
		st.t.Errorf("asked are %q, want %q; the last events are\n%s", got, want, tail(st.events, 6))
	}
}

// ruled says what the arbiter decided last, and by which rule.
func (st *story) ruled(v review.Ruling, why review.RulingReason) ArbiterDecidedData {
	st.t.Helper()
	d := last[ArbiterDecidedData](st, work.ArbiterDecided)
	if d.Verdict != v || d.Reason != why {
		st.t.Errorf("the arbiter decided %s (%s), want %s (%s)", d.Verdict, d.Reason, v, why)
	}
	return d
}

// fix is an iteration that the arbiter or a person asked for, with its verify.
func (st *story) fix(n string, green bool, told ...func(*IterationDone)) {
	st.t.Helper()
	st.work(n, told...)
	st.verify(n, green)
}

// lands takes a phase that passed its reviews to its end.
func (st *story) lands(n string) {
	st.t.Helper()
	st.merge(n)
	st.land(n)
	st.ended(n, work.PhaseDone, "")
}

func (st *story) judges(n string, a work.ArbiterAnswer) {
	st.t.Helper()
	st.feed(ArbiterDone{Command: st.begun(n, StepArbiter), Answer: a})
}

func sure(c float64) *float64 { return &c }

func TestReviewsOfAProvenTree(t *testing.T) {
	t.Run("without reviews nobody is asked", func(t *testing.T) {
		inReview(t).isPending("01 merge")
	})
	t.Run("a claim that is not proven is not reviewed", func(t *testing.T) {
		st := tell(t, reviewedBy("security"))
		st.work("01", says("P01"))
		st.isPending("01 verify")
		st.verify("01", false)
		st.isPending("01 iterate")
	})
	t.Run("everybody is asked at once, about the very tree that was proven", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture", "performance?"))
		st.areAsked("01", "security about c1", "architecture about c1", "performance about c1")
		for _, c := range Pending(st.s) {
			st.feed(Began{Command: c})
		}
		st.areAsked("01", "security about c1", "architecture about c1", "performance about c1")
	})
	t.Run("nothing goes on before all have answered", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture", "performance?"))
		st.pass("01", "security", "architecture")
		st.stands("01", StageReview)
		st.pass("01", "performance")
		st.isPending("01 merge")
		if n := st.count(work.ArbiterDecided); n != 0 {
			t.Errorf("the arbiter decided %d times on nothing", n)
		}
		st.lands("01")
	})
	t.Run("a claim without verify commands is reviewed", func(t *testing.T) {
		st := inReview(t, unproven(), reviewedBy("security"))
		st.areAsked("01", "security about c1")
		st.review("01", "security", work.VerdictFail, major)
		st.work("01")
		st.areAsked("01", "security about c2")
		st.pass("01", "security")
		st.lands("01")
	})
	t.Run("nobody looks at a change that is none", func(t *testing.T) {
		st := tell(t, reviewedBy("security"))
		st.work("01", says("P01"), changesNothing)
		st.verify("01", true)
		st.isPending("01 merge")
	})
	t.Run("nor at a readonly phase", func(t *testing.T) {
		st := tell(t, reviewedBy("security"), ofPhase01(func(ps *work.PhaseSettings) { ps.Permission = work.PermissionReadonly }))
		st.work("01", says("P01"), changesNothing)
		st.verify("01", true)
		st.isPending("01 merge")
	})
	t.Run("where nobody is configured it is unknown, and no pass", func(t *testing.T) {
		st := inReview(t, reviewedBy())
		st.ended("01", work.PhaseFailed, work.ReasonReviewUnknown)
	})
	t.Run("a sub-phase is reviewed as part of its parent's work", func(t *testing.T) {
		st := tell(t, reviewedBy("security"))
		st.work("01", asksFor(part("S", 1)))
		st.claims("01.1")
		st.ended("01.1", work.PhaseDone, "")
		if n := st.count(work.ReviewStarted); n != 0 {
			t.Errorf("%d reviews began of a sub-phase", n)
		}
		st.claims("01")
		st.areAsked("01", "security about c3")
	})
	t.Run("one by one", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture", "performance?"), reviewSetting(func(r *work.ReviewSettings) { r.OneByOne = true }))
		for _, who := range []string{"security", "architecture", "performance"} {
			st.areAsked("01", who+" about c1")
			st.pass("01", who)
		}
		st.lands("01")
	})
	t.Run("an answer counts once, and only while it is awaited", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "architecture"))
		c := st.asking("01", "security")
		pass := ReviewDone{Command: c, Report: work.ReviewReport{Verdict: work.VerdictPass}}
		st.feed(ReviewDone{Command: c, Report: work.ReviewReport{Verdict: work.VerdictFail, Findings: finds(critical)}})
		st.feed(pass)
		st.pass("01", "architecture")
		st.ruled(review.Fix, review.ReasonFixBudget)
		st.feed(pass)
		st.isPending("01 iterate")
	})
	t.Run("one that nobody began does not count", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"))
		st.feed(ReviewDone{Command: Pending(st.s)[0], Report: work.ReviewReport{Verdict: work.VerdictPass}})
		st.stands("01", StageReview)
		if n := st.count(work.ReviewFinished); n != 0 {
			t.Error("its answer is on record")
		}
	})
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name    string
		who     string // the one that does not simply pass
		verdict work.Verdict
		found   []work.Severity
		want    work.Verdict
		asks    bool // the arbiter decides
	}{
		{"pass", "security", work.VerdictPass, nil, work.VerdictPass, false},
		{"a gating warning goes on", "security", work.VerdictWarn, []work.Severity{minor}, work.VerdictWarn, false},
		{"a gating fail", "security", work.VerdictFail, []work.Severity{minor, major}, work.VerdictFail, true},
		{"a gating fail over minor findings", "security", work.VerdictFail, []work.Severity{minor}, work.VerdictFail, true},
		{"an advisory fail is a warning only", "performance", work.VerdictFail, []work.Severity{major, major}, work.VerdictFail, false},
		{"an advisory critical finding is more", "performance", work.VerdictFail, []work.Severity{minor, critical}, work.VerdictFail, true},
		{"an advisory unknown is a warning only", "performance", work.VerdictUnknown, nil, work.VerdictUnknown, false},
		{"a pass that has minor findings", "security", work.VerdictPass, []work.Severity{minor}, work.VerdictWarn, false},
		{"a pass that has a major finding", "security", work.VerdictPass, []work.Severity{major}, work.VerdictFail, true},
		{"a warning that has a critical finding", "security", work.VerdictWarn, []work.Severity{critical}, work.VerdictFail, true},
		{"an advisory pass that has a critical finding", "performance", work.VerdictPass, []work.Severity{critical}, work.VerdictFail, true},
		{"a severity that nobody knows is critical", "performance", work.VerdictPass, []work.Severity{"blocker"}, work.VerdictFail, true},
		{"an advisory fail without a finding", "performance", work.VerdictFail, nil, work.VerdictUnknown, false},
		{"an advisory word that is none", "performance", "fine", nil, work.VerdictUnknown, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := inReview(t, reviewedBy("security", "performance?"))
			for _, who := range []string{"security", "performance"} {
				if who != tt.who {
					st.pass("01", who)
				}
			}
			st.review("01", tt.who, tt.verdict, tt.found...)
			if got := last[ReviewFinishedData](st, work.ReviewFinished); got.Verdict != tt.want || got.Specialist != tt.who {
				t.Errorf("%s is on record with %s, want %s", got.Specialist, got.Verdict, tt.want)
			}
			if tt.asks {
				st.ruled(review.Fix, review.ReasonFixBudget)
				st.isPending("01 iterate")
				return
			}
			st.isPending("01 merge")
			if n := st.count(work.ArbiterDecided); n != 0 {
				t.Errorf("the arbiter decided %d times", n)
			}
		})
	}
}
