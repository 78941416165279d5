package orchestrator

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/review"
)

// hugeTexts take up as much of an event as any text can, each in its own way.
var hugeTexts = []string{
	strings.Repeat("x", 1<<18), strings.Repeat("\x00", 1<<14), strings.Repeat("\"\\", 1<<14), strings.Repeat("\xff", 1<<14),
	strings.Repeat("\u2028", 1<<14), strings.Repeat("<>&", 1<<14), strings.Repeat("\U0010FFFF", 1<<14), strings.Repeat("\u0301", 1<<14),
}

func (st *story) eventsFit() {
	st.t.Helper()
	for _, e := range st.events {
		if len(e.Data) > work.MaxEventBytes {
			st.t.Errorf("event %d, %s, has %d bytes, more than %d", e.Seq, e.Kind, len(e.Data), work.MaxEventBytes)
		}
	}
}

func manyOf(text string) []string { return slices.Repeat([]string{text}, 500) }

func absurdFinding(text string, s work.Severity) work.Finding {
	return work.Finding{
		Specialist: text, Also: manyOf(text), Severity: s, File: text, Line: math.MinInt, EndLine: math.MinInt,
		Issue: text, Failure: text, Suggestion: text, Repro: text,
	}
}

// The core does not believe its reviewers anything: whatever they report, it
// fits into an event, and nothing that is no pass becomes one.
func TestAbsurdReviews(t *testing.T) {
	for _, text := range hugeTexts {
		st := inReview(t, reviewedBy("security", "performance?"), arbiterModel, asksOnFail, fixes(1))
		rep := work.ReviewReport{
			Specialist: text, Verdict: work.VerdictPass, Why: text, Hallucinated: math.MinInt, Files: manyOf(text), Model: text, Request: text, Answer: text,
			Confidence: sure(math.NaN()), Usage: costs(math.NaN(), math.MinInt64),
		}
		for _, s := range append(work.Severities(), work.Severity(text[:8])) {
			rep.Findings = append(rep.Findings, slices.Repeat([]work.Finding{absurdFinding(text, s)}, 2500)...)
		}
		rep.Notes = slices.Clone(rep.Findings)
		st.feed(ReviewDone{Command: st.asking("01", "performance"), Report: rep})
		if d := last[ReviewFinishedData](st, work.ReviewFinished); d.Verdict != work.VerdictFail || d.LeftOut < 10000 || d.Hallucinated != 0 || d.Usage.CostUSD != nil || d.Usage.InputTokens != nil {
			t.Errorf("on record is %s, %d left out, %d hallucinated, %+v", d.Verdict, d.LeftOut, d.Hallucinated, d.Usage)
		}
		rep.Unreviewed = manyOf(text)
		rep.Verdict = work.VerdictPass
		st.feed(ReviewDone{Command: st.asking("01", "security"), Report: rep})
		st.isPending("01 wait")
		st.later(mostOutageWait)
		st.feed(Tick{})
		rep.Verdict, rep.Unreviewed = work.Verdict(text), nil
		st.feed(ReviewDone{Command: st.asking("01", "security"), Report: rep})
		st.isPending("01 wait")
		st.later(mostOutageWait)
		st.feed(Tick{})
		rep.Verdict = work.VerdictPass
		st.feed(ReviewDone{Command: st.asking("01", "security"), Report: rep})
		for _, f := range st.phase("01").objections() {
			if !slices.Contains([]string{"security", "performance"}, f.Specialist) || f.Line < 0 || f.EndLine < 0 || !f.Severity.Known() {
				t.Errorf("of %q, at %d to %d, %s", f.Specialist, f.Line, f.EndLine, f.Severity)
			}
		}
		st.judges("01", work.ArbiterAnswer{
			Verdict: text, Confidence: sure(math.Inf(1)), Reason: text, Instructions: text, Why: text, Model: text, Request: text, Answer: text, Usage: costs(math.Inf(1), -1),
		})
		st.ruled(review.Fix, review.ReasonFixBudget)
		if d := last[ArbiterFinishedData](st, work.ArbiterFinished); d.Answer.Confidence != nil {
			t.Errorf("the model is sure to %v", *d.Answer.Confidence)
		}
		if prompt := st.prompt("01"); len(prompt) > 1<<17 {
			t.Errorf("the prompt of the fix has %d bytes", len(prompt))
		}
		st.fix("01", false)
		st.asked("01", gates.PointFindings)
		st.answer("01", gates.PointFindings, changes, text)
		st.eventsFit()
	}
}

// Texts that are a hair longer than what is kept.
func TestReviewsThatJustFit(t *testing.T) {
	for _, text := range []string{strings.Repeat("y", 2001), strings.Repeat("\x01", 401)} {
		st := inReview(t, reviewedBy("security"))
		rep := work.ReviewReport{Verdict: work.VerdictFail, Why: text, Model: text, Request: text, Answer: text, Unreviewed: manyOf(text)}
		for range 9 {
			rep.Findings, rep.Notes = append(rep.Findings, absurdFinding(text, critical)), append(rep.Notes, absurdFinding(text, minor))
		}
		st.reports("01", "security", rep)
		st.eventsFit()
		if d := last[ReviewFinishedData](st, work.ReviewFinished); len(d.Findings) != 6 || len(d.Notes) != 3 || d.LeftOut != 9 {
			t.Errorf("%d findings and %d notes are on record, %d left out; want 6, 3, 9", len(d.Findings), len(d.Notes), d.LeftOut)
		}
	}
}

// What is worst is never among what is left out, and a note is no place to hide
// it.
func TestTheWorstIsKept(t *testing.T) {
	t.Run("behind many", func(t *testing.T) {
		st := inReview(t, reviewedBy("security", "performance?"))
		st.pass("01", "security")
		st.review("01", "performance", work.VerdictFail, append(slices.Repeat([]work.Severity{minor, major}, 5000), critical)...)
		if st.ruled(review.Fix, review.ReasonFixBudget); !st.phase("01").critical() {
			t.Error("the critical finding is lost")
		}
	})
	for _, s := range []work.Severity{critical, major, "blocker"} {
		t.Run("a note that is "+string(s), func(t *testing.T) {
			st := inReview(t, reviewedBy("security"))
			st.reports("01", "security", work.ReviewReport{Verdict: work.VerdictPass, Findings: finds(minor), Notes: finds(minor, s)})
			st.ruled(review.Fix, review.ReasonFixBudget)
			if told := st.phase("01").tellFindings(); !strings.Contains(told, string(s)+" thing 2") {
				t.Errorf("the agent is told\n%s", told)
			}
		})
	}
	t.Run("a finding under Forge's own name", func(t *testing.T) {
		st := inReview(t, reviewedBy("security"))
		st.feed(ReviewDone{Command: st.asking("01", "security"), Report: work.ReviewReport{
			Specialist: "architecture", Verdict: work.VerdictFail, Findings: []work.Finding{{Specialist: evidenceReviewer, Severity: major, Issue: "x"}},
		}})
		if f := st.phase("01").objections(); len(f) != 1 || f[0].Specialist != "security" {
			t.Errorf("the finding is put down as %+v, want security's", f)
		}
	})
}

// Of random reports, answers and fixes none comes to a merge with a critical
// finding or without a gating reviewer's answer about the very tree.
func TestReviewsNeverFailOpen(t *testing.T) {
	verdicts := []work.Verdict{work.VerdictPass, work.VerdictPass, work.VerdictWarn, work.VerdictFail, work.VerdictUnknown, "", "PASS"}
	severities := []work.Severity{minor, minor, major, critical, "blocker", ""}
	merged := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		st := inReview(t, reviewedBy("security", "performance?"), arbiterModel, fixes(rng.IntN(4)), reviewSetting(func(r *work.ReviewSettings) { r.KeepMajor = rng.IntN(2) == 0 }))
		usable, bad := map[string]string{}, map[string]bool{}
		for range 60 {
			all := Pending(st.s)
			if len(all) == 0 || all[0].Step == StepMerge {
				break
			}
			switch c := all[rng.IntN(len(all))]; c.Step {
			case StepReview:
				rep := work.ReviewReport{Verdict: verdicts[rng.IntN(len(verdicts))]}
				for range rng.IntN(3) {
					rep.Findings = append(rep.Findings, finds(severities[rng.IntN(len(severities))])...)
				}
				if rng.IntN(8) == 0 {
					rep.Unreviewed = []string{"b.go"}
				}
				is := func(v work.Verdict) bool { return rep.Verdict == v }
				if (is(work.VerdictPass) || is(work.VerdictWarn) || is(work.VerdictFail) && len(rep.Findings) > 0) && len(rep.Unreviewed) == 0 {
					usable[c.Specialist] = c.Commit
				}
				bad[c.Specialist] = slices.ContainsFunc(rep.Findings, func(f work.Finding) bool { return f.Severity != minor && f.Severity != major })
				st.feed(Began{Command: c})
				st.feed(ReviewDone{Command: c, Report: rep})
			case StepArbiter:
				path := rng.IntN(3) > 0
				st.feed(Began{Command: c})
				st.feed(ArbiterDone{Command: c, Answer: work.ArbiterAnswer{Verdict: "Proceed", Confidence: sure(rng.Float64() * 2), FixPath: &path}})
			case StepIterate:
				told := []func(*IterationDone){}
				if rng.IntN(4) == 0 {
					told = append(told, changesNothing)
				}
				st.work("01", told...)
			case StepVerify:
				st.verify("01", rng.IntN(3) > 0)
			default:
				st.later(mostOutageWait)
				st.feed(Tick{})
			}
		}
		c := Pending(st.s)
		if len(c) == 0 {
			if st.phase("01").Stage != StageFinished {
				t.Fatalf("seed %d: stuck at %s", seed, st.phase("01").Stage)
			}
			continue
		}
		if c[0].Step != StepMerge {
			t.Fatalf("seed %d: after 60 steps %v is still due", seed, st.pending())
		}
		merged++
		if usable["security"] != c[0].Commit || bad["security"] || bad["performance"] {
			t.Fatalf("seed %d: %s is merged; security's last answer is about %q, critical are %v\n%s", seed, c[0].Commit, usable["security"], bad, tail(st.events, 20))
		}
	}
	if merged < 40 {
		t.Errorf("%d of 400 came to a merge", merged)
	}
}
