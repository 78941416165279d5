package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	texts "forge/internal/text"
	"forge/internal/work"
)

// maxSubPhases is how many sub-phases one phase may spawn.
const maxSubPhases = 10

// settle emits the next decision that follows from the state alone, if any.
func (d *decision) settle() {
	s := d.s
	if !s.Live || s.Stopping != nil {
		return
	}
	if s.Baseline.Stage == BaselineRed {
		d.baseline()
		return
	}
	if s.Baseline.Stage != BaselinePassed {
		return
	}
	if len(s.skips) > 0 {
		skip := s.skips[0]
		d.phase(skip.Key, work.PhaseFinished, work.PhaseFinishedData{
			Outcome: work.PhaseSkipped, Reason: work.ReasonDependencyFailed, Cause: skip.Cause,
		})
		return
	}
	d.granted = s.granted()
	for _, n := range s.working {
		if d.settlePhase(s.Phases[n]); len(d.out) > 0 {
			return
		}
	}
	if s.Job != nil {
		d.job()
		return
	}
	if d.startNext(); len(d.out) > 0 {
		return
	}
	if s.frontier.Finished() && len(s.working) == 0 {
		d.end()
	}
}

// baseline decides on a base whose own verify commands fail.
func (d *decision) baseline() {
	s := d.s
	switch {
	case s.Spec.Settings.Verify.AllowRedBaseline:
		d.rule("", PointBaseline, decideGo, "verify.allow_red_baseline is set")
	case s.Spec.Policy.At(gates.PointPhaseStart) == gates.Human:
		d.open(nil, PointBaseline, nil, "The project's own setup or verify commands fail before any work. Go on all the same?", texts.ClipJSON(s.Baseline.Output, 4000))
	default:
		d.rule("", PointBaseline, decideStop, "the project's verify commands fail on the base")
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunCancelled, Reason: ReasonRedBaseline})
	}
}

// StopInternal begins the reason of a run that stopped because something could
// not be carried out: it is neither done nor failed, and can be resumed.
const StopInternal = "internal: "

// StopShort begins the reason of a run that stopped because the machine ran out
// of something. It can be resumed once there is more of it.
const StopShort = "ran out: "

// RanOut is the reason of a run that stopped because of what the machine ran out
// of.
func RanOut(what string) string { return StopShort + texts.ClipJSON(what, 500) }

// ReasonRedBaseline is why a run was cancelled before its first iteration.
const ReasonRedBaseline = "red_baseline"

// holds says that p takes one of the max_parallel places: a wait for a person
// takes none, and a sub-phase runs in its parent's.
func (s *State) holds(p *Phase) bool {
	if p.Parent != "" || p.Stage == StageAsked {
		return false
	}
	child := s.Phases[p.Child]
	return p.Stage != StageSub || child == nil || child.Stage != StageAsked
}

// slots counts the places that are taken.
func (s *State) slots() int {
	n := 0
	for _, k := range s.working {
		if s.holds(s.Phases[k]) {
			n++
		}
	}
	return n
}

func (s *State) failedFast() bool {
	if !s.Spec.Settings.FailFast {
		return false
	}
	for _, n := range s.Order {
		if p := s.Phases[n]; p.Parent == "" && p.Outcome == work.PhaseFailed {
			return true
		}
	}
	return false
}

func (d *decision) startNext() {
	s := d.s
	if s.slots() >= max(s.Spec.Settings.MaxParallel, 1) {
		return
	}
	first, ok := s.frontier.Next()
	if !ok {
		return
	}
	candidates := []string{first}
	if s.Phases[first].Stage == StageAsked {
		candidates = s.frontier.Ready()
	}
	fast := s.failedFast()
	for _, n := range candidates {
		p := s.Phases[n]
		if p.Stage == StageAsked {
			continue
		}
		if fast {
			d.finish(p, work.PhaseCancelled, "", "an earlier phase failed and --fail-fast was given")
			return
		}
		d.mayStart(p)
		return
	}
}

func (d *decision) mayStart(p *Phase) {
	facts := gates.PhaseFacts{
		Phase: p.Number, Name: p.Plan.Name, Permission: p.Set.Permission,
		Sensitive: p.Set.Sensitive != "", Threshold: d.s.Spec.Settings.AutoApproveThreshold,
	}
	for _, n := range p.Plan.DependsOn {
		facts.DependencyFiles = append(facts.DependencyFiles, d.s.Phases[n].Files)
	}
	// One that never started, nobody has said yes to.
	if p.Reopened > 0 && p.Last != "" {
		d.rule(p.Number, string(gates.PointPhaseStart), decideGo, "resumed by a person")
		d.start(p)
		return
	}
	if w := d.s.pushed(p); w != nil && w.Approved != "" {
		d.gate(p.Number, string(gates.PointPhaseStart), decideGo, "person:"+w.Approved, tellApproved)
		d.start(p)
		return
	}
	strategy := gates.For(d.s.Spec.Policy)
	dec := strategy.MayStart(facts)
	if p.Parent != "" {
		parent := d.s.Phases[p.Parent]
		dec = strategy.MayRunSubPhase(gates.SubPhaseFacts{
			Parent: p.Parent, Name: p.Plan.Name, Requested: p.Budget, Remaining: parent.Budget - parent.Spent, Spawned: parent.Spawned,
		})
	}
	switch {
	case dec.Verdict == gates.Go:
		d.strategy(p.Number, gates.PointPhaseStart, decideGo, dec)
		d.start(p)
	case d.s.Spec.AnswerYes:
		d.gate(p.Number, string(gates.PointPhaseStart), decideGo, "flag:--yes", dec.Reason)
		d.start(p)
	default:
		d.open(p, string(gates.PointPhaseStart), dec.Failed, fmt.Sprintf("Start phase %s %q?", p.Number, p.Plan.Name), p.describe())
	}
}

func (p *Phase) describe() string {
	text := fmt.Sprintf("agent %s, budget %s, permission %s", p.Set.Agent, texts.Number(p.Budget, "iteration"), p.Set.Permission)
	if len(p.Plan.DependsOn) > 0 {
		text += ", after " + strings.Join(p.Plan.DependsOn, ", ")
	}
	if p.Plan.Reasoning != "" {
		text += "\n" + texts.ClipJSON(p.Plan.Reasoning, 1000)
	}
	return text
}

func (d *decision) start(p *Phase) {
	d.phase(p.Number, work.PhaseStarted, PhaseStartedData{
		Name: p.Plan.Name, Base: d.s.baseOf(p), Agent: p.Set.Agent, Budget: p.Budget, Parent: p.Parent,
	})
}

// baseOf is where a phase begins: at the head of the run branch, a sub-phase
// at its parent's last snapshot.
func (s *State) baseOf(p *Phase) string {
	if p.Last != "" {
		return p.Base
	}
	return s.Head
}

func (d *decision) settlePhase(p *Phase) {
	if p.Stage != StageJudge && d.hears(p) {
		return
	}
	switch p.Stage {
	case StageReady:
		d.mayStart(p)
	case StageGate:
		d.mayIterate(p)
	case StageOutage:
		if !d.now.Before(p.Outage.Until) {
			d.phase(p.Number, work.OutageEnded, OutageData{Tries: p.Outage.Tries})
		}
	case StageJudge:
		d.judge(p)
	case StageSub:
		d.fold(p)
	case StageEvidence:
		if len(p.Gone) > 0 {
			d.rule(p.Number, gateEvidence, decideChanged, "test files of the base are gone: "+strings.Join(p.Gone, ", "))
			if d.s.reviews(p) {
				return
			}
			d.finish(p, work.PhaseFailed, work.ReasonEvidenceChanged, "test files of the base are gone: "+strings.Join(p.Gone, ", "))
		}
	case StageReview:
		d.reviews(p)
	case StageArbiter:
		d.arbiter(p)
	case StageProven:
		d.proven(p)
	case StagePull:
		d.pulled(p)
	case StageMerged:
		d.merged(p)
	case StageLanded:
		d.finish(p, work.PhaseDone, "", "")
	}
}

func (d *decision) mayIterate(p *Phase) {
	if !d.granted[d.s.top(p).Number] {
		// Money is set aside here, so not for a phase that has no place yet.
		return
	}
	if !d.afford(p, 1) {
		return
	}
	if p.Kind.Free() {
		d.rule(p.Number, string(gates.PointIteration), decideGo, "decided where the "+string(p.Kind)+" was asked for")
		return
	}
	if p.Allowed == p.Iteration+1 {
		d.rule(p.Number, string(gates.PointIteration), decideGo, "a person said yes to this iteration")
		return
	}
	dec := gates.For(d.s.Spec.Policy).MayIterate(gates.IterationFacts{
		Phase: p.Number, Iteration: p.Iteration + 1, Budget: p.Budget, AskIteration: p.Set.AskIteration,
	})
	switch {
	case dec.Verdict == gates.Go:
		d.strategy(p.Number, gates.PointIteration, decideGo, dec)
	case d.s.Spec.AnswerYes:
		d.gate(p.Number, string(gates.PointIteration), decideGo, "flag:--yes", dec.Reason)
	default:
		d.open(p, string(gates.PointIteration), dec.Failed, fmt.Sprintf("Run iteration %d of phase %s %q?", p.Iteration+1, p.Number, p.Plan.Name), strings.Join(p.History, "\n"))
	}
}

// afford says that n effects of p that cost money may begin; where no money is
// left for them, the run ends.
func (d *decision) afford(p *Phase, n int) bool {
	start, why := d.s.room(p, d.day, n)
	if why != "" {
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunLimit, Reason: why})
		return false
	}
	return start
}

// fold takes a finished sub-phase back into its parent.
func (d *decision) fold(p *Phase) {
	child := d.s.Phases[p.Child]
	if child == nil || child.Stage != StageFinished {
		return
	}
	data := SubPhaseFoldedData{Number: child.Number, Outcome: child.Outcome, Reason: child.Reason, Spent: child.Spent}
	if child.Outcome == work.PhaseDone {
		data.Commit = child.Last
	}
	d.phase(p.Number, work.SubPhaseFolded, data)
}

// proven passes a proven phase on: a sub-phase back to its parent, any other
// to the gates before the merge. Its reviews are over.
func (d *decision) proven(p *Phase) {
	if p.Parent != "" {
		d.finish(p, work.PhaseDone, "", "")
		return
	}
	if d.beforeAsking(p) {
		return
	}
	if d.s.Job != nil {
		d.boundary(p)
		return
	}
	if d.passStops(p) {
		return
	}
	if who := d.s.asPushed(p); who != "" {
		d.gate(p.Number, string(gates.PointPhaseTransition), decideGo, "person:"+who, tellApproved)
		return
	}
	// What falls on this boundary shares one record.
	points := d.s.stopPoints(p)
	if !d.s.passes(gates.PointPhaseTransition) || len(points) == 0 && p.told() != "" {
		points = append([]string{string(gates.PointPhaseTransition)}, points...)
	}
	if len(points) == 0 {
		d.rule(p.Number, string(gates.PointPhaseTransition), decideGo, "the gate is auto")
		return
	}
	d.open(p, points[0], points, fmt.Sprintf("Merge phase %s %q?", p.Number, p.Plan.Name), p.told()+p.tellRounds()+p.tellStops()+strings.Join(p.History, "\n"), points[1:]...)
}

// tellRounds says when people sent p back again and again, "" = they did not.
func (p *Phase) tellRounds() string {
	if p.SentBack < roundsBeforeNotice {
		return ""
	}
	return fmt.Sprintf("Changes were asked for %d times, and this does not converge: say in one sentence what is wrong with the plan itself, push commits of your own, or reject it.\n\n", p.SentBack)
}

// merged decides what follows from the merged tree: land it when it is the
// proven one, prove it again when it is not, resolve a conflict once.
func (d *decision) merged(p *Phase) {
	m := p.Merge
	switch {
	case len(m.Conflicts) > 0:
		d.rule(p.Number, gateMerge, decideResolve, "conflicts in "+strings.Join(m.Conflicts, ", "))
	case m.Tree == p.Tree || !m.Moved:
		d.rule(p.Number, gateMerge, decideLand, "the merged tree is the proven one")
	case len(p.Set.Verify) > 0:
		d.rule(p.Number, gateMerge, decideReverify, "the base moved, so the merged tree has to be proven")
	case d.s.toReview(p):
		d.rule(p.Number, gateMerge, decideReview, "the base moved, and the merged tree holds content that nobody reviewed")
	default:
		d.rule(p.Number, gateMerge, decideLand, "the base moved, and there are no verify commands")
	}
}
