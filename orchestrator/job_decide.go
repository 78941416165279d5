package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// roundsBeforeNotice is after how many rounds of feedback Forge says that they
// do not converge.
const roundsBeforeNotice = 3

// gateJob is the rule that the result of a job lands as was decided at its end.
const gateJob = "job"

// job adds the next phase, or ends the job.
func (d *decision) job() {
	s := d.s
	j := s.Job
	switch {
	case len(s.working) > 0:
	case j.Over:
		d.end()
	case j.Next == nil:
	case s.Spec.Job.MaxPhases > 0 && j.Phases >= s.Spec.Job.MaxPhases:
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunLimit, Reason: fmt.Sprintf("the job has had %d phases and is not complete; job.max_phases allows no more", j.Phases)})
	default:
		data := PhaseAddedData{Number: fmt.Sprint(j.Phases + 1), Budget: s.Spec.Job.Phase.Budget, NextPhase: *j.Next}
		data.Name = fmt.Sprintf("%s phase %s", data.Kind, data.Number)
		if last := s.lastOfJob(); data.Kind == work.KindTactical && last != nil && last.Check != nil {
			// One iteration for each todo, and as many again.
			data.Budget = max(data.Budget, 2*last.Check.Total)
		}
		d.add(work.Event{Kind: work.PhaseAdded, Phase: data.Number}, data)
	}
}

func (s *State) lastOfJob() *Phase {
	all := s.jobPhases()
	if len(all) == 0 {
		return nil
	}
	return s.Phases[all[len(all)-1]]
}

// claimJob judges the end of a job's phase, as the agent claims it: nothing is
// taken from its words that its todos do not bear out.
func (d *decision) claimJob(p *Phase) {
	why := ""
	said, one := work.Claim(p.Judged.Claims)
	switch {
	case len(p.Judged.Markers) > 0:
		why = tellMarkers(p)
	case p.Complete != nil:
		why = p.unborne()
	case !one:
		why = "the last message holds different promises"
	case said != strings.TrimSpace(p.Plan.Promise):
		why = p.otherPromise(said)
	default:
		why = p.unborne()
	}
	if why != "" {
		d.rule(p.Number, gateClaim, decideNone, why)
		return
	}
	d.rule(p.Number, gateClaim, decideClaimed, "the promise stands in the last message, and the todos bear it out")
}

// unborne is why the todos do not bear out that p is at its end.
func (p *Phase) unborne() string {
	if p.Complete != nil || p.Plan.Kind == work.KindTactical {
		return p.openTodos()
	}
	return p.badTodos()
}

// badTodos is what is wrong with the todos that a strategic phase leaves.
func (p *Phase) badTodos() string {
	c := p.Check
	switch {
	case c == nil:
		return "nobody knows what " + work.JobDir + "/todos.yaml says"
	case len(c.Problems) > 0:
		return strings.Join(clipList(c.Problems, 5, 150), "; ")
	case c.Total < work.MinTodos || c.Total > work.MaxTodos:
		return fmt.Sprintf("%s/todos.yaml has %d todos; a tactical phase takes %d to %d", work.JobDir, c.Total, work.MinTodos, work.MaxTodos)
	case len(c.Done) == c.Total:
		return "all todos in " + work.JobDir + "/todos.yaml are done already"
	}
	return ""
}

// openTodos is why a phase that does todos is not at its end.
func (p *Phase) openTodos() string {
	c := p.Check
	switch {
	case p.Plan.Kind != work.KindTactical:
		return "" // what a strategic phase staged is not due when the job is complete
	case c == nil:
		return "nobody knows what " + work.JobDir + "/todos.yaml says"
	case len(c.Problems) > 0:
		return strings.Join(clipList(c.Problems, 5, 150), "; ")
	case len(c.Lost) > 0:
		return fmt.Sprintf("todos that were staged are gone from %s/todos.yaml unfinished: %s; put them back, and mark one that is not needed any more as done, with a note why", work.JobDir, strings.Join(clipList(c.Lost, 10, 60), ", "))
	case c.Total < work.MinTodos:
		// A list that was emptied is not one that was done.
		return fmt.Sprintf("%s/todos.yaml has %d todos, fewer than were staged; finished ones stay in it", work.JobDir, c.Total)
	case len(c.Done) < c.Total:
		return fmt.Sprintf("%d of %d todos are done", len(c.Done), c.Total)
	}
	return ""
}

// boundary decides at the end of a job's phase: the policy goes on, or a
// person is asked, once for everything that falls here.
func (d *decision) boundary(p *Phase) {
	if d.passStops(p) {
		return
	}
	b := d.s.boundary(p)
	dec := d.s.Spec.Policy.AtBoundary(b)
	stops := d.s.stopPoints(p)
	if dec.Frozen == gates.NotFrozen && len(stops) == 0 && p.told() == "" {
		for _, pt := range dec.Points {
			d.rule(p.Number, string(pt), decideGo, "the gate is auto")
		}
		d.jobDecided(p, b, work.CheckpointApproved, "", d.s.policyName(), false)
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
	d.open(p, points[0], points, question, d.s.tellBoundary(p), points[1:]...)
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

// answeredBoundary turns a person's answer at the end of a job's phase into
// what follows.
func (d *decision) answeredBoundary(p *Phase, a work.Answer, comment string, say func(string)) {
	switch a.Status {
	case work.CheckpointApproved:
		say(decideGo)
	case work.CheckpointChangesRequested:
		say(decideRework)
	default:
		say(decideReject)
		comment = text.ClipJSON(a.Comment, maxWords)
	}
	d.jobDecided(p, d.s.boundary(p), a.Status, comment, "person:"+a.By, true)
}
