package tui

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// staged is a run with a phase at every stage, in the order of the stages.
func staged(t *testing.T) *orchestrator.State {
	t.Helper()
	s := &orchestrator.State{
		Run: "r", Live: true, Head: "head", Phases: map[string]*orchestrator.Phase{}, Open: map[string]*work.Checkpoint{},
		Baseline: orchestrator.Baseline{Stage: orchestrator.BaselinePassed},
	}
	s.Spec.Base.Commit = "base"
	for i, stage := range orchestrator.Stages() {
		n := fmt.Sprintf("%02d", i+1)
		p := &orchestrator.Phase{View: orchestrator.View{Number: n, Stage: stage, Plan: work.Phase{Number: n, Name: string(stage)}, Counting: orchestrator.Counting{Kind: orchestrator.IterationWork, Budget: 4, Spent: 1}}}
		if stage == orchestrator.StageFinished {
			p.Outcome = work.PhaseDone
		}
		s.Phases[n], s.Order = p, append(s.Order, n)
	}
	return s
}

func at(s *orchestrator.State, stage orchestrator.Stage) *orchestrator.View {
	for _, p := range s.Phases {
		if p.Stage == stage {
			return &p.View
		}
	}
	return nil
}

// Every phase is counted once, whatever its stage, and every one that is under
// way has a row that says what is being done.
func TestBoardKnowsEveryStage(t *testing.T) {
	t.Parallel()
	s := staged(t)
	at(s, orchestrator.StageOutage).Outage = &orchestrator.Outage{Until: noon}
	iterate := at(s, orchestrator.StageIterate)
	iterate.Begun = true
	b := BoardOf(s)
	if want := (phaseCount{done: 1, running: len(s.Order) - 4, asked: 1, waiting: 2}); b.count != want {
		t.Errorf("counted %+v, want %+v", b.count, want)
	}
	rows := map[string]phaseRow{}
	for _, r := range b.rows {
		rows[r.name] = r
		if r.doing == "" || r.number == "" {
			t.Errorf("row %+v says nothing", r)
		}
	}
	for _, stage := range orchestrator.Stages() {
		_, shown := rows[string(stage)]
		switch stage {
		case orchestrator.StageWaiting, orchestrator.StageReady, orchestrator.StageFinished, orchestrator.StageAsked:
			if shown {
				t.Errorf("%s: nothing is under way", stage)
			}
		default:
			if !shown {
				t.Errorf("%s: not shown", stage)
			}
		}
	}
	if r := rows["outage"]; !r.until.Equal(noon) || !r.trouble {
		t.Errorf("outage: %+v", r)
	}
	if got := rows["control"].doing; !strings.Contains(got, "asking the tests") {
		t.Errorf("test runners are asked: %q", got)
	}
	if got := rows["iterate"].iteration; got != "2/4" {
		t.Errorf("the second iteration of four is %q", got)
	}
	iterate.Kind = orchestrator.IterationResolve
	if got := rowOf(s, iterate).iteration; got != "1/4+" {
		t.Errorf("an iteration outside the budget is %q", got)
	}
	for outcome, count := range map[work.PhaseOutcome]phaseCount{
		work.PhaseFailed: {failed: 1}, work.PhaseSkipped: {skipped: 1}, work.PhaseCancelled: {cancelled: 1},
	} {
		var c phaseCount
		if c.add(&orchestrator.View{Stage: orchestrator.StageFinished, Ending: orchestrator.Ending{Outcome: outcome}}); c != count {
			t.Errorf("%s: counted %+v", outcome, c)
		}
	}
}

// A sub-phase stands below its parent and is no node of the graph.
func TestBoardOfSubPhase(t *testing.T) {
	t.Parallel()
	s := staged(t)
	parent := at(s, orchestrator.StageSub)
	parent.Child = parent.Number + ".1"
	s.Phases[parent.Child] = &orchestrator.Phase{View: orchestrator.View{Number: parent.Child, Parent: parent.Number, Stage: orchestrator.StageIterate, Plan: work.Phase{Name: "child"}}}
	before := BoardOf(staged(t)).count
	s.Order = append(s.Order, parent.Child)
	b := BoardOf(s)
	if b.count != before {
		t.Errorf("counted %+v, want %+v", b.count, before)
	}
	for i, r := range b.rows {
		if r.number == parent.Number {
			if next := b.rows[i+1]; next.number != parent.Child || !next.child || r.doing != "sub-phase "+parent.Child {
				t.Errorf("%+v is followed by %+v", r, next)
			}
			return
		}
	}
	t.Error("the parent is not shown")
}

// A question knows what changed: of its phase, of the parent when a sub-phase
// has not begun, of the run when a phase has not, or of the whole result.
func TestQuestionsKnowTheirChange(t *testing.T) {
	t.Parallel()
	s := staged(t)
	s.Phases["05"].Base, s.Phases["05"].Last = "p0", "p1"
	s.Phases["05.1"] = &orchestrator.Phase{View: orchestrator.View{Number: "05.1", Parent: "05"}}
	for i, c := range []struct{ phase, kind, from, to, about string }{
		{"01", "phase.start", "base", "head", "the run so far"},
		{"05", "stale", "p0", "p1", "phase 05"},
		{"05.1", "phase.start", "p0", "p1", "phase 05"},
		{"", "final", "base", "head", "the result"},
		{"", "baseline", "base", "head", "the run so far"},
	} {
		id := string(rune('e' - i)) // the youngest has the first id
		s.Open[id] = &work.Checkpoint{ID: id, Phase: c.phase, Kind: c.kind, OpenedAt: noon.Add(time.Duration(i) * time.Second)}
		b := BoardOf(s)
		got := b.Questions[len(b.Questions)-1]
		if got.Checkpoint.ID != id {
			t.Fatalf("%d questions, the last is %s; they are not in the order of their opening", len(b.Questions), got.Checkpoint.ID)
		}
		if got.from != c.from || got.to != c.to || got.About != c.about {
			t.Errorf("%s %s: %s..%s (%s), want %+v", c.phase, c.kind, got.from, got.to, got.About, c)
		}
	}
	s.Stopping = &orchestrator.RunStoppingData{Reason: "the deadline has come"}
	if b := BoardOf(s); len(b.Questions) > 0 || b.stopping == "" {
		t.Errorf("the run stops, and still asks: %+v", b)
	}
	s.Head = ""
	if q := questionOf(s, *s.Open["b"]); q.changed() {
		t.Errorf("there is no head yet, but %+v has a change", q)
	}
}

// The view keeps its own copy, joins what agents say with it, and forgets that
// when the phase takes its next step. Nobody reads the state later.
func TestViewJoinsLifeSigns(t *testing.T) {
	t.Parallel()
	clock := noon
	v := &View{
		p:     &project.Checkout{Env: project.Env{Now: func() time.Time { return clock }}},
		plain: &narrate.LogWatcher{Log: log.New(io.Discard)}, signs: map[string]*lifeSign{}, news: make(chan struct{}, 1),
	}
	s := staged(t)
	p := at(s, orchestrator.StageIterate)
	p.Begun = true
	row := func() phaseRow {
		t.Helper()
		for _, r := range v.look().board.rows {
			if r.number == p.Number {
				return r
			}
		}
		t.Fatal("the phase is not shown")
		return phaseRow{}
	}
	v.Events(nil, s)
	clock = clock.Add(time.Minute)
	n := int64(500)
	usd := 0.25
	v.Activity(work.Activity{Phase: p.Number, Kind: "tool", Text: "edit x"})
	v.Activity(work.Activity{Phase: p.Number, Kind: "usage", Usage: work.Usage{InputTokens: &n, OutputTokens: &n, CostUSD: &usd}})
	v.Activity(work.Activity{Phase: "99", Kind: "text", Text: "who is that?"})
	if r := row(); r.doing != "» edit x" || r.spent.tokens != 1000 || r.spent.usd != 0.25 || !r.began.Equal(noon) {
		t.Errorf("while the agent works: %+v", r)
	}
	if g := v.look(); g.board.spent.tokens != 1000 {
		t.Errorf("the run's sum leaves the current iteration out: %+v", g.board.spent)
	}
	// The iteration ends: its usage is in the ledger from now on.
	p.Stage, p.Begun, p.Spent = orchestrator.StageVerify, false, 2
	p.Usage = orchestrator.Ledger{Tokens: 1000, USD: 0.25}
	v.Events(nil, s)
	if r := row(); r.doing != "verify" || r.spent.tokens != 1000 || !r.began.Equal(noon) {
		t.Errorf("after the iteration: %+v", r)
	}
	p.Stage = orchestrator.StageFinished
	v.Events(nil, s)
	v.Activity(work.Activity{Phase: p.Number, Kind: "text", Text: "late"})
	p.Stage = orchestrator.StageIterate
	clock = clock.Add(time.Minute)
	v.Events(nil, s)
	if r := row(); r.doing == "late" || !r.began.Equal(clock) {
		t.Errorf("begun anew: %+v", r)
	}
	data, err := json.Marshal(orchestrator.CheckpointAnsweredData{ID: "r.1", By: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	v.Events([]work.Event{{Kind: work.CheckpointAnswered, Data: data}}, s)
	if a := v.look().answered; len(a) != 1 || a[0].By != "bob" {
		t.Errorf("answers: %+v", a)
	}
	if a := v.look().answered; len(a) != 0 {
		t.Errorf("told twice: %+v", a)
	}
}

// What the block shows while it lasts is not logged as well.
func TestLastingEvents(t *testing.T) {
	t.Parallel()
	gate := func(decision string) work.Event {
		data, err := json.Marshal(work.GateDecidedData{Decision: decision})
		if err != nil {
			t.Fatal(err)
		}
		return work.Event{Kind: work.GateDecided, Data: data}
	}
	in := []work.Event{{Kind: work.PhaseStarted}, {Kind: work.IterationStarted}, gate("ask"), {Kind: work.CheckpointOpened}, gate("go"), {Kind: work.PhaseFinished}}
	var got []work.EventKind
	for _, e := range lasting(in) {
		got = append(got, e.Kind)
	}
	if len(got) != 3 || got[0] != work.PhaseStarted || got[1] != work.GateDecided || got[2] != work.PhaseFinished {
		t.Errorf("lasting: %v", got)
	}
	if in[1].Kind != work.IterationStarted {
		t.Error("the driver's own list was changed")
	}
}
