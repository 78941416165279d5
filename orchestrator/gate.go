package orchestrator

import (
	texts "forge/internal/text"
	"forge/internal/work"
)

// A gate is a place where it is decided whether work goes on, changes its
// course, stops, or waits for a person. Each has its file, gate_NAME.go, with
// its rule, its fold and its answer side by side, and its row in theGates.

// gate is a row of the table of gates. A row without a name is a step that a
// phase takes without a gate.
type gate struct {
	// names are those that gate.decided and checkpoints use for it; of a gate
	// with names that nobody can list, is tells whether one is its own.
	names []string
	is    func(name string) bool
	// ofRun says that it is about the run as a whole. A gate of phases may have
	// the same name.
	ofRun bool

	// decide is asked for a phase that stands at one of the stages. It is true
	// where nothing further is to be asked, though nothing may be decided yet.
	stages []Stage
	decide func(d *decision, p *Phase) bool
	// answered turns a person's answer into what follows; nil where nobody is
	// asked. p is nil at a gate of the run.
	answered func(d *decision, p *Phase, a answer)
	// fold takes a decision into the state; nil where all of it is in the events
	// that follow.
	fold func(s *State, p *Phase, e work.Event, d work.GateDecidedData)
	// ownWords says that the words of a person there are not about the phase's
	// work, so that fold has to pass them on.
	ownWords bool
}

// theGates is a constant table. Of those that look at a stage, the first that has
// something to say decides: their order is part of the rules.
var theGates = newGateTable(
	baselineGate(),
	startGate(),
	outcomeStep(),
	evidenceGate(),
	checkpointGate(),
	questionGate(),
	messageGate(),
	mergeGate(),
	reviewGate(),
	arbiterGate(),
	limitStep(),
	claimGate(),
	subPhaseGate(),
	staleGate(),
	budgetStep(),
	iterationGate(),
	outageStep(),
	foldStep(),
	findingsGate(),
	partStep(),
	askedStep(),
	boundaryGate(),
	transitionGate(),
	pullStep(),
	landedStep(),
	editGate(),
	jobGate(),
	resultGate(),
)

// gateTable finds gates by their names, and by the stages that they look at.
type gateTable struct {
	rows    []*gate
	ofPhase map[string]*gate
	ofRun   map[string]*gate
	at      map[Stage][]*gate
}

func newGateTable(rows ...gate) *gateTable {
	t := &gateTable{ofPhase: map[string]*gate{}, ofRun: map[string]*gate{}, at: map[Stage][]*gate{}}
	for _, row := range rows {
		t.rows = append(t.rows, &row)
		for _, name := range row.names {
			if row.ofRun {
				t.ofRun[name] = &row
			} else {
				t.ofPhase[name] = &row
			}
		}
		for _, stage := range row.stages {
			t.at[stage] = append(t.at[stage], &row)
		}
	}
	return t
}

// named is the gate of phases, or of the run, with a name; nil for a name that
// this program does not know.
func (t *gateTable) named(name string, ofRun bool) *gate {
	if ofRun {
		return t.ofRun[name]
	}
	if g := t.ofPhase[name]; g != nil {
		return g
	}
	for _, g := range t.rows {
		if g.is != nil && g.is(name) {
			return g
		}
	}
	return nil
}

// settlePhase emits the next decision about p that follows from the state alone,
// if any.
func (d *decision) settlePhase(p *Phase) {
	for _, g := range d.gates.at[p.Stage] {
		if g.decide(d, p) {
			return
		}
	}
}

// answer is what a person said at a checkpoint.
type answer struct {
	work.Answer
	cp *work.Checkpoint
	by string // person:name
	// yes says that it approves; comment is what the work is sent back with, ""
	// where it is not.
	yes     bool
	comment string
}

// follow turns a valid answer into what it means at its gate.
func (d *decision) follow(cp *work.Checkpoint, given work.Answer) {
	a := answer{Answer: given, cp: cp, by: "person:" + given.By, yes: given.Status == work.CheckpointApproved}
	if a.Status == work.CheckpointChangesRequested {
		a.comment = texts.ClipJSON(a.Comment, maxWords)
		if a.Edited != nil {
			defer d.edited(cp, *a.Edited, a.by)
		}
	}
	p := d.s.Phases[cp.Phase]
	if g := d.gates.named(cp.Kind, p == nil); g != nil && g.answered != nil {
		g.answered(d, p, a)
	}
}

// say records what a person decided at the gate of a checkpoint.
func (d *decision) say(p *Phase, a answer, decision string) {
	d.phase(p.Number, work.GateDecided, work.GateDecidedData{
		Gate: a.cp.Kind, Decision: decision, By: a.by, Policy: a.cp.Policy, Reason: texts.ClipJSON(a.Comment, 500), Comment: a.comment,
	})
}

// sayRun records what a person decided at a gate of the run.
func (d *decision) sayRun(a answer, decision, why string) {
	d.gate("", a.cp.Kind, decision, a.by, why)
}

// applyGate folds a decision. What a person says of the work stands in the next
// prompt, whatever the gate, also one of a later version.
func applyGate(s *State, p *Phase, e work.Event, d work.GateDecidedData) {
	g := theGates.named(d.Gate, p == nil)
	if p != nil && d.Comment != "" && (g == nil || !g.ownWords) {
		p.Comments = append(p.Comments, d.Comment)
	}
	if g != nil && g.fold != nil {
		g.fold(s, p, e, d)
	}
}

// The decisions that move a phase on.
const (
	decideGo        = "go"
	decideAsk       = "ask"
	decideStop      = "stop"
	decidePivot     = "pivot"
	decideContinue  = "continue"
	decideApprove   = "approve"
	decideReject    = "reject"
	decideClaimed   = "claimed"
	decideNone      = "not_claimed"
	decideNothing   = "nothing_to_land"
	decideAgain     = "verify_again"
	decideChanged   = "changed"
	decideDisturbed = "disturbed"
	decideLand      = "land"
	decideReverify  = "verify"
	decideResolve   = "resolve"
	decideRework    = "rework"
	decideReview    = "review"
	decideArbiter   = "arbiter"
	decideFix       = "fix"
	decideAskAgain  = "ask_again"
)

// Why a phase is opened again.
const (
	reopenFinal  = "final"
	reopenResume = "resume"
)
