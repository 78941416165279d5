package orchestrator

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

func TestClaims(t *testing.T) {
	tests := []struct {
		name string
		told []func(*IterationDone)
		want Stage
	}{
		{"the promise", []func(*IterationDone){says("P01")}, StageVerify},
		{"the promise, said four times", []func(*IterationDone){says("P01", "P01", "P01", "P01")}, StageVerify},
		{"nothing said: exit 0 alone proves nothing", nil, StageIterate},
		{"two different promises", []func(*IterationDone){says("P01", "P02")}, StageIterate},
		{"the promise and, long after, another", []func(*IterationDone){says("P01", "P01", "P01", "P01", "P01", "other")}, StageIterate},
		{"another phase's promise", []func(*IterationDone){says("P02")}, StageIterate},
		{"another case", []func(*IterationDone){says("p01")}, StageIterate},
		{"a beginning of the promise", []func(*IterationDone){says("P0")}, StageIterate},
		{"said, with nothing changed", []func(*IterationDone){says("P01"), changesNothing}, StageVerify},
		{"said, and asked for a sub-phase", []func(*IterationDone){says("P01"), asksFor(part("S", 1))}, StageVerify},
		{"after the result", []func(*IterationDone){says("P01"), ends(work.OutcomePostResult)}, StageVerify},
		{"in a failed iteration", []func(*IterationDone){says("P01"), ends(work.OutcomeAgentFailed)}, StageIterate},
		{"before a start timeout", []func(*IterationDone){says("P01"), ends(work.OutcomeStartTimeout)}, StageIterate},
		{"before an idle timeout", []func(*IterationDone){says("P01"), ends(work.OutcomeIdleTimeout)}, StageIterate},
		{"before an iteration timeout", []func(*IterationDone){says("P01"), ends(work.OutcomeIterationTimeout)}, StageIterate},
		{"of a provider that is out", []func(*IterationDone){says("P01"), ends(work.OutcomeRateLimited)}, StageOutage},
		{"of an iteration that was interrupted", []func(*IterationDone){says("P01"), ends(work.OutcomeInterrupted)}, StageIterate},
		{"with an outcome that nobody knows", []func(*IterationDone){says("P01"), ends("")}, StageIterate},
		{"with a word for an outcome that is none", []func(*IterationDone){says("P01"), ends("fine")}, StageIterate},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := tell(t, phases("01", "02"))
			st.work("01", tt.told...)
			st.stands("01", tt.want)
		})
	}
}

// A promise with quotation marks takes up more bytes in an event than it has.
func TestALongPromiseIsClaimed(t *testing.T) {
	promise := strings.Repeat(`"\`, work.MaxPromiseBytes/2)
	st := tell(t, func(sp *Spec) { sp.Plan.Phases[0].Promise = promise })
	st.work("01", says(promise))
	st.stands("01", StageVerify)
}

// A timeout voids the claim, keeps the tree and spends the iteration.
func TestATimeoutKeepsTheTree(t *testing.T) {
	st := tell(t)
	st.work("01", says("P01"), ends(work.OutcomeIdleTimeout))
	p := st.phase("01")
	if p.Last != "c1" || p.Tree != "t1" || p.Spent != 1 {
		t.Errorf("after a timeout the phase is at %s, %s with %d iterations spent, want c1, t1 and 1", p.Last, p.Tree, p.Spent)
	}
}

func TestProof(t *testing.T) {
	t.Run("verified", func(t *testing.T) {
		st := tell(t)
		st.done("01")
		st.ended("01", work.PhaseDone, "")
		st.deliver()
		st.runEnded(work.RunCompleted)
		if got := st.phase("01").Proof; got != work.ProofVerified || st.s.Unproven {
			t.Errorf("the proof is %q (unproven: %v), want verified", got, st.s.Unproven)
		}
	})
	t.Run("without verify commands it is the agent's word", func(t *testing.T) {
		st := tell(t, unproven())
		st.done("01")
		if got := st.phase("01").Proof; got != work.ProofClaim || !st.s.Unproven {
			t.Errorf("the proof is %q (unproven: %v), want claim", got, st.s.Unproven)
		}
	})
	t.Run("the owner's waiver", func(t *testing.T) {
		st := tell(t, unproven(), setting(func(s *work.Settings) { s.Verify.None = true }))
		st.done("01")
		if got := st.phase("01").Proof; got != work.ProofWaived || st.s.Unproven {
			t.Errorf("the proof is %q (unproven: %v), want waived", got, st.s.Unproven)
		}
	})
	t.Run("red: the output is the next feedback", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"))
		st.verify("01", false)
		st.stands("01", StageIterate)
		if prompt := st.prompt("01"); !strings.Contains(prompt, "output of make test") {
			t.Errorf("the prompt after a red verify lacks its output:\n%s", prompt)
		}
		st.work("01")
		if prompt := st.prompt("01"); strings.Contains(prompt, "output of make test") {
			t.Error("the output of verify is in the prompt after the next one, too")
		}
	})
	t.Run("where nothing ran, nothing is proven", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"))
		st.verify("01", true, func(d *VerifyDone) { d.Report.Ran = nil })
		st.stands("01", StageIterate)
	})
	t.Run("what could not be judged is neither red nor green", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"))
		st.feed(Broke{Command: st.begun("01", StepVerify), Problem: "no space left"})
		st.ended("01", work.PhaseFailed, work.ReasonInternal)
	})
}

func TestBaseline(t *testing.T) {
	t.Run("red, and nobody is there", func(t *testing.T) {
		st := open(t)
		st.isPending("verify-base")
		st.base(false)
		st.stopped(work.RunCancelled, ReasonRedBaseline)
		st.runEnded(work.RunCancelled)
		if n := st.count(work.IterationStarted); n != 0 {
			t.Errorf("%d iterations were started on a red base", n)
		}
	})
	t.Run("red and allowed", func(t *testing.T) {
		st := open(t, setting(func(s *work.Settings) { s.Verify.AllowRedBaseline = true }))
		st.base(false)
		st.isPending("01 folder")
	})
	t.Run("red, and a person says yes", func(t *testing.T) {
		st := open(t, human("phase.start"))
		st.base(false)
		st.isPending()
		st.approve("", PointBaseline)
		st.asked("01", "phase.start")
	})
	t.Run("red, and a person says no", func(t *testing.T) {
		st := open(t, human("phase.start"))
		st.base(false)
		st.answer("", PointBaseline, work.CheckpointRejected)
		st.runEnded(work.RunCancelled)
	})
	t.Run("--yes does not answer", func(t *testing.T) {
		st := open(t, human("phase.start"), func(sp *Spec) { sp.AnswerYes = true })
		st.base(false)
		st.asked("", PointBaseline)
	})
	t.Run("a phase's own list is not about the base", func(t *testing.T) {
		st := open(t, unproven(), ofPhase01(func(ps *work.PhaseSettings) { ps.Verify, ps.VerifyOwn = []string{"make phase"}, true }))
		st.isPending("01 folder")
	})
	t.Run("a phase's own list fills the caches", func(t *testing.T) {
		for _, green := range []bool{true, false} {
			st := open(t, unproven(), human("phase.start"), ofPhase01(func(ps *work.PhaseSettings) { ps.Verify, ps.VerifyOwn = []string{"make phase"}, true }),
				setting(func(s *work.Settings) { s.Verify.Warm = []string{"make phase"} }))
			c := st.begun("", StepBase)
			if runs := st.s.verifyEffect(c, nil).Proof.Verify.Commands; !slices.Equal(runs, []string{"make phase"}) {
				t.Errorf("on the base runs %v, want the phase's own", runs)
			}
			st.feed(VerifyDone{Command: c, Report: report(green)})
			st.asked("01", "phase.start")
		}
	})
	t.Run("could not be judged", func(t *testing.T) {
		st := open(t)
		st.feed(Broke{Command: st.begun("", StepBase), Problem: "no shell"})
		st.runEnded(work.RunInterrupted)
		st.dies(Resumed{})
		st.isPending("verify-base")
	})
}

// The reason of a failure names the last obstacle, and what no agent can mend
// ends the phase at once.
func TestLastObstacle(t *testing.T) {
	ended := func(t *testing.T, st *story, reason work.Reason, want ...string) {
		t.Helper()
		st.ended("01", work.PhaseFailed, reason)
		for _, text := range want {
			if detail := st.phase("01").Detail; !strings.Contains(detail, text) {
				t.Errorf("the detail is %q, want %q in it", detail, text)
			}
		}
	}
	t.Run("another promise", func(t *testing.T) {
		st := tell(t, budget(1))
		st.work("01", says("P 01"))
		ended(t, st, work.ReasonBudgetExhausted, "1 of 1 iterations used", `"P 01" instead of "P01"`)
	})
	t.Run("no promise", func(t *testing.T) {
		st := tell(t, budget(1))
		st.work("01")
		ended(t, st, work.ReasonBudgetExhausted, `does not say the promise "P01"`)
	})
	t.Run("a red verify", func(t *testing.T) {
		st := tell(t, budget(1))
		st.work("01", says("P01"))
		st.verify("01", false)
		ended(t, st, work.ReasonBudgetExhausted, "verify is red", "output of make test")
	})
	t.Run("a red verify, claimed again", func(t *testing.T) {
		st := tell(t, budget(2))
		st.work("01", says("P01"))
		st.verify("01", false)
		red := st.phase("01").Tree
		st.work("01", says("P01"), func(d *IterationDone) { d.Snapshot.Tree = red })
		ended(t, st, work.ReasonBudgetExhausted, judgedAlready+": ", "output of make test")
	})
	t.Run("a program that is not installed", func(t *testing.T) {
		st := tell(t, budget(5))
		st.work("01", says("P01"))
		st.verify("01", false, func(d *VerifyDone) {
			d.Report.Problem = "pytst is not installed"
			d.Report.Ran[0].Missing = true
		})
		ended(t, st, work.ReasonVerifyFailed, "pytst is not installed")
	})
}

// What may_change lets differ moves what later phases are held against; that it
// became weaker stands until a person has seen it.
func TestMayChangeIsNoLeaveToWeaken(t *testing.T) {
	st := tell(t, phases("01", "02"), ofPhase01(func(ps *work.PhaseSettings) { ps.MayChange = []string{"a_test.go"} }))
	weak := work.Doubt{Kind: work.DoubtWeakened, Path: "a_test.go", Line: 3, What: "an assertion is gone", Floor: work.OnTrusted}
	for _, n := range []string{"01", "02"} {
		st.work(n, says("P"+n))
		st.verify(n, true, func(d *VerifyDone) {
			if n == "01" {
				d.Evidence = &work.EvidenceReport{Doubts: []work.Doubt{weak}}
			}
		})
		st.merge(n)
		st.land(n)
	}
	if len(st.s.Doubts) != 1 || st.s.Doubts[0].Path != "a_test.go" {
		t.Errorf("the doubts at the end are %v", st.s.Doubts)
	}
	st.asked("", gates.PointEvidence)
}

// That tests became weaker stands until a later proof was held against those that
// were last accepted: a phase that nothing proves, or whose tests nobody asked, is
// no word about it.
func TestWhatNobodyAskedAgainStands(t *testing.T) {
	for name, c := range map[string]struct {
		unproven, asked bool
		want            int
	}{
		"nothing proves it":          {unproven: true, want: 1},
		"asked, and nothing is left": {asked: true, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			st := tell(t, phases("01", "02"), func(sp *Spec) {
				sp.Settings.Proof.NoControls = false
				if c.unproven {
					ps := sp.Settings.Phases["02"]
					ps.Verify = nil
					sp.Settings.Phases["02"] = ps
				}
			})
			st.work("01", says("P01"))
			st.verify("01", true, func(d *VerifyDone) { d.Evidence = &work.EvidenceReport{} })
			st.feed(ControlDone{Command: st.begun("01", StepControl), Report: work.ControlReport{Softened: []string{"TestAdd"}}})
			st.merge("01")
			st.land("01")
			st.work("02", says("P02"))
			if c.asked {
				st.verify("02", true, func(d *VerifyDone) { d.Evidence = &work.EvidenceReport{} })
				st.feed(ControlDone{Command: st.begun("02", StepControl), Report: work.ControlReport{}})
			}
			st.merge("02")
			st.land("02")
			if len(st.s.Doubts) != c.want {
				t.Errorf("the doubts at the end are %v, want %d", st.s.Doubts, c.want)
			}
		})
	}
}

// An owner may let one kind of doubt pass; it is said, and others wait.
func TestAKindOfDoubtThatPasses(t *testing.T) {
	for kind, waits := range map[work.DoubtKind]bool{work.DoubtUnproven: false, work.DoubtTestAware: true, "of a later release": true} {
		st := tell(t, func(sp *Spec) {
			sp.Policy.Gates = maps.Clone(sp.Policy.Gates)
			sp.Policy.Gates[gates.DoubtPoint(work.DoubtUnproven)] = gates.Auto
		})
		st.work("01", says("P01"))
		st.verify("01", true, func(d *VerifyDone) {
			d.Evidence = &work.EvidenceReport{Doubts: []work.Doubt{{Kind: kind, Path: "a.go", What: "no test notices"}}}
		})
		st.merge("01")
		st.land("01")
		if waits {
			st.asked("", gates.PointEvidence)
			continue
		}
		if !slices.ContainsFunc(st.events, func(e work.Event) bool {
			var d work.GateDecidedData
			return e.Kind == work.GateDecided && decode(e, &d) == nil && d.Gate == string(gates.PointEvidence) && strings.Contains(d.Reason, "a.go: no test notices")
		}) {
			t.Error("what passes is not said")
		}
	}
}

// Where each part of a change has to be needed, a part that was taken back for
// nothing holds the result, and so does one that there was no time for.
func TestEachPartHasToBeNeeded(t *testing.T) {
	idle := work.Ablation{Hunks: 2, Tried: 2, Idle: []work.Place{{Path: "a.go", Line: 3, End: 4}}}
	late := work.Ablation{Hunks: 2, Tried: 1, Needed: 1, Skipped: "1 of 2 hunks were not taken back: budget"}
	whole := work.Ablation{Hunks: 2, Tried: 2, Needed: 2}
	for _, c := range []struct {
		mode  string
		rep   work.Ablation
		waits bool
	}{
		{work.AblateRequire, whole, false}, {work.AblateRequire, idle, true}, {work.AblateRequire, late, true},
		{"report", idle, false}, {"report", late, false},
	} {
		st := tell(t, func(sp *Spec) { sp.Settings.Proof.Ablate, sp.Settings.Proof.NoControls = c.mode, false })
		st.work("01", says("P01"))
		st.verify("01", true, func(d *VerifyDone) { d.Evidence = &work.EvidenceReport{} })
		st.feed(ControlDone{Command: st.begun("01", StepControl), Report: work.ControlReport{Ablation: &c.rep}})
		st.merge("01")
		st.land("01")
		if got := len(st.s.Doubts) > 0; got != c.waits {
			t.Errorf("%s, %+v: in doubt is %v, want %v", c.mode, c.rep, got, c.waits)
		}
		if c.waits {
			st.asked("", gates.PointEvidence)
		}
	}
}

// Checks that the owner keeps from agents count like the others, and say no more
// than their owner wrote.
func TestHiddenChecks(t *testing.T) {
	keeps := func(sp *Spec) { sp.Settings.Proof.Hidden = []string{"/checks"} }
	asked := func(rep work.HiddenReport) func(*VerifyDone) { return func(d *VerifyDone) { d.Hidden = &rep } }
	t.Run("green", func(t *testing.T) {
		st := tell(t, keeps)
		st.work("01", says("P01"))
		st.verify("01", true, asked(work.HiddenReport{Ran: 2, Sum: "1"}))
		st.isPending("01 merge")
		if n := st.phase("01").Record.Hidden; n != 2 {
			t.Errorf("%d hidden checks are on record, want 2", n)
		}
	})
	t.Run("red", func(t *testing.T) {
		st := tell(t, keeps)
		st.work("01", says("P01"))
		st.verify("01", true, asked(work.HiddenReport{Ran: 1, Red: "amounts above 1000 are wrong"}))
		st.isPending("01 iterate")
		prompt := st.prompt("01")
		if !strings.Contains(prompt, "amounts above 1000 are wrong") || strings.Contains(prompt, "output of make test") {
			t.Errorf("the prompt is\n%s", prompt)
		}
	})
	t.Run("disturbed", func(t *testing.T) {
		st := tell(t, keeps)
		st.work("01", says("P01"))
		st.verify("01", true, asked(work.HiddenReport{Ran: 1, Disturbed: "calc.go was changed"}))
		st.ended("01", work.PhaseFailed, work.ReasonProofDisturbed)
	})
	t.Run("never asked", func(t *testing.T) {
		st := tell(t, keeps)
		st.work("01", says("P01"))
		st.verify("01", true)
		st.isPending("01 iterate")
	})
	t.Run("another state of the checks is no other verdict on the tree", func(t *testing.T) {
		st := tell(t, keeps)
		st.work("01", says("P01"))
		st.verify("01", true, asked(work.HiddenReport{Ran: 1, Sum: "1"}))
		st.merge("01", moved())
		st.verify("01", true, asked(work.HiddenReport{Ran: 1, Sum: "2", Red: "no"}))
		if n := len(st.phase("01").Proving.Doubts); n != 0 {
			t.Errorf("%d doubts", n)
		}
	})
}

func TestEvidence(t *testing.T) {
	touched := makefile
	t.Run("touched, and green with the base's files", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"))
		st.verify("01", true, touched)
		st.stands("01", StageEvidence)
		if c := Pending(st.s); len(c) != 1 || c[0].On != work.OnProtected {
			t.Fatalf("pending is %+v, want a verify with the protected files", c)
		}
		st.verify("01", true)
		st.merge("01")
		st.land("01")
		st.ended("01", work.PhaseDone, "")
	})
	t.Run("touched, and red with the base's files", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"))
		st.verify("01", true, touched)
		st.verify("01", false)
		st.ended("01", work.PhaseFailed, work.ReasonEvidenceChanged)
		if detail := st.phase("01").Detail; !strings.Contains(detail, "Makefile") {
			t.Errorf("the failure does not name the file: %q", detail)
		}
	})
	t.Run("red without the files that are new", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"))
		st.verify("01", true, func(d *VerifyDone) {
			d.Evidence = &work.EvidenceReport{New: []string{"rates.xyz"}, Floors: []work.VerifyOn{work.OnTrusted}}
		})
		st.verify("01", false)
		st.ended("01", work.PhaseFailed, work.ReasonEvidenceChanged)
		want := "verify fails with the evidence that a person last accepted: without these new files, which count as evidence: rates.xyz; " +
			"[proof] product names those that are the work itself, may_change in the plan those that may judge it"
		if got := st.phase("01").Detail; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
	t.Run("touched by the merge", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"))
		st.verify("01", true)
		st.merge("01", moved())
		st.verify("01", true, touched)
		c := Pending(st.s)
		if len(c) != 1 || c[0].On != work.OnProtected || c[0].Commit != st.phase("01").Merge.Commit {
			t.Fatalf("pending is %+v, want a verify of the merged tree with the protected files", c)
		}
		st.verify("01", true)
		st.isPending("01 land")
	})
	t.Run("what may_change covers is not reported", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"))
		st.verify("01", true)
		st.isPending("01 merge")
	})
}

// The verify of a merged tree that goes red is not the phase's failure as long
// as it has iterations left.
func TestMerges(t *testing.T) {
	proven := func(t *testing.T, change ...func(*Spec)) *story {
		st := tell(t, change...)
		st.work("01", says("P01"))
		st.verify("01", true)
		return st
	}
	t.Run("onto an unmoved head", func(t *testing.T) {
		st := proven(t)
		st.merge("01")
		st.isPending("01 land")
	})
	t.Run("the head moved: verified again", func(t *testing.T) {
		st := proven(t)
		st.merge("01", moved())
		if c := Pending(st.s); len(c) != 1 || c[0].On != work.OnMerged || c[0].Commit != "c1+" {
			t.Fatalf("pending is %+v, want a verify of the merged tree", c)
		}
		st.verify("01", true)
		st.land("01")
		st.ended("01", work.PhaseDone, "")
	})
	t.Run("the head moved, to the very same tree", func(t *testing.T) {
		st := proven(t)
		st.merge("01", func(m *MergeFinishedData) { m.Moved = true })
		st.isPending("01 land")
	})
	t.Run("red on the merged tree, iterations left", func(t *testing.T) {
		st := proven(t)
		st.merge("01", moved())
		st.verify("01", false)
		st.isPending("01 iterate")
		if p := st.phase("01"); p.Last != "c1+" || p.Base != "c0" || st.s.Merger != "" {
			t.Errorf("the phase goes on from %s (base %s, turn of %q), want c1+, c0 and nobody's", p.Last, p.Base, st.s.Merger)
		}
		if prompt := st.prompt("01"); !strings.Contains(prompt, "output of make test") {
			t.Errorf("the prompt lacks the output of the red verify:\n%s", prompt)
		}
		st.done("01")
		st.ended("01", work.PhaseDone, "")
	})
	t.Run("red on the merged tree, none left", func(t *testing.T) {
		st := proven(t, budget(1))
		st.merge("01", moved())
		st.verify("01", false)
		st.ended("01", work.PhaseFailed, work.ReasonVerifyFailed)
	})
	t.Run("red on its own tree, none left", func(t *testing.T) {
		st := tell(t, budget(1))
		st.work("01", says("P01"))
		st.verify("01", false)
		st.ended("01", work.PhaseFailed, work.ReasonBudgetExhausted)
	})
	t.Run("a conflict gets one iteration outside the budget", func(t *testing.T) {
		st := proven(t, budget(1))
		st.merge("01", moved("a.txt"))
		st.isPending("01 iterate")
		if prompt := st.prompt("01"); !strings.Contains(prompt, "a.txt") || !strings.Contains(prompt, "onflict") {
			t.Errorf("the prompt does not ask to resolve a.txt:\n%s", prompt)
		}
		st.work("01")
		if p := st.phase("01"); p.Spent != 1 {
			t.Errorf("%d iterations are spent, want 1: the resolution is outside the budget", p.Spent)
		}
		st.verify("01", true)
		st.land("01")
		st.ended("01", work.PhaseDone, "")
	})
	t.Run("markers are left", func(t *testing.T) {
		st := proven(t)
		st.merge("01", moved("a.txt"))
		st.work("01", func(d *IterationDone) { d.Markers = []string{"a.txt"} })
		st.ended("01", work.PhaseFailed, work.ReasonMergeConflict)
		if got := st.phase("01").Last; got != "c1" {
			t.Errorf("the phase stands at %s, want its own work, c1", got)
		}
	})
	t.Run("the resolution is red", func(t *testing.T) {
		st := proven(t)
		st.merge("01", moved("a.txt"))
		st.work("01")
		st.verify("01", false)
		st.ended("01", work.PhaseFailed, work.ReasonMergeConflict)
	})
	t.Run("the resolving agent hangs", func(t *testing.T) {
		st := proven(t)
		st.merge("01", moved("a.txt"))
		st.work("01", ends(work.OutcomeIdleTimeout))
		st.ended("01", work.PhaseFailed, work.ReasonMergeConflict)
	})
	t.Run("one at a time, in the order of proof", func(t *testing.T) {
		st := tell(t, phases("01", "02", "03"))
		for _, n := range []string{"02", "01", "03"} {
			st.work(n, says("P"+n))
		}
		st.verify("01", true)
		st.verify("02", true)
		st.isPending("01 merge", "03 verify")
		st.merge("01")
		st.verify("03", true)
		st.isPending("01 land")
		st.land("01")
		st.isPending("02 merge")
		st.merge("02", moved("a.txt"))
		st.isPending("02 iterate")
		st.work("02", ends(work.OutcomeAgentFailed))
		st.isPending("03 merge")
	})
	t.Run("an empty diff merges as the head", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"), changesNothing)
		st.verify("01", true)
		st.merge("01")
		st.feed(LandDone{Command: st.begun("01", StepLand), Commit: st.s.Head, Empty: true})
		if d := last[PhaseMergedData](st, work.PhaseMerged); !d.Empty || d.Commit != "c0" {
			t.Errorf("merged %+v, want the head, marked empty", d)
		}
	})
}

func TestPendingOrderIsStable(t *testing.T) {
	st := tell(t, phases("01", "02", "03", "04"))
	first := st.pending()
	for range 20 {
		if got := st.pending(); !slices.Equal(got, first) {
			t.Fatalf("pending is %q and then %q", first, got)
		}
	}
}

// A tree that is red once and green once is flaky: the work goes on, and the
// result is held. The same tree twice in a row is not asked about again.
func TestTheSameTreeRedAndGreen(t *testing.T) {
	again := func(tree string) func(*IterationDone) {
		return func(d *IterationDone) { d.Snapshot.Tree = tree }
	}
	st := tell(t)
	st.work("01", says("P01"), again("first"))
	st.verify("01", false)
	st.work("01", says("P01"), again("first"))
	st.isPending("01 iterate") // judged already
	st.work("01", says("P01"), again("second"))
	st.verify("01", false)
	st.work("01", says("P01"), again("first"))
	st.verify("01", true, func(d *VerifyDone) { d.Evidence = &work.EvidenceReport{} })
	st.merge("01")
	st.land("01")
	cp := st.asked("", gates.PointEvidence)
	if !strings.Contains(cp.Facts, "flaky: the same tree was once red and once green") {
		t.Errorf("the facts are %s", cp.Facts)
	}
}

// Evidence that only grew is one line, and holds nothing.
func TestEvidenceThatGrewHoldsNothing(t *testing.T) {
	st := tell(t)
	st.work("01", says("P01"))
	st.verify("01", true, func(d *VerifyDone) {
		d.Evidence = &work.EvidenceReport{Notes: []string{"b_test.go is new evidence"}, New: []string{"b_test.go"}, Floors: []work.VerifyOn{work.OnTrusted}}
	})
	st.verify("01", true)
	st.merge("01")
	st.land("01")
	st.isPending("deliver")
	if got := st.phase("01").Record.Notes; !slices.Equal(got, []string{"b_test.go is new evidence"}) {
		t.Errorf("said is %q", got)
	}
}
