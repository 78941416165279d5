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

// goesWith is what goes with a message: a file of the person's own, a whole file and
// lines of one.
func goesWith() []work.Attached {
	return []work.Attached{
		{Path: "notes.txt", Text: "the colour is ultramarine\n"},
		{Path: "go.mod", Commit: "c0", Text: "module m\n"},
		{Path: "main.go", From: 3, To: 4, Commit: "c0", Text: "\tfor {\n\t}\n"},
	}
}

func TestFilesAndLinesGoWithAMessage(t *testing.T) {
	t.Parallel()
	with := func(st *story, id, words string, anew bool, all []work.Attached) ToldData {
		st.feed(Answered{work.Answer{By: "ann", Door: "cli", At: st.now, Message: &work.Message{ID: id, Phase: "01", Text: words, Anew: anew, Attached: all}}})
		return last[ToldData](st, work.PhaseTold)
	}
	all := []string{
		"look here", "A file that goes with it", "notes.txt\n\nthe colour is ultramarine", "The file that this is about, as it stood then", "go.mod\n\nmodule m",
		"The lines that this is about, as they stood then", "main.go:3-4\n\n\tfor {\n\t}",
	}
	t.Run("in the next prompt, once, and in that of a new session", func(t *testing.T) {
		st := tell(t)
		st.work("01", func(*IterationDone) {
			if d := with(st, "m1", "look here", false, goesWith()); d.Refused != "" || len(d.Attached) != 3 {
				t.Errorf("on record is %+v", d)
			}
		})
		st.prompts("01", "session", all...)
		st.work("01")
		if got := Prompt(st.s, st.phase("01"), "session"); strings.Contains(got, "ultramarine") {
			t.Errorf("it is told twice: %s", got)
		}
		st.prompts("01", "", all...)
	})
	t.Run("to an agent that listens while it works", func(t *testing.T) {
		st := tell(t, listening)
		st.work("01", func(done *IterationDone) {
			with(st, "m1", "look here", false, goesWith())
			e, err := EffectOf(st.s, st.tells("m1"), Known{})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range all {
				if said := e.(TellEffect).Request.Text; !strings.Contains(said, want) {
					t.Errorf("its agent is not given %q: %s", want, said)
				}
			}
			done.Report.Heard = []string{"m1"}
		})
	})
	for name, c := range map[string]struct {
		words string
		anew  bool
		all   []work.Attached
		want  string
	}{
		"nothing is said of it":              {" ", false, goesWith(), "says nothing"},
		"not even of it with a new session":  {"", true, goesWith(), "says nothing"},
		"too much":                           {"look here", false, []work.Attached{{Path: "a", Text: strings.Repeat("a", work.MaxAttachedBytes)}}, "at most 7000"},
		"too many":                           {"look here", false, append(append(goesWith(), goesWith()...), goesWith()...), "at most 8"},
		"what would be another text on disk": {"look here", false, []work.Attached{{Path: "a", Text: "\xff\xfe"}}, "no text"},
		"outside of the project":             {"look here", false, []work.Attached{{Path: "../a", Text: "a"}}, "below the project's folder"},
	} {
		t.Run("refused, and no part of it is told: "+name, func(t *testing.T) {
			st := tell(t)
			if d := with(st, "m1", c.words, c.anew, c.all); !strings.Contains(d.Refused, c.want) || len(d.Attached) > 0 || len(st.s.Messages("01")) > 0 {
				t.Errorf("on record is %+v", d)
			}
		})
	}
	t.Run("its event is small enough, whatever is in it", func(t *testing.T) {
		var most []work.Attached
		for range work.MaxAttached {
			most = append(most, work.Attached{Path: strings.Repeat("ä", 100), From: 9_999_998, To: 9_999_999, Commit: strings.Repeat("c", 64), Text: strings.Repeat("\"\n<>", 80)})
		}
		for work.CheckAttached(most) == nil {
			most[0].Text += "x"
		}
		most[0].Text = most[0].Text[1:]
		st := tell(t)
		if d := with(st, strings.Repeat("m", 99), strings.Repeat("\"", work.MaxMessage), false, most); d.Refused != "" {
			t.Fatal(d.Refused)
		}
		for _, e := range st.events {
			if len(e.Data) > work.MaxEventBytes {
				t.Errorf("event %d, %s, has %d bytes", e.Seq, e.Kind, len(e.Data))
			}
		}
	})
}

// Where the lines of a phase are looked up.
func TestSnapshotOf(t *testing.T) {
	t.Parallel()
	st := tell(t)
	if got := st.s.SnapshotOf("01"); got != st.s.Spec.Base.Commit || got == "" {
		t.Errorf("before it begins: %q", got)
	}
	st.work("01")
	if got := st.s.SnapshotOf("01"); got != st.phase("01").Last || got == "" {
		t.Errorf("after an iteration: %q", got)
	}
}
