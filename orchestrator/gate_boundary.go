package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// boundaryGate is the gate at the end of a job's phase.
func boundaryGate() gate {
	names := []string{string(gates.PointPlanInitial), string(gates.PointPlanLater), string(gates.PointTactical), string(gates.PointFinal)}
	return gate{names: names, stages: []Stage{StageProven}, decide: (*decision).ends, answered: (*decision).answeredBoundary}
}

func (d *decision) ends(p *Phase) bool {
	if d.s.Job == nil {
		return false
	}
	d.boundary(p)
	return true
}

// boundary decides at the end of a job's phase: the policy goes on, or a
// person is asked, once for everything that falls here.
func (d *decision) boundary(p *Phase) {
	if d.passStops(p) {
		return
	}
	b := d.s.boundary(p)
	dec := d.s.policyOf(p).AtBoundary(b)
	stops := d.s.stopPoints(p)
	if dec.Frozen == gates.NotFrozen && len(stops) == 0 && p.told() == "" {
		for _, pt := range dec.Points {
			d.rule(p.Number, string(pt), decideGo, "nobody is asked here at this level")
		}
		d.jobDecided(p, b, work.CheckpointApproved, "", d.s.policyName(p), false)
		return
	}
	var points []string
	for _, pt := range dec.Points {
		points = append(points, string(pt))
	}
	points = append(points, stops...)
	question := fmt.Sprintf("Go on after %s?", p.Plan.Name)
	if b.JobComplete {
		question = "The agent says that the job is complete. Take its result?"
	}
	if p.redPush() != nil {
		question = fmt.Sprintf("What was pushed to %s is red. What now?", p.Plan.Name)
	}
	d.open(p, points[0], points, question, tellLook(dec.Why)+d.s.tellBoundary(p), points[1:]...)
}

// tellBoundary is what a person needs to know at the end of a job's phase.
func (s *State) tellBoundary(p *Phase) string {
	var b strings.Builder
	b.WriteString(p.told())
	if n := s.Job.Rounds; n >= roundsBeforeNotice {
		fmt.Fprintf(&b, "After %d rounds of feedback this does not converge: say in one sentence what is wrong with the plan itself, take it over, or end the job.\n\n", n)
	}
	if c := p.Complete; c != nil {
		fmt.Fprintf(&b, "%s\n", c.Summary)
		for _, deliverable := range c.Deliverables {
			fmt.Fprintf(&b, "  %s\n", deliverable)
		}
		if c.Confidence == nil {
			b.WriteString("confidence: unknown\n")
		} else {
			fmt.Fprintf(&b, "confidence: %.2f\n", *c.Confidence)
		}
		if c.Notes != "" {
			fmt.Fprintf(&b, "%s\n", c.Notes)
		}
	}
	if c := p.Check; c != nil {
		fmt.Fprintf(&b, "%d of %d todos are done\n", len(c.Done), c.Total)
	}
	b.WriteString(p.tellStops())
	b.WriteString(strings.Join(p.History, "\n"))
	return b.String()
}

// answeredBoundary turns a person's answer at the end of a job's phase into
// what follows.
func (d *decision) answeredBoundary(p *Phase, a answer) {
	if d.s.Job == nil {
		return
	}
	comment := a.comment
	switch a.Status {
	case work.CheckpointApproved:
		d.say(p, a, decideGo)
	case work.CheckpointChangesRequested:
		d.say(p, a, decideRework)
	default:
		d.say(p, a, decideReject)
		comment = text.ClipJSON(a.Comment, maxWords)
	}
	d.jobDecided(p, d.s.boundary(p), a.Status, comment, a.by, true)
}

// jobDecided records what follows from an answer at the end of p, by the table
// of docs/jobs.md.
func (d *decision) jobDecided(p *Phase, b gates.Boundary, answer work.CheckpointStatus, comment, by string, frozen bool) {
	at := placeOf(b)
	r, ok := gates.ResumeAfter(at, answer)
	if !ok {
		d.run(work.Warned, WarnedData{What: "an answer without a meaning here", Detail: string(answer)})
		return
	}
	data := JobDecidedData{
		At: at, Frozen: frozen, Answer: answer, Next: r.Next, Kind: r.Phase, Todos: r.Todos, Status: r.Status, Merge: r.Merge, Comment: comment, By: by,
	}
	if answer == work.CheckpointChangesRequested {
		data.Round = d.s.Job.Rounds + 1
	}
	d.phase(p.Number, work.JobDecided, data)
	if data.Next == gates.FeedbackStrategic {
		d.finish(p, work.PhaseDone, "", "its work goes on in the next phase, with the comments")
	}
	switch {
	case answer == work.CheckpointChangesRequested && data.Round == roundsBeforeNotice:
		d.phase(p.Number, work.Warned, WarnedData{What: "the rounds of feedback do not converge", Detail: fmt.Sprintf("%d in a row", data.Round)})
	case answer == work.CheckpointRejected && data.Status == gates.JobCancelled:
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunCancelled, Reason: "the job was rejected: " + text.ClipJSON(comment, 300)})
	case answer == work.CheckpointRejected:
		d.finish(p, work.PhaseFailed, work.ReasonRejected, comment)
	}
}
