package orchestrator

import (
	"fmt"
	"strings"

	"forge/internal/work"
)

// roundsBeforeNotice is after how many rounds of feedback Forge says that they
// do not converge.
const roundsBeforeNotice = 3

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
