package orchestrator

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// message is what a person says to the agent of a phase.
func (st *story) message(n, id, words string) ToldData {
	st.t.Helper()
	st.feed(Answered{work.Answer{By: "ann", Door: "cli", At: st.now, Message: &work.Message{ID: id, Phase: n, Text: words}}})
	return last[ToldData](st, work.PhaseTold)
}

// meanwhile is a message that comes while the iteration is under way.
func meanwhile(st *story, n, id, words string) func(*IterationDone) {
	return func(*IterationDone) { st.message(n, id, words) }
}

func TestAPersonTellsAnAgent(t *testing.T) {
	t.Run("it stands in the next prompt, once, and in that of a new session", func(t *testing.T) {
		st := tell(t)
		st.work("01", meanwhile(st, "01", "m1", "use tabs"))
		st.prompts("01", "session", "A person says to you, while you work", "use tabs")
		st.work("01")
		if got := Prompt(st.s, st.phase("01"), "session"); strings.Contains(got, "use tabs") {
			t.Errorf("it is told twice: %s", got)
		}
		st.prompts("01", "", "A person said to you before", "use tabs")
		if d := last[work.IterationStartedData](st, work.IterationStarted); len(d.Told) != 1 || d.Told[0] != "m1" {
			t.Errorf("the iteration is on record as told %q", d.Told)
		}
	})
	t.Run("what an iteration was given that came to nothing is given again", func(t *testing.T) {
		st := tell(t)
		st.message("01", "m1", "use tabs")
		st.work("01", ends(work.OutcomeInterrupted))
		st.prompts("01", "", "A person says to you, while you work", "use tabs")
	})
	t.Run("a claim made before it was read does not count", func(t *testing.T) {
		st := tell(t, budget(1))
		st.work("01", says("P01"), meanwhile(st, "01", "m1", "use tabs"))
		st.isPending("01 iterate")
		st.prompts("01", "session", "use tabs", "Your promise does not count")
		st.done("01")
		st.ended("01", work.PhaseDone, "")
	})
	t.Run("what is proven waits until it was read", func(t *testing.T) {
		st := tell(t, human(gates.PointPhaseTransition))
		st.work("01", says("P01"))
		st.verify("01", true)
		st.message("01", "m1", "use tabs")
		st.approve("01", gates.PointPhaseTransition)
		st.isPending("01 iterate")
		st.prompts("01", "session", "use tabs", "No promise is needed this time")
		st.work("01")
		st.verify("01", true)
		st.asked("01", gates.PointPhaseTransition) // it is another tree
	})
	t.Run("a budget that is used up grants one more iteration", func(t *testing.T) {
		st := tell(t, budget(1))
		st.work("01", meanwhile(st, "01", "m1", "use tabs"))
		st.isPending("01 iterate")
		st.work("01")
		st.ended("01", work.PhaseFailed, work.ReasonBudgetExhausted)
	})
	t.Run("an iteration that it ended keeps its work", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"), meanwhile(st, "01", "m1", "use tabs"), ends(work.OutcomeTold))
		if p := st.phase("01"); p.Last != "c1" || p.Session != "session" {
			t.Errorf("what the agent did is lost: %s, %s", p.Last, p.Session)
		}
		st.isPending("01 iterate")
		st.prompts("01", "session", "use tabs")
	})
	t.Run("a phase that has not begun is told with its first prompt", func(t *testing.T) {
		st := tell(t, phases("01", "02 after 01"))
		if d := st.message("02", "m1", "use tabs"); d.Refused != "" {
			t.Fatalf("refused: %s", d.Refused)
		}
		st.done("01")
		st.prompts("02", "", "use tabs")
	})
	t.Run("refused", func(t *testing.T) {
		st := tell(t, phases("01", "02 after 01"))
		st.done("01")
		for _, test := range []struct{ phase, id, words, want string }{
			{"01", "m1", "use tabs", "phase 01 is done"},
			{"09", "m2", "use tabs", "there is no phase 09"},
			{"02", "m3", " \n", "it says nothing"},
			{"02", "m4", "use tabs", ""},
			{"02", "m4", "use tabs", "it was said before"},
		} {
			if d := st.message(test.phase, test.id, test.words); d.Refused != test.want {
				t.Errorf("%s to %s: refused %q, want %q", test.id, test.phase, d.Refused, test.want)
			}
		}
		if why := st.s.WhyRefused("m1"); why != "phase 01 is done" {
			t.Errorf("who asks is told %q", why)
		}
		if got := len(st.s.Messages("02")); got != 1 {
			t.Errorf("phase 02 has %d messages", got)
		}
	})
}
