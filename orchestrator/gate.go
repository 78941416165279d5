package orchestrator

import (
	"slices"
	"time"

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
	// moves are the stages that a decision may lead the phase to, or the run. One
	// that is not here leads nowhere by itself: what follows is in other events.
	moves map[string][]Stage
	// leads is which of moves a decision leads to, "" where it leads nowhere; nil
	// where it is the only one. It looks at the state before the decision.
	leads func(s *State, p *Phase, d work.GateDecidedData) Stage
	// fold takes a decision into the state, save that it sets no phase's stage;
	// nil where there is nothing else to take.
	fold func(s *State, p *Phase, d folded)
	// ownWords says that the words of a person there are not about the phase's
	// work, so that fold has to pass them on.
	ownWords bool
}

// theGates is a constant table. Of those that look at a stage, the first that has
// something to say decides: their order is part of the rules.
var theGates = newGateTable(
	baselineGate(),
	startGate(),
	triesGate(),
	councilGate(),
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
	decomposeGate(),
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
	if p.Stopped != "" {
		d.endStopped(p)
		return
	}
	if d.hooks(p) {
		return // whatever its gates say
	}
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
	a := answer{Answer: given, cp: cp, by: decides(given), yes: given.Status == work.CheckpointApproved}
	if a.Status == work.CheckpointChangesRequested {
		a.comment = texts.ClipJSON(a.Comment, maxWords)
		switch {
		case a.Edited == nil:
		case d.s.Job != nil:
			d.edited(cp, *a.Edited, a.by) // the phase may be over by the answer, and the next goes on from it
		default:
			defer d.edited(cp, *a.Edited, a.by)
		}
	}
	p := d.s.Phases[cp.Phase]
	if p != nil && p.AskedAt == StageProven && d.proveAgain(p, given) {
		return
	}
	if g := d.gates.named(cp.Kind, p == nil); g != nil && g.answered != nil {
		g.answered(d, p, a)
	}
}

// say records what a person decided at the gate of a checkpoint.
func (d *decision) say(p *Phase, a answer, decision string) {
	d.decide(p.Number, work.GateDecidedData{
		Gate: a.cp.Kind, Decision: decision, By: a.by, Policy: a.cp.Policy, Reason: texts.ClipJSON(a.Comment, 500), Comment: a.comment,
	})
}

// sayRun records what a person decided at a gate of the run.
func (d *decision) sayRun(a answer, decision, why string) {
	d.gate("", a.cp.Kind, decision, a.by, why)
}

// decide records a decision, with the stage that it leads to.
func (d *decision) decide(number string, data work.GateDecidedData) {
	p := d.s.Phases[number]
	if g := d.gates.named(data.Gate, p == nil); g != nil && g.moves[data.Decision] != nil {
		to := g.leadsTo(d.s, p, data)
		if to == "" && p != nil {
			to = p.Stage
		}
		data.To = string(to)
	}
	d.phase(number, work.GateDecided, data)
}

// leadsTo is where a decision leads by the rules of today, "" = it stays.
func (g *gate) leadsTo(s *State, p *Phase, d work.GateDecidedData) Stage {
	moves := g.moves[d.Decision]
	switch {
	case len(moves) == 0:
		return ""
	case g.leads != nil:
		return g.leads(s, p, d)
	}
	return moves[0]
}

// follows is where a decision that is on record leads, "" = it stays. The event
// says it; for one of an earlier version, which does not, the rule does. ok is
// false for one that leads where no such decision can.
func (g *gate) follows(s *State, p *Phase, d work.GateDecidedData) (to Stage, ok bool) {
	moves := g.moves[d.Decision]
	switch to = Stage(d.To); {
	case len(moves) == 0:
		return "", true
	case to == "":
		return g.leadsTo(s, p, d), true
	case p != nil && to == p.Stage:
		return "", true
	}
	return to, slices.Contains(moves, to) && (p == nil || s.mayStand(p, to))
}

// mayStand says that p has what a stage is about: a merged tree, reviewers.
func (s *State) mayStand(p *Phase, at Stage) bool {
	switch at {
	case StageReverify, StageLand:
		return p.Merge != nil
	case StageReview:
		return s.reviews(p)
	}
	return true
}

// folded is a decision that is on record.
type folded struct {
	work.GateDecidedData
	at time.Time
	to Stage // "" = it leads nowhere
}

// apply folds a decision, and moves the phase to where it says. One that
// leads where no such decision can changes nothing: nothing goes on by it. What a
// person says of the work stands in the next prompt, whatever the gate, also one
// of a later version.
func (t *gateTable) apply(s *State, p *Phase, e work.Event, d work.GateDecidedData) {
	g := t.named(d.Gate, p == nil)
	if g == nil {
		g = &gate{}
	}
	to, ok := g.follows(s, p, d)
	if !ok {
		return
	}
	if p != nil && d.Comment != "" && !g.ownWords {
		p.comment(d.Comment)
	}
	if g.fold != nil {
		g.fold(s, p, folded{GateDecidedData: d, at: e.Time, to: to})
	}
	if p != nil && to != "" {
		s.move(p, to)
	}
}

// move lets p stand at another stage, with what begins there.
func (s *State) move(p *Phase, to Stage) {
	switch {
	case to == StageReview:
		s.openReview(p)
	case to == StageTurn:
		s.Turns = append(s.Turns, p.Number)
		if t := s.Train; t != nil && !t.has(p.Number) {
			// It left, and is not where it was when it boarded.
			t.Order = slices.DeleteFunc(slices.Clone(t.Order), func(n string) bool { return n == p.Number })
		}
	case to == StageProven && p.Merge != nil:
		s.showAgain(p)
	}
	p.Stage = to
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
	decideRed       = "red"
	decideReview    = "review"
	decideArbiter   = "arbiter"
	decideFix       = "fix"
	decideAskAgain  = "ask_again"
	decideSplit     = "split"
)

// Why a phase is opened again.
const (
	reopenFinal  = "final"
	reopenResume = "resume"
	reopenRewind = "rewind"
)
