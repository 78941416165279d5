package orchestrator

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// Every decision that may lead somewhere says where. Journals of earlier versions
// do not: what they come to is what the rules say.
func TestADecisionSaysWhereItLeads(t *testing.T) {
	journals(t, 150, func(seed uint64, w *world) {
		var before []work.Event
		for _, e := range w.journal {
			var d work.GateDecidedData
			if e.Kind != work.GateDecided || decode(e, &d) != nil {
				before = append(before, e)
				continue
			}
			g := theGates.named(d.Gate, e.Phase == "")
			if moves := g != nil && g.moves[d.Decision] != nil; moves != (d.To != "") {
				t.Fatalf("seed %d, event %d: gate %s decides %s, which leads to %q", seed, e.Seq, d.Gate, d.Decision, d.To)
			}
			d.To = ""
			e.Data, _ = encode(d)
			before = append(before, e)
		}
		if got, want := picture(replay(t, w.spec, before)), picture(w.s); got != want {
			t.Fatalf("seed %d: without where decisions lead, the state is\n%s\nwant\n%s", seed, got, want)
		}
	})
}

// The event is believed, not today's rule; and it is not believed where it leads
// to what no such decision can lead to.
func TestADecisionLeadsWhereItsEventSays(t *testing.T) {
	for _, one := range []struct {
		to   Stage
		want Stage
	}{
		{"", StageVerify},
		{StageVerify, StageVerify},
		{StageProven, StageProven}, // as by other rules
		{StageReview, StageJudge},  // nobody reviews it
		{StageLand, StageJudge},    // nothing is merged
		{StageJudge, StageJudge},
		{StageTurn, StageJudge},
		{StageLanded, StageJudge},
		{"no such stage", StageJudge},
	} {
		st := tell(t)
		p := st.s.Phases["01"]
		p.Stage, p.Set.Verify = StageJudge, []string{"true"}
		p.Judged.Claim = ClaimDue
		data, err := encode(work.GateDecidedData{Gate: gateClaim, Decision: decideClaimed, By: "rule:claim", To: string(one.to)})
		if err != nil {
			t.Fatal(err)
		}
		if err := Apply(st.s, work.Event{Seq: st.s.Seq + 1, Kind: work.GateDecided, Phase: "01", Data: data}); err != nil {
			t.Fatal(err)
		}
		if p.Stage != one.want {
			t.Errorf("a claim that leads to %q leads to %q, want %q", one.to, p.Stage, one.want)
		}
		if made := p.Judged.Claim == ClaimMade; made != (one.to == one.want || one.to == "") {
			t.Errorf("a claim that leads to %q is made: %v", one.to, made)
		}
	}
}

// docs/states.md shows the table of what decisions lead to.
func TestTheTableOfGatesIsShown(t *testing.T) {
	var b strings.Builder
	b.WriteString("| gate | decision | leads to |\n|---|---|---|\n")
	for _, g := range theGates.rows {
		names := g.names
		if g.is != nil {
			names = []string{gateStop, string(gates.AnyCheckpoint)}
		}
		for _, decision := range slices.Sorted(maps.Keys(g.moves)) {
			var to []string
			for _, stage := range g.moves[decision] {
				to = append(to, "`"+string(stage)+"`")
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", strings.Join(names, "`, `"), decision, strings.Join(to, ", "))
		}
	}
	path := filepath.Join("..", "docs", "states.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, shown, after, ok := block(string(raw), "gates")
	switch {
	case !ok:
		t.Fatalf("%s has no block of gates", path)
	case *update:
		if err := os.WriteFile(path, []byte(before+b.String()+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case shown != b.String():
		t.Errorf("the table of gates of %s is not the code's; go test ./orchestrator -run TestTheTableOfGates -update writes it anew", path)
	}
}

// fakeGate stops a phase at the beginning of each iteration until a person says
// yes.
func fakeGate() gate {
	return gate{
		names: []string{"fake"}, stages: []Stage{StageGate},
		decide: func(d *decision, p *Phase) bool {
			if p.Allowed == 0 {
				d.open(p, "fake", []string{"fake"}, "Go on?", "")
			}
			return p.Allowed == 0
		},
		answered: func(d *decision, p *Phase, a answer) {
			if a.yes {
				d.say(p, a, decideGo)
				return
			}
			d.say(p, a, decideRework)
		},
		moves: map[string][]Stage{decideGo: {StageGate}, decideRework: {StageIterate}},
		fold:  func(_ *State, p *Phase, d folded) { p.Allowed = 1 },
	}
}

// A gate that is a row of the table and nothing else is asked, recorded, answered
// and folded.
func TestAGateIsARow(t *testing.T) {
	for _, answered := range []work.CheckpointStatus{work.CheckpointApproved, work.CheckpointChangesRequested} {
		table := newGateTable(fakeGate(), iterationGate())
		st := tell(t)
		s, p := st.s, st.s.Phases["01"]
		s.Live, p.Stage = true, StageGate
		step := func(act func(d *decision)) {
			t.Helper()
			d := &decision{s: s, gates: table}
			act(d)
			for _, e := range d.out {
				var data work.GateDecidedData
				if e.Kind != work.GateDecided {
					if err := Apply(s, e); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if err := decode(e, &data); err != nil {
					t.Fatal(err)
				}
				s.Seq = e.Seq
				table.apply(s, s.Phases[e.Phase], e, data)
			}
		}
		step(func(d *decision) { d.settlePhase(p) })
		if p.Stage != StageAsked || len(s.Open) != 1 {
			t.Fatalf("the phase is at %s with %d questions", p.Stage, len(s.Open))
		}
		want := StageGate
		for id := range s.Open {
			a := work.Answer{Checkpoint: id, Status: answered, By: "ann"}
			if answered == work.CheckpointChangesRequested {
				a.Comment, want = "first tidy up", StageIterate
			}
			step(func(d *decision) { d.answered(a) })
		}
		if p.Stage != want || p.Allowed != 1 || len(s.Open) != 0 {
			t.Errorf("%s leads to %s, want %s; allowed %d", answered, p.Stage, want, p.Allowed)
		}
		if told := slices.Contains(p.Comments, "first tidy up"); told != (want == StageIterate) {
			t.Errorf("after %s the agent is told: %v", answered, told)
		}
	}
}

// The table is whole: each point of a policy that runs meet is the gate of some
// row, no name stands twice, and what a decision leads to is a stage.
func TestTheTableOfGates(t *testing.T) {
	seen := map[bool]map[string]bool{true: {}, false: {}}
	for _, g := range theGates.rows {
		for _, name := range g.names {
			if seen[g.ofRun][name] {
				t.Errorf("gate %s stands twice", name)
			}
			seen[g.ofRun][name] = true
		}
		if (len(g.names) > 0 || g.is != nil) && g.decide == nil && g.answered == nil && g.fold == nil {
			t.Errorf("gate %q does nothing", g.names)
		}
		if len(g.names) == 0 && g.is == nil && (g.answered != nil || g.fold != nil || g.moves != nil) {
			t.Errorf("a step at %v answers or folds, and has no name to be found by", g.stages)
		}
		for decision, moves := range g.moves {
			for _, to := range moves {
				run := to == Stage(BaselinePassed) || to == Stage(FinalDeliver)
				if !slices.Contains(Stages(), to) && !(g.ofRun && run) {
					t.Errorf("gate %q leads by %s to %q, which is no stage", g.names, decision, to)
				}
			}
			if len(moves) > 1 && g.leads == nil {
				t.Errorf("gate %q leads by %s to one of %v, and nothing says which", g.names, decision, moves)
			}
		}
	}
	// Issues meet these before there is a run, see factory/triage.
	triage := []gates.Point{gates.PointIntent, gates.PointContext, gates.PointAction}
	for _, pt := range append(gates.Points(), gates.PointQuestion, gates.PointPhaseTransition, gates.PointDeliverable) {
		if pt == gates.AnyCheckpoint {
			pt = gates.CheckpointPoint("notes")
		}
		if known := theGates.named(string(pt), false) != nil || theGates.named(string(pt), true) != nil; known == slices.Contains(triage, pt) {
			t.Errorf("point %s is a gate of runs: %v", pt, known)
		}
	}
}
