package orchestrator

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"forge/internal/work"
)

// replay folds events, renumbered, into a new state. It asks for everything
// that is derived after each, which must never panic.
func replay(t *testing.T, spec Spec, evs []work.Event) *State {
	t.Helper()
	s, err := NewState("sim", spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range evs {
		e.Seq = s.Seq + 1
		if err := Apply(s, e); err != nil {
			t.Fatal(err)
		}
		for _, c := range Pending(s) {
			if c.ID == "" || c.Step == "" {
				t.Fatalf("after event %d %q is pending, without name or step", e.Seq, c.ID)
			}
		}
		Decide(s, Input{Now: e.Time, Fact: settled{}})
	}
	return s
}

// journals are what some schedules wrote.
func journals(t *testing.T, n int, use func(seed uint64, w *world)) {
	t.Helper()
	l := newLab(t)
	for seed := range uint64(n) {
		w, err := play(l, seed+1, nil, bug{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed+1, err)
		}
		use(seed+1, w)
	}
}

// A journal of a later version holds kinds and fields that this one does not
// know: they change nothing but the number of events.
func TestUnknownEventsChangeNothing(t *testing.T) {
	journals(t, 60, func(seed uint64, w *world) {
		var newer []work.Event
		for i, e := range w.journal {
			newer = append(newer, e)
			if i%3 == 0 {
				newer = append(newer, work.Event{V: 7, Run: "sim", Kind: "review.started", Phase: e.Phase, Time: e.Time, Data: json.RawMessage(`{"specialist":"security"}`)})
			}
		}
		for i := range newer {
			var fields map[string]json.RawMessage
			if json.Unmarshal(newer[i].Data, &fields) == nil && fields != nil {
				fields["later"] = json.RawMessage(`"field"`)
				newer[i].Data, _ = json.Marshal(fields)
			}
		}
		s := replay(t, w.spec, newer)
		s.Seq = w.s.Seq
		if got, want := picture(s), picture(w.s); got != want {
			t.Fatalf("seed %d: with unknown events between, the state is\n%s\nwant\n%s", seed, got, want)
		}
	})
}

// Apply is total: whatever a journal lacks, repeats or mixes up, it folds.
func TestApplyIsTotal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	journals(t, 120, func(_ uint64, w *world) {
		evs := slices.Clone(w.journal)
		for range 1 + rng.IntN(10) {
			if len(evs) < 3 {
				break
			}
			i, j := 1+rng.IntN(len(evs)-1), 1+rng.IntN(len(evs)-1)
			switch rng.IntN(3) {
			case 0:
				evs = slices.Delete(evs, i, i+1)
			case 1:
				evs = slices.Insert(evs, i, evs[j])
			case 2:
				evs[i], evs[j] = evs[j], evs[i]
			}
		}
		replay(t, w.spec, evs)
	})
}

func TestApplyWantsEveryEventInItsPlace(t *testing.T) {
	st := tell(t)
	for _, seq := range []int64{0, st.s.Seq, st.s.Seq + 2} {
		before := picture(st.s)
		if err := Apply(st.s, work.Event{Seq: seq, Kind: work.RunResumed, Data: json.RawMessage("{}")}); err == nil {
			t.Errorf("event %d was applied after event %d", seq, st.s.Seq)
		}
		if picture(st.s) != before {
			t.Errorf("event %d was refused, and changed the state", seq)
		}
	}
	if err := Apply(st.s, work.Event{Seq: st.s.Seq + 1, Kind: work.PhaseStarted, Phase: "01", Data: json.RawMessage("{")}); err == nil {
		t.Error("an event with broken data was applied")
	}
}

// Deciding changes nothing: asking twice answers twice the same.
func TestDecideChangesNothing(t *testing.T) {
	journals(t, 40, func(seed uint64, w *world) {
		s, err := NewState("sim", w.spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range w.journal {
			if err := Apply(s, e); err != nil {
				t.Fatal(err)
			}
			before := picture(s)
			for _, f := range []Fact{settled{}, Resumed{Reopen: true}, Drained{}, Stop{Outcome: work.RunInterrupted}} {
				in := Input{Now: e.Time, Fact: f}
				one, two := fmt.Sprint(Decide(s, in)), fmt.Sprint(Decide(s, in))
				if one != two {
					t.Fatalf("seed %d, event %d: %T is decided\n%s\nand then\n%s", seed, e.Seq, f, one, two)
				}
			}
			if picture(s) != before {
				t.Fatalf("seed %d, event %d: deciding changed the state", seed, e.Seq)
			}
		}
	})
}
