package orchestrator

import (
	"fmt"
	"strings"
	"testing"

	"forge/dag"
	"forge/gates"
	"forge/internal/work"
)

// splits lets phases be split, as a project that says nothing has it.
func splits(change ...func(*work.DecompositionSettings)) func(*Spec) {
	return setting(func(set *work.Settings) {
		set.Decomposition = work.DecompositionSettings{
			Enabled: true, Requests: true, Blockers: true, Keywords: []string{"too large"}, BudgetPercent: 50, ProgressPercent: 30,
			MinTasks: 2, MaxTasks: 10, KeptPercent: 10,
		}
		for _, c := range change {
			c(&set.Decomposition)
		}
	})
}

func wantsSplit(d *IterationDone) { changesNothing(d); d.Report.Signals.RequestDecomposition = true }

func proposes(tasks ...work.SplitTask) func(*IterationDone) {
	return func(d *IterationDone) {
		changesNothing(d)
		d.Report.Signals.Decompositions = []work.Decomposition{{Tasks: tasks}}
	}
}

// task is a part by its id and its budget, after those named.
func task(id string, budget int, after ...string) work.SplitTask {
	return work.SplitTask{ID: id, Name: "part " + id, About: "do " + id, Files: []string{id + ".go"}, Budget: budget, DependsOn: after}
}

func (st *story) partDone(n, id string) {
	st.t.Helper()
	st.work(n, says("PART "+id+" OF 01 IS DONE"))
	st.verify(n, true)
}

func TestAPhaseIsSplit(t *testing.T) {
	st := tell(t, splits(), budget(12))
	st.work("01", wantsSplit)
	st.gateSaid("01", gates.PointDecompose, decideSplit, "the agent asked for it")
	prompt := st.prompt("01")
	for _, want := range []string{"## Split this phase", "from 2 to 10 parts with at most 9 iterations together", "the agent asked for it"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt does not say %q", want)
		}
	}

	// c needs a and b, whatever order they are proposed in.
	st.work("01", proposes(task("c", 2, "a", "b"), task("a", 4), task("b", 2)))
	st.gateSaid("01", gates.PointDecompose, decideApprove, "3 parts with 8 iterations together, of 10 that are left")
	st.isPending("01.1 folder")
	first := st.phase("01.1")
	if first.Plan.Name != "part a" || first.Budget != 4 || first.Plan.Promise != "PART a OF 01 IS DONE" || !strings.Contains(first.Plan.Reasoning, "a.go") {
		t.Errorf("the first part is %+v, want a, which is the longest", first.Plan)
	}
	st.partDone("01.1", "a")
	st.partDone("01.2", "b")
	if c := st.phase("01.3"); c.Plan.Name != "part c" || c.Base != st.phase("01.2").Last {
		t.Errorf("the last part is %q at %s, want c on the work of the others", c.Plan.Name, c.Base)
	}
	st.partDone("01.3", "c")

	// What they did not use stays with the phase, which is proven as it would be.
	p := st.phase("01")
	if p.Spent != 5 || st.count(work.MergeStarted) != 0 || !strings.Contains(st.prompt("01"), "All parts of this phase are over") {
		t.Errorf("the phase has spent %d, want 5, and is to look at the whole", p.Spent)
	}
	st.work("01", says("P01"))
	st.verify("01", true)
	st.isPending("01 merge")
}

// Each trigger splits where it applies, and not below it.
func TestWhatSplitsAPhase(t *testing.T) {
	nothing := func(s *story) {}
	tests := []struct {
		name   string
		budget int
		set    func(*work.DecompositionSettings)
		tell   func(st *story)
		want   string // why; "" = not split
	}{
		{"asked for", 8, nil, func(st *story) { st.work("01", wantsSplit) }, "the agent asked for it"},
		{"asked for, and agents may not", 8, func(d *work.DecompositionSettings) { d.Requests = false }, func(st *story) { st.work("01", wantsSplit) }, ""},
		{"switched off", 8, func(d *work.DecompositionSettings) { d.Enabled = false }, func(st *story) { st.work("01", wantsSplit) }, ""},
		{"half the budget and little progress", 8, nil, func(st *story) {
			for range 4 {
				st.work("01", reports(20))
			}
		}, "4 of 8 iterations are used, and the agent reports 20 %"},
		{"less than half the budget", 8, nil, func(st *story) {
			for range 3 {
				st.work("01", reports(20))
			}
		}, ""},
		{"half the budget and progress", 8, nil, func(st *story) {
			for range 4 {
				st.work("01", reports(30))
			}
		}, ""},
		{"half the budget and no word of progress", 8, nil, func(st *story) {
			for range 4 {
				st.work("01")
			}
		}, ""},
		{"the same blocker again", 8, nil, func(st *story) {
			st.work("01", changesNothing, blocks("the parser is in the way"))
			st.work("01", changesNothing, blocks("The parser is in the way!"))
		}, ""},
		{"three blockers", 8, nil, func(st *story) { st.work("01", blocks("a", "b", "c")) }, "the agent named 3 things that stop it"},
		{"two blockers", 8, nil, func(st *story) { st.work("01", blocks("a", "b")) }, ""},
		{"a word in a blocker", 8, nil, func(st *story) { st.work("01", blocks("This is Too Large for me")) }, `speaks of "too large"`},
		{"blockers, and nobody looks", 8, func(d *work.DecompositionSettings) { d.Blockers = false }, func(st *story) { st.work("01", blocks("a", "b", "too large")) }, ""},
		{"its size", 8, func(d *work.DecompositionSettings) { d.Size = 7 }, func(st *story) { st.folder("01") }, "its budget of 8 iterations is above 7"},
		{"at its size", 8, func(d *work.DecompositionSettings) { d.Size = 8 }, func(st *story) { st.folder("01") }, ""},
		{"too little is left for parts", 4, nil, func(st *story) { st.work("01"); st.work("01", wantsSplit) }, ""},
		{"nothing", 8, nil, nothing, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.set
			if change == nil {
				change = func(*work.DecompositionSettings) {}
			}
			st := tell(t, splits(change), budget(tt.budget))
			tt.tell(st)
			if p := st.phase("01"); tt.want == "" && p.Split.Why != "" || !strings.Contains(p.Split.Why, tt.want) || p.Split.Ask != (tt.want != "") {
				t.Errorf("split because %q, want %q", p.Split.Why, tt.want)
			}
		})
	}
}

func TestProposalsThatCannotBeUsed(t *testing.T) {
	many := func(n, each int) []work.SplitTask {
		var out []work.SplitTask
		for i := range n {
			out = append(out, task(fmt.Sprintf("t%d", i), each))
		}
		return out
	}
	named := task("a", 1)
	named.Name = "../x"
	taken := task("a", 1)
	taken.Promise = "P02"
	tests := []struct {
		name  string
		tasks []work.SplitTask
		want  string
	}{
		{"one part", many(1, 1), "it has 1 part, at least 2 are needed"},
		{"eleven parts", many(11, 1), "at most 10 are possible"},
		{"more than may be given away", many(2, 9), "its parts have 18 iterations together; 16 of the 18 that are left may be given away"},
		{"no iterations", []work.SplitTask{task("a", 0), task("b", 1)}, "part a has a budget of 0 iterations"},
		{"a circle", []work.SplitTask{task("a", 1, "b"), task("b", 1, "a")}, "a → b → a"},
		{"a need that is no part", []work.SplitTask{task("a", 1, "z"), task("b", 1)}, "z"},
		{"an id twice", []work.SplitTask{task("a", 1), task("a", 1)}, "a"},
		{"a name that is a path", []work.SplitTask{named, task("b", 1)}, "path separator"},
		{"a promise of another phase", []work.SplitTask{taken, task("b", 1)}, "the promise of part a is that of phase 02"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := tell(t, phases("01", "02 after 01"), splits(), budget(20))
			st.work("01", wantsSplit)
			st.work("01", proposes(tt.tasks...))
			if prompt := st.prompt("01"); !strings.Contains(prompt, tt.want) || !strings.Contains(prompt, "## Split this phase") {
				t.Errorf("the agent is not told %q, or not asked again", tt.want)
			}

			// A draft and one repair; then the phase goes on as one.
			st.work("01", changesNothing)
			if p := st.phase("01"); p.Split.Ask || !p.Split.Over || !strings.Contains(st.prompt("01"), "goes on as one") {
				t.Errorf("after two tries: %+v", p.Split)
			}
			st.work("01", wantsSplit)
			if st.phase("01").Split.Ask {
				t.Error("it is asked for again")
			}
		})
	}
	t.Run("everything wrong is said at once", func(t *testing.T) {
		st := tell(t, splits(), budget(20))
		st.work("01", proposes(named, task("b", 0), task("c", 40, "z")))
		for _, want := range []string{"path separator", "budget of 0", "may be given away", "z"} {
			if !strings.Contains(st.prompt("01"), want) {
				t.Errorf("the agent is not told %q", want)
			}
		}
	})
	t.Run("no part that gathers", func(t *testing.T) {
		st := tell(t, splits(func(d *work.DecompositionSettings) { d.Integration = true }), budget(20))
		st.work("01", proposes(task("a", 1), task("b", 1, "a"), task("c", 1, "a")))
		if !strings.Contains(st.prompt("01"), "no part puts the others together") {
			t.Error("the agent is not told")
		}
		st.work("01", proposes(task("a", 1), task("b", 1, "a"), task("c", 1, "b")))
		st.isPending("01.1 folder")
	})
}

func TestAPartThatFails(t *testing.T) {
	st := tell(t, splits(), budget(12))
	st.work("01", proposes(task("a", 1), task("b", 1, "a"), task("c", 1, "b"), task("d", 1)))
	st.isPending("01.1 folder")
	st.work("01.1") // claims nothing, and its budget is gone
	st.ended("01.1", work.PhaseFailed, work.ReasonBudgetExhausted)
	for id, want := range map[string]dag.State{"a": dag.Failed, "b": dag.Skipped, "c": dag.Skipped, "d": ""} {
		if got := st.phase("01").Split.task(id); got.State != want || want == dag.Skipped && got.Cause != "a" {
			t.Errorf("part %s is %q because of %q, want %q", id, got.State, got.Cause, want)
		}
	}
	if d := st.phase("01.2"); d.Plan.Name != "part d" {
		t.Errorf("after a failure goes on %q, want d, which needs nothing", d.Plan.Name)
	}
	st.partDone("01.2", "d")
	st.isPending("01 iterate")
	if prompt := st.prompt("01"); !strings.Contains(prompt, "Part c (part c) was not begun: it needs a") || !strings.Contains(prompt, "All parts of this phase are over") {
		t.Error("the agent is not told what is missing")
	}
}

// A person sees the parts with what proves them, and is not asked for each again.
func TestPeopleAndParts(t *testing.T) {
	own := task("a", 2)
	own.Verify = []string{"make parser"}
	begin := func(t *testing.T) *story {
		st := tell(t, splits(), budget(12), human(gates.PointDecompose, gates.PointSubPhase, gates.PointPhaseStart))
		st.approve("01", gates.PointPhaseStart)
		st.work("01", proposes(own, task("b", 1)))
		return st
	}
	t.Run("approved", func(t *testing.T) {
		st := begin(t)
		if cp := st.asked("01", gates.PointDecompose); !strings.Contains(cp.Facts, "proven by: make parser") || !strings.Contains(cp.Facts, "on a.go") || !strings.Contains(cp.Question, "into 2 parts") {
			t.Errorf("the person is shown %q, %q", cp.Question, cp.Facts)
		}
		st.approve("01", gates.PointDecompose)
		st.isPending("01.1 folder")
		if got := st.phase("01.1").Set; !got.VerifyOwn || got.Verify[0] != "make parser" {
			t.Errorf("the part is proven by %v", got.Verify)
		}
	})
	t.Run("changes", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointDecompose, changes, "smaller parts")
		st.isPending("01 iterate")
		if prompt := st.prompt("01"); !strings.Contains(prompt, "smaller parts") || !strings.Contains(prompt, "## Split this phase") {
			t.Error("the agent is not asked again with the comment")
		}
	})
	t.Run("rejected", func(t *testing.T) {
		st := begin(t)
		st.answer("01", gates.PointDecompose, no, "do it yourself")
		st.isPending("01 iterate")
		if prompt := st.prompt("01"); !strings.Contains(prompt, "not split: do it yourself") || strings.Contains(prompt, "## Split") {
			t.Error("the agent is not told to go on as one")
		}
	})
	t.Run("where nobody looks, only the owner's commands prove", func(t *testing.T) {
		st := tell(t, splits(), budget(12))
		both := own
		both.Verify = []string{"make parser", "make test"}
		both.ID, both.DependsOn = "b", []string{"a"}
		st.work("01", proposes(own, both))
		if got := st.phase("01.1").Set; got.VerifyOwn || len(got.Verify) != 1 || got.Verify[0] != "make test" {
			t.Errorf("the part is proven by %v", got.Verify)
		}
	})
}

// A run that is begun again has forgotten nothing of its parts.
func TestPartsAfterAResume(t *testing.T) {
	st := tell(t, splits(), budget(12))
	st.work("01", proposes(task("a", 2), task("b", 1, "a")))
	st.partDone("01.1", "a")
	data, err := st.s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if st.s, err = Restore(data); err != nil {
		t.Fatal(err)
	}
	st.isPending("01.2 folder")
	st.partDone("01.2", "b")
	st.isPending("01 iterate")
}

// gateSaid holds that the last decision at a gate about a phase was this one.
func (st *story) gateSaid(n string, at gates.Point, decision, why string) {
	st.t.Helper()
	var last work.GateDecidedData
	for _, e := range st.events {
		var d work.GateDecidedData
		if e.Kind == work.GateDecided && e.Phase == n && decode(e, &d) == nil && d.Gate == string(at) {
			last = d
		}
	}
	if last.Decision != decision || !strings.Contains(last.Reason, why) {
		st.t.Errorf("gate %s said %q because of %q, want %s because of %q", at, last.Decision, last.Reason, decision, why)
	}
}
