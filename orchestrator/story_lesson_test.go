package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/internal/text/texttest"
	"forge/internal/work"
)

func teaches(words ...string) func(*IterationDone) {
	return func(d *IterationDone) {
		for _, w := range words {
			d.Report.Signals.Lessons = append(d.Report.Signals.Lessons, work.Lesson{Text: w, Run: "another", Kept: "the agent"})
		}
	}
}

// What an agent proposes is remembered with where it is from, each once, and no
// prompt holds it. What it says of its source does not count.
func TestALessonIsProposed(t *testing.T) {
	st := tell(t, phases("01", "02 after 01"), setting(func(s *work.Settings) { s.Lessons = []work.Lesson{{Text: "Tests want TZ=UTC."}} }))
	st.work("01", teaches("Run make gen first.", "run MAKE gen first.", "tests want TZ=utc."), says("P01"))
	if len(st.s.Proposed) != 1 {
		t.Fatalf("proposed: %+v", st.s.Proposed)
	}
	want := work.Lesson{Text: "Run make gen first.", Run: st.s.Run, Phase: "01", Commit: st.phase("01").Last, Agent: "a"}
	if got := st.s.Proposed[0]; got != want {
		t.Errorf("proposed %+v, want %+v", got, want)
	}
	if prompt := Prompt(st.s, st.phase("02"), ""); strings.Contains(prompt, "make gen") || !strings.Contains(prompt, "- Tests want TZ=UTC.") {
		t.Errorf("the next phase is told\n%s", prompt)
	}
}

// Three at once are kept, none is cut.
func TestLessonsOfAnIterationAreBounded(t *testing.T) {
	long := strings.Repeat("x", work.MaxLessonBytes+1)
	sig := work.Signals{Lessons: []work.Lesson{{Text: long}, {Text: "a"}, {Text: "b"}, {Text: "c"}, {Text: "d"}, {Text: "e"}}}
	got := clipSignals(sig)
	if len(got.Lessons) != 3 || got.Lessons[2].Text != "c" || !slices.Equal(got.Problems, []string{"a lesson left out: it is too long", "2 lessons left out: at most 3 at once"}) {
		t.Errorf("kept %+v, problems %q", got.Lessons, got.Problems)
	}

	st := tell(t, budget(20))
	for i := range 10 {
		st.work("01", teaches(fmt.Sprintf("lesson %d", i), fmt.Sprintf("trap %d", i), fmt.Sprintf("rule %d", i)))
	}
	if len(st.s.Proposed) != maxProposed {
		t.Errorf("%d are remembered, want %d", len(st.s.Proposed), maxProposed)
	}
}

// Every new session is told what people kept, whoever its agent is, as data; one
// that goes on knows it.
func TestKeptLessonsAreToldAsData(t *testing.T) {
	for _, hostile := range texttest.Prompts() {
		kept := []work.Lesson{{Text: "The mocks are made.", File: "Makefile"}, {Text: hostile, File: hostile}}
		st := tell(t, phases("01", "02"), ofPhaseN("02", func(ps *work.PhaseSettings) { ps.Agent = "b" }), setting(func(s *work.Settings) {
			s.Agents["b"] = work.AgentSettings{Name: "b"}
			s.Lessons = kept
		}))
		for _, n := range []string{"01", "02"} {
			prompt := Prompt(st.s, st.phase(n), "")
			texttest.Fenced(t, prompt)
			if !strings.Contains(prompt, "- The mocks are made. (about Makefile)\n") {
				t.Errorf("phase %s is told\n%s", n, prompt)
			}
		}
		if strings.Contains(Prompt(st.s, st.phase("01"), "s1"), "mocks") {
			t.Error("a session that goes on is told again")
		}
		job := *st.s
		job.Job, job.Spec.Job = &JobState{}, &work.Job{Description: "d"}
		prompt := Prompt(&job, &Phase{View: View{Number: "1", Plan: work.Phase{Name: "phase 1", Kind: work.KindTactical}}}, "")
		texttest.Fenced(t, prompt)
		if !strings.Contains(prompt, "- The mocks are made.") {
			t.Errorf("a job is told\n%s", prompt)
		}
	}
}

// The start of an iteration names the lessons that its prompt holds.
func TestWhichPromptsCarriedALesson(t *testing.T) {
	l := work.Lesson{Text: "Tests want TZ=UTC."}
	st := tell(t, setting(func(s *work.Settings) { s.Lessons = []work.Lesson{l} }))
	st.work("01", func(d *IterationDone) { d.Report.Session = "s1" })
	st.work("01", says("P01"))
	var told [][]string
	for _, e := range st.events {
		var d work.IterationStartedData
		if e.Kind == work.IterationStarted && decode(e, &d) == nil {
			told = append(told, d.Lessons)
		}
	}
	if len(told) != 2 || !slices.Equal(told[0], []string{l.ID()}) || told[1] != nil {
		t.Errorf("told %q", told)
	}
}
