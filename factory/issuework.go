package factory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forge/internal/work"
)

// Pauses before an issue is tried again that nothing is wrong with.
const (
	laterTriage = time.Minute
	laterHeld   = 10 * time.Second
)

// ErrHeld is what Drive returns when another process drives the issue's run.
var ErrHeld = errors.New("another process drives its run")

// work brings one claimed issue as far as it gets, and gives the claim back with
// what became of it. An error means that this could not be written.
func (m *loopRun) work(ctx context.Context, claim work.IssueClaim, i work.Issue, begun start) error {
	ended, landed, err := m.carryOut(ctx, claim, i, begun)
	// What is left behind is written whatever stopped it.
	write := context.WithoutCancel(ctx)
	switch {
	case ctx.Err() != nil:
		m.Say(i.ID, "stopped: "+context.Cause(ctx).Error())
		return m.end(write, claim, "", time.Time{}, nil)
	case errors.Is(err, work.ErrNotClaimed):
		m.Say(i.ID, "stopped: "+ErrLost.Error())
		return nil
	case errors.Is(err, ErrHeld):
		return m.end(write, claim, "", m.Now().Add(laterHeld), nil)
	case err != nil:
		ended = Ended{Outcome: work.RunFailed, Reason: err.Error()}
	}
	if ended.Outcome == "" {
		return nil // triage has written what became of it
	}
	if err := m.judge(write, ended); err != nil {
		return err
	}
	var later time.Time
	return m.end(write, claim, ended.Spent, later, func(was work.Issue) (work.Issue, time.Time, bool) {
		return Settled(was, ended, landed)
	})
}

// carryOut is triage, the run, and landing. The zero Ended means that triage gave
// the claim back.
func (m *loopRun) carryOut(ctx context.Context, claim work.IssueClaim, i work.Issue, begun start) (Ended, *Landed, error) {
	var hints []string
	if i.Run == "" {
		t, err := m.Triage.Triage(ctx, i)
		if ctx.Err() != nil {
			return Ended{}, nil, ctx.Err()
		}
		if err != nil || t.Verdict != TriageReady {
			return Ended{}, nil, m.triaged(ctx, claim, t, err)
		}
		hints = t.Hints
	}
	named := func(run, after string, pull *work.IssuePull) error {
		_, err := m.change(ctx, claim, func(was work.Issue) (work.Issue, bool) {
			now := moved(was, work.ColumnInProgress)
			now.Run, now.After, now.Pull = run, after, pull
			return now, !stopped(was)
		})
		return err
	}
	m.Say(i.ID, "works on: "+i.Title)
	ended, err := m.Works.Drive(ctx, Order{Issue: i, Hints: hints, Again: begun.afresh, Finish: begun.finish, Named: named})
	if err != nil || ctx.Err() != nil || !Lands(ended) && !ended.Promote {
		return ended, nil, err
	}
	// The card may have got its run only now.
	if i, err = m.Board.Store.Issue(ctx, m.Board.Project, i.ID); err != nil {
		return ended, nil, err
	}
	landed, err := m.bring(ctx, claim, i, ended)
	return ended, &landed, err
}

// bring lands a finished result, or shows it to people, where that is still
// wanted.
func (m *loopRun) bring(ctx context.Context, claim work.IssueClaim, i work.Issue, ended Ended) (Landed, error) {
	shown := func(pull work.IssuePull) error {
		if i.Pull != nil && *i.Pull == pull {
			return nil
		}
		_, err := m.change(ctx, claim, func(was work.Issue) (work.Issue, bool) {
			now := was
			now.Pull = &pull
			return now, !stopped(was)
		})
		return err
	}
	unwanted, held, err := m.beforeLanding(ctx, i)
	switch {
	case err != nil:
		return Landed{}, err
	case held != nil:
		return *held, nil
	case !Lands(ended) && unwanted == "":
		return m.Works.Show(ctx, i, shown)
	case !Lands(ended):
		return Landed{Reason: unwanted}, nil
	}
	return m.Works.Land(ctx, i, unwanted, shown)
}

// triaged gives an issue back that triage does not let through.
func (m *loopRun) triaged(ctx context.Context, claim work.IssueClaim, t Triaged, err error) error {
	ctx = context.WithoutCancel(ctx)
	stand := func(state work.IssueState, other string, later time.Time) error {
		return m.end(ctx, claim, "", later, func(was work.Issue) (work.Issue, time.Time, bool) {
			now := was
			now.State, now.Reason = state, Line(orElse(t.Reason, other))
			return now, later, !takenAway(was)
		})
	}
	switch {
	case err != nil:
		t.Reason = ""
		return stand("", "triage is tried again: "+err.Error(), m.Now().Add(laterTriage))
	case t.Verdict == TriageWaits:
		return stand(work.IssueWaits, "triage waits for you", time.Time{})
	case t.Verdict == TriageLater:
		later := t.Until
		if soon := m.Now().Add(laterHeld); later.Before(soon) {
			later = soon
		}
		return stand("", "triage is tried again", later)
	case t.Verdict == TriageStopped:
		return stand(work.IssueCancelled, "it was dismissed at triage", time.Time{})
	case t.Verdict == TriageDone:
		return m.end(ctx, claim, "", time.Time{}, func(was work.Issue) (work.Issue, time.Time, bool) {
			if stopped(was) || was.Column != work.ColumnInProgress {
				return was, time.Time{}, false
			}
			return moved(was, work.ColumnDone), time.Time{}, true
		})
	}
	// No verdict is no yes.
	t.Reason = ""
	return stand(work.IssueFailed, fmt.Sprintf("triage gave the verdict %q, which is none", t.Verdict), time.Time{})
}

// judge counts what the agents did, until nobody comes in between.
func (m *loopRun) judge(ctx context.Context, ended Ended) error {
	if len(ended.Broken) == 0 && len(ended.Worked) == 0 {
		return nil
	}
	for {
		f, err := m.Standings.Floor(ctx, m.Board.Project)
		if err != nil {
			return err
		}
		now, tripped := Judge(f, ended.Broken, ended.Worked, Line(ended.Reason), m.Now())
		if len(f.Breakers) == 0 && len(now.Breakers) == 0 {
			return nil
		}
		err = m.Standings.SetFloor(ctx, m.Board.Project, now)
		if errors.Is(err, work.ErrStale) {
			continue
		}
		for _, name := range tripped {
			m.Say(0, fmt.Sprintf("agent %s failed in %d runs in a row: nothing is begun with it until %s", name, now.Breakers[name].Failures, now.Breakers[name].Until.Format(time.TimeOnly)))
		}
		return err
	}
}

// change changes a claimed issue, decided anew whenever somebody came first.
func (m *loopRun) change(ctx context.Context, claim work.IssueClaim, decide func(work.Issue) (work.Issue, bool)) (work.Issue, error) {
	return again(func() (work.Issue, error) {
		was, err := m.Board.Store.Issue(ctx, m.Board.Project, claim.Issue)
		if err != nil {
			return was, err
		}
		now, ok := decide(clone(was))
		if !ok {
			return was, errGone
		}
		var place *Place
		if now.Column != was.Column {
			if err := MayMove(was, now.Column, Machine); err != nil {
				return was, err
			}
			place = &Place{At: Bottom}
		}
		c, err := m.Board.plan(ctx, was, now, place, work.IssueEdited, machine(""))
		if err != nil {
			return was, err
		}
		return m.Claims.Change(ctx, claim, c)
	})
}

// end gives a claim back with what the issue becomes; a nil decide leaves it as
// it is. One that was taken over is given back already. spent is what its run
// took, in words; "" = there was none.
func (m *loopRun) end(ctx context.Context, claim work.IssueClaim, spent string, later time.Time, decide func(work.Issue) (work.Issue, time.Time, bool)) error {
	changed := false
	i, err := again(func() (work.Issue, error) {
		if decide == nil {
			return m.Claims.End(ctx, claim, nil, later)
		}
		was, err := m.Board.Store.Issue(ctx, m.Board.Project, claim.Issue)
		if err != nil {
			return was, err
		}
		now, at, ok := decide(clone(was))
		if changed = ok; !ok {
			return m.Claims.End(ctx, claim, nil, at)
		}
		var place *Place
		if now.Column != was.Column {
			if err := MayMove(was, now.Column, Machine); err != nil {
				return was, err
			}
			if place = (&Place{At: Bottom}); now.Column == work.ColumnDone {
				place.At = Top
			}
		}
		c, err := m.Board.plan(ctx, was, now, place, became(now), machine(Line(now.Reason)))
		if err != nil {
			return was, err
		}
		return m.Claims.End(ctx, claim, &c, at)
	})
	if errors.Is(err, work.ErrNotClaimed) {
		m.Say(claim.Issue, "stopped: "+ErrLost.Error())
		return nil
	}
	if err == nil && changed {
		said := standing(i)
		if i.WaitsByReason() {
			said = string(i.Column) // the reason says that it waits
		}
		said += noteWords(i.Reason)
		if spent != "" {
			said += " (" + spent + ")"
		}
		m.Say(claim.Issue, said)
	}
	return err
}

// became names what the factory did with a card, for its history.
func became(now work.Issue) work.IssueAction {
	switch {
	case now.Column == work.ColumnDone:
		return work.IssueLanded
	case now.State == work.IssueWaits, now.State == "" && now.Column == work.ColumnInReview && len(now.Hold) > 0:
		return work.IssueAsked
	case now.State == work.IssueFailed:
		return work.IssueNotDone
	}
	return work.IssueMoved
}
