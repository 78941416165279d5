package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

// listening makes the agent of a run one that listens while it works.
func listening(sp *Spec) {
	a := sp.Settings.Agents["a"]
	a.Listens = true
	sp.Settings.Agents["a"] = a
}

// tells is the tell command that is pending, begun.
func (st *story) tells(id string) Command {
	st.t.Helper()
	for _, c := range Pending(st.s) {
		if c.Step == StepTell && c.Message == id {
			st.feed(Began{Command: c})
			return c
		}
	}
	st.t.Fatalf("message %s is not handed over: %+v", id, Pending(st.s))
	return Command{}
}

// midway is a message that comes while the iteration is under way, and what becomes
// of it.
func midway(st *story, id string, taken, heard bool) func(*IterationDone) {
	return func(done *IterationDone) {
		if d := st.message("01", id, "use tabs"); !d.Midway {
			st.t.Error("nobody says that it comes midway")
		}
		c := st.tells(id)
		e, err := EffectOf(st.s, c, Known{})
		if err != nil || !strings.Contains(e.(TellEffect).Request.Text, "use tabs") {
			st.t.Errorf("effect %+v, %v", e, err)
		}
		st.feed(TellDone{Command: c, Report: work.TellReport{Taken: taken, Why: "it is gone"}})
		if slices.ContainsFunc(Pending(st.s), func(c Command) bool { return c.Step == StepTell }) {
			st.t.Error("it is handed over again in the same try")
		}
		if heard {
			done.Report.Heard = []string{id}
		}
	}
}

func TestAPersonTellsAnAgentThatWorks(t *testing.T) {
	t.Run("what its model was given is read, and in no later prompt", func(t *testing.T) {
		st := tell(t, listening)
		st.work("01", says("P01"), midway(st, "m1", true, true))
		if m := st.phase("01").Messages[0]; !m.Read || !m.Midway || m.With != 1 {
			t.Errorf("%+v", m)
		}
		if got := Prompt(st.s, st.phase("01"), "session"); strings.Contains(got, "use tabs") {
			t.Errorf("it is told twice: %s", got)
		}
		st.verify("01", true)
		st.merge("01")
		st.land("01")
		st.ended("01", work.PhaseDone, "") // the promise came behind it, and counts
	})
	for name, taken := range map[string]bool{"taken and never given": true, "never taken": false} {
		t.Run(name+": the next prompt holds it", func(t *testing.T) {
			st := tell(t, listening)
			st.work("01", midway(st, "m1", taken, false))
			st.prompts("01", "session", "A person says to you, while you work", "use tabs")
		})
	}
	t.Run("given, and the iteration came to nothing: it is done again with it", func(t *testing.T) {
		st := tell(t, listening)
		st.work("01", midway(st, "m1", true, true), ends(work.OutcomeInterrupted))
		st.prompts("01", "session", "use tabs")
		st.work("01")
		if d := last[work.IterationStartedData](st, work.IterationStarted); !slices.Equal(d.Told, []string{"m1"}) {
			t.Errorf("told %q", d.Told)
		}
	})
	t.Run("urgent, or to one that does not listen: with the next prompt", func(t *testing.T) {
		st := tell(t, listening)
		st.work("01", func(*IterationDone) {
			st.feed(Answered{work.Answer{By: "ann", Door: "cli", At: st.now, Message: &work.Message{ID: "m1", Phase: "01", Text: "stop", Now: true}}})
			st.isPending("01 iterate")
		})
		deaf := tell(t)
		deaf.work("01", func(*IterationDone) {
			if d := deaf.message("01", "m1", "use tabs"); d.Midway {
				t.Error("it is said to come midway")
			}
			deaf.isPending("01 iterate")
		})
	})
	t.Run("it breaks on its way, and nothing else does", func(t *testing.T) {
		st := tell(t, listening)
		st.work("01", func(*IterationDone) {
			st.message("01", "m1", "use tabs")
			st.feed(Broke{Command: st.tells("m1"), Problem: "no such pipe"})
			if d := last[TellFinishedData](st, work.TellFinished); d.Taken || d.Why != "no such pipe" {
				t.Errorf("%+v", d)
			}
		})
		st.prompts("01", "session", "use tabs")
	})
}
