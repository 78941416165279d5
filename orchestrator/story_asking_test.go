package orchestrator

import (
	"fmt"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

func wonders(words string, choices ...string) func(*IterationDone) {
	return func(d *IterationDone) {
		d.Report.Signals.Questions = append(d.Report.Signals.Questions, work.Question{Text: words, Choices: choices, Why: "both are free"})
	}
}

func lacks(words, needs string) func(*IterationDone) {
	return func(d *IterationDone) {
		d.Report.Signals.Blockers = append(d.Report.Signals.Blockers, words)
		d.Report.Signals.Lacks = append(d.Report.Signals.Lacks, work.Lack{Text: words, Needs: needs})
	}
}

func assumes(words string) func(*IterationDone) {
	return func(d *IterationDone) { d.Report.Signals.Assumptions = append(d.Report.Signals.Assumptions, words) }
}

// pick answers the open checkpoint of a phase with one of its choices.
func (st *story) pick(n string, pt gates.Point, choice string, status work.CheckpointStatus, words string) {
	st.t.Helper()
	cp := st.asked(n, pt)
	st.feed(Answered{work.Answer{Checkpoint: cp.ID, Status: status, Choice: choice, Comment: words, By: "test", Door: "cli", At: st.now}})
}

func (st *story) prompts(n string, session string, want ...string) {
	st.t.Helper()
	got := Prompt(st.s, st.phase(n), session)
	for _, w := range want {
		if !strings.Contains(got, w) {
			st.t.Errorf("the prompt lacks %q:\n%s", w, got)
		}
	}
}

func TestAnAgentAsksAPerson(t *testing.T) {
	asked := human(gates.PointQuestion)
	t.Run("the answer is the next prompt of the same session", func(t *testing.T) {
		st := tell(t, asked, phases("01", "02"))
		st.work("01", wonders("Which port?", "80", "8080"), says("P01"))
		st.stands("01", StageAsked)
		st.isPending("02 folder") // others go on
		cp := st.asked("01", gates.PointQuestion)
		if !strings.Contains(cp.Question, "Which port?") || !strings.Contains(cp.Facts, "both are free") {
			t.Errorf("the person reads %q, %q", cp.Question, cp.Facts)
		}
		if got := fmt.Sprint(cp.Choices); !strings.Contains(got, "{1 approved 80} {2 approved 8080} {other changes_requested") || !strings.Contains(got, "{decide rejected") {
			t.Errorf("the choices are %s", got)
		}
		st.pick("01", gates.PointQuestion, "2", work.CheckpointApproved, "it is behind a proxy")
		if st.s.sessionOf(st.phase("01")) != "session" {
			t.Error("the session is lost")
		}
		st.prompts("01", "session", "Which port?", "8080\nit is behind a proxy", "Your promise does not count")
		st.work("01")
		if got := Prompt(st.s, st.phase("01"), "session"); strings.Contains(got, "8080") {
			t.Errorf("the answer is told twice: %s", got)
		}
		st.prompts("01", "", "asked and answered in this phase", "8080\nit is behind a proxy")
	})
	t.Run("yes alone is no answer", func(t *testing.T) {
		st := tell(t, asked)
		st.work("01", wonders("Which port?", "80"))
		for _, a := range []work.Answer{{Status: work.CheckpointApproved}, {Status: work.CheckpointApproved, Choice: "7"}, {Status: work.CheckpointApproved, Choice: "decide"}} {
			a.Checkpoint, a.By, a.At = st.asked("01", gates.PointQuestion).ID, "test", st.now
			st.feed(Answered{a})
			if d := last[CheckpointAnsweredData](st, work.CheckpointAnswered); d.Refused == "" {
				t.Errorf("%+v is taken for an answer", a)
			}
			st.stands("01", StageAsked)
		}
	})
	t.Run("a no leaves it to the agent, and is on record", func(t *testing.T) {
		st := tell(t, asked)
		st.work("01", wonders("Which port?"))
		st.answer("01", gates.PointQuestion, work.CheckpointRejected, "you know better")
		st.prompts("01", "session", "Decide by yourself, and write down what you assumed", "you know better")
		if len(st.s.Assumed) != 1 {
			t.Errorf("assumed: %v", st.s.Assumed)
		}
	})
	t.Run("nobody is asked the same twice", func(t *testing.T) {
		st := tell(t, asked)
		st.work("01", wonders("Which port?"), wonders("which PORT ?!"))
		st.answer("01", gates.PointQuestion, work.CheckpointApproved, "80")
		st.isPending("01 iterate")
		st.work("01", wonders("Which  port?"))
		st.isPending("01 iterate")
		st.prompts("01", "session", "You asked this again", "80")
		if n := st.count(work.CheckpointOpened); n != 1 {
			t.Errorf("%d checkpoints were opened", n)
		}
	})
	t.Run("two questions are put one after the other", func(t *testing.T) {
		st := tell(t, asked)
		st.work("01", wonders("Which port?"), wonders("Which host?"))
		st.answer("01", gates.PointQuestion, work.CheckpointApproved, "80")
		st.answer("01", gates.PointQuestion, work.CheckpointApproved, "here")
		st.prompts("01", "session", "Which port?", "80", "Which host?", "here")
	})
	t.Run("a question costs no iteration, and five are enough", func(t *testing.T) {
		st := tell(t, asked, budget(1))
		for i := range maxAsks {
			st.work("01", wonders(fmt.Sprintf("Which port of host %d?", i)))
			st.answer("01", gates.PointQuestion, work.CheckpointApproved, "80")
		}
		st.work("01", wonders("And now?"))
		st.stands("01", StageFinished)
		if p := st.phase("01"); p.Reason != work.ReasonBudgetExhausted {
			t.Errorf("it ends %s %s", p.Outcome, p.Reason)
		}
		if n := st.count(work.CheckpointOpened); n != maxAsks {
			t.Errorf("%d checkpoints were opened", n)
		}
	})
	t.Run("a failed iteration asks nobody, and is told", func(t *testing.T) {
		st := tell(t, asked)
		st.work("01", wonders("Which port?"), func(d *IterationDone) { d.Report.Outcome = work.OutcomeAgentFailed })
		st.isPending("01 iterate")
		st.prompts("01", "session", "was not put to anybody")
	})
	t.Run("a fix may ask as well", func(t *testing.T) {
		st := tell(t, asked, human(gates.PointPhaseTransition))
		st.work("01", says("P01"))
		st.verify("01", true)
		st.answer("01", gates.PointPhaseTransition, work.CheckpointChangesRequested, "shorter")
		st.work("01", wonders("How short?"))
		st.answer("01", gates.PointQuestion, work.CheckpointApproved, "ten lines")
		st.prompts("01", "session", "How short?", "ten lines", "Changes requested")
		st.work("01")
		st.isPending("01 verify")
	})
	t.Run("no checkpoint of an agent is a question", func(t *testing.T) {
		st := tell(t, asked, registers("question"))
		st.work("01", stopsAt("question"))
		st.isPending("01 iterate")
	})
}

func TestNobodyCanBeAsked(t *testing.T) {
	st := tell(t, budget(1))
	st.work("01", wonders("Which port?"), says("P01"))
	st.isPending("01 iterate")
	st.prompts("01", "session", "Which port?", "Nobody can be asked. Decide by yourself")
	st.work("01", says("P01"), assumes("port 80"))
	st.verify("01", true)
	if got := st.s.tellAssumed(); got != "phase 01 asked, and nobody answered: Which port?\nphase 01 assumed: port 80\n" {
		t.Errorf("assumed: %q", got)
	}
	if n := st.count(work.CheckpointOpened); n != 0 {
		t.Errorf("%d checkpoints were opened", n)
	}
}

func TestAnAgentLacksSomething(t *testing.T) {
	asked := human(gates.PointBlocker)
	t.Run("a person is asked, once", func(t *testing.T) {
		st := tell(t, asked)
		st.work("01", lacks("No API key", "credential"))
		if cp := st.asked("01", gates.PointBlocker); !strings.Contains(cp.Question, "needs a credential: No API key") {
			t.Errorf("the person reads %q", cp.Question)
		}
		st.answer("01", gates.PointBlocker, work.CheckpointChangesRequested, "it is in .env")
		st.prompts("01", "session", "No API key", "it is in .env")
		st.work("01", lacks("no api key!", "credential"))
		st.prompts("01", "session", "it is in .env")
		st.work("01", lacks("No API key", "credential"))
		if p := st.phase("01"); p.Reason != work.ReasonBlocked || p.Detail != "it needs a credential: No API key" {
			t.Errorf("it ends %s %s: %s", p.Outcome, p.Reason, p.Detail)
		}
	})
	t.Run("a no ends the phase", func(t *testing.T) {
		st := tell(t, asked)
		st.work("01", lacks("No API key", "credential"))
		st.answer("01", gates.PointBlocker, work.CheckpointRejected, "there is none")
		if p := st.phase("01"); p.Reason != work.ReasonBlocked || !strings.Contains(p.Detail, "there is none") {
			t.Errorf("it ends %s %s: %s", p.Outcome, p.Reason, p.Detail)
		}
	})
	t.Run("alone it is told once to work around it", func(t *testing.T) {
		st := tell(t)
		st.work("01", lacks("No API key", "access"))
		st.isPending("01 iterate")
		st.prompts("01", "session", "No API key", "Work around it once")
		st.work("01", lacks("No API key", "access"))
		if p := st.phase("01"); p.Reason != work.ReasonBlocked || p.Detail != "it needs access: No API key" || p.Spent != 2 {
			t.Errorf("it ends %s %s after %d: %s", p.Outcome, p.Reason, p.Spent, p.Detail)
		}
	})
	t.Run("who is done lacks nothing", func(t *testing.T) {
		for _, policy := range []func(*Spec){asked, func(*Spec) {}} {
			st := tell(t, policy)
			st.work("01", lacks("No API key", "credential"), says("P01"))
			st.isPending("01 verify")
		}
	})
	t.Run("what is refuted lacks it still", func(t *testing.T) {
		st := tell(t, asked)
		st.work("01", lacks("No API key", "credential"), says("another"))
		st.asked("01", gates.PointBlocker)
	})
	t.Run("plain words are as they were", func(t *testing.T) {
		st := tell(t, asked)
		st.work("01", func(d *IterationDone) { d.Report.Signals.Blockers = []string{"No API key"} })
		st.isPending("01 iterate")
		st.prompts("01", "session", "You named this blocker")
	})
	t.Run("opened again it is told again", func(t *testing.T) {
		st := tell(t, budget(5))
		st.work("01", lacks("No API key", "access"))
		st.work("01", lacks("No API key", "access"))
		st.stands("01", StageFinished)
		if k := st.phase("01").Asking.again(); len(k.Said) != 0 {
			t.Errorf("it remembers %v", k.Said)
		}
	})
}
