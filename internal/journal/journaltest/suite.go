// Package journaltest holds the conformance suite that every journal passes,
// and a journal in memory for simulations.
package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"forge/internal/journal"
	"forge/internal/work"
)

// Lease is what a journal gives to the holder of a run.
type Lease interface {
	Heartbeat(ctx context.Context) error
	Release(ctx context.Context) error
}

// Journal is the part of a journal that decides what is lost and what happens
// twice. *journal.Store is a Journal[*journal.Lease]; the errors are those of
// package journal and the sentinels of package work.
type Journal[L Lease] interface {
	CreateRun(ctx context.Context, run string, owner journal.Owner) (L, error)
	AcquireRun(ctx context.Context, run string, owner journal.Owner) (L, error)
	Append(ctx context.Context, lease L, a journal.Append) error
	Events(ctx context.Context, run string, after int64) ([]work.Event, error)
	Head(ctx context.Context, run string) (seq int64, hash string, err error)
	Answer(ctx context.Context, a work.Answer) (work.Checkpoint, error)
	Inbox(ctx context.Context, run string) ([]journal.InboxRow, error)
	Expire(ctx context.Context, run string, ids []string, now time.Time) ([]string, error)
}

// Subject is an empty journal under test. Advance moves its clock on.
type Subject[L Lease] struct {
	Journal Journal[L]
	Advance func(time.Duration)
}

// Run runs the suite; open makes a new journal for each test.
func Run[L Lease](t *testing.T, open func(t *testing.T) Subject[L]) {
	tests := map[string]func(*fixture[L]){
		"unknown run":           unknownRun[L],
		"create once":           createOnce[L],
		"events come back":      eventsComeBack[L],
		"sequence is dense":     sequenceIsDense[L],
		"malformed is refused":  malformedIsRefused[L],
		"cancelled is nothing":  cancelledIsNothing[L],
		"runs are apart":        runsAreApart[L],
		"one holder":            oneHolder[L],
		"takeover":              takeover[L],
		"race for a lease":      raceForALease[L],
		"answer":                answer[L],
		"refused answers":       refusedAnswers[L],
		"expiry":                expiry[L],
		"expire":                expire[L],
		"race with the expiry":  raceWithTheExpiry[L],
		"supersede":             supersede[L],
		"consume once":          consumeOnce[L],
		"race of answers":       raceOfAnswers[L],
		"nothing half appended": nothingHalfAppended[L],
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test(&fixture[L]{T: t, Subject: open(t), ctx: t.Context()})
		})
	}
}

type fixture[L Lease] struct {
	*testing.T
	Subject[L]
	ctx context.Context
}

var epoch = time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.UTC)

func owner(id string) journal.Owner { return journal.Owner{ID: id, PID: 1, Host: "host of " + id} }

func (f *fixture[L]) create(run string) L {
	f.Helper()
	l, err := f.Journal.CreateRun(f.ctx, run, owner("first"))
	f.ok(err)
	return l
}

func (f *fixture[L]) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture[L]) refused(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("got error %v, want %v", err, want)
	}
}

func (f *fixture[L]) length(run string, want int64) {
	f.Helper()
	events, err := f.Journal.Events(f.ctx, run, 0)
	f.ok(err)
	if int64(len(events)) != want {
		f.Fatalf("run %s has %d events, want %d", run, len(events), want)
	}
	seq, _, err := f.Journal.Head(f.ctx, run)
	f.ok(err)
	if seq != want {
		f.Fatalf("head of run %s is %d, want %d", run, seq, want)
	}
}

func events(run string, from, to int64) []work.Event {
	var list []work.Event
	for seq := from; seq <= to; seq++ {
		list = append(list, work.Event{
			V: work.EventVersion, Seq: seq, Time: epoch.Add(time.Duration(seq)), Run: run, Kind: work.Warned,
			Phase: "05.1", Iteration: int(seq), Attempt: 2, Data: json.RawMessage(fmt.Sprintf(`{"b": 1.0, "a":"é %d"}`, seq)),
		})
	}
	return list
}

func unknownRun[L Lease](f *fixture[L]) {
	_, err := f.Journal.AcquireRun(f.ctx, "none", owner("x"))
	f.refused(err, journal.ErrNoRun)
	_, err = f.Journal.Events(f.ctx, "none", 0)
	f.refused(err, journal.ErrNoRun)
	_, _, err = f.Journal.Head(f.ctx, "none")
	f.refused(err, journal.ErrNoRun)
	_, err = f.Journal.Inbox(f.ctx, "none")
	f.refused(err, journal.ErrNoRun)
}

func createOnce[L Lease](f *fixture[L]) {
	l := f.create("run")
	f.length("run", 0)
	_, err := f.Journal.CreateRun(f.ctx, "run", owner("second"))
	f.refused(err, journal.ErrRunExists)
	f.ok(f.Journal.Append(f.ctx, l, journal.Append{Events: events("run", 1, 1)}))
}

func eventsComeBack[L Lease](f *fixture[L]) {
	l := f.create("run")
	want := events("run", 1, 5)
	want[1].Data = nil
	want[2].Time = want[2].Time.In(time.FixedZone("elsewhere", 3600))
	f.ok(f.Journal.Append(f.ctx, l, journal.Append{Events: want[:2]}))
	f.ok(f.Journal.Append(f.ctx, l, journal.Append{Events: want[2:]}))
	want[1].Data = json.RawMessage("null")
	got, err := f.Journal.Events(f.ctx, "run", 0)
	f.ok(err)
	hash := journal.Root("run")
	for i, w := range want {
		hash = journal.Link(hash, w)
		w.Time = w.Time.UTC()
		if g := got[i]; string(g.Data) != string(w.Data) || g.Time != w.Time || fmt.Sprint(g) != fmt.Sprint(w) {
			f.Errorf("event %d came back as\n%+v, want\n%+v", i+1, g, w)
		}
	}
	seq, head, err := f.Journal.Head(f.ctx, "run")
	f.ok(err)
	if seq != 5 || head != hash.String() {
		f.Errorf("head is %d %s, want 5 %s", seq, head, hash)
	}
	rest, err := f.Journal.Events(f.ctx, "run", 3)
	f.ok(err)
	if len(rest) != 2 || rest[0].Seq != 4 {
		f.Errorf("after 3 came %d events: %v", len(rest), rest)
	}
	_, err = f.Journal.Events(f.ctx, "run", 6)
	f.refused(err, journal.ErrBroken)
	got[0].Data[0] = 'x'
	again, err := f.Journal.Events(f.ctx, "run", 0)
	f.ok(err)
	if again[0].Data[0] == 'x' {
		f.Error("a caller can change what is stored")
	}
}

func sequenceIsDense[L Lease](f *fixture[L]) {
	l := f.create("run")
	f.ok(f.Journal.Append(f.ctx, l, journal.Append{Events: events("run", 1, 2)}))
	for _, wrong := range [][]work.Event{events("run", 2, 2), events("run", 4, 4), append(events("run", 3, 3), events("run", 5, 5)...)} {
		f.refused(f.Journal.Append(f.ctx, l, journal.Append{Events: wrong}), journal.ErrSequence)
		f.length("run", 2)
	}
	f.ok(f.Journal.Append(f.ctx, l, journal.Append{Events: events("run", 3, 3)}))
}

func malformedIsRefused[L Lease](f *fixture[L]) {
	l := f.create("run")
	for name, spoil := range map[string]func(*work.Event){
		"other run":     func(e *work.Event) { e.Run = "other" },
		"version":       func(e *work.Event) { e.V = work.EventVersion + 1 },
		"no kind":       func(e *work.Event) { e.Kind = "" },
		"no time":       func(e *work.Event) { e.Time = time.Time{} },
		"far time":      func(e *work.Event) { e.Time = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"not JSON":      func(e *work.Event) { e.Data = json.RawMessage(`{"a":`) },
		"too much data": func(e *work.Event) { e.Data, _ = json.Marshal(string(make([]byte, work.MaxEventBytes))) },
	} {
		list := events("run", 1, 2)
		spoil(&list[1])
		if err := f.Journal.Append(f.ctx, l, journal.Append{Events: list}); err == nil {
			f.Errorf("%s: appended", name)
		}
		f.length("run", 0)
	}
}

func cancelledIsNothing[L Lease](f *fixture[L]) {
	l := f.create("run")
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	f.refused(f.Journal.Append(ctx, l, journal.Append{Events: events("run", 1, 1)}), context.Canceled)
	f.length("run", 0)
}

func runsAreApart[L Lease](f *fixture[L]) {
	a, b := f.create("a"), f.create("b")
	f.ok(f.Journal.Append(f.ctx, b, journal.Append{Events: events("b", 1, 3)}))
	f.ok(f.Journal.Append(f.ctx, a, journal.Append{Events: events("a", 1, 1)}))
	f.ok(f.Journal.Append(f.ctx, b, journal.Append{Events: events("b", 4, 4)}))
	f.length("a", 1)
	f.length("b", 4)
}

func oneHolder[L Lease](f *fixture[L]) {
	l := f.create("run")
	for _, id := range []string{"second", "first"} {
		_, err := f.Journal.AcquireRun(f.ctx, "run", owner(id))
		f.refused(err, journal.ErrLease)
		var held *journal.LeaseError
		if !errors.As(err, &held) || held.Owner != "first" || held.PID != 1 || held.Host != "host of first" {
			f.Errorf("the refusal names %+v", held)
		}
	}
	f.ok(l.Release(f.ctx))
	f.refused(l.Release(f.ctx), journal.ErrLease)
	f.refused(l.Heartbeat(f.ctx), journal.ErrLease)
	f.refused(f.Journal.Append(f.ctx, l, journal.Append{Events: events("run", 1, 1)}), journal.ErrLease)
	second, err := f.Journal.AcquireRun(f.ctx, "run", owner("second"))
	f.ok(err)
	f.refused(l.Release(f.ctx), journal.ErrLease)
	f.length("run", 0)
	f.ok(f.Journal.Append(f.ctx, second, journal.Append{Events: events("run", 1, 1)}))
}

func takeover[L Lease](f *fixture[L]) {
	l := f.create("run")
	f.Advance(journal.LeaseTimeout - time.Second)
	f.ok(l.Heartbeat(f.ctx))
	f.Advance(journal.LeaseTimeout)
	_, err := f.Journal.AcquireRun(f.ctx, "run", owner("second"))
	f.refused(err, journal.ErrLease)
	// Overdue and not taken over: the lease still holds.
	f.Advance(time.Second)
	f.ok(f.Journal.Append(f.ctx, l, journal.Append{Events: events("run", 1, 1)}))
	second, err := f.Journal.AcquireRun(f.ctx, "run", owner("second"))
	f.ok(err)
	f.refused(f.Journal.Append(f.ctx, l, journal.Append{Events: events("run", 2, 2)}), journal.ErrLease)
	f.refused(l.Heartbeat(f.ctx), journal.ErrLease)
	f.refused(l.Release(f.ctx), journal.ErrLease)
	f.length("run", 1)
	f.ok(f.Journal.Append(f.ctx, second, journal.Append{Events: events("run", 2, 2)}))
}

func raceForALease[L Lease](f *fixture[L]) {
	f.ok(f.create("run").Release(f.ctx))
	won := make(chan string, 8)
	var all sync.WaitGroup
	for i := range cap(won) {
		all.Go(func() {
			id := fmt.Sprint("racer ", i)
			switch _, err := f.Journal.AcquireRun(f.ctx, "run", owner(id)); {
			case err == nil:
				won <- id
			case !errors.Is(err, journal.ErrLease):
				f.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		f.Errorf("%d processes hold the run", len(won))
	}
}

func nothingHalfAppended[L Lease](f *fixture[L]) {
	l := f.create("run")
	a := journal.Append{Events: events("run", 1, 1), Open: []work.Checkpoint{checkpoint("run", "c")}, Consume: []int64{77}}
	f.refused(f.Journal.Append(f.ctx, l, a), journal.ErrConsumed)
	f.length("run", 0)
	_, err := f.Journal.Answer(f.ctx, approve("c"))
	f.refused(err, work.ErrUnknown)
	a.Consume = nil
	f.ok(f.Journal.Append(f.ctx, l, a))
	f.length("run", 1)
	// The same checkpoint cannot be opened a second time.
	if err := f.Journal.Append(f.ctx, l, journal.Append{Events: events("run", 2, 2), Open: a.Open}); err == nil {
		f.Error("a checkpoint was opened twice")
	}
	f.length("run", 1)
}
