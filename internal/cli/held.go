package cli

import (
	"context"
	"errors"
	"time"

	"github.com/charmbracelet/log"

	"forge/internal/journal"
	"forge/internal/work"
	"forge/orchestrator"
)

// held is one run of the journal under this process's lease.
type held struct {
	store *journal.Store
	lease *journal.Lease
	now   func() time.Time
	watch *journal.Watch // made when it is first asked: several runs may share a store
}

func (h *held) Append(ctx context.Context, b orchestrator.Batch) error {
	run := h.lease.Run()
	a := journal.Append{Events: b.Events, Open: b.Opened, Consume: b.Consumed}
	for _, u := range b.Usage {
		a.Usage = append(a.Usage, journal.UsageRow{Run: run, Command: u.Command, Time: h.now(), USD: u.USD, Tokens: u.Tokens})
	}
	for _, t := range b.Began {
		a.Begin = append(a.Begin, journal.AttemptRow{Run: run, Command: t.Command, Mark: t.Mark, Started: h.now()})
	}
	for _, t := range b.Over {
		a.End = append(a.End, t.Command)
	}
	if s := statusOf(b.Events); s != nil {
		a.Status = s
	}
	if b.Expire {
		open, err := h.store.Checkpoints(ctx, journal.CheckpointFilter{Run: run, Status: work.CheckpointPending}, 1000, "")
		if err != nil {
			return err
		}
		for _, cp := range open {
			a.Supersede = append(a.Supersede, cp.ID)
		}
	}
	return h.store.Append(ctx, h.lease, a)
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

func (h *held) Head(ctx context.Context) (int64, string, error) {
	return h.store.Head(ctx, h.lease.Run())
}

func (h *held) Inbox(ctx context.Context) ([]orchestrator.Inbox, error) {
	rows, err := h.store.Inbox(ctx, h.lease.Run())
	var out []orchestrator.Inbox
	for _, r := range rows {
		out = append(out, orchestrator.Inbox{ID: r.ID, Answer: r.Answer})
	}
	return out, err
}

func (h *held) Expire(ctx context.Context, checkpoints []string, now time.Time) ([]string, error) {
	return h.store.Expire(ctx, h.lease.Run(), checkpoints, now)
}

func (h *held) Changed(ctx context.Context) (bool, error) {
	if h.watch == nil {
		h.watch = h.store.Watch()
	}
	return h.watch.Changed(ctx)
}
func (h *held) Heartbeat(ctx context.Context) error { return h.lease.Heartbeat(ctx) }

func (h *held) Attempts(ctx context.Context) ([]orchestrator.Attempt, error) {
	rows, err := h.store.Attempts(ctx, h.lease.Run())
	var out []orchestrator.Attempt
	for _, r := range rows {
		out = append(out, orchestrator.Attempt{Command: r.Command, Mark: r.Mark})
	}
	return out, err
}

func (h *held) Day(ctx context.Context) (d orchestrator.Day, err error) {
	day := h.now().UTC().Format(time.DateOnly)
	if d.USD, d.Tokens, _, err = h.store.DayUsage(ctx, day); err != nil {
		return d, err
	}
	d.UnknownUSD, d.UnknownTokens, err = h.store.DayUnknown(ctx, day)
	return d, err
}

// tree ends processes by their mark.
type tree struct {
	kill func(mark string, grace time.Duration) (int, error) // proc.KillMarked
	log  *log.Logger
}

// End ends what a Forge that died left running. Where the system cannot find
// processes by their mark, a person is told to look for them: to refuse would
// mean that a run which died there could never be resumed.
func (t tree) End(_ context.Context, mark string) error {
	_, err := t.kill(mark, 3*time.Second)
	if errors.Is(err, errors.ErrUnsupported) {
		t.log.Warn("forge died while an agent or a check was at work; on this system it cannot find out whether that still runs: look for it, and end it", "variable", "FORGE_LEASE="+mark)
		return nil
	}
	return err
}
