package orchestrator

import (
	"encoding/json"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

func stopsAt(types ...string) func(*IterationDone) {
	return func(d *IterationDone) {
		for _, typ := range types {
			raw, _ := json.Marshal(work.StopRequest{Type: typ, Summary: "look at the " + typ, Paths: []string{"a.txt"}})
			d.Report.Signals.Checkpoints = append(d.Report.Signals.Checkpoints, raw)
		}
	}
}

func registers(types ...string) func(*Spec) {
	return setting(func(s *work.Settings) { s.CheckpointTypes = types })
}

// choose is forge level: an instruction that answers nothing.
func (st *story) choose(p gates.Policy) {
	st.t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		st.t.Fatal(err)
	}
	st.feed(Answered{work.Answer{Policy: raw, By: "test", Door: "cli"}})
}

func preset(t *testing.T, name string) gates.Policy {
	t.Helper()
	p, ok := gates.Preset(name)
	if !ok {
		t.Fatalf("there is no preset %s", name)
	}
	return p
}

const notes = gates.Point("ckpt.notes")

// An agent's checkpoint can add a stop, and never remove one.
func TestAgentAsksForALook(t *testing.T) {
	t.Run("auto goes on and is on record", func(t *testing.T) {
		st := tell(t)
		st.work("01", stopsAt("deliverable"))
		st.isPending("01 iterate")
		if d := last[work.GateDecidedData](st, work.GateDecided); d.Gate != "iteration" {
			t.Errorf("the last gate is %s", d.Gate)
		}
		if n := st.count(work.CheckpointOpened); n != 0 {
			t.Errorf("%d checkpoints are open", n)
		}
	})
	t.Run("human waits in the middle of a phase", func(t *testing.T) {
		st := tell(t, human(gates.PointDeliverable))
		st.work("01", stopsAt("deliverable"))
		st.stands("01", StageAsked)
		if facts := st.asked("01", gates.PointDeliverable).Facts; !strings.Contains(facts, "look at the deliverable") || !strings.Contains(facts, "a.txt") {
			t.Errorf("the person reads %q", facts)
		}
		st.approve("01", gates.PointDeliverable)
		st.isPending("01 iterate")
	})
	t.Run("changes go into the next prompt", func(t *testing.T) {
		st := tell(t, human(gates.PointDeliverable))
		st.work("01", stopsAt("deliverable"))
		st.answer("01", gates.PointDeliverable, work.CheckpointChangesRequested, "shorter, please")
		st.isPending("01 iterate")
		if text := Prompt(st.s, st.phase("01"), "session"); !strings.Contains(text, "shorter, please") {
			t.Errorf("the prompt is %q", text)
		}
	})
	t.Run("a no stops the step and tells the agent why", func(t *testing.T) {
		st := tell(t, human(gates.PointDeliverable))
		st.work("01", stopsAt("deliverable"))
		st.answer("01", gates.PointDeliverable, work.CheckpointRejected, "not this one")
		st.isPending("01 iterate")
		if text := Prompt(st.s, st.phase("01"), "session"); !strings.Contains(text, "This step was stopped. not this one") {
			t.Errorf("the prompt is %q", text)
		}
	})
	t.Run("an unregistered type is an error that the agent reads", func(t *testing.T) {
		for _, typ := range []string{"notes", "phase_transition", "final_output", "*"} {
			st := tell(t, human(notes, gates.PointPhaseTransition))
			st.work("01", stopsAt(typ))
			st.isPending("01 iterate")
			if text := Prompt(st.s, st.phase("01"), "session"); !strings.Contains(text, "is not registered") {
				t.Errorf("%s: the prompt is %q", typ, text)
			}
		}
	})
	t.Run("a registered one waits where the policy says so", func(t *testing.T) {
		st := tell(t, registers("notes"), human(notes))
		st.work("01", stopsAt("notes", "deliverable"))
		cp := st.asked("01", notes)
		if len(cp.Points) != 1 {
			t.Errorf("the checkpoint is about %v; deliverable is auto", cp.Points)
		}
	})
	t.Run("before the merge it shares one record with the transition", func(t *testing.T) {
		st := tell(t, registers("notes"), human(notes, gates.PointPhaseTransition))
		st.work("01", says("P01"), stopsAt("notes"))
		st.verify("01", true)
		cp := st.asked("01", gates.PointPhaseTransition)
		if strings.Join(cp.Points, " ") != "ckpt.phase_transition ckpt.notes" || st.count(work.CheckpointOpened) != 1 {
			t.Errorf("%d checkpoints, the last about %v", st.count(work.CheckpointOpened), cp.Points)
		}
		st.approve("01", gates.PointPhaseTransition)
		st.isPending("01 merge")
	})
	t.Run("alone before the merge a no sends the work back", func(t *testing.T) {
		st := tell(t, human(gates.PointDeliverable))
		st.work("01", says("P01"), stopsAt("deliverable"))
		st.verify("01", true)
		st.answer("01", gates.PointDeliverable, work.CheckpointRejected, "this is not it")
		st.isPending("01 iterate")
		if text := Prompt(st.s, st.phase("01"), "session"); !strings.Contains(text, "this is not it") {
			t.Errorf("the prompt is %q", text)
		}
	})
	t.Run("while a conflict is resolved it holds up nobody's merge", func(t *testing.T) {
		st := tell(t, phases("01", "02"), human(gates.PointDeliverable))
		for _, n := range []string{"01", "02"} {
			st.work(n, says("P"+n))
			st.verify(n, true)
		}
		st.merge("01", moved("a.txt"))
		st.work("01", stopsAt("deliverable"))
		st.stands("01", StageAsked)
		st.isPending("02 merge")
		st.merge("02")
		st.land("02")
		st.approve("01", gates.PointDeliverable)
		st.verify("01", true)
		st.isPending("01 merge")
	})
	t.Run("many and long ones fit into an event", func(t *testing.T) {
		st := tell(t)
		long := strings.Repeat("<&>\x1b\u2028", 3000)
		st.work("01", stopsAt("deliverable", long, long, long, long, long, long))
		for _, e := range st.events {
			if len(e.Data) > work.MaxEventBytes {
				t.Errorf("%s has %d bytes", e.Kind, len(e.Data))
			}
		}
	})
}

// A level that is chosen in the middle holds from the next decision on, and
// never passes what bounds the run.
func TestLevelIsChangedInTheMiddle(t *testing.T) {
	t.Run("out of a review", func(t *testing.T) {
		st := tell(t, phases("01", "02 after 01"), human(gates.PointPhaseTransition))
		st.work("01", says("P01"))
		st.verify("01", true)
		raw, _ := json.Marshal(preset(t, "full"))
		cp := st.asked("01", gates.PointPhaseTransition)
		st.feed(Answered{work.Answer{Checkpoint: cp.ID, Status: work.CheckpointApproved, Policy: raw, By: "test", Door: "cli"}})
		st.merge("01")
		st.land("01")
		st.work("02", says("P02"))
		st.verify("02", true)
		st.isPending("02 merge") // nobody is asked any more
		if d := last[PolicyChangedData](st, work.PolicyChanged); d.Level != "full" || len(d.Bounded) > 0 {
			t.Errorf("the change is %+v", d)
		}
	})
	t.Run("into one", func(t *testing.T) {
		st := tell(t)
		st.choose(preset(t, "dependent"))
		st.work("01", says("P01"))
		st.verify("01", true)
		st.asked("01", gates.PointPhaseTransition)
		if st.phase("01").Stale.OnStale != gates.AskOnStale {
			t.Error("a phase that was open already still pivots by itself")
		}
	})
	t.Run("within the bound", func(t *testing.T) {
		bound := preset(t, "guided")
		st := tell(t, human(gates.PointFinal), func(sp *Spec) { sp.Bound = &bound })
		st.choose(preset(t, "full"))
		d := last[PolicyChangedData](st, work.PolicyChanged)
		if freer := gates.Exceeds(d.Policy, bound); len(freer) > 0 || len(d.Bounded) == 0 {
			t.Errorf("the policy is freer than its bound on %v, named are %v", freer, d.Bounded)
		}
	})
	t.Run("what nobody understands changes nothing", func(t *testing.T) {
		for _, raw := range []string{`"full"`, `{"preset":"full"}`, `{}`, `[]`, `7`} {
			st := tell(t, human(gates.PointPhaseTransition))
			before := st.s.Spec.Policy.Version()
			st.feed(Answered{work.Answer{Policy: json.RawMessage(raw), By: "test", Door: "cli"}})
			if st.count(work.PolicyChanged) != 0 || st.s.Spec.Policy.Version() != before || st.count(work.Warned) != 1 {
				t.Errorf("%s changes the policy", raw)
			}
		}
	})
}
