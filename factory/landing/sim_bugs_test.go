package landing

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/internal/pace"
	"forge/internal/work"
)

// mostWorlds are played, and within as many each bug has to be found.
const mostWorlds = 500

// rewrite replaces the payload of the events of one kind.
func rewrite[T any](kind work.EventKind, change func(s *State, d *T)) func(*State, []work.Event) []work.Event {
	return func(s *State, evs []work.Event) []work.Event {
		for n := range evs {
			var d T
			if evs[n].Kind == kind && json.Unmarshal(evs[n].Data, &d) == nil {
				change(s, &d)
				evs[n].Data, _ = json.Marshal(d)
			}
		}
		return evs
	}
}

// TestSeededBugs shows that the simulation finds what it is there to find: each
// row breaks the core in one way, and fails for the reason that it should.
func TestSeededBugs(t *testing.T) {
	pace.Slow(t, "worlds until each bug is found")
	pace.Sequential(t, "worlds of a pure core, in one goroutine")
	for _, c := range []struct {
		name string
		bug  simBug
		want string
	}{
		{"a red proof turned green", simBug{events: rewrite(work.LandingFinished, func(_ *State, d *FinishedData) {
			if d.Proof != nil && d.Proof.Verdict == Red {
				d.Proof.Verdict = Green
			}
		})}, "is red in truth"},
		{"landed on whatever is there by then", simBug{effect: func(_ *simWorld, e Effect) Effect {
			if l, ok := e.(LandEffect); ok {
				l.Head, l.Onto = "*", "*"
				return l
			}
			return e
		}}, "which is not what"},
		{"a proof on something else believed", simBug{events: rewrite(work.LandingFinished, func(s *State, d *FinishedData) {
			if d.Proof != nil {
				d.Proof.Commit, d.Proof.Tree = s.at(), s.at()
			}
		})}, "which is not what"},
		{"said to be there before it is", simBug{events: rewrite(work.LandingDecided, func(s *State, d *DecidedData) {
			if d.Decision == DecideProve {
				d.Decision, d.To, d.Commit = DecideLanded, StageOver, s.at()
			}
		})}, "it is said to have landed"},
		{"a conflict forgotten", simBug{events: rewrite(work.LandingDecided, func(s *State, d *DecidedData) {
			if s.Proof != nil && len(s.Proof.Conflicts) > 0 {
				d.Hold = ""
			}
		})}, "a conflict is lost"},
		{"an agent set on what people pushed before it is proven", simBug{events: rewrite(work.LandingDecided, func(s *State, d *DecidedData) {
			if d.Decision == DecideProve && ofPeople(s.Look.Pull) && s.Look.Pull.Reviewed {
				d.Decision, d.To, d.Hold, d.Reason = DecideAgain, StageOver, factory.HoldPullPushed, "as it was before"
			}
		})}, "which is not proven"},
		{"an agent set on what people pushed and is red", simBug{events: rewrite(work.LandingDecided, func(s *State, d *DecidedData) {
			if d.Hold == factory.HoldLandingRed && d.Decision == DecideWait && ofPeople(s.Look.Pull) {
				d.Decision = DecideAgain
			}
		})}, "which is not proven"},
		{"nobody is told why", simBug{events: rewrite(work.LandingDecided, func(_ *State, d *DecidedData) { d.Reason = "" })}, "without a word on why"},
		{"one id for all tries", simBug{events: rewrite(work.LandingStarted, func(_ *State, d *StartedData) {
			d.Command = work.CommandID("run/landing/1/1/" + string(d.Step))
		})}, "bears the id of try"},
		{"what people merged is believed", simBug{events: rewrite(work.LandingFinished, func(_ *State, d *FinishedData) {
			if d.Check != nil && d.Check.Verdict == Red {
				d.Check.Verdict = Green
			}
		})}, "what people merged is red"},
		{"a full disk taken for the result's fault", simBug{events: rewrite(work.LandingDecided, func(_ *State, d *DecidedData) {
			if d.Hold == factory.HoldShort {
				d.Waits, d.Until = false, time.Time{}
			}
		})}, "is not waited out"},
		{"a landing forgotten", simBug{apply: func(s *State, _ work.Event) { s.Landed = nil }}, "tried again after it landed"},
		{"moves uncounted", simBug{apply: func(s *State, _ work.Event) { s.Row = 0 }, effect: func(w *simWorld, e Effect) Effect {
			if _, ok := e.(LandEffect); ok && !w.calm {
				w.moves++
				w.becomes(w.target.with(of(fmt.Sprint("m", w.moves))))
			}
			return e
		}}, "without a pause"},
		{"what was given to an agent forgotten", simBug{apply: func(s *State, e work.Event) {
			if s.Handed = nil; e.Kind == work.LandingDecided && s.Again() {
				s.Last.Decision = DecideWait
			}
		}}, "the same was given to an agent"},
		{"an unwanted result lands", simBug{fact: func(_ *State, f Fact) Fact {
			if b, ok := f.(Begin); ok {
				b.Unwanted = ""
				return b
			}
			return f
		}}, "although it is not wanted"},
		{"what was mended before is not counted", simBug{fact: func(_ *State, f Fact) Fact {
			if l, ok := f.(Looked); ok && l.Look.Pull != nil {
				l.Look.Pull.Checks.Tried = 0
			}
			return f
		}}, "heads were mended"},
		{"a try that died is gone on with", simBug{apply: func(s *State, e work.Event) {
			if e.Kind == work.LandingBegan && s.Look == nil && s.Of.Try > 1 && !s.Of.Moved {
				s.Stage = StageOver
			}
		}}, "does not land"},
	} {
		found := ""
		for seed := uint64(0); seed < mostWorlds && found == ""; seed++ {
			found = strings.Join(play(seed, &c.bug), "\n")
		}
		if !strings.Contains(found, c.want) {
			t.Errorf("%s: found %q, want %q", c.name, found, c.want)
		}
	}
}
