package engine

import (
	"cmp"

	"forge/internal/work"
	"forge/orchestrator"
)

// Collect puts events that led to s into the batch, with the rows that go with them.
func (b *Batch) Collect(s *orchestrator.State, evs []work.Event) error {
	b.Events = append(b.Events, evs...)
	for _, e := range evs {
		switch e.Kind {
		case work.CheckpointOpened:
			var cp work.Checkpoint
			if err := work.Decode(e, &cp); err != nil {
				return err
			}
			b.Opened = append(b.Opened, cp)
		case work.IterationFinished:
			var it work.IterationFinishedData
			if err := work.Decode(e, &it); err != nil {
				return err
			}
			b.used(s, it.Command, it.Usage)
		case work.ReviewFinished:
			var rv orchestrator.ReviewFinishedData
			if err := work.Decode(e, &rv); err != nil {
				return err
			}
			b.used(s, rv.Command, rv.Usage)
		case work.ArbiterFinished:
			var ar orchestrator.ArbiterFinishedData
			if err := work.Decode(e, &ar); err != nil {
				return err
			}
			b.used(s, ar.Command, ar.Answer.Usage)
		case work.VoteFinished:
			var v orchestrator.VoteFinishedData
			if err := work.Decode(e, &v); err != nil {
				return err
			}
			b.used(s, v.Command, v.Usage)
		case work.HookFinished:
			var h work.HookFinishedData
			if err := work.Decode(e, &h); err != nil {
				return err
			}
			if h.Usage != nil {
				b.used(s, h.Command, *h.Usage)
			}
		case work.PhaseRewound:
			var back orchestrator.PhaseRewoundData
			if err := work.Decode(e, &back); err != nil {
				return err
			}
			b.Closed = append(b.Closed, back.Closed...)
		case work.TryStopped:
			var stop orchestrator.TryStoppedData
			if err := work.Decode(e, &stop); err != nil {
				return err
			}
			b.Closed = append(b.Closed, stop.Closed...)
		case work.RunFinished:
			b.Expire = s.Outcome.Final()
		}
	}
	return nil
}

// used notes what an effect consumed, for the caps of the day.
func (b *Batch) used(s *orchestrator.State, id work.CommandID, of work.Usage) {
	u := UsageEntry{Command: id, USD: of.CostUSD}
	if u.USD == nil {
		// Silence leaves the reservation standing.
		u.USD = s.Spec.Settings.Cost.IterationUSD
	}
	if n, ok := of.Tokens(); ok {
		u.Tokens = &n
	}
	b.Usage = append(b.Usage, u)
}

// Empty says that there is nothing to write.
func (b *Batch) Empty() bool {
	return len(b.Events) == 0 && len(b.Consumed) == 0 && len(b.Over) == 0
}

// Undone is a result that may be what it is for want of room, as nothing at
// all: an agent or a test that cannot write fails, and says so about the work.
func Undone(fact orchestrator.Fact, short string) (now orchestrator.Fact, changed bool) {
	switch f := fact.(type) {
	case orchestrator.FolderDone:
		if !f.Setup.OK {
			return orchestrator.Broke{Command: f.Command, Problem: short, Short: short}, true
		}
	case orchestrator.VerifyDone:
		if !f.Report.OK {
			return orchestrator.Broke{Command: f.Command, Problem: short, Short: short}, true
		}
	case orchestrator.IterationDone:
		if f.Report.Outcome != work.OutcomeOK && f.Report.Outcome != work.OutcomePostResult {
			f.Report.Outcome, f.Report.Detail, f.Snapshot = work.OutcomeInterrupted, short, work.Snapshot{}
			return f, true
		}
	case orchestrator.Broke:
		f.Short = cmp.Or(f.Short, short)
		return f, true
	}
	return fact, false
}
