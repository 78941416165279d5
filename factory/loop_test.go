package factory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

func TestLoopWorksInOrder(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("first")
		h.add("second")
		h.add("third")
		if _, err := h.b.Edit(h.Context(), 1, 0, func(i *work.Issue) error { i.Needs = []int64{2}; return nil }, ada); err != nil {
			h.Fatal(err)
		}
		h.w.terms.MaxRunning = 1
		h.once(h.loop("one"))
		for id := range int64(3) {
			h.stands(id+1, "done")
		}
		h.drove("2 opened", "1 opened", "3 opened")
		if i := h.issue(2); i.Branch != "forge/issue-2-second" || i.Run != "r2" {
			h.Errorf("card = %+v", i)
		}
		if got := h.m.Servers("p"); len(got) != 0 {
			h.Errorf("still serving: %v", got)
		}
	})
}

func TestLoopBounds(t *testing.T) {
	inHall(t, func(h *hall) {
		for n := range 6 {
			h.add(fmt.Sprint(n))
		}
		h.w.drive = asleep
		h.w.terms.MaxRunning = 4
		l := h.loop("one")
		l.Concurrency = NewConcurrency(3)
		h.once(l)
		if h.w.most != 3 || len(h.w.said()) != 6 {
			h.Errorf("%d at once, %v", h.w.most, h.w.said())
		}
	})
	inHall(t, func(h *hall) {
		for n := range 4 {
			h.add(fmt.Sprint(n))
		}
		h.w.terms.MaxRunning, h.w.terms.MaxInReview = 1, 2
		h.w.drive = func(context.Context, Order) (Ended, error) {
			return Ended{Outcome: work.RunFrozen, Promote: true, Hold: []string{"autonomy_disabled"}}, nil
		}
		note := h.once(h.loop("one"))
		if got := len(h.w.said()); got != 2 || !strings.Contains(note, "max_in_review") {
			h.Errorf("%d were begun, %q", got, note)
		}
		if i := h.issue(1); i.Column != work.ColumnInReview || !slices.Equal(i.Hold, []string{"autonomy_disabled"}) {
			h.Errorf("card = %+v", i)
		}
	})
}

func TestLoopWaitsHoldNothing(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("asks")
		h.add("other")
		h.w.terms.MaxRunning = 1
		asked := map[int64]int{}
		h.w.drive = func(_ context.Context, o Order) (Ended, error) {
			if asked[o.Issue.ID]++; o.Issue.ID == 1 && asked[1] == 1 {
				return Ended{Outcome: work.RunFrozen, Reason: "waits for you: start?"}, nil
			}
			return Ended{Outcome: work.RunCompleted, Promoted: true}, nil
		}
		stop := h.start(h.loop("one"))
		time.Sleep(time.Minute)
		h.stands(1, "in_progress waits waits for you: start?")
		h.stands(2, "done")
		h.w.tell(1, News{Answers: []work.Answer{{Status: work.CheckpointApproved, By: "ada"}}})
		time.Sleep(time.Minute)
		h.stands(1, "done")
		h.drove("1 opened", "2 opened", "1 resumed")
		stop()
	})
}

func TestLoopInReview(t *testing.T) {
	for status, during := range map[work.CheckpointStatus]work.Column{
		work.CheckpointApproved: work.ColumnInReview, work.CheckpointChangesRequested: work.ColumnInProgress, work.CheckpointRejected: work.ColumnInReview,
	} {
		inHall(t, func(h *hall) {
			h.add("finished")
			asks := true
			h.w.drive = func(_ context.Context, o Order) (Ended, error) {
				if asks {
					return Ended{Outcome: work.RunFrozen, Promote: true, Hold: []string{"fix_attempts"}}, nil
				}
				if got := h.issue(1).Column; got != during {
					h.Errorf("%s: driven in %s, want %s", status, got, during)
				}
				if status == work.CheckpointRejected {
					return Ended{Outcome: work.RunFailed, Rejected: true, Reason: "the result was rejected: no", Hold: []string{"fix_attempts"}}, nil
				}
				return Ended{Outcome: work.RunCompleted, Promoted: true}, nil
			}
			stop := h.start(h.loop("one"))
			time.Sleep(time.Minute)
			h.stands(1, "in_review")
			asks = false
			h.w.tell(1, News{Answers: []work.Answer{{Status: status, By: "ada"}}})
			time.Sleep(time.Minute)
			if status != work.CheckpointRejected {
				h.stands(1, "done")
			} else {
				h.stands(1, "in_review cancelled the result was rejected: no")
				if got := h.issue(1).Hold; !slices.Equal(got, []string{"fix_attempts", HoldRejected}) {
					h.Errorf("hold = %v", got)
				}
			}
			stop()
		})
	}
}

// A run that somebody drove elsewhere, say at a terminal, is not forgotten.
func TestLoopHearsOfRunsElsewhere(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("asks")
		h.w.drive = func(context.Context, Order) (Ended, error) { return Ended{Outcome: work.RunFrozen, Promote: true}, nil }
		h.once(h.loop("one"))
		h.w.tell(1, News{Held: true, Updated: time.Now().Add(time.Hour)})
		h.w.drives(finished)
		h.once(h.loop("one"))
		h.drove("1 opened")
		h.w.tell(1, News{Over: true})
		h.once(h.loop("one"))
		h.stands(1, "done")
	})
}

// A question whose time is over is taken to its run again, which puts it anew.
func TestLoopTakesUpWhatNobodyAnsweredInTime(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("asks")
		h.w.drive = func(context.Context, Order) (Ended, error) {
			return Ended{Outcome: work.RunFrozen, Reason: "asks"}, nil
		}
		h.once(h.loop("one"))
		h.once(h.loop("one"))
		h.drove("1 opened")
		h.w.tell(1, News{Overdue: true})
		h.w.drive = func(context.Context, Order) (Ended, error) {
			h.w.tell(1, News{})
			return Ended{Outcome: work.RunFrozen, Reason: "asks again"}, nil
		}
		h.once(h.loop("one"))
		h.stands(1, "in_progress waits asks again")
	})
}

func TestLoopCancel(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("long")
		h.w.drive = asleep
		stop := h.start(h.loop("one"))
		time.Sleep(10 * time.Second)
		if claims, _ := h.m.Claims(h.Context(), "p"); claims[1].Owner != "one" {
			h.Fatalf("claims = %+v", claims)
		}
		if _, err := h.b.Cancel(h.Context(), 1, By{Name: "ada", Door: "cli", Note: "enough"}); err != nil {
			h.Fatal(err)
		}
		time.Sleep(time.Second)
		h.stands(1, "in_progress cancelled enough")
		if h.w.driving() != 0 {
			h.Error("its run still goes on")
		}
		h.w.drives(finished)
		if _, err := h.b.Retry(h.Context(), 1, ada); err != nil {
			h.Fatal(err)
		}
		time.Sleep(time.Second)
		h.stands(1, "done")
		h.drove("1 opened", "1 again")
		stop()
	})
}

func TestLoopFailsAndRetries(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("bad")
		h.add("after it", 1)
		h.w.drive = func(context.Context, Order) (Ended, error) {
			return Ended{}, errors.New("the disk\nis full\x00 ")
		}
		h.once(h.loop("one"))
		h.stands(1, "in_progress failed the disk is full")
		h.stands(2, "ready")
		h.once(h.loop("one"))
		h.drove("1 opened")
		if _, err := h.b.Retry(h.Context(), 1, ada); err != nil {
			h.Fatal(err)
		}
		h.w.drives(finished)
		h.w.land = func(i work.Issue) (Landed, error) {
			return Landed{Hold: "landing_conflict", Reason: "in a.txt"}, nil
		}
		h.once(h.loop("one"))
		h.stands(1, "in_review failed in a.txt")
		if got := h.issue(1).Hold; !slices.Equal(got, []string{"landing_conflict"}) {
			h.Errorf("hold = %v", got)
		}
		h.once(h.loop("one"))
		h.w.land = nil
		if _, err := h.b.Retry(h.Context(), 1, ada); err != nil {
			h.Fatal(err)
		}
		h.once(h.loop("one"))
		h.stands(1, "done")
		h.stands(2, "done")
		h.drove("1 opened", "1 again", "1 again", "2 opened")
	})
}

func TestLoopPauseAndDrain(t *testing.T) {
	inHall(t, func(h *hall) {
		set := func(change func(*work.Floor)) {
			h.Helper()
			f, err := h.m.Floor(h.Context(), "p")
			if err != nil {
				h.Fatal(err)
			}
			change(&f)
			f.By, f.At = "ada", time.Now()
			if err := h.m.SetFloor(h.Context(), "p", f); err != nil {
				h.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		h.w.drive = asleep
		h.w.terms.MaxRunning = 1
		h.add("first")
		h.add("second")
		stop := h.start(h.loop("one"))
		time.Sleep(time.Second)
		set(func(f *work.Floor) { f.Paused = true })
		time.Sleep(2 * time.Minute)
		h.stands(1, "done") // what runs goes on
		h.stands(2, "ready")
		if got := h.m.Servers("p")["one"]; got != "paused by ada" {
			h.Errorf("note = %q", got)
		}
		set(func(f *work.Floor) { f.Paused = false })
		set(func(f *work.Floor) { f.Drain = true })
		h.add("third")
		time.Sleep(2 * time.Minute)
		h.stands(2, "done")
		h.stands(3, "ready")
		if len(h.m.Servers("p")) != 0 {
			h.Error("a drained loop serves on")
		}
		stop()
		// Whoever starts one after that means it.
		stop = h.start(h.loop("two"))
		time.Sleep(2 * time.Minute)
		h.stands(3, "done")
		stop()
	})
}
