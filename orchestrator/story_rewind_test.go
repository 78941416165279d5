package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// back asks for a phase to be set back.
func (st *story) back(n string, iteration, attempt int, id, words string) RewindAskedData {
	st.t.Helper()
	st.feed(Answered{work.Answer{By: "ann", Door: "cli", At: st.now, Rewind: &work.Rewind{ID: id, Phase: n, Iteration: iteration, Attempt: attempt, Text: words}}})
	return last[RewindAskedData](st, work.RewindAsked)
}

// backAt holds that the next iteration of a phase goes on from a commit.
func (st *story) backAt(n, commit string, iteration, attempt int) {
	st.t.Helper()
	c := st.begun(n, StepFolder)
	st.feed(FolderDone{Command: c, Setup: work.CommandsReport{OK: true}})
	if !slices.Contains(st.pending(), n+" iterate") {
		st.t.Fatalf("pending is %v", st.pending())
	}
	for _, c := range Pending(st.s) {
		if c.Phase == n && (c.Commit != commit || c.Iteration != iteration || c.Attempt != attempt) {
			st.t.Errorf("goes on from %s with iteration %d, attempt %d; want %s, %d, %d", c.Commit, c.Iteration, c.Attempt, commit, iteration, attempt)
		}
	}
}

func TestAPersonSetsAPhaseBack(t *testing.T) {
	t.Run("it goes on from what that iteration left, in a new attempt and session", func(t *testing.T) {
		st := tell(t)
		st.work("01")
		st.work("01")
		st.work("01")
		if d := st.back("01", 1, 0, "b1", "use the other library"); d.Refused != "" || d.Attempt != 1 {
			t.Fatalf("refused %q, attempt %d", d.Refused, d.Attempt)
		}
		st.backAt("01", "c1", 2, 2)
		st.prompts("01", "", "A person set your work back to what iteration 1 left", "use the other library", "ann set the work back to what iteration 1 left")
		if p := st.phase("01"); p.Spent != 1 || st.s.sessionOf(p) != "" || p.Budget != 5 {
			t.Errorf("spent %d of %d, session %q", p.Spent, p.Budget, st.s.sessionOf(p))
		}
		st.done("01")
		st.ended("01", work.PhaseDone, "")
	})
	t.Run("an iteration that is under way comes to its end first, and is not lost", func(t *testing.T) {
		st := tell(t)
		st.work("01")
		st.work("01", func(*IterationDone) {
			st.back("01", 1, 0, "b1", "")
			if st.count(work.PhaseRewound) > 0 {
				t.Error("it is set back while its agent works")
			}
		}, ends(work.OutcomeTold))
		st.backAt("01", "c1", 2, 2)
		st.work("01")
		if d := st.back("01", 2, 1, "b2", ""); d.Refused != "" {
			t.Fatalf("what it did then cannot be gone back to: %s", d.Refused)
		}
		st.backAt("01", "c2", 3, 1)
	})
	t.Run("a process that dies before it is set back does not lose it", func(t *testing.T) {
		st := tell(t)
		st.work("01")
		c := st.begun("01", StepIterate)
		st.back("01", 1, 0, "b1", "mind this")
		st.dies(Resumed{})
		st.feed(IterationDone{Command: c, Report: work.IterationReport{Outcome: work.OutcomeOK}})
		st.backAt("01", "c1", 2, 2)
		st.prompts("01", "", "mind this")
		if d := st.back("01", 1, 0, "b1", "mind this"); d.Refused != "it was asked before" || st.count(work.PhaseRewound) != 1 {
			t.Errorf("refused %q, set back %d times", d.Refused, st.count(work.PhaseRewound))
		}
	})
	t.Run("a question about what is dropped takes no answer", func(t *testing.T) {
		st := tell(t, human(gates.PointPhaseTransition))
		st.work("01", says("P01"))
		st.verify("01", true)
		cp := *st.asked("01", gates.PointPhaseTransition)
		st.back("01", 0, 0, "b1", "")
		if d := last[PhaseRewoundData](st, work.PhaseRewound); len(d.Closed) != 1 || d.Closed[0] != cp.ID {
			t.Errorf("closed %q", d.Closed)
		}
		st.feed(Answered{work.Answer{Checkpoint: cp.ID, Status: work.CheckpointApproved, By: "bob", Door: "web", At: st.now}})
		if d := last[CheckpointAnsweredData](st, work.CheckpointAnswered); d.Refused != work.ErrAlreadyResolved.Error() {
			t.Errorf("refused %q", d.Refused)
		}
		st.backAt("01", "c0", 1, 2)
		st.work("01", says("P01"))
		st.verify("01", true)
		st.asked("01", gates.PointPhaseTransition) // it is proven and asked anew
	})
	t.Run("what it was proven with is proven again", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"))
		c := st.begun("01", StepVerify)
		st.back("01", 0, 0, "b1", "")
		st.feed(VerifyDone{Command: c, Report: work.CommandsReport{OK: true}, Evidence: &work.EvidenceReport{}})
		if got := last[WarnedData](st, work.Warned); got.What != "late result ignored" {
			t.Errorf("the proof of what is dropped counts: %+v", got)
		}
		st.backAt("01", "c0", 1, 2)
	})
	t.Run("one that failed is open again, and what was skipped because of it", func(t *testing.T) {
		st := tell(t, phases("01", "02 after 01", "03 after 02", "04"), budget(2))
		st.work("01")
		st.work("01")
		st.ended("01", work.PhaseFailed, work.ReasonBudgetExhausted)
		st.ended("03", work.PhaseSkipped, work.ReasonDependencyFailed)
		if d := st.back("01", 2, 0, "b1", "the test data is in testdata"); d.Refused != "" {
			t.Fatal(d.Refused)
		}
		if st.count(work.PhaseReopened) != 3 {
			t.Errorf("%d phases are open again, want 01, 02 and 03", st.count(work.PhaseReopened))
		}
		if p := st.phase("01"); p.Spent != 2 || p.Budget != 3 {
			t.Errorf("%d of %d: nothing is left to go on with", p.Spent, p.Budget)
		}
		st.backAt("01", "c2", 3, 1)
		st.done("01")
		st.done("02")
		st.done("03")
		st.done("04")
		st.deliver()
		st.runEnded(work.RunCompleted)
	})
	t.Run("refused", func(t *testing.T) {
		st := tell(t, phases("01", "02 after 01", "03 after 02"))
		st.done("01")
		st.work("02", says("P02"))
		st.verify("02", true)
		st.begun("02", StepMerge)
		for _, test := range []struct {
			phase     string
			iteration int
			attempt   int
			want      string
		}{
			{"01", 1, 0, "phase 01 is done and merged"},
			{"09", 1, 0, "there is no phase 09"},
			{"02", 7, 0, "phase 02 has no iteration 7"},
			{"02", -1, 0, "phase 02 has no iteration -1"},
			{"02", 1, 4, "phase 02 has no iteration 1, attempt 4,"},
			{"03", 0, 0, "phase 03 has not begun"},
			{"02", 1, 0, "phase 02 is being merged"},
		} {
			if d := st.back(test.phase, test.iteration, test.attempt, test.phase+test.want, ""); !strings.HasPrefix(d.Refused, test.want) {
				t.Errorf("phase %s to iteration %d: refused %q, want %q", test.phase, test.iteration, d.Refused, test.want)
			}
		}
		if n := st.count(work.PhaseRewound); n != 0 {
			t.Errorf("%d phases were set back", n)
		}
	})
}

// A fork goes on from an iteration in a run of its own, on top of what had landed
// by then, and takes over whatever stood against that.
func TestAForkGoesOnFromAnIteration(t *testing.T) {
	st := tell(t, phases("01", "02 after 01", "03 after 02", "04"))
	st.done("01")
	st.work("02")
	st.work("02", says("P02"))
	st.verify("02", true)
	st.merge("02")
	st.land("02")
	st.s.Doubts = []work.Doubt{{Kind: work.DoubtUnproven, What: "nobody tests it"}}
	head := st.phase("02").Base

	spec, err := st.s.ForkOf(work.Rewind{Phase: "02", Iteration: 1, Text: "try the other way"}, "ann")
	if err != nil {
		t.Fatal(err)
	}
	if f := spec.Fork; len(f.Done) != 1 || f.Done[0].Number != "01" || f.Head != head {
		t.Fatalf("it begins on %s with %v", f.Head, f.Done)
	}
	s, err := NewState("fork", spec)
	if err != nil {
		t.Fatal(err)
	}
	fork := &story{t: t, spec: spec, s: s, now: st.now}
	fork.feed(Opened{Inline: &spec})
	fork.base(true)
	var from string
	for _, c := range Pending(fork.s) {
		if c.Phase == "02" {
			from = c.Commit
		}
	}
	if at, _ := st.s.SnapOf("02", 1, 0); from != at.Commit || s.Head != head {
		t.Errorf("phase 02 goes on from %q on top of %s, want %s on %s", from, s.Head, at.Commit, head)
	}
	c := fork.begun("02", StepFolder)
	fork.feed(FolderDone{Command: c, Setup: work.CommandsReport{OK: true}})
	fork.prompts("02", "", "what iteration 1 left in an earlier try", "try the other way")
	fork.work("02", says("P02"))
	fork.verify("02", true)
	fork.merge("02")
	fork.land("02")
	fork.done("03")
	fork.done("04")
	if len(fork.s.Doubts) != 1 {
		t.Errorf("what stood against the first run is forgotten: %v", fork.s.Doubts)
	}
	fork.dies(Resumed{}) // its own journal tells it all

	for _, test := range []struct{ phase, want string }{{"09", "there is no phase 09"}, {"02", "phase 02 has no iteration 7"}} {
		if why := st.s.CannotFork(test.phase, 7, 0); why != test.want {
			t.Errorf("fork of phase %s: %q, want %q", test.phase, why, test.want)
		}
	}
}
