package factory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"forge/internal/work"
)

// allowed is the table of moves, written down: actor, from, with a run, to.
// "p" a person, "m" the machine.
const allowed = `
p backlog ready done   | p backlog+run ready
p ready backlog done   | p ready+run backlog
p in_review backlog ready done | p in_review+run backlog ready
p done backlog ready   | p done+run
p in_progress          | p in_progress+run
m ready in_progress    | m ready+run in_progress
m in_progress in_review done ready | m in_progress+run in_review done
m in_review done in_progress | m in_review+run done in_progress
`

func TestMayMove(t *testing.T) {
	want := map[string]bool{}
	for _, row := range strings.FieldsFunc(allowed, func(r rune) bool { return r == '\n' || r == '|' }) {
		if words := strings.Fields(row); len(words) > 1 {
			for _, to := range words[2:] {
				want[words[0]+" "+words[1]+" "+to] = true
			}
		}
	}
	yes := 0
	for name, actor := range map[string]Actor{"p": Person, "m": Machine} {
		for _, from := range work.Columns() {
			for _, run := range []string{"", "r"} {
				for _, to := range work.Columns() {
					key := name + " " + string(from)
					if run != "" {
						key += "+run"
					}
					key += " " + string(to)
					err := MayMove(work.Issue{ID: 1, Column: from, Run: run}, to, actor)
					may := want[key] || actor == Person && from == to
					if (err == nil) != may {
						t.Errorf("%s: %v, want allowed %v", key, err, may)
					}
					var r *Refusal
					if err != nil && (!errors.As(err, &r) || r.What == "" || r.Fix == "") {
						t.Errorf("%s: %v names no way out", key, err)
					}
					if want[key] {
						yes++
					}
				}
			}
		}
	}
	if yes != len(want) {
		t.Errorf("%d moves of the table were met, it has %d", yes, len(want))
	}
	if MayMove(work.Issue{Column: work.ColumnReady}, "nowhere", Person) == nil || MayMove(work.Issue{Column: work.ColumnReady}, work.ColumnBacklog, Actor(7)) == nil {
		t.Error("a move to nowhere or by nobody was allowed")
	}
}

func TestStoppedIssuesMoveByHandAlone(t *testing.T) {
	for _, state := range []work.IssueState{work.IssueFailed, work.IssueCancelled} {
		i := work.Issue{ID: 1, Column: work.ColumnInProgress, State: state, Run: "r"}
		if err := MayMove(i, work.ColumnReady, Person); err != nil {
			t.Errorf("%s: %v", state, err)
		}
		if MayMove(i, work.ColumnDone, Person) == nil || MayMove(i, work.ColumnInReview, Machine) == nil {
			t.Errorf("%s: went on by itself", state)
		}
	}
	if MayMove(work.Issue{Column: work.ColumnInProgress, State: work.IssueWaits}, work.ColumnReady, Person) == nil {
		t.Error("an issue that waits at a gate was dragged away")
	}
}

func TestCancelAndRetry(t *testing.T) {
	for _, from := range work.Columns() {
		was := work.Issue{ID: 1, Column: from, Run: "r", Hold: []string{"unverified"}}
		gone, err := cancelled(was, "why")
		if (err == nil) != (from != work.ColumnDone) {
			t.Errorf("cancel in %s: %v", from, err)
		}
		if _, err := retried(was); err == nil {
			t.Errorf("retry in %s: nothing had stopped", from)
		}
		if from == work.ColumnDone {
			continue
		}
		if gone.Column != from || gone.State != work.IssueCancelled || gone.Reason != "why" {
			t.Errorf("cancelled: %+v", gone)
		}
		if _, err := cancelled(gone, "again"); err == nil {
			t.Error("cancelled twice")
		}
		back, err := retried(gone)
		want := from
		if from == work.ColumnInProgress || from == work.ColumnInReview {
			want = work.ColumnReady
		}
		if err != nil || back.Column != want || back.State != "" || back.Reason != "" || back.Run != "r" {
			t.Errorf("retried from %s: %+v, %v", from, back, err)
		}
	}
}

func TestCheckNeeds(t *testing.T) {
	g := work.BoardGraph{Needs: map[int64][]int64{1: {2}, 2: {3}, 3: nil, 4: nil}}
	for _, c := range []struct {
		issue int64
		needs []int64
		want  string
	}{
		{4, []int64{1, 3}, ""},
		{0, []int64{1, 2, 3, 4}, ""},
		{1, nil, ""},
		{3, []int64{1}, "needs form a cycle: 1 → 2 → 3 → 1"},
		{2, []int64{1}, "needs form a cycle: 1 → 2 → 1"},
		{3, []int64{3}, "issue 3 needs itself"},
		{4, []int64{9, 7}, "issue 9 is unknown; issue 7 is unknown"},
		{0, []int64{9}, "issue 9 is unknown"},
	} {
		err := CheckNeeds(g, c.issue, c.needs)
		var r *Refusal
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &r) || r.What != c.want) {
			t.Errorf("%d needs %v: %v, want %q", c.issue, c.needs, err, c.want)
		}
	}
	g.Needs[4] = []int64{4}
	if CheckNeeds(g, 3, nil) == nil {
		t.Error("needs were judged beside others that are no graph")
	}
}

func TestMayClaim(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	ready := work.Issue{Column: work.ColumnReady, Needs: []int64{1, 2}}
	begun := work.Issue{Column: work.ColumnInProgress, Needs: []int64{1}}
	done := map[int64]work.Column{1: work.ColumnDone, 2: work.ColumnDone}
	shop := ProjectState{Now: now, Running: 1, MaxRunning: 2, InReview: 3, MaxInReview: 4}
	lease := func(age time.Duration, dead bool) *Lease {
		return &Lease{Owner: "o", Heartbeat: now.Add(-age), Dead: dead}
	}
	with := func(change func(*ProjectState)) ProjectState { s := shop; change(&s); return s }
	state := func(i work.Issue, s work.IssueState) work.Issue { i.State = s; return i }
	for name, c := range map[string]struct {
		issue work.Issue
		lease *Lease
		needs map[int64]work.Column
		shop  ProjectState
		want  NoClaim
	}{
		"ready":                  {ready, nil, done, shop, ""},
		"backlog":                {work.Issue{Column: work.ColumnBacklog}, nil, nil, shop, NoClaimColumn},
		"in review":              {work.Issue{Column: work.ColumnInReview}, nil, nil, shop, NoClaimColumn},
		"no column":              {work.Issue{}, nil, nil, shop, NoClaimColumn},
		"cancelled":              {state(ready, work.IssueCancelled), nil, done, shop, NoClaimStopped},
		"failed in progress":     {state(begun, work.IssueFailed), nil, nil, shop, NoClaimStopped},
		"waits":                  {state(begun, work.IssueWaits), nil, nil, shop, NoClaimWaits},
		"in an unknown state":    {state(ready, "odd"), nil, done, shop, NoClaimWaits},
		"a need in review":       {ready, nil, map[int64]work.Column{1: work.ColumnDone, 2: work.ColumnInReview}, shop, NoClaimNeeds},
		"a need nobody knows":    {ready, nil, map[int64]work.Column{1: work.ColumnDone}, shop, NoClaimNeeds},
		"no facts about needs":   {ready, nil, nil, shop, NoClaimNeeds},
		"held":                   {begun, lease(LeaseTimeout, false), nil, shop, NoClaimHeld},
		"ready but held":         {ready, lease(time.Second, false), done, shop, NoClaimHeld},
		"held from the future":   {begun, lease(-time.Hour, false), nil, shop, NoClaimHeld},
		"taken over":             {begun, lease(LeaseTimeout+1, false), nil, shop, ""},
		"taken over at once":     {begun, lease(0, true), nil, shop, ""},
		"nobody holds it":        {begun, nil, nil, shop, ""},
		"paused":                 {ready, nil, done, with(func(s *ProjectState) { s.Paused = true }), NoClaimPaused},
		"paused takeover":        {begun, nil, nil, with(func(s *ProjectState) { s.Paused = true }), NoClaimPaused},
		"all are busy":           {ready, nil, done, with(func(s *ProjectState) { s.Running = 2 }), NoClaimRunning},
		"nothing may run":        {ready, nil, done, with(func(s *ProjectState) { s.Running, s.MaxRunning = 0, 0 }), NoClaimRunning},
		"too much in review":     {ready, nil, done, with(func(s *ProjectState) { s.InReview = 4 }), NoClaimInReview},
		"no limit on review":     {ready, nil, done, with(func(s *ProjectState) { s.InReview, s.MaxInReview = 99, 0 }), ""},
		"takeover has no limits": {begun, nil, nil, with(func(s *ProjectState) { s.Running, s.InReview = 9, 9 }), ""},
	} {
		if got := MayClaim(c.issue, c.lease, c.needs, c.shop); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestBranch(t *testing.T) {
	for title, want := range map[string]string{
		"Find the leak":            "forge/issue-7-find-the-leak",
		"  --Ünïcode: 42%/.. ":     "forge/issue-7-n-code-42",
		"漢字":                       "forge/issue-7",
		strings.Repeat("abcd ", 9): "forge/issue-7-abcd-abcd-abcd-abcd-abcd-abcd-abcd-abcd",
		strings.Repeat("x", 99):    "forge/issue-7-" + strings.Repeat("x", 40),
	} {
		if got := Branch(7, title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		slug := Slug(rapid.String().Draw(t, "title"))
		if len(slug) > maxSlug || strings.Trim(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
			strings.HasPrefix(slug, "-") || strings.HasSuffix(slug, "-") || strings.Contains(slug, "--") {
			t.Fatalf("%q", slug)
		}
	})
}
