package runs

import (
	"context"
	"errors"
	"time"

	"charm.land/log/v2"

	"forge/internal/engine"
	"forge/internal/journal"
	"forge/internal/work"
	"forge/orchestrator"
)

// Held is one run of the journal under this process's lease.
type Held struct {
	Store *journal.Store
	Lease *journal.Lease
	Now   func() time.Time
	watch *journal.Watch // made when it is first asked: several runs may share a store
}

// Append records what the core decided and what follows from it, at once.
func (h *Held) Append(ctx context.Context, b engine.Batch) error {
	run := h.Lease.Run()
	a := journal.Append{Events: b.Events, Open: b.Opened, Consume: b.Consumed, Supersede: b.Closed}
	for _, u := range b.Usage {
		a.Usage = append(a.Usage, journal.UsageRow{Run: run, Command: u.Command, Time: h.Now(), USD: u.USD, Tokens: u.Tokens})
	}
	for _, t := range b.Began {
		a.Begin = append(a.Begin, journal.AttemptRow{Run: run, Command: t.Command, Mark: t.Mark, Started: h.Now()})
	}
	for _, t := range b.Over {
		a.End = append(a.End, t.Command)
	}
	if s := statusOf(b.Events); s != nil {
		a.Status = s
	}
	if b.Expire {
		open, err := h.Store.Checkpoints(ctx, journal.CheckpointFilter{Run: run, Status: work.CheckpointPending}, 1000, "")
		if err != nil {
			return err
		}
		for _, cp := range open {
			a.Supersede = append(a.Supersede, cp.ID)
		}
	}
	return h.Store.Append(ctx, h.Lease, a)
}

// statusOf is what listings show after these events, nil when they change
// nothing of it.
func statusOf(evs []work.Event) *journal.Status {
	var s *journal.Status
	for _, e := range evs {
		switch e.Kind {
		case work.RunStarted, work.RunResumed:
			s = &journal.Status{}
		case work.RunFinished:
			var d work.RunFinishedData
			if work.Decode(e, &d) == nil {
				s = &journal.Status{Outcome: d.Outcome, Branch: d.Branch, CostUSD: d.CostUSD}
			}
		}
	}
	return s
}

// Head is the length of the journal, and the hash of its last event.
func (h *Held) Head(ctx context.Context) (int64, string, error) {
	return h.Store.Head(ctx, h.Lease.Run())
}

// Inbox is what people answered and the run has not heard yet.
func (h *Held) Inbox(ctx context.Context) ([]engine.Inbox, error) {
	rows, err := h.Store.Inbox(ctx, h.Lease.Run())
	var out []engine.Inbox
	for _, r := range rows {
		out = append(out, engine.Inbox{ID: r.ID, Answer: r.Answer})
	}
	return out, err
}

// Expire ends the checkpoints that nobody answered in time, and names them.
func (h *Held) Expire(ctx context.Context, checkpoints []string, now time.Time) ([]string, error) {
	return h.Store.Expire(ctx, h.Lease.Run(), checkpoints, now)
}

// Changed says whether anything was stored since it was asked last.
func (h *Held) Changed(ctx context.Context) (bool, error) {
	if h.watch == nil {
		h.watch = h.Store.Watch()
	}
	return h.watch.Changed(ctx)
}

// Heartbeat keeps the lease.
func (h *Held) Heartbeat(ctx context.Context) error { return h.Lease.Heartbeat(ctx) }

// Attempts are the effects that were begun and did not end.
func (h *Held) Attempts(ctx context.Context) ([]engine.Attempt, error) {
	rows, err := h.Store.Attempts(ctx, h.Lease.Run())
	var out []engine.Attempt
	for _, r := range rows {
		out = append(out, engine.Attempt{Command: r.Command, Mark: r.Mark})
	}
	return out, err
}

// Day is what all runs have used today.
func (h *Held) Day(ctx context.Context) (d orchestrator.Day, err error) {
	day := h.Now().UTC().Format(time.DateOnly)
	if d.USD, d.Tokens, _, err = h.Store.DayUsage(ctx, day); err != nil {
		return d, err
	}
	d.UnknownUSD, d.UnknownTokens, err = h.Store.DayUnknown(ctx, day)
	return d, err
}

// Processes ends processes by their mark.
type Processes struct {
	Kill func(mark string, grace time.Duration) (int, error) // proc.KillMarked
	Log  *log.Logger
}

// End ends what a Forge that died left running. Where the system cannot find
// processes by their mark, a person is told to look for them: to refuse would
// mean that a run which died there could never be resumed.
func (t Processes) End(_ context.Context, mark string) error {
	_, err := t.Kill(mark, 3*time.Second)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Log.Warn("forge died while an agent or a check was at work; on this system it cannot find out whether that still runs: look for it, and end it", "variable", "FORGE_LEASE="+mark)
		return nil
	}
	return err
}
