package orchestrator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// aJob is a job at a level, proven by one command.
func aJob(t *testing.T, level string, change ...func(*Spec)) *story {
	t.Helper()
	all := append([]func(*Spec){func(sp *Spec) {
		sp.Plan, sp.Policy = work.Plan{}, preset(t, level)
		sp.Settings.Phases = map[string]work.PhaseSettings{}
		sp.Job = &work.Job{Description: "write the report", Start: "cs", Phase: work.PhaseSettings{Budget: 3, Agent: "a", Permission: work.PermissionStandard, Verify: []string{"make test"}}}
	}}, change...)
	return tell(t, all...)
}

func todos(total, done int, problems ...string) func(*IterationDone) {
	return func(d *IterationDone) {
		c := work.TodoCheck{Total: total, Problems: problems}
		for i := range done {
			c.Done = append(c.Done, fmt.Sprintf("todo %d", i+1))
		}
		d.Todos = &c
	}
}

func completes(raw ...string) func(*IterationDone) {
	return func(d *IterationDone) {
		for _, r := range raw {
			d.Report.Signals.JobComplete = append(d.Report.Signals.JobComplete, json.RawMessage(r))
		}
	}
}

const complete = `{"summary":"the report is written","deliverables":["report.md"],"confidence":0.8}`

func (st *story) promise(n string) func(*IterationDone) { return says(st.phase(n).Plan.Promise) }

// plans takes a strategic phase to its end; does a tactical one.
func (st *story) plans(n string) {
	st.t.Helper()
	st.work(n, st.promise(n), todos(6, 0))
	st.verify(n, true)
}

func (st *story) does(n string) {
	st.t.Helper()
	st.work(n, st.promise(n), todos(6, 6))
	st.verify(n, true)
}

func (st *story) joins(n string) {
	st.t.Helper()
	st.merge(n)
	st.land(n)
}

func (st *story) decided() JobDecidedData {
	st.t.Helper()
	return last[JobDecidedData](st, work.JobDecided)
}

// A job alternates until it is complete, and asks where its level says so.
func TestJobByLevel(t *testing.T) {
	for _, tt := range []struct {
		level string
		asks  [4]bool // first plan, work, later plan, end
	}{
		{"full", [4]bool{}},
		{"review", [4]bool{3: true}},
		{"partial", [4]bool{0: true, 3: true}},
		{"guided", [4]bool{0: true, 2: true, 3: true}},
		{"dependent", [4]bool{true, true, true, true}},
	} {
		t.Run(tt.level, func(t *testing.T) {
			st := aJob(t, tt.level)
			goOn := func(i int, n string, at gates.Point) {
				t.Helper()
				if tt.asks[i] {
					st.approve(n, at)
				}
				if got := st.decided().Frozen; got != tt.asks[i] {
					t.Errorf("at the end of phase %s a person is asked: %v, want %v", n, got, tt.asks[i])
				}
				st.joins(n)
			}
			st.plans("1")
			goOn(0, "1", gates.PointPlanInitial)
			st.does("2")
			goOn(1, "2", gates.PointTactical)
			st.plans("3")
			goOn(2, "3", gates.PointPlanLater)
			st.work("4", completes(complete), todos(6, 6))
			st.verify("4", true)
			if d := st.phase("4").Complete; d == nil {
				t.Fatal("the job is not said to be complete")
			}
			at := gates.PointFinal
			goOn(3, "4", at)
			st.deliver()
			st.runEnded(work.RunCompleted)
			if st.s.Job.Claim == nil || st.s.Job.Claim.Summary != "the report is written" || st.s.Job.Status != gates.JobCompleted {
				t.Errorf("the job ends %+v", st.s.Job)
			}
			for n, want := range map[string]string{"1": "strategic initial", "2": "tactical staged", "3": "strategic transition", "4": "tactical staged"} {
				if p := st.phase(n); string(p.Plan.Kind)+" "+string(p.Todos) != want {
					t.Errorf("phase %s is %s %s, want %s", n, p.Plan.Kind, p.Todos, want)
				}
			}
		})
	}
}

// The end of a phase is what its todos bear out, whatever the agent says.
func TestJobTodos(t *testing.T) {
	for _, tt := range []struct {
		name string
		told func(*IterationDone)
		why  string
	}{
		{"four", todos(4, 0), "4 todos"},
		{"twenty-one", todos(21, 0), "21 todos"},
		{"none", todos(0, 0), "0 todos"},
		{"unusable", todos(6, 0, "line 3: a todo without a title"), "without a title"},
		{"all done already", todos(6, 6), "done already"},
		{"nobody knows", func(*IterationDone) {}, "nobody knows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := aJob(t, "full")
			st.work("1", st.promise("1"), tt.told)
			st.isPending("1 iterate")
			if text := Prompt(st.s, st.phase("1"), "session"); !strings.Contains(text, tt.why) {
				t.Errorf("the agent is told %q", text)
			}
		})
	}
	st := aJob(t, "full")
	st.plans("1")
	st.joins("1")
	st.work("2", st.promise("2"), todos(6, 5))
	st.isPending("2 iterate")
	st.work("2", st.promise("2"), todos(0, 0)) // taken out, not done
	st.isPending("2 iterate")
	st.work("2", completes(complete), todos(6, 5))
	st.isPending("2 iterate")
	if st.phase("2").Complete != nil {
		t.Error("a job with an open todo counts as complete")
	}
	st.work("2", completes(complete, `{"summary":"another","confidence":0.1}`), todos(6, 6))
	st.isPending("2 iterate")
	st.work("2", completes(`{"summary":"x","approved":true}`), todos(6, 6))
	st.isPending("2 iterate")
	st.work("2", st.promise("2"), todos(6, 6))
	st.isPending("2 verify")
}

func TestJobBudgetOfTodos(t *testing.T) {
	st := aJob(t, "full")
	st.plans("1")
	st.joins("1")
	if got := st.phase("2").Budget; got != 12 {
		t.Errorf("a tactical phase with 6 todos has %d iterations, want two for each", got)
	}
}

// The resume table of docs/jobs.md, row by row.
func TestJobFeedback(t *testing.T) {
	t.Run("first plan", func(t *testing.T) {
		st := aJob(t, "partial")
		st.plans("1")
		st.answer("1", gates.PointPlanInitial, work.CheckpointChangesRequested, "two chapters")
		if d := st.decided(); d.Next != gates.ReworkStrategic || d.Todos != gates.TodosResume || d.Merge || d.Round != 1 {
			t.Errorf("it goes on %+v", d)
		}
		st.isPending("1 iterate")
		text := Prompt(st.s, st.phase("1"), st.s.sessionOf(st.phase("1")))
		if !strings.Contains(text, "two chapters") || !strings.Contains(text, "Review Feedback") {
			t.Errorf("the agent is told %q", text)
		}
		// It has to be claimed again, and freezes again.
		st.work("1", todos(6, 0))
		st.isPending("1 iterate")
		st.plans("1")
		if cp := st.asked("1", gates.PointPlanInitial); !strings.Contains(cp.Facts, "test asked for changes: two chapters") {
			t.Errorf("who looks again is not told what was asked for: %s", cp.Facts)
		}
	})
	t.Run("work", func(t *testing.T) {
		st := aJob(t, "dependent")
		st.plans("1")
		st.approve("1", gates.PointPlanInitial)
		st.joins("1")
		st.does("2")
		st.answer("2", gates.PointTactical, work.CheckpointChangesRequested, "chapter two is missing")
		if d := st.decided(); d.At != gates.AfterTactical || d.Next != gates.FeedbackStrategic || d.Merge {
			t.Errorf("it goes on %+v", d)
		}
		st.plans("3")
		st.approve("3", gates.PointPlanLater)
		st.joins("3")
		if p := st.phase("4"); p.Plan.Kind != work.KindTactical || st.s.Head != "landed-3" {
			t.Errorf("phase 4 is %s, the head is %s", p.Plan.Kind, st.s.Head)
		}
	})
	t.Run("end", func(t *testing.T) {
		st := aJob(t, "review")
		st.plans("1")
		st.joins("1")
		st.work("2", completes(complete), todos(6, 6))
		st.verify("2", true)
		work2 := st.phase("2").Last
		st.answer("2", gates.PointFinal, work.CheckpointChangesRequested, "the summary is wrong")
		if d := st.decided(); d.At != gates.AtJobEnd || d.Next != gates.FeedbackStrategic || d.Merge {
			t.Errorf("it goes on %+v", d)
		}
		st.ended("2", work.PhaseDone, "")
		p := st.phase("3")
		if p.Plan.Kind != work.KindStrategic || p.Todos != gates.TodosResume || p.Last != work2 || p.Base != st.s.Head {
			t.Errorf("phase 3 is %s %s from %s on %s", p.Plan.Kind, p.Todos, p.Last, p.Base)
		}
		st.folder("3")
		if text := Prompt(st.s, p, ""); !strings.Contains(text, "the summary is wrong") {
			t.Errorf("the agent is told %q", text)
		}
		st.plans("3")
		st.joins("3")
		if st.phase("4").Plan.Kind != work.KindTactical {
			t.Error("the corrective todos are not done")
		}
	})
	t.Run("three rounds", func(t *testing.T) {
		st := aJob(t, "partial")
		for range 3 {
			st.plans("1")
			st.answer("1", gates.PointPlanInitial, work.CheckpointChangesRequested, "no")
		}
		if d := last[WarnedData](st, work.Warned); !strings.Contains(d.What, "do not converge") {
			t.Errorf("the last warning is %+v", d)
		}
		st.plans("1")
		if facts := st.asked("1", gates.PointPlanInitial).Facts; !strings.Contains(facts, "does not converge") {
			t.Errorf("the person reads %q", facts)
		}
		st.approve("1", gates.PointPlanInitial)
		if st.s.Job.Rounds != 0 {
			t.Errorf("after an approval %d rounds are counted", st.s.Job.Rounds)
		}
	})
}

func TestJobRejected(t *testing.T) {
	st := aJob(t, "partial")
	st.plans("1")
	st.answer("1", gates.PointPlanInitial, work.CheckpointRejected, "not worth it")
	st.stopped(work.RunCancelled, "not worth it")
	st.runEnded(work.RunCancelled)

	st = aJob(t, "review")
	st.plans("1")
	st.joins("1")
	st.work("2", completes(complete), todos(6, 6))
	st.verify("2", true)
	st.answer("2", gates.PointFinal, work.CheckpointRejected, "it is wrong")
	st.ended("2", work.PhaseFailed, work.ReasonRejected)
	st.deliver()
	st.runEnded(work.RunFailed)
}

// A job that comes to no end is stopped, and can go on.
func TestJobWithoutEnd(t *testing.T) {
	st := aJob(t, "full", func(sp *Spec) { sp.Job.MaxPhases = 2 })
	st.plans("1")
	st.joins("1")
	st.does("2")
	st.joins("2")
	st.stopped(work.RunLimit, "max_phases")
	st.runEnded(work.RunLimit)
	st.feed(Resumed{})
	st.runEnded(work.RunLimit)
	st.feed(Resumed{RunResumedData: RunResumedData{MaxPhases: 3}})
	st.isPending("3 folder")
	if st.spec.Job.MaxPhases != 2 {
		t.Error("what the run was opened with is changed")
	}
}

// A phase that fails ends the job; resuming opens it again.
func TestJobFails(t *testing.T) {
	st := aJob(t, "full")
	for range 3 {
		st.work("1")
	}
	st.ended("1", work.PhaseFailed, work.ReasonBudgetExhausted)
	st.deliver()
	st.runEnded(work.RunFailed)
	st.feed(Resumed{Reopen: true})
	st.plans("1")
	st.joins("1")
	st.isPending("2 folder")
}

// Every cell of docs/jobs.md: what follows each answer at each place, in
// a job that came there.
func TestJobAnswers(t *testing.T) {
	to := func(n string) func(*story) {
		return func(st *story) {
			st.plans("1")
			if n == "1" {
				return
			}
			st.approve("1", gates.PointPlanInitial)
			st.joins("1")
			st.does("2")
			if n == "2" {
				return
			}
			st.approve("2", gates.PointTactical)
			st.joins("2")
			st.plans("3")
		}
	}
	ends := func(st *story) {
		st.plans("1")
		st.approve("1", gates.PointPlanInitial)
		st.joins("1")
		st.work("2", completes(complete), todos(6, 6))
		st.verify("2", true)
	}
	again := func(n string) func(*story) { // the same phase, unmerged, and frozen again
		return func(st *story) {
			st.isPending(n + " iterate")
			if p := st.phase(n); p.Todos != gates.TodosResume || st.s.Head == "landed-"+n {
				st.t.Errorf("phase %s goes on with %s todos, the head is %s", n, p.Todos, st.s.Head)
			}
			st.plans(n)
		}
	}
	added := func(n string, kind work.PhaseKind, set gates.TodoSet, merged bool) func(*story) {
		return func(st *story) {
			last := string(n[0] - 1)
			if merged {
				st.joins(last)
			}
			p := st.phase(n)
			if p.Plan.Kind != kind || p.Todos != set || merged != (st.s.Head == "landed-"+last) {
				st.t.Errorf("phase %s is %s with %s todos, the head is %s", n, p.Plan.Kind, p.Todos, st.s.Head)
			}
		}
	}
	over := func(outcome work.RunOutcome, status gates.JobStatus) func(*story) {
		return func(st *story) {
			st.runEnded(outcome)
			if st.s.Job.Status != status {
				st.t.Errorf("the job is %s, want %s", st.s.Job.Status, status)
			}
		}
	}
	const yes, changes, no = work.CheckpointApproved, work.CheckpointChangesRequested, work.CheckpointRejected
	for _, place := range []struct {
		at     gates.Point
		phase  string
		come   func(*story)
		follow map[work.CheckpointStatus]func(*story)
	}{
		{gates.PointPlanInitial, "1", to("1"), map[work.CheckpointStatus]func(*story){
			yes: added("2", work.KindTactical, gates.TodosStaged, true), changes: again("1"), no: over(work.RunCancelled, gates.JobCancelled),
		}},
		{gates.PointTactical, "2", to("2"), map[work.CheckpointStatus]func(*story){
			yes: added("3", work.KindStrategic, gates.TodosTransition, true), changes: added("3", work.KindStrategic, gates.TodosResume, false),
			no: over(work.RunCancelled, gates.JobCancelled),
		}},
		{gates.PointPlanLater, "3", to("3"), map[work.CheckpointStatus]func(*story){
			yes: added("4", work.KindTactical, gates.TodosStaged, true), changes: again("3"), no: over(work.RunCancelled, gates.JobCancelled),
		}},
		{gates.PointFinal, "2", ends, map[work.CheckpointStatus]func(*story){
			yes:     func(st *story) { st.joins("2"); st.deliver(); over(work.RunCompleted, gates.JobCompleted)(st) },
			changes: added("3", work.KindStrategic, gates.TodosResume, false),
			no:      func(st *story) { st.deliver(); over(work.RunFailed, gates.JobFailed)(st) },
		}},
	} {
		for answer, follow := range place.follow {
			t.Run(fmt.Sprintf("%s %s", place.at, answer), func(t *testing.T) {
				st := aJob(t, "dependent")
				place.come(st)
				st.answer(place.phase, place.at, answer, "a word")
				follow(st)
			})
		}
	}
}
