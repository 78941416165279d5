package factory

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forge/internal/work"
)

func TestNextOfPull(t *testing.T) {
	red := work.ChecksSeen{Failed: []string{"unit"}, Most: 2}
	good := PullSeen{Number: 7, State: work.PullOpen, Head: HeadResult, Mergeable: work.Mergeable}
	with := func(change func(*PullSeen)) PullSeen {
		p := good
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		seen PullSeen
		want string // step, hold, words of the reason
	}{
		"nothing is known":         {PullSeen{}, "wait pull_blocked does not know"},
		"as it was proven":         {good, "merge"},
		"approved":                 {with(func(p *PullSeen) { p.Approved = true }), "merge"},
		"git tells of conflicts":   {with(func(p *PullSeen) { p.Mergeable = work.MergeConflict }), "merge"},
		"merged":                   {with(func(p *PullSeen) { p.State, p.Head, p.Against = work.PullMerged, HeadGone, "ann" }), "take"},
		"closed":                   {with(func(p *PullSeen) { p.State, p.Approved = work.PullClosed, true }), "wait pull_closed reopen"},
		"an odd state":             {with(func(p *PullSeen) { p.State = "draft" }), "wait pull_blocked does not know"},
		"its branch is gone":       {with(func(p *PullSeen) { p.Head = HeadGone }), "wait pull_branch restore"},
		"its branch was forced":    {with(func(p *PullSeen) { p.Head, p.Approved = HeadOther, true }), "wait pull_branch push the result back"},
		"nobody knows its branch":  {with(func(p *PullSeen) { p.Head = "" }), "wait pull_branch push the result back"},
		"sent back":                {with(func(p *PullSeen) { p.Against = "ann" }), "again pull_changes ann"},
		"pushed to":                {with(func(p *PullSeen) { p.Head = HeadPeople }), "wait pull_pushed approve it there"},
		"pushed to, and approved":  {with(func(p *PullSeen) { p.Head, p.Approved = HeadPeople, true }), "merge"},
		"pushed to, and sent back": {with(func(p *PullSeen) { p.Head, p.Approved, p.Against = HeadPeople, true, "ann" }), "again pull_changes ann"},
		"pushed to, approved, and specialists look": {with(func(p *PullSeen) { p.Head, p.Approved, p.Reviewed = HeadPeople, true, true }), "again pull_pushed proves and reviews"},
		"pushed to, and specialists look":           {with(func(p *PullSeen) { p.Head, p.Reviewed = HeadPeople, true }), "wait pull_pushed approve it there"},
		"as it was reviewed":                        {with(func(p *PullSeen) { p.Approved, p.Reviewed = true, true }), "merge"},
		"a rule is not met":                         {with(func(p *PullSeen) { p.Mergeable, p.Why = work.MergeBlocked, "one approval" }), "wait pull_blocked one approval"},
		"unknown to the host":                       {with(func(p *PullSeen) { p.Mergeable = work.MergeUnknown }), "wait pull_blocked does not say why"},
		"an odd word of the host":                   {with(func(p *PullSeen) { p.Mergeable = "perhaps" }), "wait pull_blocked does not say why"},
		"its checks fail":                           {with(func(p *PullSeen) { p.Checks = red }), "again pull_checks unit"},
		"required checks fail":                      {with(func(p *PullSeen) { p.Checks, p.Mergeable = red, work.MergeBlocked }), "again pull_checks unit"},
		"approved as it is, and checks fail":        {with(func(p *PullSeen) { p.Checks, p.Approved = red, true }), "merge"},
		"approved, and required checks fail":        {with(func(p *PullSeen) { p.Checks, p.Approved, p.Mergeable = red, true, work.MergeBlocked }), "again pull_checks unit"},
		"checks fail, and it conflicts":             {with(func(p *PullSeen) { p.Checks, p.Mergeable = red, work.MergeConflict }), "merge"},
		"checks fail too often":                     {with(func(p *PullSeen) { p.Checks = red.After("c", []string{"ka", "kb"}, 2) }), "wait pull_checks ci_fixes"},
		"checks fail as before":                     {with(func(p *PullSeen) { p.Checks = red.After("c", []string{"kc"}, 2) }), "wait pull_checks changed nothing"},
		"checks fail, and nobody is to mend that":   {with(func(p *PullSeen) { p.Checks = red.After("c", nil, 0) }), "merge"},
		"checks fail on what people pushed, approved": {with(func(p *PullSeen) {
			p.Checks, p.Head, p.Approved, p.Mergeable = red, HeadPeople, true, work.MergeBlocked
		}), "wait pull_checks on what people pushed"},
		"checks fail on what people pushed":       {with(func(p *PullSeen) { p.Checks, p.Head = red, HeadPeople }), "wait pull_pushed approve it there"},
		"checks never end":                        {with(func(p *PullSeen) { p.Checks.Late, p.Checks.Most, p.Mergeable = []string{"lint"}, 2, work.MergeBlocked }), "wait pull_checks lint"},
		"checks never end, and the host takes it": {with(func(p *PullSeen) { p.Checks.Late, p.Checks.Most = []string{"lint"}, 2 }), "merge"},
		"the host says nothing":                   {with(func(p *PullSeen) { p.Mergeable = "" }), "wait pull_blocked does not say why"},
	} {
		step, hold, reason := NextOfPull(c.seen)
		head, words := c.want, ""
		if part := strings.SplitN(c.want, " ", 3); len(part) == 3 {
			head, words = part[0]+" "+part[1], part[2]
		}
		if got := strings.TrimSpace(string(step) + " " + hold); got != head || !strings.Contains(reason, words) || (step == PullWait || step == PullAgain) != (reason != "") {
			t.Errorf("%s: %q, %q, want %q", name, got, reason, c.want)
		}
	}
}

// Held on its host, a finished result is tried again when its time has come or
// its pull request stands differently, and not before.
func TestLoopWaitsOnThePullRequest(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("a")
		h.w.drives(finished)
		var tries atomic.Int32
		h.w.land = func(work.Issue) (Landed, error) {
			switch tries.Add(1) {
			case 1:
				return Landed{Hold: HoldHost, Reason: "away", Waits: true, Until: time.Now().Add(time.Minute)}, nil
			case 2:
				return Landed{Hold: HoldPullBlocked, Reason: "blocked", Waits: true}, nil
			}
			return Landed{Commit: "c", Reason: "merged by ann"}, nil
		}
		h.w.shown = work.IssuePull{Number: 3, Shown: "r"}
		stop := h.start(h.loop("one"))
		time.Sleep(50 * time.Second)
		h.stands(1, "in_review  away")
		if i := h.issue(1); tries.Load() != 1 || i.Pull == nil || i.Pull.Number != 3 || strings.Join(i.Hold, ",") != HoldHost {
			t.Fatalf("%d tries, %+v", tries.Load(), i)
		}
		time.Sleep(time.Minute)
		h.stands(1, "in_review waits blocked")
		// Its run is over, and that is no news.
		h.w.tell(1, News{Over: true})
		time.Sleep(10 * time.Minute)
		if tries.Load() != 2 {
			t.Fatalf("%d tries", tries.Load())
		}
		h.w.tell(1, News{Over: true, Pull: true})
		time.Sleep(time.Minute)
		h.stands(1, "done  merged by ann")
		stop()
	})
}

// What waits for a person is shown where people look, and says what they see.
func TestLoopShowsWhatWaits(t *testing.T) {
	inHall(t, func(h *hall) {
		h.add("a")
		h.w.drives(func(context.Context, Order) (Ended, error) {
			return Ended{Outcome: work.RunFrozen, Promote: true, Hold: []string{"unverified"}}, nil
		})
		h.w.show = func() (Landed, work.IssuePull) {
			return Landed{Hold: HoldPullClosed, Reason: "it was closed"}, work.IssuePull{Number: 3}
		}
		h.once(h.loop("one"))
		h.stands(1, "in_review  it was closed")
		if i := h.issue(1); i.Pull == nil || i.Pull.Number != 3 || strings.Join(i.Hold, ",") != "unverified,pull_closed" {
			t.Errorf("%+v", i)
		}
		h.drove("1 opened")
	})
}
