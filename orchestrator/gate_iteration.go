package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/work"
)

func iterationGate() gate {
	return gate{
		names: []string{string(gates.PointIteration)}, stages: []Stage{StageGate, StageJudge},
		decide:   func(d *decision, p *Phase) bool { d.mayIterate(p); return true },
		answered: (*decision).answeredIteration, fold: foldIteration,
		moves: map[string][]Stage{decideGo: {StageIterate}, decideApprove: {StageGate}},
	}
}

func (d *decision) mayIterate(p *Phase) {
	if !d.granted[d.s.place(p).Number] {
		// Money is set aside here, so not for a phase that has no place yet.
		return
	}
	if d.returns(p) {
		return
	}
	if d.hooked(p, work.HookBeforeIteration, p.nextIteration(), "") {
		return // before money is set aside: what there is may be less when it has answered
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
	dec := gates.For(d.s.policyOf(p)).MayIterate(gates.IterationFacts{
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

func (d *decision) answeredIteration(p *Phase, a answer) {
	if a.yes || a.comment != "" {
		d.say(p, a, decideApprove)
		return
	}
	d.say(p, a, decideReject)
	d.finish(p, work.PhaseFailed, work.ReasonRejected, a.Comment)
}

func foldIteration(_ *State, p *Phase, d folded) {
	if d.Decision == decideApprove {
		p.Allowed = p.Iteration + 1
	}
}
