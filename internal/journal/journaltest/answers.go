package journaltest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"forge/internal/journal"
	"forge/internal/work"
)

func checkpoint(run, id string) work.Checkpoint {
	return work.Checkpoint{
		ID: id, Run: run, Kind: "stale", Revision: 3, Hash: "hash", Question: "go on?", Policy: "policy",
		Status: work.CheckpointPending, OpenedAt: epoch,
		Choices: []work.Choice{{Name: "continue", Answer: work.CheckpointApproved}, {Name: "stop", Answer: work.CheckpointRejected}},
	}
}

func approve(id string) work.Answer {
	return work.Answer{Checkpoint: id, Status: work.CheckpointApproved, By: "someone", Door: "cli", At: epoch.Add(time.Hour)}
}

// ask opens checkpoints in a new run.
func (f *fixture[L]) ask(run string, checkpoints ...work.Checkpoint) L {
	f.Helper()
	l := f.create(run)
	f.ok(f.Journal.Append(f.ctx, l, journal.Append{Open: checkpoints}))
	return l
}

func (f *fixture[L]) waiting(run string, want int) []journal.InboxRow {
	f.Helper()
	rows, err := f.Journal.Inbox(f.ctx, run)
	f.ok(err)
	if len(rows) != want {
		f.Fatalf("%d answers wait in run %s, want %d", len(rows), run, want)
	}
	return rows
}

func answer[L Lease](f *fixture[L]) {
	f.ask("other")
	f.ask("run", checkpoint("run", "a"), checkpoint("run", "b"))
	yes := approve("b")
	yes.Choice, yes.Comment = "continue", "fine"
	got, err := f.Journal.Answer(f.ctx, yes)
	f.ok(err)
	if got.Status != work.CheckpointApproved || got.AnsweredBy != "someone" || got.Door != "cli" || got.Comment != "fine" ||
		got.Choice != "continue" || got.AnsweredAt == nil || !got.AnsweredAt.Equal(yes.At) || got.Question != "go on?" {
		f.Errorf("answered checkpoint: %+v", got)
	}
	no := work.Answer{Checkpoint: "a", Revision: 3, Status: work.CheckpointRejected, At: epoch}
	_, err = f.Journal.Answer(f.ctx, no)
	f.ok(err)
	rows := f.waiting("run", 2)
	if rows[0].Run != "run" || rows[0].ID >= rows[1].ID || rows[0].Answer.Checkpoint != "b" || rows[1].Answer.Status != work.CheckpointRejected {
		f.Errorf("inbox: %+v", rows)
	}
	if rows[0].Answer.Revision != 3 || rows[0].Answer.Comment != "fine" {
		f.Errorf("answer in the inbox: %+v", rows[0].Answer)
	}
	f.waiting("other", 0)
}

func refusedAnswers[L Lease](f *fixture[L]) {
	f.ask("run", checkpoint("run", "c"))
	refuse := func(want error, change func(*work.Answer)) {
		f.Helper()
		a := approve("c")
		change(&a)
		_, err := f.Journal.Answer(f.ctx, a)
		if want != nil {
			f.refused(err, want)
		} else if err == nil {
			f.Errorf("accepted: %+v", a)
		}
		f.waiting("run", 0)
	}
	refuse(work.ErrUnknown, func(a *work.Answer) { a.Checkpoint = "d" })
	refuse(work.ErrUnknown, func(a *work.Answer) { a.Checkpoint = "" })
	refuse(work.ErrConflict, func(a *work.Answer) { a.Revision = 2 })
	refuse(work.ErrConflict, func(a *work.Answer) { a.Revision = 4 })
	refuse(work.ErrEmptyFeedback, func(a *work.Answer) { a.Status = work.CheckpointChangesRequested })
	refuse(work.ErrEmptyFeedback, func(a *work.Answer) { a.Status, a.Comment = work.CheckpointChangesRequested, " \n\t" })
	refuse(nil, func(a *work.Answer) { a.Status = "" })
	refuse(nil, func(a *work.Answer) { a.Status = work.CheckpointPending })
	refuse(nil, func(a *work.Answer) { a.Status = work.CheckpointExpired })
	refuse(nil, func(a *work.Answer) { a.Status = "Approved" })
	refuse(nil, func(a *work.Answer) { a.Choice = "stop" }) // it means rejected
	refuse(nil, func(a *work.Answer) { a.Choice = "abort" })
	refuse(nil, func(a *work.Answer) { a.At = time.Time{} })
	// After all of these it is as it was.
	_, err := f.Journal.Answer(f.ctx, approve("c"))
	f.ok(err)
	_, err = f.Journal.Answer(f.ctx, approve("c"))
	f.refused(err, work.ErrAlreadyResolved)
	f.waiting("run", 1)
}

func expiry[L Lease](f *fixture[L]) {
	end := epoch.Add(time.Minute)
	c, d := checkpoint("run", "c"), checkpoint("run", "d")
	c.ExpiresAt, d.ExpiresAt = &end, &end
	f.ask("run", c, d)
	early := approve("c")
	early.At = end.Add(-1)
	_, err := f.Journal.Answer(f.ctx, early)
	f.ok(err)
	late := approve("d")
	late.At = end
	got, err := f.Journal.Answer(f.ctx, late)
	f.refused(err, work.ErrExpired)
	if got.Status != work.CheckpointExpired || got.AnsweredBy != "" {
		f.Errorf("expired checkpoint: %+v", got)
	}
	// It stays expired, whatever clock the next answer has.
	late.At = epoch
	_, err = f.Journal.Answer(f.ctx, late)
	f.refused(err, work.ErrExpired)
	f.waiting("run", 1)
}

func expire[L Lease](f *fixture[L]) {
	end := epoch.Add(time.Minute)
	names := []string{"answered", "late", "over", "not yet", "for ever"}
	var all []work.Checkpoint
	for _, id := range names {
		c := checkpoint("run", id)
		switch id {
		case "for ever":
		case "not yet":
			later := end.Add(1)
			c.ExpiresAt = &later
		default:
			c.ExpiresAt = &end
		}
		all = append(all, c)
	}
	f.ask("run", all...)
	f.ask("other", checkpoint("other", "of another run"))
	early := approve("answered")
	early.At = end.Add(-1)
	_, err := f.Journal.Answer(f.ctx, early)
	f.ok(err)
	late := approve("late")
	late.At = end
	_, err = f.Journal.Answer(f.ctx, late)
	f.refused(err, work.ErrExpired)

	for _, step := range []struct {
		now  time.Time
		want []string
	}{
		{end.Add(-1), []string{"late", "unknown", "of another run"}},
		{end, []string{"late", "over", "unknown", "of another run"}},
		{epoch, []string{"late", "over", "unknown", "of another run"}}, // whatever the clock says later
	} {
		closed, err := f.Journal.Expire(f.ctx, "run", append(slices.Clone(names), "unknown", "of another run"), step.now)
		f.ok(err)
		if !slices.Equal(closed, step.want) {
			f.Errorf("closed at %s: %v, want %v", step.now, closed, step.want)
		}
	}
	again := approve("over")
	again.At = epoch
	_, err = f.Journal.Answer(f.ctx, again)
	f.refused(err, work.ErrExpired)
	f.waiting("run", 1)
	for _, id := range []string{"not yet", "for ever", "of another run"} {
		a := approve(id)
		a.At = end
		_, err = f.Journal.Answer(f.ctx, a)
		f.ok(err)
	}
}

// raceWithTheExpiry: a checkpoint is answered or expired, never both and never
// neither.
func raceWithTheExpiry[L Lease](f *fixture[L]) {
	end := epoch.Add(time.Hour)
	var ids []string
	var all []work.Checkpoint
	for i := range 64 {
		c := checkpoint("run", fmt.Sprintf("c%02d", i))
		c.ExpiresAt = &end
		all, ids = append(all, c), append(ids, c.ID)
	}
	f.ask("run", all...)
	answered, expired := map[string]bool{}, map[string]bool{}
	var both sync.WaitGroup
	both.Go(func() {
		for _, id := range ids {
			a := approve(id)
			a.At = end.Add(-1)
			switch _, err := f.Journal.Answer(f.ctx, a); {
			case err == nil:
				answered[id] = true
			case !errors.Is(err, work.ErrExpired):
				f.Error(err)
			}
		}
	})
	both.Go(func() {
		for _, id := range slices.Backward(ids) {
			closed, err := f.Journal.Expire(f.ctx, "run", []string{id}, end)
			if err != nil {
				f.Error(err)
			}
			for _, id := range closed {
				expired[id] = true
			}
		}
	})
	both.Wait()
	for _, id := range ids {
		if answered[id] == expired[id] {
			f.Errorf("checkpoint %s: answered %v, expired %v", id, answered[id], expired[id])
		}
	}
	f.waiting("run", len(answered))
}

func supersede[L Lease](f *fixture[L]) {
	l := f.ask("run", checkpoint("run", "c"), checkpoint("run", "d"))
	_, err := f.Journal.Answer(f.ctx, approve("c"))
	f.ok(err)
	f.ok(f.Journal.Append(f.ctx, l, journal.Append{Events: events("run", 1, 1), Supersede: []string{"c", "d", "unknown"}}))
	_, err = f.Journal.Answer(f.ctx, approve("c"))
	f.refused(err, work.ErrAlreadyResolved)
	_, err = f.Journal.Answer(f.ctx, approve("d"))
	f.refused(err, work.ErrExpired)
	f.waiting("run", 1)
}

func consumeOnce[L Lease](f *fixture[L]) {
	l := f.ask("run", checkpoint("run", "c"), checkpoint("run", "d"))
	other := f.ask("other")
	_, err := f.Journal.Answer(f.ctx, approve("c"))
	f.ok(err)
	row := f.waiting("run", 1)[0]
	f.refused(f.Journal.Append(f.ctx, other, journal.Append{Events: events("other", 1, 1), Consume: []int64{row.ID}}), journal.ErrConsumed)
	f.ok(f.Journal.Append(f.ctx, l, journal.Append{Events: events("run", 1, 1), Consume: []int64{row.ID}}))
	f.waiting("run", 0)
	f.refused(f.Journal.Append(f.ctx, l, journal.Append{Events: events("run", 2, 2), Consume: []int64{row.ID}}), journal.ErrConsumed)
	f.length("run", 1)
	f.length("other", 0)
	// The next answer does not get the number of the consumed one.
	_, err = f.Journal.Answer(f.ctx, approve("d"))
	f.ok(err)
	f.refused(f.Journal.Append(f.ctx, l, journal.Append{Consume: []int64{row.ID}}), journal.ErrConsumed)
	f.waiting("run", 1)
}

func raceOfAnswers[L Lease](f *fixture[L]) {
	f.ask("run", checkpoint("run", "c"))
	var all sync.WaitGroup
	won := make(chan string, 8)
	for range cap(won) {
		all.Go(func() {
			switch _, err := f.Journal.Answer(f.ctx, approve("c")); {
			case err == nil:
				won <- "yes"
			case !errors.Is(err, work.ErrAlreadyResolved):
				f.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		f.Errorf("%d of the answers won", len(won))
	}
	f.waiting("run", 1)
}
