package gates

import (
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"forge/internal/work"

	"pgregory.net/rapid"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func pending() work.Checkpoint {
	return work.Checkpoint{
		ID: "cp1", Run: "r1", Kind: string(PointStale), Revision: 3, Status: work.CheckpointPending,
		OpenedAt: noon.Add(-time.Hour), Choices: Choices(PointStale),
	}
}

func TestResolve(t *testing.T) {
	expiry := noon
	with := func(change func(*work.Checkpoint)) work.Checkpoint {
		cp := pending()
		change(&cp)
		return cp
	}
	answered := with(func(cp *work.Checkpoint) { cp.Status, cp.AnsweredBy = work.CheckpointRejected, "ann" })
	expired := with(func(cp *work.Checkpoint) { cp.Status = work.CheckpointExpired })
	due := with(func(cp *work.Checkpoint) { cp.ExpiresAt = &expiry })
	unreadable := with(func(cp *work.Checkpoint) { cp.Status = "pendign" })
	yes := work.Answer{Checkpoint: "cp1", Status: work.CheckpointApproved, By: "bob", Door: "cli"}
	say := func(change func(*work.Answer)) work.Answer {
		a := yes
		change(&a)
		return a
	}
	tests := []struct {
		name string
		cp   work.Checkpoint
		a    work.Answer
		now  time.Time
		want work.CheckpointStatus
		err  error
	}{
		{"approved", pending(), yes, noon, work.CheckpointApproved, nil},
		{"approved at the current revision", pending(), say(func(a *work.Answer) { a.Revision = 3 }), noon, work.CheckpointApproved, nil},
		{"rejected without a word", pending(), say(func(a *work.Answer) { a.Status = work.CheckpointRejected }), noon, work.CheckpointRejected, nil},
		{"changes", pending(), say(func(a *work.Answer) { a.Status, a.Comment = work.CheckpointChangesRequested, "shorter" }), noon, work.CheckpointChangesRequested, nil},
		{"a choice alone", pending(), say(func(a *work.Answer) { a.Status, a.Choice = "", "abort" }), noon, work.CheckpointRejected, nil},
		{"before the expiry", due, yes, noon.Add(-1), work.CheckpointApproved, nil},

		{"at the expiry", due, yes, noon, "", work.ErrExpired},
		{"after the expiry", due, yes, noon.Add(time.Hour), "", work.ErrExpired},
		{"expired", expired, yes, noon, "", work.ErrExpired},
		{"answered before", answered, yes, noon, "", work.ErrAlreadyResolved},
		{"the same answer again", answered, say(func(a *work.Answer) { a.Status = work.CheckpointRejected }), noon, "", work.ErrAlreadyResolved},
		{"a record in an unknown state", unreadable, yes, noon, "", work.ErrAlreadyResolved},
		{"an older revision", pending(), say(func(a *work.Answer) { a.Revision = 2 }), noon, "", work.ErrConflict},
		{"a later revision", pending(), say(func(a *work.Answer) { a.Revision = 4 }), noon, "", work.ErrConflict},
		{"a negative revision", pending(), say(func(a *work.Answer) { a.Revision = -1 }), noon, "", work.ErrConflict},
		{"another checkpoint", pending(), say(func(a *work.Answer) { a.Checkpoint = "cp2" }), noon, "", work.ErrUnknown},
		{"no checkpoint", pending(), say(func(a *work.Answer) { a.Checkpoint = "" }), noon, "", work.ErrUnknown},
		{"neither has an id", work.Checkpoint{Status: work.CheckpointPending}, say(func(a *work.Answer) { a.Checkpoint = "" }), noon, "", work.ErrUnknown},
		{"changes without a word", pending(), say(func(a *work.Answer) { a.Status = work.CheckpointChangesRequested }), noon, "", work.ErrEmptyFeedback},
		{"changes with invisible words", pending(), say(func(a *work.Answer) { a.Status, a.Comment = work.CheckpointChangesRequested, " \t\u00a0\u200b\ufeff\n" }), noon, "", work.ErrEmptyFeedback},
		{"a choice that needs a comment", pending(), say(func(a *work.Answer) { a.Status, a.Choice = "", "pivot" }), noon, "", work.ErrEmptyFeedback},
		{"no status", pending(), say(func(a *work.Answer) { a.Status = "" }), noon, "", ErrBadAnswer},
		{"pending", pending(), say(func(a *work.Answer) { a.Status = work.CheckpointPending }), noon, "", ErrBadAnswer},
		{"expired as an answer", pending(), say(func(a *work.Answer) { a.Status = work.CheckpointExpired }), noon, "", ErrBadAnswer},
		{"a word of no meaning", pending(), say(func(a *work.Answer) { a.Status = "yes" }), noon, "", ErrBadAnswer},
		{"a choice not offered", pending(), say(func(a *work.Answer) { a.Choice = "merge" }), noon, "", ErrBadAnswer},
		{"a choice against the status", pending(), say(func(a *work.Answer) { a.Choice = "stop" }), noon, "", ErrBadAnswer},
		{"nobody", pending(), say(func(a *work.Answer) { a.By = " " }), noon, "", ErrBadAnswer},
		{"answered before and another revision", answered, say(func(a *work.Answer) { a.Revision = 9 }), noon, "", work.ErrAlreadyResolved},
	}
	for _, tt := range tests {
		got, err := Resolve(tt.cp, tt.a, tt.now)
		if tt.err != nil {
			if !errors.Is(err, tt.err) {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
			}
			if !reflect.DeepEqual(got, tt.cp) {
				t.Errorf("%s: a refused answer changed the record: %+v", tt.name, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got.Status != tt.want || got.AnsweredBy != "bob" || got.Door != "cli" || got.Comment != tt.a.Comment ||
			got.Choice != tt.a.Choice || got.AnsweredAt == nil || !got.AnsweredAt.Equal(tt.now) {
			t.Errorf("%s: %+v, want %s by bob", tt.name, got, tt.want)
		}
		if tt.cp.Status != work.CheckpointPending || tt.cp.AnsweredAt != nil {
			t.Errorf("%s: the record passed in changed: %+v", tt.name, tt.cp)
		}
	}
}

// Doors race for one record: whatever they say and in whatever order they
// arrive, the first usable answer is the one that stands, and every later one
// is told so.
func TestResolveRace(t *testing.T) {
	expiry := noon.Add(5 * time.Minute)
	rapid.Check(t, func(t *rapid.T) {
		cp := pending()
		cp.ExpiresAt = &expiry
		var stands *work.Checkpoint
		now := noon
		for range rapid.IntRange(1, 12).Draw(t, "answers") {
			now = now.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "minutes")) * time.Minute)
			a := work.Answer{
				Checkpoint: rapid.SampledFrom([]string{"cp1", "cp1", "cp1", "cp2"}).Draw(t, "id"),
				Revision:   rapid.SampledFrom([]int{0, 3, 2}).Draw(t, "revision"),
				Status:     rapid.SampledFrom([]work.CheckpointStatus{"approved", "changes_requested", "rejected", "expired", "yes"}).Draw(t, "status"),
				Comment:    rapid.SampledFrom([]string{"", "shorter"}).Draw(t, "comment"),
				By:         rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "by"),
			}
			next, err := Resolve(cp, a, now)
			usable := a.Checkpoint == "cp1" && a.Revision != 2 && now.Before(expiry) &&
				(a.Status == "approved" || a.Status == "rejected" || a.Status == "changes_requested" && a.Comment != "")
			if accepted := err == nil; accepted != (usable && stands == nil) {
				t.Fatalf("%+v on %+v: %v", a, cp, err)
			}
			if stands != nil && a.Checkpoint == "cp1" && !errors.Is(err, work.ErrAlreadyResolved) {
				t.Fatalf("a later answer is refused with %v", err)
			}
			cp = next
			if err == nil {
				stands = &next
			}
			if stands != nil && !reflect.DeepEqual(cp, *stands) {
				t.Fatalf("the answer that stands changed: %+v, was %+v", cp, *stands)
			}
		}
	})
}

// As the journal uses it: read, resolve and store as one step.
func TestResolveConcurrently(t *testing.T) {
	var (
		mu   sync.Mutex
		cp   = pending()
		wg   sync.WaitGroup
		wins int
	)
	for range 32 {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			next, err := Resolve(cp, work.Answer{Checkpoint: "cp1", Revision: 3, Status: work.CheckpointApproved, By: "ann"}, noon)
			if err == nil {
				wins++
			}
			cp = next
		})
	}
	wg.Wait()
	if wins != 1 {
		t.Errorf("%d answers stand", wins)
	}
}

func TestExpire(t *testing.T) {
	expiry := noon
	cp := pending()
	if _, ok := Expire(cp, noon.Add(1000*time.Hour)); ok {
		t.Error("a checkpoint without an expiry expired")
	}
	cp.ExpiresAt = &expiry
	if _, ok := Expire(cp, noon.Add(-1)); ok {
		t.Error("expired before its time")
	}
	gone, ok := Expire(cp, noon)
	if !ok || gone.Status != work.CheckpointExpired {
		t.Errorf("at its time: %v, %+v", ok, gone)
	}
	if _, ok := Expire(gone, noon); ok {
		t.Error("expired twice")
	}
	cp.Status = work.CheckpointApproved
	if got, ok := Expire(cp, noon); ok || got.Status != work.CheckpointApproved {
		t.Error("an answer expired")
	}
}

// Every choice offered at a point can be taken.
func TestChoices(t *testing.T) {
	for _, pt := range append(Points(), PointDeliverable) {
		for _, c := range Choices(pt) {
			cp := work.Checkpoint{ID: "cp1", Revision: 1, Status: work.CheckpointPending, Choices: Choices(pt)}
			got, err := Resolve(cp, work.Answer{Checkpoint: "cp1", Choice: c.Name, Comment: "why", By: "ann"}, noon)
			if err != nil || got.Status != c.Answer || c.Label == "" {
				t.Errorf("%s, %s: %s, %v", pt, c.Name, got.Status, err)
			}
		}
		if want := pt == PointPhaseStart || pt == PointIteration || pt == PointSubPhase || pt == PointDecompose; AnsweredByYes(pt) != want {
			t.Errorf("--yes answers %s: %v", pt, !want)
		}
	}
}
