package factory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

func TestSettled(t *testing.T) {
	begun := work.Issue{ID: 1, Column: work.ColumnInProgress, Run: "r", Hold: []string{}}
	reviewed := begun
	reviewed.Column, reviewed.Hold = work.ColumnInReview, []string{"fix_attempts"}
	until := time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC)
	landed := &Landed{Commit: "c"}
	for name, c := range map[string]struct {
		issue  work.Issue
		ended  Ended
		landed *Landed
		want   string // column state hold reason
	}{
		"landed":                {begun, Ended{Outcome: work.RunCompleted, Promoted: true}, landed, "done||"},
		"landed from review":    {reviewed, Ended{Outcome: work.RunCompleted, Promoted: true}, landed, "done||"},
		"not landed":            {begun, Ended{Outcome: work.RunCompleted, Promoted: true}, &Landed{Hold: "landing_red", Reason: "red"}, "in_review|failed|landing_red|red"},
		"waits on its host":     {begun, Ended{Outcome: work.RunCompleted, Promoted: true}, &Landed{Hold: "pull_blocked", Reason: "a rule", Waits: true}, "in_review|waits|pull_blocked|a rule"},
		"landed, with a word":   {begun, Ended{Outcome: work.RunCompleted, Promoted: true}, &Landed{Commit: "c", Reason: "by ann"}, "done|||by ann"},
		"held, and shown":       {begun, Ended{Outcome: work.RunFrozen, Promote: true, Hold: []string{"unverified"}}, &Landed{Reason: "pull request 3"}, "in_review||unverified|pull request 3"},
		"waits without landing": {begun, Ended{Outcome: work.RunCompleted}, &Landed{Waits: true}, "in_review|failed||nobody decided that its result is done"},
		"nobody landed it":      {begun, Ended{Outcome: work.RunCompleted, Promoted: true}, nil, "in_review|failed||nobody decided that its result is done"},
		"nobody decided":        {begun, Ended{Outcome: work.RunCompleted}, landed, "in_review|failed||nobody decided that its result is done"},
		"held":                  {begun, Ended{Outcome: work.RunFrozen, Promote: true, Hold: []string{"unverified"}}, nil, "in_review||unverified"},
		"at a gate":             {begun, Ended{Outcome: work.RunFrozen, Reason: "start?"}, nil, "in_progress|waits||start?"},
		"rejected":              {reviewed, Ended{Outcome: work.RunFailed, Rejected: true, Reason: "no", Hold: []string{"unverified"}}, nil, "in_review|cancelled|unverified,rejected|no"},
		"failed":                {begun, Ended{Outcome: work.RunFailed, Reason: "phase 1: stale"}, nil, "in_progress|failed||phase 1: stale"},
		"failed without a word": {begun, Ended{Outcome: work.RunFailed}, nil, "in_progress|failed||its run did not complete"},
		"never begun":           {work.Issue{ID: 1, Column: work.ColumnInProgress}, Ended{Outcome: work.RunFailed, Reason: "no plan"}, nil, "ready|failed||no plan"},
		"an unknown outcome":    {begun, Ended{Outcome: "odd", Promoted: true}, landed, "in_progress|failed||its run did not complete"},
		"no outcome":            {begun, Ended{Promoted: true}, landed, "in_progress|failed||its run did not complete"},
		"cancelled":             {begun, Ended{Outcome: work.RunCancelled, Reason: "red"}, nil, "in_progress|cancelled||red"},
		"interrupted by itself": {begun, Ended{Outcome: work.RunInterrupted, Reason: "internal: x"}, nil, "in_progress|failed||internal: x"},
		"a limit that ends":     {begun, Ended{Outcome: work.RunLimit, Reason: "quota", Until: until}, nil, "in_progress|||tried again at 12:30Z: quota"},
		"a limit that stays":    {begun, Ended{Outcome: work.RunLimit, Reason: "run_usd"}, nil, "in_progress|failed||run_usd"},
	} {
		now, later, ok := Settled(c.issue, c.ended, c.landed)
		got := strings.TrimRight(strings.Join([]string{string(now.Column), string(now.State), strings.Join(now.Hold, ","), now.Reason}, "|"), "|")
		if want := strings.TrimRight(c.want, "|"); got != want || !ok {
			t.Errorf("%s: %q, %v, want %q", name, got, ok, want)
		}
		if later != c.ended.Until {
			t.Errorf("%s: later %v", name, later)
		}
		if now.Column == work.ColumnDone && (c.landed == nil || c.landed.Commit == "" || !c.ended.Promoted) {
			t.Errorf("%s: done without having landed", name)
		}
	}
	for _, taken := range []work.Issue{
		{Column: work.ColumnInProgress, State: work.IssueCancelled}, {Column: work.ColumnReady}, {Column: work.ColumnBacklog}, {Column: work.ColumnDone},
	} {
		if now, _, ok := Settled(taken, Ended{Outcome: work.RunCompleted, Promoted: true}, landed); ok || now.Column != taken.Column || now.State != taken.State {
			t.Errorf("%+v was settled: %+v", taken, now)
		}
	}
}

func TestClaimedAgain(t *testing.T) {
	held := lease(work.IssueClaim{Owner: "o", Dead: true})
	review := work.Issue{Column: work.ColumnInReview}
	waits := work.Issue{Column: work.ColumnInProgress, State: work.IssueWaits}
	for name, c := range map[string]struct {
		issue    work.Issue
		lease    *Lease
		answered bool
		want     NoClaim
	}{
		"answered at a gate":          {waits, nil, true, ""},
		"answered in review":          {review, nil, true, ""},
		"its owner died in review":    {review, held, false, ""},
		"failed in review, answered":  {work.Issue{Column: work.ColumnInReview, State: work.IssueFailed}, nil, true, NoClaimStopped},
		"cancelled, answered":         {work.Issue{Column: work.ColumnInProgress, State: work.IssueCancelled}, nil, true, NoClaimStopped},
		"an unknown state, answered":  {work.Issue{Column: work.ColumnInProgress, State: "odd"}, nil, true, NoClaimWaits},
		"done, answered":              {work.Issue{Column: work.ColumnDone}, nil, true, NoClaimColumn},
		"backlog, its claim was left": {work.Issue{Column: work.ColumnBacklog}, held, false, NoClaimColumn},
	} {
		if got := MayClaim(c.issue, c.lease, nil, ProjectState{Now: time.Now(), MaxRunning: 1, Answered: c.answered}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " a\n\tb\r\nc ": "a b c", "x\x00y\u202ez\ufffd": "xyz", "a\xffb": "ab", "a\u2028b": "a b",
		strings.Repeat("ü", 400): strings.Repeat("ü", 248) + "…",
	} {
		got := Line(in)
		if got != want {
			t.Errorf("Line(%.20q) = %.20q, %d bytes", in, got, len(got))
		}
		i := work.Issue{Title: "t", Priority: work.PriorityNormal, Column: work.ColumnReady, Reason: got}
		if p := i.Check(); len(p) > 0 {
			t.Errorf("Line(%.20q) cannot be stored: %v", in, p)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\nb\u200d c")
	f.Fuzz(func(t *testing.T, in string) {
		i := work.Issue{Title: "t", Priority: work.PriorityNormal, Column: work.ColumnReady, Reason: Line(in)}
		if p := i.Check(); len(p) > 0 {
			t.Errorf("Line(%q) = %q cannot be stored: %v", in, i.Reason, p)
		}
	})
}

func TestJudge(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f, tripped := work.Floor{}, []string(nil)
	for n := range BreakerFailures {
		if f, tripped = Judge(f, []string{"a"}, []string{"b"}, "hung", now); (len(tripped) == 1) != (n == BreakerFailures-1) {
			t.Fatalf("after %d failures: tripped %v", n+1, tripped)
		}
	}
	if got := Tripped(f, []string{"a", "b"}, now.Add(BreakerCool-1)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("tripped = %v", got)
	}
	// Runs that were under way when it tripped do not count again.
	if g, again := Judge(f, []string{"a"}, nil, "hung", now.Add(time.Minute)); len(again) != 0 || !g.Breakers["a"].Until.Equal(f.Breakers["a"].Until) {
		t.Errorf("tripped again while it rests: %v", again)
	}
	cool := BreakerCool
	for range 20 {
		now = f.Breakers["a"].Until
		if len(Tripped(f, []string{"a"}, now)) != 0 {
			t.Fatal("it is not tried again")
		}
		f, tripped = Judge(f, []string{"a"}, nil, "hung", now)
		cool = min(2*cool, BreakerMost)
		if len(tripped) != 1 || f.Breakers["a"].Until.Sub(now) != cool {
			t.Fatalf("rests %v, want %v", f.Breakers["a"].Until.Sub(now), cool)
		}
	}
	was := len(f.Breakers)
	g, _ := Judge(f, nil, []string{"a"}, "", now)
	if len(g.Breakers) != 0 || len(f.Breakers) != was {
		t.Errorf("a success leaves %v", g.Breakers)
	}
	// One phase failed by it and another was done by it: that is no success.
	if g, _ := Judge(f, []string{"a"}, []string{"a"}, "hung", now); g.Breakers["a"].Failures <= f.Breakers["a"].Failures {
		t.Errorf("breaker = %+v", g.Breakers["a"])
	}
}
