package orchestrator

import (
	"encoding/json"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/work"
)

func expiresAfter(d time.Duration) func(*Spec) {
	return setting(func(s *work.Settings) { s.CheckpointExpirySecs = int(d / time.Second) })
}

// Whatever is asked, silence leaves it where it is: the same is asked again
// under another id, the old question takes no answer, and the new one does.
func TestExpiryHolds(t *testing.T) {
	stall := func(sp *Spec) { sp.Settings.Stale.Threshold = 1 }
	for name, tt := range map[string]struct {
		phase string
		at    gates.Point
		open  func(t *testing.T) *story
	}{
		"phase start": {"01", gates.PointPhaseStart, func(t *testing.T) *story {
			return tell(t, phases("01", "02"), human(gates.PointPhaseStart), setting(func(s *work.Settings) { s.MaxParallel = 1 }), expiresAfter(time.Hour))
		}},
		"iteration": {"01", gates.PointIteration, func(t *testing.T) *story {
			st := tell(t, human(gates.PointIteration), expiresAfter(time.Hour))
			st.folder("01")
			return st
		}},
		"stale": {"01", gates.PointStale, func(t *testing.T) *story {
			st := tell(t, human(gates.PointStale), stall, expiresAfter(time.Hour))
			st.work("01", changesNothing)
			return st
		}},
		"sub-phase": {"01", gates.PointSubPhase, func(t *testing.T) *story {
			st := tell(t, human(gates.PointSubPhase), expiresAfter(time.Hour))
			st.work("01", asksFor(part("S", 1)))
			return st
		}},
		"before the merge": {"01", gates.PointPhaseTransition, func(t *testing.T) *story {
			st := tell(t, human(gates.PointPhaseTransition), expiresAfter(time.Hour))
			st.work("01", says("P01"))
			st.verify("01", true)
			return st
		}},
		"result": {"", gates.PointFinal, func(t *testing.T) *story {
			st := tell(t, human(gates.PointFinal), expiresAfter(time.Hour))
			st.done("01")
			return st
		}},
		"red base": {"", PointBaseline, func(t *testing.T) *story {
			st := open(t, human(gates.PointPhaseStart), expiresAfter(time.Hour))
			st.base(false)
			return st
		}},
		"boundary of a job": {"1", gates.PointPlanInitial, func(t *testing.T) *story {
			st := aJob(t, "partial", expiresAfter(time.Hour))
			st.plans("1")
			return st
		}},
	} {
		t.Run(name, func(t *testing.T) {
			st := tt.open(t)
			first := *st.asked(tt.phase, tt.at)
			if first.ExpiresAt == nil || !first.ExpiresAt.Equal(first.OpenedAt.Add(time.Hour)) {
				t.Fatalf("it may be answered until %v", first.ExpiresAt)
			}
			st.later(time.Hour)
			pending := st.pending()
			// A freer policy is for the next boundary, not for one at which
			// somebody was asked.
			freer, err := json.Marshal(preset(t, "full"))
			if err != nil {
				t.Fatal(err)
			}
			st.feed(Answered{work.Answer{By: "test", Door: "cli", At: st.now, Policy: freer}})
			st.feed(Overdue{Checkpoints: []string{first.ID, first.ID, "sim.4711"}})
			again := *st.asked(tt.phase, tt.at)
			if again.ID == first.ID || again.Revision != first.Revision || again.Hash != first.Hash || again.Question != first.Question || again.Facts != first.Facts ||
				!again.ExpiresAt.Equal(st.now.Add(time.Hour)) {
				t.Errorf("asked again was %+v\nfirst %+v", again, first)
			}
			st.isPending(pending...)
			st.feed(Answered{work.Answer{Checkpoint: first.ID, Status: yes, By: "test", Door: "cli", At: st.now.Add(-time.Hour)}})
			if d := last[CheckpointAnsweredData](st, work.CheckpointAnswered); d.Refused == "" {
				t.Errorf("the old question took an answer: %+v", d)
			}
			// Nor does the new one when its time is over, whatever a door did.
			st.feed(Answered{work.Answer{Checkpoint: again.ID, Status: yes, By: "test", Door: "cli", At: *again.ExpiresAt}})
			if d := last[CheckpointAnsweredData](st, work.CheckpointAnswered); d.Refused != work.ErrExpired.Error() {
				t.Errorf("an answer after the end was %+v", d)
			}
			st.isPending(pending...)
			st.dies(Resumed{})
			before := picture(st.s)
			st.feed(Tick{})
			if picture(st.s) != before {
				t.Error("something went on by itself")
			}
			st.feed(Answered{work.Answer{Checkpoint: again.ID, Revision: again.Revision, Status: yes, By: "test", Door: "cli", At: st.now}})
			if len(st.s.Open) == 1 && st.s.Open[again.ID] != nil {
				t.Error("the new question took no answer")
			}
			if p := st.s.Phases[tt.phase]; p != nil && p.Stage == StageAsked {
				t.Errorf("phase %s still waits", tt.phase)
			}
		})
	}
}

// What has no end, is answered, or is not open any more does not expire; and
// nothing does once the run stops.
func TestWhatDoesNotExpire(t *testing.T) {
	st := tell(t, human(gates.PointPhaseStart))
	first := st.asked("01", gates.PointPhaseStart)
	if first.ExpiresAt != nil {
		t.Fatalf("without a setting it may be answered until %v", first.ExpiresAt)
	}
	st.later(10000 * time.Hour)
	if evs := st.feed(Overdue{Checkpoints: []string{first.ID}}); len(evs) > 0 {
		t.Errorf("it expires: %v", evs)
	}
	st = tell(t, human(gates.PointPhaseStart), expiresAfter(time.Hour))
	id := st.asked("01", gates.PointPhaseStart).ID
	st.later(2 * time.Hour)
	st.feed(Stop{Outcome: work.RunInterrupted, Reason: "interrupted"})
	if evs := st.feed(Overdue{Checkpoints: []string{id}}); len(evs) > 0 {
		t.Errorf("it expires while the run stops: %v", evs)
	}
	st.feed(Drained{})
	if evs := st.feed(Overdue{Checkpoints: []string{id}}); len(evs) > 0 {
		t.Errorf("it expires after the run ended: %v", evs)
	}
}
