package triage

import (
	"context"
	"slices"
	"testing"
	"time"

	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// feedAt feeds a fact at a time of its own.
func (th *thread) feedAt(at time.Time, f Fact) {
	th.t.Helper()
	evs, err := Feed(th.s, Input{Now: at, Fact: f})
	if err != nil {
		th.t.Fatal(err)
	}
	th.evs = append(th.evs, evs...)
}

// away lets the pending call come to nothing because the service is away.
func (th *thread) away(at time.Time, reset *time.Time) {
	th.t.Helper()
	c := th.pending(StepInfer)
	th.feedAt(at, Began{Command: c, Accounts: th.account()})
	th.feedAt(at, Answer{Command: c, Problem: "too many questions", Passing: true, ResetAt: reset, Usage: usd(0)})
}

func TestAServiceThatIsAwayIsWaitedFor(t *testing.T) {
	sp := spec("full")
	sp.OutageWaitSecs = 600
	th := open(t, sp)
	at := now
	for n, wait := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute} {
		th.away(at, nil)
		th.ended(work.RunLimit)
		r := th.s.Result()
		if r.Verdict != Later || !r.Until.Equal(at.Add(wait)) {
			t.Fatalf("wait %d: %s until %v, want %v", n, r.Verdict, r.Until, at.Add(wait))
		}
		// Too early, it is at its limit still.
		th.feedAt(r.Until.Add(-time.Second), Resumed{By: "factory"})
		th.ended(work.RunLimit)
		at = r.Until
		th.feedAt(at, Resumed{By: "factory"})
		if !th.s.Live || th.s.Stages[0].Unusable != 0 {
			t.Fatalf("live %v, %d answers counted as unusable", th.s.Live, th.s.Stages[0].Unusable)
		}
	}
	// The next wait would end after agent.outage_wait: now a person is asked, and
	// nothing has advanced.
	th.away(at, nil)
	th.waits("intent", "context", "action")
	if th.s.At() != 0 || th.s.Outage != nil {
		t.Errorf("at stage %d, outage %+v", th.s.At(), th.s.Outage)
	}
}

func TestAServiceThatSaysWhenIsAskedThen(t *testing.T) {
	sp := spec("full")
	sp.OutageWaitSecs = 3600
	th := open(t, sp)
	reset := now.Add(50 * time.Minute)
	th.away(now, &reset)
	if r := th.s.Result(); r.Verdict != Later || !r.Until.Equal(reset) {
		t.Fatalf("%+v", r)
	}
	th.feedAt(reset, Resumed{By: "factory"})
	c := th.pending(StepInfer)
	th.feedAt(reset, Began{Command: c, Accounts: th.account()})
	th.feedAt(reset, Answer{Command: c, JSON: []byte(sure(0.9)), Usage: usd(0.01)})
	if th.s.Outage != nil || !th.s.Stages[0].Confirmed {
		t.Errorf("outage %+v, confirmed %v", th.s.Outage, th.s.Stages[0].Confirmed)
	}
	// One that says more than may be waited goes to a person at once.
	sp.OutageWaitSecs = 60
	th = open(t, sp)
	th.away(now, &reset)
	th.waits("intent", "context", "action")
}

// closing is a journal in which a question's time can be over.
type closing struct {
	events []work.Event
	closed []string
	// early answers a question right before its record is closed.
	early []engine.Inbox
	inbox []engine.Inbox
}

func (c *closing) Append(_ context.Context, b engine.Batch) error {
	c.events = append(c.events, b.Events...)
	c.inbox = slices.DeleteFunc(c.inbox, func(r engine.Inbox) bool { return slices.Contains(b.Consumed, r.ID) })
	return nil
}
func (c *closing) Head(context.Context) (int64, string, error) { return 0, "", nil }
func (c *closing) Inbox(context.Context) ([]engine.Inbox, error) {
	return slices.Clone(c.inbox), nil
}
func (c *closing) Changed(context.Context) (bool, error)               { return false, nil }
func (c *closing) Heartbeat(context.Context) error                     { return nil }
func (c *closing) Attempts(context.Context) ([]engine.Attempt, error)  { return nil, nil }
func (c *closing) Day(context.Context) (d orchestrator.Day, err error) { return d, nil }
func (c *closing) End(context.Context, string) error                   { return nil }
func (c *closing) Expire(_ context.Context, ids []string, _ time.Time) ([]string, error) {
	if len(c.early) > 0 {
		c.inbox, c.early = append(c.inbox, c.early...), nil
		return nil, nil
	}
	c.closed = append(c.closed, ids...)
	return ids, nil
}

func TestAQuestionThatNobodyAnswersIsPutAgain(t *testing.T) {
	sp := spec("full")
	sp.Who, sp.ExpirySecs = ByPerson, 60
	th := open(t, sp)
	first := *th.s.Open
	if first.ExpiresAt == nil || !first.ExpiresAt.Equal(now.Add(time.Minute)) {
		t.Fatalf("it may be answered until %v", first.ExpiresAt)
	}
	th.feed(Drained{Outcome: work.RunFrozen})
	j := &closing{}
	d := &Driver{Journal: j, Board: &world{}, Processes: j, Now: func() time.Time { return now.Add(2 * time.Minute) }, NewMark: func() string { return "m" }}
	res, err := d.Run(t.Context(), th.s, Resumed{By: "factory"})
	if err != nil || res.Verdict != Waiting || res.Checkpoint == first.ID {
		t.Fatalf("%+v, %v", res, err)
	}
	again := th.s.Open
	if again.Question != first.Question || again.Revision != first.Revision || again.Hash != first.Hash || !again.ExpiresAt.Equal(now.Add(3*time.Minute)) {
		t.Errorf("asked again: %+v", again)
	}
	if len(j.closed) != 1 || j.closed[0] != first.ID || th.s.At() != 0 {
		t.Errorf("closed %v, at stage %d", j.closed, th.s.At())
	}
	// An answer to the record that is closed comes to nothing.
	th.feed(Resumed{By: "factory"})
	th.feed(Answered{Answer: work.Answer{Checkpoint: first.ID, Status: work.CheckpointApproved, Choice: ChoiceAccept, By: "ann"}})
	if th.s.Open == nil || th.s.At() != 0 {
		t.Error("an answer that came too late counts")
	}
	th.feed(Drained{Outcome: work.RunFrozen})
	// One that a door took just in time counts.
	j.early = []engine.Inbox{{ID: 7, Answer: work.Answer{Checkpoint: again.ID, Revision: again.Revision, Status: work.CheckpointApproved, Choice: ChoiceAccept, By: "ann"}}}
	d.Now = func() time.Time { return now.Add(time.Hour) }
	if res, err = d.Run(t.Context(), th.s, Resumed{By: "factory"}); err != nil || res.Verdict != Planned {
		t.Errorf("%+v, %v", res, err)
	}
}
