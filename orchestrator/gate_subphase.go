package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/work"
)

func subPhaseGate() gate {
	return gate{
		names: []string{string(gates.PointSubPhase)}, stages: []Stage{StageJudge},
		decide: (*decision).maySpawn, answered: (*decision).answeredSubPhase, fold: foldSubPhase,
		moves: map[string][]Stage{decideApprove: {StageJudge}, decideReject: {StageJudge}},
	}
}

// maxSubPhases is how many sub-phases one phase may spawn.
const maxSubPhases = 10

// maySpawn decides on the first request for a sub-phase that waits.
func (d *decision) maySpawn(p *Phase) bool {
	if len(p.Requests) == 0 {
		return false
	}
	d.subPhase(p)
	return true
}

// subPhase decides on the first request that waits.
func (d *decision) subPhase(p *Phase) {
	r := p.Requests[0]
	facts := gates.SubPhaseFacts{Parent: p.Number, Name: r.Name, Requested: r.Budget, Remaining: p.Budget - p.Spent, Spawned: p.Spawned}
	if why := d.s.forbidden(p, r); why != "" {
		d.rule(p.Number, string(gates.PointSubPhase), decideReject, why)
		return
	}
	dec := gates.For(d.s.policyOf(p)).MaySpawn(facts)
	switch {
	case dec.Verdict == gates.Go:
		d.strategy(p.Number, gates.PointSubPhase, decideApprove, dec)
		d.spawn(p, r)
	case dec.Verdict == gates.Ask && facts.Requested > facts.Remaining:
		d.rule(p.Number, string(gates.PointSubPhase), decideReject, fmt.Sprintf("it asks for %d iterations, %d are left", facts.Requested, facts.Remaining))
	case dec.Verdict == gates.Ask && d.s.Spec.AnswerYes:
		d.gate(p.Number, string(gates.PointSubPhase), decideApprove, "flag:--yes", dec.Reason)
		d.spawn(p, r)
	case dec.Verdict == gates.Ask:
		d.open(p, string(gates.PointSubPhase), dec.Failed, fmt.Sprintf("Spawn sub-phase %q of phase %s?", r.Name, p.Number), fmt.Sprintf("budget %d of the %d iterations that are left; promise %q\n%s", r.Budget, facts.Remaining, r.Promise, r.Reasoning))
	default:
		d.strategy(p.Number, gates.PointSubPhase, decideReject, dec)
	}
}

// forbidden says why a sub-phase cannot be spawned whatever the policy says.
func (s *State) forbidden(p *Phase, r work.SubPhaseRequest) string {
	switch {
	case p.Try > 0:
		return "a try has no sub-phases"
	case p.Parent != "":
		return "sub-phases do not nest"
	case strings.Contains(p.Number, "."):
		return "the phase's own number is already that of a part"
	case p.Spawned >= maxSubPhases:
		return fmt.Sprintf("a phase may spawn at most %d sub-phases", maxSubPhases)
	case r.Budget < 1:
		return "its budget is not a number of iterations"
	}
	plan := work.Plan{Phases: []work.Phase{{Number: "0", Name: r.Name, Promise: r.Promise}}}
	if problems := plan.Check(); len(problems) > 0 {
		return problems[0].What
	}
	promise := strings.TrimSpace(r.Promise)
	for _, n := range s.Order {
		if strings.TrimSpace(s.Phases[n].Plan.Promise) == promise {
			return "its promise is that of phase " + n
		}
	}
	return ""
}

func (d *decision) spawn(p *Phase, r work.SubPhaseRequest) {
	d.phase(p.Number, work.SubPhaseSpawned, SubPhaseSpawnedData{Number: d.s.partNumber(p), Request: r})
}

// partNumber is the number of p's next sub-phase.
func (s *State) partNumber(p *Phase) string {
	for i := p.Spawned + 1; ; i++ {
		if number := fmt.Sprintf("%s.%d", p.Number, i); s.Phases[number] == nil {
			return number
		}
	}
}

func (d *decision) answeredSubPhase(p *Phase, a answer) {
	if len(p.Requests) == 0 {
		return
	}
	if a.yes {
		d.say(p, a, decideApprove)
		d.spawn(p, p.Requests[0])
		return
	}
	n := 1
	if a.Choice == choiceRejectAll {
		n = len(p.Requests)
	}
	for range n {
		d.say(p, a, decideReject)
	}
}

func foldSubPhase(_ *State, p *Phase, d folded) {
	if d.Decision != decideApprove && d.Decision != decideReject {
		return
	}
	if len(p.Requests) > 0 {
		if d.Decision == decideReject {
			p.note("The sub-phase %q was not spawned: %s", p.Requests[0].Name, d.Reason)
		}
		p.Requests = p.Requests[1:]
	}
}
