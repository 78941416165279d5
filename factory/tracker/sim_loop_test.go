package tracker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"forge/factory"
	"forge/internal/work"
)

// look is the loop's look at the board, by the rules of the loop.
func (w *simWorld) look() {
	w.happens()
	began := w.tick
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		if w.takenAway(w.card(id)) {
			w.end(w.jobs[id], nil, time.Time{})
		}
	}
	for _, column := range []work.Column{work.ColumnInProgress, work.ColumnInReview, work.ColumnReady} {
		cards, _ := w.store.Issues(w.ctx, work.IssueFilter{Project: simBoard, Column: column}, 100, "")
		for _, i := range cards {
			w.consider(w.card(i.ID), began)
		}
	}
}

// takenAway says that whoever works on a card has to stop.
func (w *simWorld) takenAway(i work.Issue) bool {
	_, _, ok := factory.Settled(i, factory.Ended{Outcome: work.RunInterrupted}, nil)
	return !ok
}

// consider claims a card, where that may be.
func (w *simWorld) consider(i work.Issue, began int) {
	claims, _ := w.store.Claims(w.ctx, simBoard)
	claim, stored := claims[i.ID]
	if w.jobs[i.ID] != nil || stored && claim.Later.After(w.now) {
		return
	}
	var lease *factory.Lease
	if claim.Owner != "" {
		lease = &factory.Lease{Owner: claim.Owner, Heartbeat: claim.Heartbeat, Dead: claim.Dead}
	}
	state := factory.ProjectState{Now: w.now, Running: len(w.jobs), MaxRunning: 2, Answered: stored && claim.Owner == "" && !claim.Later.IsZero()}
	needs := map[int64]work.Column{}
	for _, n := range i.Needs {
		needs[n] = w.card(n).Column
	}
	if factory.MayClaim(i, lease, needs, state) != "" {
		return
	}
	asked := w.ask(i)
	w.meanwhile()
	was := w.card(i.ID)
	if was.Version != i.Version {
		return // the next look decides anew
	}
	switch factory.NextOfOrigin(asked.Says, i, factory.AtClaim) {
	case factory.OriginGo:
		if !stored {
			claim = work.IssueClaim{Project: simBoard, Issue: i.ID}
		}
		w.claim(was, claim, began)
	case factory.OriginBack:
		w.restand(was, factory.PutBack(was, asked.Why))
	case factory.OriginSay:
		was.Reason = factory.Line(asked.Why)
		w.restand(w.card(i.ID), was)
	case factory.OriginHold:
		if was.State == "" {
			was.Reason = factory.Line(factory.HoldOrigin + ": " + asked.Why)
			w.restand(w.card(i.ID), was)
		}
	}
}

// claim takes a card, and holds that to the truth.
func (w *simWorld) claim(was work.Issue, seen work.IssueClaim, began int) {
	now := factory.Claimed(was, nil)
	if now.Run == "" {
		now.Run = fmt.Sprintf("i%d-x", was.ID)
	}
	c, err := w.sync.Board.PlanEdit(w.ctx, was, now, byMachine)
	var claim work.IssueClaim
	if err == nil {
		err = w.store.write(func() (err error) {
			claim, _, err = w.claims().Claim(w.ctx, seen, c)
			return err
		})
	}
	if err != nil {
		if !errors.Is(err, work.ErrStale) {
			w.complain("claim card %d: %v", was.ID, err)
		}
		return
	}
	w.ran["claim"]++
	remote := w.remote(was.ID)
	t := w.read[remote.Number]
	switch {
	case t.tick < began:
		w.complain("card %d is claimed, and nobody asked the tracker", was.ID)
	case !t.wanted:
		w.complain("card %d is claimed, and the tracker does not want it", was.ID)
	case was.Column == work.ColumnReady && t.held:
		w.complain("card %d is begun, and it has to wait", was.ID)
	case was.Column == work.ColumnReady && was.Run == "":
		for word := range strings.SplitSeq(was.Description, "\n") {
			if strings.HasPrefix(word, strange) && !strings.Contains(remote.vouched+w.took[was.ID].text, word) {
				w.complain("card %d is begun with the words %q, for which nobody answers", was.ID, word)
			}
		}
	}
	w.jobs[was.ID] = &simJob{claim: claim, left: 1 + w.rand.IntN(4)}
}

// works lets one job do an iteration, or land.
func (w *simWorld) works() {
	ids := slices.Sorted(maps.Keys(w.jobs))
	if len(ids) == 0 {
		return
	}
	w.happens()
	id := ids[w.rand.IntN(len(ids))]
	j, i := w.jobs[id], w.card(id)
	if w.takenAway(i) {
		w.end(j, nil, time.Time{})
		return
	}
	// A round that was whole has seen it: this is beyond the boundary.
	if r := w.remote(id); r.unwanted != 0 && r.unwanted < w.whole && i.Column == work.ColumnInProgress {
		w.complain("card %d is worked on, and the tracker does not want it since %d, read whole at %d", id, r.unwanted, w.whole)
	}
	if j.left--; j.left > 0 {
		return
	}
	began := w.tick
	asked := w.ask(i)
	ended := factory.Ended{Outcome: work.RunCompleted, Promoted: true}
	var landed factory.Landed
	switch factory.NextOfOrigin(asked.Says, i, factory.AtLanding) {
	case factory.OriginGo:
		landed = factory.Landed{Commit: "c", Target: "main"}
		if t := w.read[w.remote(id).Number]; t.tick < began || !t.wanted {
			w.complain("the result of card %d lands, and the tracker does not want it", id)
		}
		w.ran["landed"]++
	case factory.OriginCheck:
		landed = factory.Landed{Hold: factory.HoldUnwanted, Reason: asked.Why}
	default:
		landed = factory.Landed{Hold: factory.HoldOrigin, Reason: asked.Why, Until: asked.Until}
	}
	w.end(j, func(was work.Issue) (work.Issue, time.Time, bool) { return factory.Settled(was, ended, &landed) }, time.Time{})
}

// end gives a claim back with what the card becomes.
func (w *simWorld) end(j *simJob, decide func(work.Issue) (work.Issue, time.Time, bool), later time.Time) {
	delete(w.jobs, j.claim.Issue)
	for {
		var change *work.BoardChange
		if was := w.card(j.claim.Issue); decide != nil {
			now, at, ok := decide(was)
			if later = at; ok {
				c, err := w.sync.Board.PlanEdit(w.ctx, was, now, byMachine)
				if err != nil {
					w.complain("settle card %d: %v", was.ID, err)
					return
				}
				change = &c
			}
		}
		err := w.store.write(func() error {
			_, err := w.claims().End(w.ctx, j.claim, change, later)
			return err
		})
		if errors.Is(err, work.ErrStale) {
			continue
		}
		if err != nil {
			w.complain("give card %d back: %v", j.claim.Issue, err)
		}
		return
	}
}
