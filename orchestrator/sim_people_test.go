package orchestrator

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"forge/gates"
	"forge/internal/work"
)

// open says whether a door shows anything to answer.
func (w *world) open() bool {
	for _, cp := range w.records {
		if cp.Status == work.CheckpointPending {
			return true
		}
	}
	return false
}

// answer lets a person answer at a door: by compare-and-set, with a row in the
// inbox. Sometimes what comes in is no answer at all.
func (w *world) answer() error {
	cp := w.records[pick(w, w.records)]
	for cp.Status != work.CheckpointPending && w.chance(90) {
		cp = w.records[pick(w, w.records)]
	}
	if cp.ReasonDue && cp.Status == work.CheckpointPending && w.s.Live && w.chance(30) {
		w.fault("a critical finding accepted without a word")
		return w.tell(Answered{work.Answer{Checkpoint: cp.ID, Status: work.CheckpointApproved, Comment: " ", By: "test", Door: "cli", At: w.now}})
	}
	a := work.Answer{Checkpoint: cp.ID, Status: work.CheckpointApproved, By: "test", Door: "cli", At: w.now}
	if w.chance(50) {
		a.Comment = "it is meant"
	}
	switch x := w.IntN(200); {
	case x < 20:
		a.Status, a.Comment = work.CheckpointRejected, w.text("no")
	case x < 50, x >= 130 && gates.Point(cp.Kind) == gates.PointPlanLater: // which is asked seldom
		a.Status, a.Comment = work.CheckpointChangesRequested, w.text("please")
	case x < 53:
		a.Status, a.Choice = work.CheckpointRejected, ChoiceAbort
	case x < 80 && len(cp.Choices) > 1: // one is to abort, which ends the story
		ch := cp.Choices[w.IntN(len(cp.Choices))]
		a.Choice, a.Status, a.Comment = ch.Name, ch.Answer, "because"
	case x < 100 && w.s.Live:
		return w.noAnswer(a)
	}
	if w.host != nil {
		w.host.looksAt(cp, &a)
	}
	if a.Status == work.CheckpointApproved {
		a.FollowUps = []string{"a.go:1: shorter", "b.go:2: a better name", "c.go:3: why?"}[:(int(w.rows)+cp.Revision)%4]
	}
	if w.chance(8) {
		a.Policy = w.level()
	}
	if w.chance(4) {
		// forge level answers nothing.
		w.rows++
		w.inbox = append(w.inbox, inboxRow{ID: w.rows, Answer: work.Answer{By: "test", Door: "cli", At: w.now, Policy: w.level()}})
		return nil
	}
	resolved, err := gates.Resolve(cp, a, w.now)
	if err != nil {
		w.fault("refused at the door")
		if errors.Is(err, work.ErrExpired) && cp.Status == work.CheckpointPending {
			cp.Status = work.CheckpointExpired
			w.records[cp.ID] = cp
		}
		return nil
	}
	w.records[cp.ID] = resolved
	w.rows++
	w.inbox = append(w.inbox, inboxRow{ID: w.rows, Answer: a})
	w.check.given(a)
	if cp.ExpiresAt != nil && w.chance(20) {
		w.fault("an answer heard after the expiry")
		w.now = cp.ExpiresAt.Add(time.Duration(w.IntN(60)) * time.Second)
	}
	if w.chance(10) && w.s.Live && w.s.Stopping == nil {
		w.fault("doubled answer")
		return w.tell(Answered{a})
	}
	return nil
}

// noAnswer feeds what the core must refuse by itself, whatever the doors let
// through.
func (w *world) noAnswer(a work.Answer) error {
	switch w.IntN(5) {
	case 0:
		w.fault("answer for another revision")
		a.Revision = 99
	case 1:
		w.fault("expired")
		a.Status = work.CheckpointExpired
	case 2:
		w.fault("unknown answer")
		a.Status = []work.CheckpointStatus{"", "yes", work.CheckpointPending}[w.IntN(3)]
	case 3:
		w.fault("feedback without a word")
		a.Status, a.Comment = work.CheckpointChangesRequested, " \n"
	case 4:
		w.fault("answer to an unknown checkpoint")
		a.Checkpoint = "sim.4711"
	}
	return w.tell(Answered{a})
}

// expire closes the records of what nobody answered in time, and only then
// tells the core: in between the process may die, and so may it before what
// follows is written.
func (w *world) expire() error {
	var closed []string
	for _, id := range w.s.Overdue(w.now) {
		cp := w.records[id]
		if cp.Status == work.CheckpointPending {
			cp.Status = work.CheckpointExpired
			w.records[id] = cp
		}
		if cp.Status == work.CheckpointExpired || w.bug.hasty {
			closed = append(closed, id)
		} else {
			w.fault("an answer before the expiry")
		}
	}
	if w.chance(3) {
		w.fault("expiry of what has none")
		closed = append(closed, "sim.4711")
		for id, cp := range w.s.Open {
			if cp.ExpiresAt == nil {
				closed = append(closed, id)
			}
		}
		slices.Sort(closed)
	}
	if len(closed) == 0 {
		return nil
	}
	if w.chance(5) {
		return w.crash("crash with an expiry unwritten")
	}
	w.fault("asked again")
	if err := w.think(Overdue{Checkpoints: closed}); err != nil {
		return err
	}
	if len(w.batch) > 0 && w.chance(5) {
		return w.crash("crash with an expiry unwritten")
	}
	return w.write()
}

// takeAnswers turns the rows of the inbox into events.
func (w *world) takeAnswers() error {
	for _, row := range w.inbox {
		if w.consumed[row.ID] || w.s.Stopping != nil || !w.s.Live {
			continue
		}
		w.consumed[row.ID] = true
		if w.bug.eager {
			w.inbox = w.inbox[1:]
		}
		if err := w.think(Answered{row.Answer}); err != nil {
			return err
		}
		if w.chance(5) {
			return w.crash("crash with an answer unwritten")
		}
	}
	return w.write()
}

// run plays one schedule to its end.
func (w *world) run() error {
	if err := w.tell(Opened{Inline: &w.spec, Core: simCore}); err != nil {
		return err
	}
	for range 6000 {
		if w.s.Live {
			if err := w.step(); err != nil {
				return err
			}
			continue
		}
		if again, err := w.afterwards(); err != nil || !again {
			return err
		}
	}
	return errLong
}

// afterwards decides whether another process takes the run up again.
func (w *world) afterwards() (bool, error) {
	if err := w.write(); err != nil {
		return false, err
	}
	if err := w.rebuild(); err != nil {
		return false, err
	}
	if err := w.check.leftOver(w.s); err != nil {
		return false, err
	}
	again := Resumed{}
	switch outcome := w.s.Outcome; outcome {
	case work.RunCompleted, work.RunCancelled:
		w.fault("resumed when it was over")
		return false, w.tell(Resumed{Reopen: true})
	case work.RunFailed:
		if w.chance(80) {
			return false, w.tell(Resumed{})
		}
		w.fault("reopened")
		again.Reopen = true
		if w.chance(50) {
			again.Budgets = map[string]int{}
			for _, n := range w.s.topo {
				if w.chance(50) {
					again.Budgets[n] = w.s.Phases[n].Budget + 1 + w.IntN(5)
				}
			}
		}
	case work.RunLimit:
		if w.chance(55) {
			return false, nil
		}
		w.fault("resumed after a limit")
		w.now = w.now.Add(time.Duration(w.IntN(48)) * time.Hour)
		again.AcceptUnknown = w.chance(70)
		if w.chance(70) {
			usd, tokens := 1e6, int64(1e9)
			again.Cost = &work.Cost{RunUSD: &usd, RunTokens: &tokens, IterationUSD: w.spec.Settings.Cost.IterationUSD}
		}
	default:
		w.fault(fmt.Sprintf("resumed after %s", outcome))
		for w.open() && w.chance(80) {
			if err := w.answer(); err != nil {
				return false, err
			}
		}
		if w.chance(20) {
			w.now = w.now.Add(time.Duration(w.IntN(72)) * time.Hour)
		}
	}
	return true, w.tell(again)
}
