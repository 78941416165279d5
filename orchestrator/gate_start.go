package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	texts "forge/internal/text"
	"forge/internal/work"
)

func startGate() gate {
	return gate{
		names: []string{string(gates.PointPhaseStart)}, stages: []Stage{StageReady},
		decide:   func(d *decision, p *Phase) bool { d.mayStart(p); return true },
		answered: (*decision).answeredStart,
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
	if p.Try > 0 {
		if d.granted[p.Number] { // one that has no place yet may come to be needless
			parent := d.s.Phases[p.Parent]
			d.rule(p.Number, string(gates.PointPhaseStart), decideGo, tellTry(parent, p))
			d.start(p)
		}
		return
	}
	if w := d.s.pushed(p); w != nil && w.Approved != "" {
		d.gate(p.Number, string(gates.PointPhaseStart), decideGo, "person:"+w.Approved, tellApproved)
		d.start(p)
		return
	}
	if person := d.s.splitSeen(p); person != "" {
		d.rule(p.Number, string(gates.PointPhaseStart), decideGo, person+" approved it with the other parts of phase "+p.Parent)
		d.start(p)
		return
	}
	strategy := gates.For(d.s.policyOf(p))
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
	if len(p.Plan.Criteria) > 0 {
		text += "\nHeld against:\n" + texts.ClipJSON(tellAcceptance(p.Plan.Criteria), 3000)
	}
	return text
}

func (d *decision) start(p *Phase) {
	d.phase(p.Number, work.PhaseStarted, PhaseStartedData{
		Name: p.Plan.Name, Base: d.s.baseOf(p), Agent: p.Set.Agent, Budget: p.Budget, Parent: p.Parent, Repository: p.Plan.Repository,
	})
}

// baseOf is where a phase begins: at the head of the run branch, a sub-phase
// at its parent's last snapshot.
func (s *State) baseOf(p *Phase) string {
	if p.Last != "" {
		return p.Base
	}
	return s.HeadOf(p.Plan.Repository)
}

func (d *decision) answeredStart(p *Phase, a answer) {
	if a.yes || a.comment != "" {
		d.say(p, a, decideGo)
		d.start(p)
		return
	}
	d.say(p, a, decideReject)
	d.finish(p, work.PhaseSkipped, work.ReasonUser, a.Comment)
}
