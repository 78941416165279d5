package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// An agent may ask for somebody to look before it goes on. That can add a
// stop, never remove one: what the policy decides by itself is recorded and
// goes on.

// The points of checkpoints that Forge opens by itself; no agent does.
func ownPoint(pt gates.Point) bool {
	return pt == gates.PointPhaseTransition || pt == gates.PointFinalOutput || pt == gates.PointQuestion
}

// stopPoint is the point of an agent's checkpoint; ok is false for a type that
// is not registered.
func (s *State) stopPoint(r work.StopRequest) (pt gates.Point, ok bool) {
	pt = gates.CheckpointPoint(r.Type)
	return pt, pt == gates.PointDeliverable || !ownPoint(pt) && slices.Contains(s.Spec.Settings.CheckpointTypes, r.Type)
}

// gateStop is the rule about checkpoints that nobody registered.
const gateStop = "checkpoint"

// checkpointGate is that of every checkpoint which an agent opens.
func checkpointGate() gate {
	return gate{
		is: isStop, stages: []Stage{StageJudge},
		decide: (*decision).looks, answered: (*decision).answeredStop, fold: foldStop,
		moves: map[string][]Stage{decideGo: {StageJudge, StageTurn}, decideRework: {StageJudge, StageGate}, decideReject: {StageJudge, StageGate}},
		leads: leadStop,
	}
}

// looks decides on the checkpoints that the agent of p asked for. What is claimed
// is proven first: then they and the gates before the merge share one record.
func (d *decision) looks(p *Phase) bool {
	if len(p.Stops) == 0 || p.claiming() {
		return false
	}
	if !d.passStops(p) {
		d.stop(p)
	}
	return true
}

// isStop says that a gate is that of a checkpoint which an agent opens.
func isStop(gate string) bool {
	return gate == gateStop || strings.HasPrefix(gate, "ckpt.") && !ownPoint(gates.Point(gate))
}

// passStops decides the first stop that needs no person; false when none is
// left.
func (d *decision) passStops(p *Phase) bool {
	for _, r := range p.Stops {
		pt, ok := d.s.stopPoint(r)
		switch {
		case !ok:
			d.rule(p.Number, gateStop, decideReject, fmt.Sprintf("the checkpoint type %q is not registered; deliverable is, and those in autonomy.checkpoint_types", text.ClipJSON(r.Type, 60)))
			return true
		case d.s.passes(p, pt):
			d.rule(p.Number, string(pt), decideGo, "nobody is asked here at this level: "+text.ClipJSON(r.Summary, 200))
			return true
		}
	}
	return false
}

// stopPoints are the points of the stops that wait for a person, each once.
func (s *State) stopPoints(p *Phase) []string {
	var out []string
	for _, r := range p.Stops {
		if pt, ok := s.stopPoint(r); ok && !slices.Contains(out, string(pt)) {
			out = append(out, string(pt))
		}
	}
	return out
}

// stop asks a person about what the agent wants to have looked at.
func (d *decision) stop(p *Phase) {
	points := d.s.stopPoints(p)
	d.open(p, points[0], points, fmt.Sprintf("Phase %s %q asks you to look: %s", p.Number, p.Plan.Name, text.ClipJSON(p.Stops[0].Summary, 300)), p.tellStops(), points[1:]...)
}

func (p *Phase) tellStops() string {
	var b strings.Builder
	for _, r := range p.Stops {
		fmt.Fprintf(&b, "%s: %s\n", r.Type, r.Summary)
		for _, path := range r.Paths {
			fmt.Fprintf(&b, "  %s\n", path)
		}
	}
	return b.String()
}

// answeredStop turns the answer at a stop into what follows: go on, do it
// again with the comment, or stop the step and tell the agent why.
func (d *decision) answeredStop(p *Phase, a answer) {
	switch {
	case a.yes:
		d.say(p, a, decideGo)
	case a.comment != "":
		d.say(p, a, decideRework)
	default:
		d.decide(p.Number, work.GateDecidedData{
			Gate: a.cp.Kind, Decision: decideReject, By: a.by, Policy: d.s.versionOf(p),
			Reason: text.ClipJSON(a.Comment, 500), Comment: text.ClipJSON("This step was stopped. "+a.Comment, maxWords),
		})
	}
}

// leadStop is where a person's answer leads: what the policy decides by itself
// changes nothing about where the phase stands.
func leadStop(_ *State, p *Phase, d work.GateDecidedData) Stage {
	switch {
	case !strings.HasPrefix(d.By, "person:"):
		return ""
	case p.AskedAt != StageProven:
		return StageJudge
	case d.Decision == decideGo:
		return StageTurn
	}
	return StageGate
}

// foldStop folds the decision at a stop.
func foldStop(s *State, p *Phase, d folded) {
	if d.Decision == decideAsk {
		return
	}
	if !strings.HasPrefix(d.By, "person:") {
		for i, r := range p.Stops {
			pt, ok := s.stopPoint(r)
			if ok && string(pt) == d.Gate || !ok && d.Gate == gateStop {
				p.Stops = slices.Delete(slices.Clone(p.Stops), i, i+1)
				break
			}
		}
		if d.Decision == decideReject {
			p.note("Your checkpoint was not opened: %s", d.Reason)
		}
		return
	}
	p.Stops = nil
	if d.to == StageGate {
		p.Kind = IterationRework
	}
}

// parseStops reads the checkpoints in an agent's words; what cannot be used is
// a problem for the agent to read.
func parseStops(sig work.Signals) (stops []work.StopRequest, problems []string) {
	for _, raw := range sig.Checkpoints {
		r, err := work.ParseStop(raw)
		if err != nil {
			problems = append(problems, "checkpoint: "+err.Error())
			continue
		}
		stops = append(stops, r)
	}
	return stops, problems
}
