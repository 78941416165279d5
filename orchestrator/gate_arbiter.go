package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

const gateArbiter = "arbiter"

func arbiterGate() gate {
	return gate{
		names: []string{gateArbiter}, stages: []Stage{StageArbiter},
		decide: func(d *decision, p *Phase) bool { d.arbiter(p); return true }, fold: foldArbiter,
	}
}

// arbiter decides what follows from findings and missing answers: the rules
// decide, the model tells them how sure it is that findings may stand, and whether
// there is a way to fix.
func (d *decision) arbiter(p *Phase) {
	s, r := d.s, &p.Review
	if s.asksModel(p) {
		if d.granted[p.Number] && !r.Cleared && d.afford(p, 1) {
			d.rule(p.Number, gateArbiter, decideAsk, "the arbiter's model is asked")
		}
		return
	}
	set := s.Spec.Settings.Reviews
	objections, unknown := p.objections(), p.unanswered()
	c := review.Case{
		Unknown: len(unknown) > 0, Threshold: set.Threshold, FixPath: p.Set.Permission != work.PermissionReadonly,
		Attempts: r.Attempts, Most: p.Set.MaxFixes, Ask: s.policyOf(p).FailVerdict == gates.AskOnFail, KeepMajor: set.KeepMajor,
	}
	data := ArbiterDecidedData{Attempt: r.Attempts, Most: c.Most, Unknown: clipList(unknown, 10, 60)}
	for _, f := range objections {
		c.Severities = append(c.Severities, f.Severity)
	}
	if a := r.Answer; a != nil {
		c = c.Hear(*a)
		data.Said, data.Why, data.Confidence = a.Verdict, a.Reason, a.Confidence
		if a.Verdict == "" {
			data.Why = a.Why
		}
	}
	data.Verdict, data.Reason = review.Rule(c)
	data.Findings = c.Severities[:min(len(c.Severities), 50)]
	if data.Verdict == review.AskHuman && d.hooked(p, work.HookOnApproval, fmt.Sprintf("%s-%d", gates.PointFindings, p.Hooks.Opened), p.tellFindings()) {
		return // before it is decided to ask
	}
	data.Overruled = data.Said != "" && data.Said != string(data.Verdict)
	d.phase(p.Number, work.ArbiterDecided, data)
	switch data.Verdict {
	case review.Proceed, review.Fix:
	case review.AskHuman:
		d.open(p, string(gates.PointFindings), []string{"fail_verdict"}, fmt.Sprintf("Reviews of phase %s %q did not pass (%s). Go on all the same?", p.Number, p.Plan.Name, data.Reason), p.tellFindings())
	default:
		detail := text.ClipJSON(firstObjection(objections, unknown), 300)
		if string(data.Reason) != string(p.reviewReason()) {
			detail = fmt.Sprintf("%s: %s", data.Reason, detail)
		}
		d.finish(p, work.PhaseFailed, p.reviewReason(), detail)
	}
}

func firstObjection(objections []work.Finding, unknown []string) string {
	if len(unknown) > 0 {
		return "no usable answer of " + strings.Join(unknown, ", ")
	}
	if len(objections) == 0 {
		return "nothing is left to say"
	}
	return tellFinding(objections[0])
}

func foldArbiter(_ *State, p *Phase, d folded) {
	if d.Decision == decideAsk && p.Stage == StageArbiter {
		p.Review.Cleared = true
	}
}
