package companion

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// docs/companion.md holds the table of stages.
func TestStagesAreThoseOfTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/companion.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Stages() {
		var may []string
		for _, k := range s.May {
			may = append(may, string(k))
		}
		if row := fmt.Sprintf("| %s | %s | %s |\n", s.Stage, s.When, strings.Join(may, ", ")); !strings.Contains(string(page), row) {
			t.Errorf("docs/companion.md is without %q", row)
		}
	}
	for _, w := range ways() {
		if row := fmt.Sprintf("| `%s` |", w.kind); !strings.Contains(string(page), row) || !strings.Contains(string(page), "| "+w.least.String()+" |") {
			t.Errorf("docs/companion.md is without %q, or its role %s", row, w.least)
		}
	}
}

func TestStageOfAPieceOfWork(t *testing.T) {
	t.Parallel()
	phases := func(job bool, kinds ...work.PhaseKind) *orchestrator.State {
		st := &orchestrator.State{Phases: map[string]*orchestrator.Phase{}}
		if job {
			st.Job = &orchestrator.JobState{}
		}
		for i, k := range kinds {
			n := fmt.Sprintf("%02d", i+1)
			st.Order = append(st.Order, n)
			st.Phases[n] = &orchestrator.Phase{View: orchestrator.View{Number: n, Plan: work.Phase{Kind: k}, Counting: orchestrator.Counting{Iteration: 1}}}
		}
		return st
	}
	idle := phases(false, "")
	idle.Phases["01"].Iteration = 0
	over, lands := phases(false, ""), phases(false, "")
	over.Outcome, lands.Outcome, lands.Live = work.RunCompleted, work.RunCompleted, true
	asks := func(kinds ...string) (out []work.Checkpoint) {
		for _, k := range kinds {
			out = append(out, work.Checkpoint{Kind: k})
		}
		return out
	}
	for _, tc := range []struct {
		name  string
		st    *orchestrator.State
		waits []work.Checkpoint
		want  Stage
	}{
		{"no run", nil, nil, Planning},
		{"nothing has begun", idle, nil, Planning},
		{"a phase has begun", phases(false, ""), nil, Working},
		{"a job plans", phases(true, work.KindStrategic), nil, Planning},
		{"a job works", phases(true, work.KindStrategic, work.KindTactical), nil, Working},
		{"a job plans again", phases(true, work.KindStrategic, work.KindTactical, work.KindStrategic), nil, Planning},
		{"the plan is asked about", phases(true, work.KindStrategic), asks("plan.initial"), PlanWaits},
		{"the beginning is asked about", idle, asks("phase.start"), PlanWaits},
		{"an agent asks", phases(false, ""), asks("ckpt.question"), Working},
		{"a result is asked about", phases(false, ""), asks("final"), ResultWaits},
		{"a plan and a result", phases(false, ""), asks("phase.start", "findings"), ResultWaits},
		{"a point of a project's own", phases(false, ""), asks("ckpt.deliverable"), ResultWaits},
		{"over", over, asks("final"), Over},
		{"over, and its result lands", lands, nil, Working},
	} {
		if got := stageOf(tc.st, tc.waits); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if may := Stage("unheard of").row().May; len(may) != len(Over.row().May) {
		t.Errorf("a stage that nobody knows may propose %v", may)
	}
}
