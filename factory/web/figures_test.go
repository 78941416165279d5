package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"forge/factory/web/picture"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

func event(t *testing.T, kind work.EventKind, phase string, at time.Time, data any) work.Event {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return work.Event{Kind: kind, Phase: phase, Time: at, Data: text}
}

func TestFindingsAreCountedByWhatBecameOfThem(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	two := []work.Severity{work.SeverityMajor, work.SeverityMinor}
	ruled := func(v review.Ruling, phase string, found []work.Severity) work.Event {
		return event(t, work.ArbiterDecided, phase, at, orchestrator.ArbiterDecidedData{Verdict: v, Findings: found})
	}
	gate := func(phase, decision string) work.Event {
		return event(t, work.GateDecided, phase, at, work.GateDecidedData{Gate: "findings", Decision: decision})
	}
	f := figuresOf(&orchestrator.State{Outcome: work.RunCompleted}, []work.Event{
		ruled(review.Fix, "01", two), ruled(review.Proceed, "01", two[1:]), ruled(review.Proceed, "02", nil), ruled(review.FailPhase, "03", two[:1]),
		ruled(review.AskHuman, "04", two), gate("04", "ask"), gate("04", "go"), gate("04", "go"),
		ruled(review.AskHuman, "05", two[:1]), gate("05", "fix"),
		event(t, work.RunFinished, "", at, work.RunFinishedData{}),
	})
	if f.Accepted != 4 || f.Let != 3 || !f.Ended.Equal(at) {
		t.Errorf("accepted %d let %d ended %v, want 4, 3, %v", f.Accepted, f.Let, f.Ended, at)
	}
}

func TestMetrics(t *testing.T) {
	now := time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC) // a Wednesday
	day := func(n int) time.Time { return now.AddDate(0, 0, n) }
	var board boardFigures
	moved := func(seq, issue int64, at time.Time, to work.Column) work.IssueEntry {
		return work.IssueEntry{Seq: seq, Issue: issue, At: at, Action: work.IssueMoved, Fields: []work.FieldChange{{Field: "column", To: string(to)}}}
	}
	added := func(seq, issue int64, at time.Time) work.IssueEntry {
		return work.IssueEntry{Seq: seq, Issue: issue, At: at, Action: work.IssueAdded}
	}
	// In two parts, as two looks at the page read it.
	board.fold([]work.IssueEntry{added(1, 1, day(-10)), added(2, 2, day(-9)), moved(3, 1, day(-8), work.ColumnDone), added(4, 3, day(-5))})
	board.fold([]work.IssueEntry{moved(5, 2, day(-3), work.ColumnDone), moved(6, 3, day(-1), work.ColumnDone), moved(7, 3, day(0), work.ColumnReady)})
	one, two := 1.0, 3.0
	runs := []runFigures{
		{Outcome: work.RunCompleted, Issue: 1, CostUSD: &one, Ended: day(-8), Accepted: 3, Let: 1, Phases: []phaseFigures{{"implement", "claude", "m1", work.PhaseDone}, {"test", "claude", "m1", work.PhaseFailed}, {"test", "codex", "", work.PhaseSkipped}}},
		{Outcome: work.RunCompleted, Issue: 3, CostUSD: &two, Ended: day(-1), Phases: []phaseFigures{{"implement", "codex", "", work.PhaseDone}}},
		{Outcome: work.RunFailed, CostUSD: &two, Ended: day(-1)},
		{Outcome: work.RunFrozen, CostUSD: &one},
	}
	m := sumOf(runs, board, now)
	if board.Line != 7 || m.Issues != 2 || m.Lead() != "4.0 days" || m.Longest() != "6.0 days" {
		t.Errorf("line %d, %d issues, lead %s, longest %s", board.Line, m.Issues, m.Lead(), m.Longest())
	}
	if n := len(m.Weeks); n != weeksShown || m.Weeks[n-1].Begin.Weekday() != time.Monday || m.Weeks[n-1].Issues != 0 || m.Weeks[n-2].Issues != 2 || m.Weeks[n-1].Runs != 1 || m.Weeks[n-2].Runs != 1 {
		t.Errorf("weeks %+v", m.Weeks)
	}
	if m.Runs[0] != (rate{"all runs", 2, 3}) || m.Findings != (rate{"", 3, 4}) {
		t.Errorf("runs %+v findings %+v", m.Runs, m.Findings)
	}
	if len(m.Types) != 2 || m.Types[0] != (rate{"implement", 2, 2}) || m.Types[1] != (rate{"test", 0, 1}) {
		t.Errorf("types %+v", m.Types)
	}
	if m.Agents[0] != (rate{"claude", 1, 2}) || m.Agents[1] != (rate{"codex", 1, 1}) || m.Models[1].Name != "not named" {
		t.Errorf("agents %+v models %+v", m.Agents, m.Models)
	}
	// Issue 3 was taken back, so that its change is not accepted; all money
	// that was spent counts for the one that is.
	if m.Accepted != 1 || m.PerChange == nil || *m.PerChange != 8 {
		t.Errorf("accepted %d, per change %v", m.Accepted, m.PerChange)
	}
	runs[3].CostUSD = nil
	if m := sumOf(runs, board, now); m.PerChange != nil || m.UnknownCost != 1 || m.Spent != 7 {
		t.Errorf("a cost that nobody knows was made up: %v %+v", m.PerChange, m)
	}
	for _, f := range figures(m) {
		if f.Plot == "" || len(f.Rows) == 0 {
			t.Errorf("%s: no plot, or no table that says the same", f.Title)
		}
	}
	if len(figures(sumOf(nil, boardFigures{}, now))) != len(figures(m)) {
		t.Error("nothing to count is another page")
	}
}

func TestPhasesAreDrawnAsTheyStand(t *testing.T) {
	for _, tt := range []struct {
		p    orchestrator.View
		want picture.State
		word string
	}{
		{orchestrator.View{Stage: orchestrator.StageWaiting}, picture.Waiting, "waiting"},
		{orchestrator.View{Stage: orchestrator.StageAsked}, picture.Asked, "waits for you"},
		{orchestrator.View{Stage: orchestrator.StageIterate}, picture.Running, "at work"},
		{orchestrator.View{Stage: orchestrator.StageControl}, picture.Running, "asking the tests"},
		{orchestrator.View{Stage: orchestrator.StageFinished, Ending: orchestrator.Ending{Outcome: work.PhaseDone}}, picture.Done, "done"},
		{orchestrator.View{Stage: orchestrator.StageFinished, Ending: orchestrator.Ending{Outcome: work.PhaseFailed}}, picture.Failed, "failed"},
		{orchestrator.View{Stage: orchestrator.StageFinished, Ending: orchestrator.Ending{Outcome: work.PhaseSkipped}}, picture.Skipped, "skipped"},
	} {
		if got := lookOf(&tt.p, true); got != tt.want || tt.p.Word(true) != tt.word {
			t.Errorf("%s %s is drawn as %s, %q", tt.p.Stage, tt.p.Outcome, got, tt.p.Word(true))
		}
	}
	dead := orchestrator.View{Stage: orchestrator.StageGate}
	if got := lookOf(&dead, false); got != picture.Waiting || dead.Word(false) != "stopped" {
		t.Errorf("a phase that no process is in is drawn as %s, %q", got, dead.Word(false))
	}
	phase := func(n, parent string, needs ...string) *orchestrator.Phase {
		return &orchestrator.Phase{View: orchestrator.View{Number: n, Parent: parent, Plan: work.Phase{Number: n, DependsOn: needs}}}
	}
	s := &orchestrator.State{Order: []string{"01", "02", "02.1", "03"}, Phases: map[string]*orchestrator.Phase{
		"01": phase("01", ""), "02": phase("02", "", "01"), "02.1": phase("02.1", "02"), "03": phase("03", "", "01", "02"),
	}}
	nodes := graphNodes(s, true, []string{"01", "03"})
	if !nodes[0].Long || nodes[1].Long || nodes[2].Long || !nodes[3].Long {
		t.Errorf("the longest chain: %+v", nodes)
	}
	if n := nodes[2]; !n.Sub || len(n.Needs) != 1 || n.Needs[0] != "02" {
		t.Errorf("a sub-phase: %+v", n)
	}
	if n := nodes[3]; len(n.Needs) != 2 {
		t.Errorf("a phase: %+v", n)
	}
	s.Job = &orchestrator.JobState{}
	if n := graphNodes(s, true, nil)[3]; len(n.Needs) != 1 || n.Needs[0] != "02" {
		t.Errorf("of a job: %+v", n)
	}
}

func TestRunSaysWhatHoldsItUp(t *testing.T) {
	for _, tt := range []struct {
		c    orchestrator.Chain
		want string
	}{
		{orchestrator.Chain{}, ""},
		{orchestrator.Chain{Phases: []string{"04"}}, "Phase 04 holds the run up."},
		{orchestrator.Chain{Phases: []string{"02", "04"}, Left: 90 * time.Second}, "Phase 02 holds the run up: the longest chain that is left is 02 → 04, about 1 min 30 s by what such phases took."},
		{orchestrator.Chain{Phases: strings.Split("abcdefghij", "")}, "Phase a holds the run up: the longest chain that is left is a → b → c → d → e → f → g → h and 2 more."},
	} {
		if got := heldUp(tt.c); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestChangesAreKeptWithinBounds(t *testing.T) {
	var c changes
	key := func(n int) changeKey { return changeKey{project: "p", to: string(rune('a' + n))} }
	for n := range 20 {
		c.store(key(n), n, changesKept/8)
		c.load(key(0)) // is used again and again, and stays
	}
	if c.size > changesKept {
		t.Errorf("%d bytes are kept", c.size)
	}
	if v, ok := c.load(key(0)); !ok || v != 0 {
		t.Error("what is used was dropped")
	}
	if _, ok := c.load(key(1)); ok {
		t.Error("what is not used was kept")
	}
	c.store(key(30), 1, changesKept)
	if _, ok := c.load(key(30)); ok {
		t.Error("one that fills all of it was kept")
	}
}
