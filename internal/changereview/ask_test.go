package changereview

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"charm.land/log/v2"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"forge/internal/work"
)

// roundOf asks in a test: the reviewers answer by answers, in their order.
func roundOf(answers map[string][]work.ReviewReport) (*round, *[]time.Duration) {
	var mu sync.Mutex
	var waits []time.Duration
	return &round{
		log: log.New(io.Discard), spending: &spending{}, parallel: 4, marks: &marks{},
		wait: func(_ context.Context, d time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			waits = append(waits, d)
			return nil
		},
		review: func(_ context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
			mu.Lock()
			defer mu.Unlock()
			list := answers[req.Specialist.Name]
			if len(list) == 0 {
				return work.ReviewReport{}, errors.New("the disk is full")
			}
			answers[req.Specialist.Name] = list[1:]
			return list[0], nil
		},
	}, &waits
}

func verdict(v work.Verdict, unreviewed ...string) work.ReviewReport {
	return work.ReviewReport{Verdict: v, Unreviewed: unreviewed, Request: "q", Answer: "a"}
}

func TestReviewAsksAgain(t *testing.T) {
	const unknown, pass = work.VerdictUnknown, work.VerdictPass
	gating, advisory := work.Specialist{Name: "g", Gating: true}, work.Specialist{Name: "a"}
	for name, tc := range map[string]struct {
		who     work.Specialist
		answers []work.ReviewReport
		asks    int
		verdict work.Verdict
		waits   []time.Duration
	}{
		"at once":           {gating, []work.ReviewReport{verdict(pass)}, 1, pass, nil},
		"the second time":   {gating, []work.ReviewReport{verdict(unknown), verdict(pass)}, 2, pass, []time.Duration{15 * time.Second}},
		"never":             {gating, []work.ReviewReport{verdict(unknown), verdict(unknown), verdict(unknown), verdict(pass)}, 3, unknown, []time.Duration{15 * time.Second, time.Minute}},
		"advisory":          {advisory, []work.ReviewReport{verdict(unknown), verdict(pass)}, 1, unknown, nil},
		"a word of its own": {advisory, []work.ReviewReport{verdict("approved")}, 1, unknown, nil},
		"cannot be shown":   {gating, []work.ReviewReport{verdict(unknown, "x.bin"), verdict(pass)}, 1, unknown, nil},
		"more was missed":   {gating, []work.ReviewReport{verdict(unknown, "x.bin", "y.go"), verdict(pass)}, 2, pass, []time.Duration{15 * time.Second}},
	} {
		q, waits := roundOf(map[string][]work.ReviewReport{tc.who.Name: tc.answers})
		q.never = map[string]bool{"x.bin": true}
		got, err := q.all(t.Context(), []work.Specialist{tc.who})
		if err != nil || got[0].asks != tc.asks || got[0].Verdict != tc.verdict || !slices.Equal(*waits, tc.waits) || len(got[0].requests) != tc.asks || len(got[0].usage) != tc.asks {
			t.Errorf("%s: %+v, %v; waited %v", name, got, err, *waits)
		}
	}
}

// What Forge could not do itself makes the whole of it unknown, not one part.
func TestReviewBreaksOff(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	q, _ := roundOf(map[string][]work.ReviewReport{"one": {verdict(work.VerdictPass)}})
	if got, err := q.all(t.Context(), []work.Specialist{{Name: "one"}, {Name: "two"}}); err == nil || got != nil || !strings.Contains(err.Error(), "review by two: the disk is full") {
		t.Errorf("%+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	q, _ = roundOf(map[string][]work.ReviewReport{"one": {verdict(work.VerdictUnknown)}})
	q.wait = func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}
	if _, err := q.all(ctx, []work.Specialist{{Name: "one", Gating: true}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Agents that run side by side, or one after the other, never have one mark:
// who is through ends all processes of its own.
func TestReviewersHaveTheirOwnMarks(t *testing.T) {
	q, _ := roundOf(nil)
	var mu sync.Mutex
	seen := map[string]bool{"": true}
	q.review = func(_ context.Context, req work.ReviewRequest) (work.ReviewReport, error) {
		mu.Lock()
		defer mu.Unlock()
		if seen[req.Mark] {
			t.Errorf("%s has the mark %q of somebody else", req.Specialist.Name, req.Mark)
		}
		seen[req.Mark] = true
		return verdict(work.VerdictUnknown), nil
	}
	if _, err := q.all(t.Context(), []work.Specialist{{Name: "a", Gating: true}, {Name: "b"}, {Name: "c"}}); err != nil {
		t.Fatal(err)
	}
	if got := q.marks.all(); len(got) != maxAsks+2 || len(seen) != len(got)+1 {
		t.Errorf("%d marks are kept for %d asks", len(got), len(seen)-1)
	}
}

// At most as many are asked at once as may be, and no fewer.
func TestReviewIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := roundOf(nil)
		q.parallel = 2
		q.review = func(context.Context, work.ReviewRequest) (work.ReviewReport, error) {
			time.Sleep(time.Minute) // of the bubble's clock
			return verdict(work.VerdictPass), nil
		}
		start := time.Now()
		got, err := q.all(t.Context(), []work.Specialist{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}})
		if took := time.Since(start); err != nil || len(got) != 4 || got[2].Name != "c" || took != 2*time.Minute {
			t.Errorf("%v, %+v, %v; four of a minute each, two at once", took, got, err)
		}
	})
}

// What a cap leaves is divided among those who are still to be asked.
func TestSpendingIsShared(t *testing.T) {
	eight := 8.0
	p := &spending{cost: work.Cost{RunUSD: &eight}, waiting: 4}
	var held []share
	for range 4 {
		s, why := p.take()
		if why != "" || *s.usd != 2 {
			t.Fatalf("%+v, %q", s, why)
		}
		held = append(held, s)
	}
	if _, why := p.take(); !strings.Contains(why, "cost.run_usd") {
		t.Errorf("a fifth gets something: %q", why)
	}
	half := 0.5
	p.settle(held[0], work.Usage{CostUSD: &half})
	if s, why := p.take(); why != "" || *s.usd != 1.5 {
		t.Errorf("what one has left is not for the next: %+v, %q", s, why)
	}
}

// Whatever is asked, in whatever order it reports, what was granted and what
// was spent stay within every cap as long as nobody takes more than its share.
func TestSpendingStaysWithinCaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		money := rapid.OneOf(rapid.Just[*float64](nil), rapid.Custom(func(t *rapid.T) *float64 { f := rapid.Float64Range(0, 10).Draw(t, "cap"); return &f }))
		cost := work.Cost{IterationUSD: money.Draw(t, "iteration"), PhaseUSD: money.Draw(t, "phase"), RunUSD: money.Draw(t, "run"), DayUSD: money.Draw(t, "day")}
		p := &spending{cost: cost, waiting: rapid.IntRange(1, 6).Draw(t, "waiting")}
		p.usd.day = rapid.Float64Range(0, 5).Draw(t, "today")
		var out []share
		spent, held := 0.0, 0.0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if len(out) > 0 && rapid.Bool().Draw(t, "settle") {
				s := out[0]
				out = out[1:]
				if s.usd == nil {
					p.settle(s, work.Usage{})
					continue
				}
				used := rapid.Float64Range(0, *s.usd).Draw(t, "used")
				p.settle(s, work.Usage{CostUSD: &used})
				spent, held = spent+used, held-*s.usd
				continue
			}
			s, why := p.take()
			if why != "" {
				continue
			}
			out = append(out, s)
			if s.usd == nil {
				if cost != (work.Cost{}) {
					t.Fatalf("no limit on %+v", cost)
				}
				continue
			}
			held += *s.usd
			if cost.IterationUSD != nil && *s.usd > *cost.IterationUSD {
				t.Fatalf("%v is more than an iteration may cost", *s.usd)
			}
			for most, gone := range map[*float64]float64{cost.PhaseUSD: 0, cost.RunUSD: 0, cost.DayUSD: p.usd.day} {
				if most != nil && spent+held+gone > *most+1e-9 {
					t.Fatalf("%v spent and %v held are more than %v", spent+gone, held, *most)
				}
			}
		}
	})
}

// What nobody knows the cost of is not followed by more, where there is a cap.
func TestSpendingStopsAtTheUnknown(t *testing.T) {
	five := 5.0
	for _, each := range []*float64{nil, &five} {
		twenty := 20.0
		p := &spending{cost: work.Cost{RunUSD: &twenty, IterationUSD: each}, waiting: 2}
		s, why := p.take()
		if why != "" {
			t.Fatal(why)
		}
		p.settle(s, work.Usage{CostUSD: nil})
		_, why = p.take()
		if (why != "") != (each == nil) {
			t.Errorf("with a reservation of %v: %q", each, why)
		}
		if each != nil && p.usd.spent != five {
			t.Errorf("the reservation is not what it cost: %v", p.usd.spent)
		}
	}
	nan := math.NaN()
	p := &spending{cost: work.Cost{RunUSD: &five}, waiting: 1}
	s, _ := p.take()
	p.settle(s, work.Usage{CostUSD: &nan}.Clean())
	if _, why := p.take(); why == "" {
		t.Error("a cost that is no number counts as known")
	}
}

// The verdict of all is never better than what gates, and no missing answer
// becomes a pass.
func TestReviewVerdictIsNeverBetterThanItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		verdicts := rapid.SampledFrom([]work.Verdict{"pass", "warn", "fail", "unknown", "", "approved"})
		var reviewers []Reviewer
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			reviewers = append(reviewers, Reviewer{Name: "r", Gating: rapid.Bool().Draw(t, "gating"), Verdict: verdicts.Draw(t, "verdict")})
		}
		var own []Finding
		if rapid.Bool().Draw(t, "own") {
			own = append(own, Finding{Rule: rapid.SampledFrom([]string{ruleGone, ruleSettings, ruleTouched}).Draw(t, "rule"), Gating: rapid.Bool().Draw(t, "holds")})
		}
		left := rapid.IntRange(0, 1).Draw(t, "left")
		got, why := verdictOf(own, reviewers, left, false)
		fails := slices.ContainsFunc(own, func(f Finding) bool { return f.Gating })
		unknown, clean := left > 0, len(own) == 0 && left == 0
		for _, s := range reviewers {
			fails = fails || s.Gating && s.Verdict == "fail"
			unknown = unknown || s.Gating && !slices.Contains([]work.Verdict{"pass", "warn", "fail"}, s.Verdict)
			clean = clean && s.Verdict == "pass"
		}
		want := work.VerdictWarn
		switch {
		case fails:
			want = work.VerdictFail
		case unknown:
			want = work.VerdictUnknown
		case clean:
			want = work.VerdictPass
		}
		if got != want || (len(why) == 0) != clean {
			t.Fatalf("%+v %+v %d: %s, %q; want %s", own, reviewers, left, got, why, want)
		}
	})
}
