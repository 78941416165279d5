package factory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/journal/journaltest"
	"forge/internal/work"
)

func TestLoopBreaker(t *testing.T) {
	inHall(t, func(h *hall) {
		for n := range 6 {
			h.add(fmt.Sprint(n))
		}
		h.w.terms.MaxRunning = 1
		h.w.drive = func(context.Context, Order) (Ended, error) {
			return Ended{Outcome: work.RunFailed, Reason: "phase 1: agent_hung", Broken: []string{"a"}}, nil
		}
		stop := h.start(h.loop("one"))
		time.Sleep(9 * time.Minute)
		h.drove("1 opened", "2 opened", "3 opened")
		h.stands(4, "ready")
		if got := h.m.Servers("p")["one"]; !strings.HasPrefix(got, "agent a failed in 3 runs in a row") {
			h.Errorf("note = %q", got)
		}
		time.Sleep(2 * time.Minute)
		// One more is tried, and it is left alone for twice as long.
		h.drove("1 opened", "2 opened", "3 opened", "4 opened")
		time.Sleep(15 * time.Minute)
		if got := h.w.said(); len(got) != 4 {
			h.Errorf("driven in the second cool-down: %v", got)
		}
		h.w.drives(func(context.Context, Order) (Ended, error) {
			return Ended{Outcome: work.RunCompleted, Promoted: true, Worked: []string{"a"}}, nil
		})
		time.Sleep(10 * time.Minute)
		h.stands(6, "done")
		if f, err := h.m.Floor(h.Context(), "p"); err != nil || len(f.Breakers) != 0 {
			h.Errorf("floor = %+v, %v", f, err)
		}
		stop()
	})
}

func TestLoopTakesOver(t *testing.T) {
	inHall(t, func(h *hall) {
		claim := func(owner string, id int64) {
			h.Helper()
			was := h.issue(id)
			change, err := h.b.plan(h.Context(), was, Claimed(was, nil), &Place{At: Bottom}, work.IssueClaimed, machine(""))
			if err == nil {
				_, _, err = (&journaltest.Claimer{Board: h.m, Owner: owner}).Claim(h.Context(), work.IssueClaim{Project: "p", Issue: id}, change)
			}
			if err != nil {
				h.Fatal(err)
			}
		}
		h.add("of a dead one")
		h.add("of a silent one")
		claim("dead", 1)
		claim("silent", 2)
		h.m.Dead = map[string]bool{"dead": true}
		stop := h.start(h.loop("one"))
		time.Sleep(29 * time.Second)
		h.stands(1, "done")
		h.drove("1 opened")
		time.Sleep(10 * time.Second)
		h.stands(2, "done")
		lines, err := h.m.IssueHistory(h.Context(), "p", 1, 10, 0)
		if err != nil || !slices.ContainsFunc(lines, func(e work.IssueEntry) bool { return e.Note == "taken over from process 1 on here" }) {
			h.Errorf("history = %+v, %v", lines, err)
		}
		stop()
	})
}

// Two loops that read an issue at one time both find it free. The second one's
// plan is stale, also when the first has put the issue just where the plan would.
func TestPlanAfterAnothersClaim(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("wanted by two")
		was := h.issue(1)
		claim := func() error {
			change, err := h.b.plan(h.Context(), was, Claimed(clone(was), nil), &Place{At: Bottom}, work.IssueClaimed, machine(""))
			if err == nil {
				_, _, err = (&journaltest.Claimer{Board: h.m, Owner: "one"}).Claim(h.Context(), work.IssueClaim{Project: "p", Issue: 1}, change)
			}
			return err
		}
		if err := claim(); err != nil {
			h.Fatal(err)
		}
		if err := claim(); !errors.Is(err, work.ErrStale) {
			h.Errorf("the second claim: %v, want %v", err, work.ErrStale)
		}
	})
}

// Whoever is taken over, though it lives, stops and writes nothing any more.
func TestLoopLosesAClaim(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("long")
		h.w.drive = asleep
		stop := h.start(h.loop("one"))
		time.Sleep(time.Second)
		claims, err := h.m.Claims(h.Context(), "p")
		if err != nil {
			h.Fatal(err)
		}
		was := h.issue(1)
		change, err := h.b.plan(h.Context(), was, was, nil, work.IssueClaimed, machine(""))
		if err != nil {
			h.Fatal(err)
		}
		two := &journaltest.Claimer{Board: h.m, Owner: "two"}
		if _, _, err = two.Claim(h.Context(), claims[1], change); err != nil {
			h.Fatal(err)
		}
		time.Sleep(keepEvery + time.Second)
		if h.w.driving() != 0 {
			h.Error("it goes on without its claim")
		}
		if got := h.issue(1); got.State != "" || got.Version != was.Version+1 {
			h.Errorf("card = %+v", got)
		}
		stop()
	})
}

func TestLoopStops(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("long")
		h.w.drive = asleep
		stop := h.start(h.loop("one"))
		time.Sleep(time.Second)
		stop()
		h.stands(1, "in_progress")
		h.w.drives(finished)
		h.once(h.loop("two"))
		h.stands(1, "done")
		h.drove("1 opened", "1 resumed")
	})
}

func TestLoopLimit(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("limited")
		until := time.Now().Add(time.Hour)
		h.w.drive = func(context.Context, Order) (Ended, error) {
			if time.Now().Before(until) {
				return Ended{Outcome: work.RunLimit, Reason: "quota", Until: until}, nil
			}
			return Ended{Outcome: work.RunLimit, Reason: "run_usd is spent"}, nil
		}
		stop := h.start(h.loop("one"))
		time.Sleep(59 * time.Minute)
		h.stands(1, "in_progress  tried again at "+until.UTC().Format("15:04Z")+": quota")
		h.drove("1 opened")
		time.Sleep(2 * time.Minute)
		h.stands(1, "in_progress failed run_usd is spent")
		stop()
	})
}

func TestTwoLoops(t *testing.T) {
	inHall(t, func(h *hall) {
		const issues = 12
		for n := range issues {
			h.add(fmt.Sprint(n))
		}
		h.w.terms.MaxRunning = 3
		under := map[int64]bool{}
		h.w.drive = func(ctx context.Context, o Order) (Ended, error) {
			h.w.mu.Lock()
			if under[o.Issue.ID] {
				h.Errorf("issue %d is driven twice", o.Issue.ID)
			}
			under[o.Issue.ID] = true
			h.w.mu.Unlock()
			return asleep(ctx, o)
		}
		one, two := h.start(h.loop("one")), h.start(h.loop("two"))
		time.Sleep(time.Hour)
		for id := range int64(issues) {
			h.stands(id+1, "done")
		}
		if got := len(h.w.said()); got != issues || h.w.most > 6 {
			h.Errorf("%d times driven, %d at once", got, h.w.most)
		}
		one()
		two()
	})
}

// fates is triage that says what the title says.
type fates struct{ answered bool }

func (f *fates) Triage(_ context.Context, i work.Issue) (Triaged, error) {
	if i.Title == "error" {
		return Triaged{}, errors.New("no model answers")
	}
	if i.Title == "waits" && f.answered {
		return Triaged{Verdict: TriageReady}, nil
	}
	return Triaged{Verdict: Verdict(i.Title), Reason: "because"}, nil
}

func (f *fates) Answered(context.Context, work.Issue) (bool, error) { return f.answered, nil }

func TestLoopTriage(t *testing.T) {
	inHall(t, func(h *hall) {
		titles := []string{"ready", "waits", "stopped", "done", "odd", "error", "later"}
		for _, title := range titles {
			h.add(title)
		}
		l, f := h.loop("one"), &fates{}
		l.Triage = f
		h.once(l)
		want := []string{
			"done", "in_progress waits because", "in_progress cancelled because", "done",
			`in_progress failed triage gave the verdict "odd", which is none`, "in_progress  triage is tried again: no model answers",
			"in_progress  because",
		}
		for n, w := range want {
			h.stands(int64(n+1), w)
		}
		h.drove("1 opened")
		f.answered = true
		h.once(l)
		h.stands(2, "done")
	})
}

func TestLoopSaysWhyNothingIsBegun(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("waits for a configuration")
		h.w.broken = errors.New("agent \"a\" is not installed")
		if note := h.once(h.loop("one")); note != `agent "a" is not installed` {
			h.Errorf("note = %q", note)
		}
		h.stands(1, "ready")
		h.drove()
	})
}

func TestLoopOnly(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("other")
		h.add("wanted")
		h.w.terms.MaxRunning = 0
		if err := h.m.SetFloor(h.Context(), "p", work.Floor{Paused: true}); err != nil {
			h.Fatal(err)
		}
		l := h.loop("one")
		l.Only = 2
		h.once(l)
		h.stands(1, "ready")
		h.stands(2, "done")
		h.add("blocked", 1)
		l.Only = 3
		if why := h.once(l); NoClaim(why) != NoClaimNeeds {
			h.Errorf("why = %q", why)
		}
	})
}
