package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"forge/internal/journal"
	"forge/internal/work"
)

// ClaimBoard is a Board on whose issues processes work. *journal.Store is one.
type ClaimBoard interface {
	Board
	ClaimIssue(ctx context.Context, owner journal.Owner, seen work.IssueClaim, c work.BoardChange) (work.IssueClaim, work.Issue, error)
	ChangeClaimed(ctx context.Context, claim work.IssueClaim, c work.BoardChange) (work.Issue, error)
	EndClaim(ctx context.Context, claim work.IssueClaim, c *work.BoardChange, later time.Time) (work.Issue, error)
	KeepClaims(ctx context.Context, claims []work.IssueClaim) (lost []work.IssueClaim, err error)
	Claims(ctx context.Context, project string) (map[int64]work.IssueClaim, error)
	Floor(ctx context.Context, project string) (work.Floor, error)
	SetFloor(ctx context.Context, project string, f work.Floor) error
}

// RunClaims runs the suite of claims; open makes an empty board for each test.
func RunClaims(t *testing.T, open func(t *testing.T) ClaimBoard) {
	for name, test := range map[string]func(*claimFixture){
		"claim, change, end":  claimChangeEnd,
		"all or nothing":      claimAllOrNothing,
		"taken over":          takenOver,
		"put off":             putOff,
		"malformed":           malformedClaims,
		"one of many":         oneOfMany,
		"how it is to go on":  floorVersions,
		"unknown project":     claimUnknown,
		"claims of a project": claimsOfProject,
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			f := &claimFixture{boardFixture: &boardFixture{T: t, Board: b, ctx: t.Context()}, b: b}
			f.ok(b.PutProject(f.ctx, work.BoardProject{ID: "p", Root: "/p", Created: epoch}))
			test(f)
		})
	}
}

type claimFixture struct {
	*boardFixture
	b ClaimBoard
}

func nobody(id int64) work.IssueClaim { return work.IssueClaim{Project: "p", Issue: id} }

func by(name string) journal.Owner { return journal.Owner{ID: name, PID: 7, Host: "h"} }

// one is a change of one issue that stays at its place.
func one(i work.Issue) work.BoardChange {
	return work.BoardChange{Project: "p", Issues: []work.IssueChange{keep(i)}}
}

func (f *claimFixture) claim(owner string, seen work.IssueClaim) work.IssueClaim {
	f.Helper()
	c, _, err := f.b.ClaimIssue(f.ctx, by(owner), seen, one(f.stored(seen.Issue)))
	f.ok(err)
	return c
}

func (f *claimFixture) claims() map[int64]work.IssueClaim {
	f.Helper()
	list, err := f.b.Claims(f.ctx, "p")
	f.ok(err)
	return list
}

func claimChangeEnd(f *claimFixture) {
	i := f.put("a")[0]
	i.Branch = "forge/issue-1"
	c, now, err := f.b.ClaimIssue(f.ctx, by("one"), nobody(i.ID), one(i))
	f.ok(err)
	if c.Epoch != 1 || c.Owner != "one" || c.Issue != i.ID || c.Project != "p" || c.PID != 7 || c.Host != "h" || c.Heartbeat.IsZero() {
		f.Errorf("claim = %+v", c)
	}
	if now.Branch != "forge/issue-1" || now.Version != 2 || f.stored(i.ID).Branch != now.Branch {
		f.Errorf("issue = %+v", now)
	}
	if got := f.claims()[i.ID]; got.Owner != "one" || got.Epoch != 1 || got.Dead {
		f.Errorf("stored claim = %+v", got)
	}
	now.Run = "r"
	if now, err = f.b.ChangeClaimed(f.ctx, c, one(now)); err != nil || now.Run != "r" || now.Version != 3 {
		f.Fatalf("changed: %+v, %v", now, err)
	}
	// A person may change it meanwhile; then the owner looks again.
	now.Title = "b"
	_, err = f.change(nil, keep(now))
	f.ok(err)
	_, err = f.b.ChangeClaimed(f.ctx, c, one(now))
	f.refused(err, work.ErrStale)
	now = f.stored(i.ID)
	now.State = work.IssueWaits
	change := one(now)
	if now, err = f.b.EndClaim(f.ctx, c, &change, time.Time{}); err != nil || now.State != work.IssueWaits {
		f.Fatalf("ended: %+v, %v", now, err)
	}
	if len(f.claims()) != 0 {
		f.Errorf("claims after the end: %v", f.claims())
	}
	for range 2 {
		_, err = f.b.EndClaim(f.ctx, c, nil, time.Time{})
		f.refused(err, work.ErrNotClaimed)
		_, err = f.b.ChangeClaimed(f.ctx, c, one(f.stored(i.ID)))
		f.refused(err, work.ErrNotClaimed)
	}
	if next := f.claim("one", nobody(i.ID)); next.Epoch != 2 {
		f.Errorf("the next claim = %+v", next)
	}
	// Though it is the same owner, the old claim is none.
	_, err = f.b.EndClaim(f.ctx, c, nil, time.Time{})
	f.refused(err, work.ErrNotClaimed)
	lines, err := f.IssueHistory(f.ctx, "p", i.ID, 10, 0)
	f.ok(err)
	if len(lines) != 6 {
		f.Errorf("%d lines of history, want 6: %+v", len(lines), lines)
	}
}

func claimAllOrNothing(f *claimFixture) {
	i := f.put("a")[0]
	stale := i
	stale.Version = 7
	_, _, err := f.b.ClaimIssue(f.ctx, by("one"), nobody(i.ID), one(stale))
	f.refused(err, work.ErrStale)
	if len(f.claims()) != 0 {
		f.Error("a claim without its change")
	}
	c := f.claim("one", nobody(i.ID))
	before := f.stored(i.ID)
	changed := before
	changed.Title = "not to be seen"
	_, _, err = f.b.ClaimIssue(f.ctx, by("two"), nobody(i.ID), one(changed))
	f.refused(err, work.ErrStale)
	change := one(stale)
	_, err = f.b.EndClaim(f.ctx, c, &change, time.Time{})
	f.refused(err, work.ErrStale)
	if got := f.stored(i.ID); got.Version != before.Version || got.Title != before.Title {
		f.Errorf("a change without its claim: %+v", got)
	}
	if got := f.claims()[i.ID]; got.Owner != "one" {
		f.Errorf("given back without its change: %+v", got)
	}
}

func takenOver(f *claimFixture) {
	i := f.put("a")[0]
	first := f.claim("one", nobody(i.ID))
	lost, err := f.b.KeepClaims(f.ctx, []work.IssueClaim{first})
	if err != nil || len(lost) != 0 {
		f.Fatalf("lost %v, %v", lost, err)
	}
	seen := f.claims()[i.ID]
	second := f.claim("two", seen)
	if second.Epoch != 2 || second.Owner != "two" {
		f.Errorf("taken over: %+v", second)
	}
	// Whoever saw the first claim comes too late.
	_, _, err = f.b.ClaimIssue(f.ctx, by("three"), seen, one(f.stored(i.ID)))
	f.refused(err, work.ErrStale)
	_, err = f.b.ChangeClaimed(f.ctx, first, one(f.stored(i.ID)))
	f.refused(err, work.ErrNotClaimed)
	_, err = f.b.EndClaim(f.ctx, first, nil, time.Time{})
	f.refused(err, work.ErrNotClaimed)
	lost, err = f.b.KeepClaims(f.ctx, []work.IssueClaim{first, second})
	if err != nil || len(lost) != 1 || lost[0].Owner != "one" {
		f.Errorf("lost %+v, %v", lost, err)
	}
}

func putOff(f *claimFixture) {
	i := f.put("a")[0]
	c := f.claim("one", nobody(i.ID))
	later := epoch.Add(time.Hour)
	_, err := f.b.EndClaim(f.ctx, c, nil, later)
	f.ok(err)
	got := f.claims()[i.ID]
	if got.Owner != "" || !got.Later.Equal(later) {
		f.Errorf("put off: %+v", got)
	}
	f.claim("two", got)
	if got := f.claims()[i.ID]; got.Owner != "two" || !got.Later.IsZero() {
		f.Errorf("claimed again: %+v", got)
	}
}

func malformedClaims(f *claimFixture) {
	list := f.put("a", "b")
	for what, try := range map[string]func() error{
		"nobody claims": func() error {
			_, _, err := f.b.ClaimIssue(f.ctx, journal.Owner{}, nobody(1), one(list[0]))
			return err
		},
		"another issue": func() error {
			_, _, err := f.b.ClaimIssue(f.ctx, by("one"), nobody(1), one(list[1]))
			return err
		},
		"two issues": func() error {
			c := one(list[0])
			c.Issues = append(c.Issues, keep(list[1]))
			_, _, err := f.b.ClaimIssue(f.ctx, by("one"), nobody(1), c)
			return err
		},
		"nothing": func() error {
			_, _, err := f.b.ClaimIssue(f.ctx, by("one"), nobody(1), work.BoardChange{Project: "p"})
			return err
		},
	} {
		if try() == nil {
			f.Errorf("%s: went through", what)
		}
	}
	if len(f.claims()) != 0 {
		f.Errorf("claims: %v", f.claims())
	}
}

// oneOfMany: of many that claim what nobody holds, one gets each issue.
func oneOfMany(f *claimFixture) {
	const issues, owners = 6, 8
	list := f.put("a", "b", "c", "d", "e", "f")
	var mu sync.Mutex
	got := map[int64][]string{}
	var all sync.WaitGroup
	for n := range owners {
		all.Go(func() {
			owner := fmt.Sprint("owner ", n)
			for _, i := range list {
				_, _, err := f.b.ClaimIssue(f.ctx, by(owner), nobody(i.ID), one(i))
				switch {
				case err == nil:
					mu.Lock()
					got[i.ID] = append(got[i.ID], owner)
					mu.Unlock()
				case !errors.Is(err, work.ErrStale):
					f.Error(err)
				}
			}
		})
	}
	all.Wait()
	stored := f.claims()
	for _, i := range list {
		if len(got[i.ID]) != 1 || stored[i.ID].Owner != got[i.ID][0] || f.stored(i.ID).Version != 2 {
			f.Errorf("issue %d: claimed by %v, stored %+v", i.ID, got[i.ID], stored[i.ID])
		}
	}
	if len(got) != issues {
		f.Errorf("%d issues were claimed", len(got))
	}
}

func floorVersions(f *claimFixture) {
	was, err := f.b.Floor(f.ctx, "p")
	if err != nil || was.Version != 0 || was.Paused {
		f.Fatalf("floor %+v, %v", was, err)
	}
	was.Paused, was.By, was.At = true, "someone", epoch
	was.Breakers = map[string]work.Breaker{"a": {Failures: 2, Until: epoch.Add(time.Minute), Why: "hung"}}
	f.ok(f.b.SetFloor(f.ctx, "p", was))
	f.refused(f.b.SetFloor(f.ctx, "p", was), work.ErrStale)
	now, err := f.b.Floor(f.ctx, "p")
	if err != nil || now.Version != 1 || !now.Paused || now.By != "someone" || !now.At.Equal(epoch) || now.Breakers["a"].Failures != 2 {
		f.Errorf("floor %+v, %v", now, err)
	}
}

func claimUnknown(f *claimFixture) {
	change := one(newIssue("a"))
	change.Issues[0].Issue.ID, change.Issues[0].Issue.Version = 9, 1
	_, _, err := f.b.ClaimIssue(f.ctx, by("one"), nobody(9), change)
	f.refused(err, work.ErrNoIssue)
	_, err = f.b.EndClaim(f.ctx, work.IssueClaim{Project: "nowhere", Issue: 1, Epoch: 1, Owner: "one"}, nil, time.Time{})
	f.refused(err, work.ErrNotClaimed)
}

func claimsOfProject(f *claimFixture) {
	f.ok(f.b.PutProject(f.ctx, work.BoardProject{ID: "q", Root: "/q", Created: epoch}))
	i := f.put("a")[0]
	f.claim("one", nobody(i.ID))
	if list, err := f.b.Claims(f.ctx, "q"); err != nil || len(list) != 0 {
		f.Errorf("claims of another project: %v, %v", list, err)
	}
}
