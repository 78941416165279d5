package orchestrator

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

const (
	yes     = work.CheckpointApproved
	changes = work.CheckpointChangesRequested
	no      = work.CheckpointRejected
)

func askIterations(ps *work.PhaseSettings) { ps.AskIteration = true }

func TestPhaseStartAnswers(t *testing.T) {
	begin := func(t *testing.T) *story { return tell(t, phases("01", "02 after 01"), human(gates.PointPhaseStart)) }
	t.Run("yes", func(t *testing.T) {
		st := begin(t)
		st.isPending()
		st.approve("01", gates.PointPhaseStart)
		st.isPending("01 folder")
	})
	t.Run("yes, with a comment for the prompt", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointPhaseStart, changes, "mind the tests")
		st.folder("01")
		if !strings.Contains(st.prompt("01"), "mind the tests") {
			t.Error("the comment is not in the first prompt")
		}
		st.work("01")
		if strings.Contains(st.prompt("01"), "mind the tests") {
			t.Error("the comment is in the second prompt, too")
		}
	})
	t.Run("no: skipped, and so is what needs it", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointPhaseStart, no, "not now")
		st.ended("01", work.PhaseSkipped, work.ReasonUser)
		st.ended("02", work.PhaseSkipped, work.ReasonDependencyFailed)
		if cause := st.phase("02").Cause; cause != "01" {
			t.Errorf("the cause is %q, want 01", cause)
		}
		st.runEnded(work.RunFailed)
	})
	t.Run("--yes", func(t *testing.T) {
		st := tell(t, human(gates.PointPhaseStart, gates.PointIteration, gates.PointSubPhase), func(sp *Spec) { sp.AnswerYes = true })
		st.work("01", asksFor(part("S", 1)))
		st.isPending("01.1 folder")
		for _, e := range st.events {
			var d work.GateDecidedData
			if e.Kind == work.GateDecided && decode(e, &d) == nil && d.By != "flag:--yes" {
				t.Errorf("%s is decided by %s, want the flag", d.Gate, d.By)
			}
		}
	})
	t.Run("a rejection does not survive as a yes", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointPhaseStart, no)
		st.dies(Resumed{Reopen: true})
		st.isPending()
		st.asked("01", gates.PointPhaseStart)
	})
}

func TestIterationAnswers(t *testing.T) {
	begin := func(t *testing.T) *story {
		st := tell(t, human(gates.PointPhaseStart), ofPhase01(askIterations))
		st.approve("01", gates.PointPhaseStart)
		st.folder("01")
		return st
	}
	t.Run("asked before each", func(t *testing.T) {
		st := begin(t)
		for range 3 {
			st.isPending()
			st.approve("01", gates.PointIteration)
			st.work("01")
		}
		st.asked("01", gates.PointIteration)
	})
	t.Run("with a comment", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointIteration, changes, "slowly")
		if !strings.Contains(st.prompt("01"), "slowly") {
			t.Error("the comment is not in the prompt")
		}
		st.isPending("01 iterate")
	})
	t.Run("no", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointIteration, no, "enough")
		st.ended("01", work.PhaseFailed, work.ReasonRejected)
	})
	t.Run("a yes is for that iteration, also when it runs again", func(t *testing.T) {
		st := begin(t)
		st.approve("01", gates.PointIteration)
		st.work("01", ends(work.OutcomeInterrupted))
		st.isPending("01 iterate")
		st.begun("01", StepIterate)
		st.dies(Resumed{})
		st.isPending("01 iterate")
	})
	t.Run("a yes is not for the next attempt at the phase", func(t *testing.T) {
		st := tell(t, human(gates.PointPhaseStart), ofPhase01(askIterations), budget(1))
		st.approve("01", gates.PointPhaseStart)
		st.folder("01")
		st.approve("01", gates.PointIteration)
		st.work("01")
		st.runEnded(work.RunFailed)
		st.dies(Resumed{Reopen: true})
		st.folder("01")
		st.isPending()
		st.asked("01", gates.PointIteration)
	})
	t.Run("nobody is asked where nobody starts phases", func(t *testing.T) {
		st := tell(t, ofPhase01(askIterations))
		st.folder("01")
		st.isPending("01 iterate")
	})
}

func TestStaleAnswers(t *testing.T) {
	begin := func(t *testing.T) *story {
		st := tell(t, phases("01", "02"), human(gates.PointStale), setting(func(s *work.Settings) { s.Stale.Threshold = 2 }))
		st.work("01", changesNothing)
		st.work("01", changesNothing)
		st.stands("01", StageAsked)
		return st
	}
	t.Run("continue: the count restarts", func(t *testing.T) {
		st := begin(t)
		st.approve("01", gates.PointStale)
		st.work("01", changesNothing)
		st.stands("01", StageIterate)
		st.work("01", changesNothing)
		st.asked("01", gates.PointStale)
	})
	t.Run("asked when a blocker is named again, with its words", func(t *testing.T) {
		st := tell(t, human(gates.PointStale), setting(func(s *work.Settings) { s.Stale.Threshold = 9 }), budget(9))
		for range 2 {
			st.work("01", changesNothing, blocks("no API <promise>key"))
			st.work("01", changesNothing, blocks("No API <promise>key!"))
			cp := st.asked("01", gates.PointStale)
			if !strings.Contains(cp.Question, "blocked") || !strings.Contains(cp.Facts, "No API <promise>key!") {
				t.Errorf("asked is %q, of\n%s", cp.Question, cp.Facts)
			}
			st.approve("01", gates.PointStale) // go on: the count restarts
			if strings.Contains(st.prompt("01"), "<promise>") {
				t.Error("the blocker's words are live in the prompt")
			}
		}
		st.work("01", changesNothing, blocks("no API key"))
		st.stands("01", StageIterate)
	})
	t.Run("pivot with the comment", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointStale, changes, "use the other library")
		prompt := st.prompt("01")
		if !strings.Contains(prompt, "use the other library") || !strings.Contains(prompt, "Change your strategy") {
			t.Errorf("the next prompt has no pivot with the comment:\n%s", prompt)
		}
		st.work("01")
		if strings.Contains(st.prompt("01"), "use the other library") {
			t.Error("the pivot is in the prompt after the next, too")
		}
	})
	t.Run("asked every time, however often", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointStale, changes, "again")
		st.work("01", changesNothing)
		st.work("01", changesNothing)
		st.asked("01", gates.PointStale)
	})
	t.Run("stop the phase", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointStale, no)
		st.ended("01", work.PhaseFailed, work.ReasonStale)
		st.isPending("02 folder")
	})
	t.Run("abort the run", func(t *testing.T) {
		st := begin(t)
		st.feed(Answered{work.Answer{Checkpoint: st.asked("01", gates.PointStale).ID, Status: no, Choice: ChoiceAbort, By: "test"}})
		st.stopped(work.RunCancelled, "aborted by test")
		st.isPending()
		st.runEnded(work.RunCancelled)
		st.ended("02", work.PhaseCancelled, "")
		if evs := st.feed(Resumed{Reopen: true}); len(evs) > 0 {
			t.Errorf("a cancelled run goes on: %v", evs)
		}
	})
}

func TestTransitionAnswers(t *testing.T) {
	begin := func(t *testing.T, change ...func(*Spec)) *story {
		st := tell(t, append(change, human(gates.PointPhaseTransition))...)
		st.work("01", says("P01"))
		st.verify("01", true)
		st.stands("01", StageAsked)
		return st
	}
	t.Run("yes", func(t *testing.T) {
		st := begin(t)
		st.approve("01", gates.PointPhaseTransition)
		st.isPending("01 merge")
	})
	t.Run("no", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointPhaseTransition, no)
		st.ended("01", work.PhaseFailed, work.ReasonRejected)
	})
	t.Run("changes: one iteration, no promise needed, asked again", func(t *testing.T) {
		st := begin(t, budget(1))
		st.answer("01", gates.PointPhaseTransition, changes, "rename it")
		if !strings.Contains(st.prompt("01"), "rename it") {
			t.Error("the comment is not in the prompt")
		}
		st.work("01")
		st.verify("01", true)
		if cp := st.asked("01", gates.PointPhaseTransition); !strings.Contains(cp.Facts, "test asked for changes: rename it") {
			t.Errorf("who looks again is not told what was asked for: %s", cp.Facts)
		}
		st.approve("01", gates.PointPhaseTransition)
		st.merge("01")
		st.land("01")
		st.ended("01", work.PhaseDone, "")
	})
	t.Run("changes again and again: it is said that this does not converge", func(t *testing.T) {
		st := begin(t)
		for n := range roundsBeforeNotice {
			if cp := st.asked("01", gates.PointPhaseTransition); strings.Contains(cp.Facts, "converge") {
				t.Errorf("said after %d rounds: %s", n, cp.Facts)
			}
			st.answer("01", gates.PointPhaseTransition, changes, "again")
			st.work("01")
			st.verify("01", true)
		}
		if cp := st.asked("01", gates.PointPhaseTransition); !strings.HasPrefix(cp.Facts, "Changes were asked for 3 times, and this does not converge") {
			t.Errorf("not said: %s", cp.Facts)
		}
	})
}

func TestFinalAnswers(t *testing.T) {
	begin := func(t *testing.T, change ...func(*Spec)) *story {
		st := tell(t, append(change, human(gates.PointFinal))...)
		st.done("01")
		st.isPending()
		return st
	}
	t.Run("yes: it lands", func(t *testing.T) {
		st := begin(t)
		if cp := st.asked("", gates.PointFinal); len(cp.Points) != 2 || cp.Revision != 1 {
			t.Errorf("the question is about %q, revision %d; want both points of that boundary and 1", cp.Points, cp.Revision)
		}
		st.approve("", gates.PointFinal)
		st.deliver()
		st.runEnded(work.RunCompleted)
	})
	t.Run("no: the branch is kept, the run fails", func(t *testing.T) {
		st := begin(t)
		st.answer("", gates.PointFinal, no, "not good")
		st.deliver()
		st.runEnded(work.RunFailed)
		if d := last[work.RunFinishedData](st, work.RunFinished); !strings.Contains(d.Reason, "rejected") || d.Branch == "" {
			t.Errorf("the run ended %+v, want its branch and that it was rejected", d)
		}
	})
	t.Run("changes: one more iteration of the last phase, then its gates again", func(t *testing.T) {
		st := begin(t, budget(1))
		st.answer("", gates.PointFinal, changes, "a better name")
		st.folder("01")
		if !strings.Contains(st.prompt("01"), "a better name") {
			t.Error("the comment is not in the prompt")
		}
		st.work("01")
		st.verify("01", true)
		st.merge("01")
		st.land("01")
		if cp := st.asked("", gates.PointFinal); cp.Revision != 2 {
			t.Errorf("the second question is about revision %d, want 2", cp.Revision)
		}
		st.approve("", gates.PointFinal)
		st.deliver()
		st.runEnded(work.RunCompleted)
	})
	t.Run("changes that come to nothing: what was merged stands, and it is said", func(t *testing.T) {
		st := begin(t)
		st.answer("", gates.PointFinal, changes, "a better name")
		st.work("01")
		st.verify("01", false)
		st.ended("01", work.PhaseDone, "")
		if cp := st.asked("", gates.PointFinal); !strings.Contains(cp.Facts, "dropped") {
			t.Errorf("the question does not say that the rework was dropped: %q", cp.Facts)
		}
	})
	for name, end := range map[string]func(st *story){
		"cancelled": func(st *story) { st.work("01", ends(work.OutcomeCancelled)) },
		"hung":      func(st *story) { st.work("01", ends(work.OutcomeIdleTimeout)) },
		"broken":    func(st *story) { st.feed(Broke{Command: st.begun("01", StepFolder), Problem: "no space"}) },
	} {
		t.Run("changes that end "+name+": what was merged stands", func(t *testing.T) {
			st := begin(t)
			st.answer("", gates.PointFinal, changes, "a better name")
			end(st)
			st.ended("01", work.PhaseDone, "")
			st.approve("", gates.PointFinal)
			st.deliver()
			st.runEnded(work.RunCompleted)
		})
	}
	t.Run("an old answer is for the old revision", func(t *testing.T) {
		st := begin(t)
		first := *st.asked("", gates.PointFinal)
		st.answer("", gates.PointFinal, changes, "again")
		st.work("01")
		st.verify("01", true)
		st.merge("01")
		st.land("01")
		st.feed(Answered{work.Answer{Checkpoint: first.ID, Status: yes, By: "test"}})
		if d := last[CheckpointAnsweredData](st, work.CheckpointAnswered); d.Refused != work.ErrAlreadyResolved.Error() {
			t.Errorf("the second answer to %s is %+v, want it refused", first.ID, d)
		}
		now := st.asked("", gates.PointFinal)
		st.feed(Answered{work.Answer{Checkpoint: now.ID, Revision: first.Revision, Status: yes, By: "test"}})
		if d := last[CheckpointAnsweredData](st, work.CheckpointAnswered); d.Refused != work.ErrConflict.Error() {
			t.Errorf("the answer for revision %d of %d is %+v, want a conflict", first.Revision, now.Revision, d)
		}
		st.isPending()
	})
}

func TestWhatIsNoAnswer(t *testing.T) {
	for name, a := range map[string]work.Answer{
		"expired":                 {Status: work.CheckpointExpired},
		"pending":                 {Status: work.CheckpointPending},
		"nothing":                 {},
		"a word":                  {Status: "yes"},
		"feedback without a word": {Status: changes, Comment: " \n\t"},
		"another revision":        {Status: yes, Revision: 7},
	} {
		t.Run(name, func(t *testing.T) {
			st := tell(t, human(gates.PointPhaseStart))
			a.Checkpoint, a.By = st.asked("01", gates.PointPhaseStart).ID, "test"
			st.feed(Answered{a})
			if d := last[CheckpointAnsweredData](st, work.CheckpointAnswered); d.Refused == "" {
				t.Errorf("%+v was not refused", d)
			}
			st.stands("01", StageAsked)
			st.approve("01", gates.PointPhaseStart)
			st.isPending("01 folder")
		})
	}
}

// A wait holds its phase and what needs it, nothing else.
func TestFreezing(t *testing.T) {
	st := tell(t, phases("01", "02 after 01", "03"), human(gates.PointPhaseStart), setting(func(s *work.Settings) { s.MaxParallel = 1 }))
	st.approve("03", gates.PointPhaseStart)
	if evs := st.feed(Drained{}); len(evs) > 0 {
		t.Fatalf("the run ends although 03 can go on: %v", evs)
	}
	st.done("03")
	st.feed(Drained{})
	st.runEnded(work.RunFrozen)
	st.dies(Resumed{})
	st.isPending()
	st.approve("01", gates.PointPhaseStart)
	st.isPending("01 folder")
}

// A question about a phase takes none of the places of those that work.
func TestQuestionsTakeNoPlace(t *testing.T) {
	st := tell(t, phases("01", "02", "03"), human(gates.PointPhaseStart), setting(func(s *work.Settings) { s.MaxParallel = 1 }))
	if n := len(st.s.Open); n != 3 {
		t.Fatalf("%d phases are asked about, want 3", n)
	}
	st.approve("02", gates.PointPhaseStart)
	st.approve("01", gates.PointPhaseStart)
	st.isPending("02 folder")
	st.done("02")
	st.isPending("01 folder")
}
