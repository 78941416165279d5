package orchestrator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/work"
)

// randomJob makes some runs a job: no plan, phases that follow from each other.
func (l *lab) randomJob(d dice, sp *Spec) {
	if !d.chance(25) {
		return
	}
	ps := work.PhaseSettings{Budget: 2 + d.IntN(4), Agent: "a", Permission: work.PermissionStandard, Verify: sp.Settings.Verify.Commands}
	if d.chance(20) {
		ps.Reviewed, ps.MaxFixes, ps.Reviewers = true, d.IntN(3), []work.Specialist{{Name: "security", Gating: true}}
	}
	sp.Job = &work.Job{Description: "a job", Start: sp.Base.Commit, Phase: ps, MaxPhases: d.IntN(9)}
	sp.Plan, sp.Only = work.Plan{}, nil
	sp.Settings.Phases = map[string]work.PhaseSettings{}
	names := []string{"full", "review", "partial", "guided", "guided", "dependent", "dependent", "semi_supervised", "manual", "hands_off"}
	if p, ok := gates.Preset(names[d.IntN(len(names))]); ok {
		sp.Policy = p
		if sp.Bound != nil {
			sp.Policy = gates.Meet(p, *sp.Bound)
		}
	}
}

// todos are what the agent of a job left in its list, in truth.
func (w *world) todos(p *Phase) *work.TodoCheck {
	c := &work.TodoCheck{Total: 5 + w.IntN(16)}
	switch x := w.IntN(100); {
	case x < 8:
		w.fault("todos that cannot be used")
		c.Problems = w.texts(1+w.IntN(8), "todo 3 has no title")
	case x < 16:
		w.fault("too many or too few todos")
		c.Total = []int{0, 4, 21, 10000}[w.IntN(4)]
	}
	done := w.IntN(min(c.Total, 30) + 1)
	if p.Plan.Kind == work.KindTactical && w.chance(60) {
		done = c.Total
	}
	for i := range min(done, 10000) {
		c.Done = append(c.Done, fmt.Sprintf("todo %d", i))
	}
	return c
}

func (w *world) completion() []json.RawMessage {
	out := []json.RawMessage{json.RawMessage(`{"summary":"it is done","deliverables":["a.txt"],"confidence":0.9}`)}
	switch w.IntN(12) {
	case 0:
		w.fault("a completion that cannot be read")
		out[0] = json.RawMessage(`{"summary":"it is done","approved":true}`)
	case 1:
		w.fault("two completions")
		out = append(out, json.RawMessage(`{"summary":"it is not","confidence":7}`))
	}
	return out
}

// ofJob judges the way of a job by the table of docs/jobs.md, written down once more.
func (c *invariants) ofJob(s *State, p *Phase, e work.Event) error {
	switch e.Kind {
	case work.PhaseAdded:
		var d PhaseAddedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		want, at := "strategic initial", c.nextOfJob
		if at != "" {
			want = at
		}
		if got := fmt.Sprintf("%s %s", d.Kind, d.Todos); got != want {
			return fmt.Errorf("the job goes on with a phase %q, due is %q", got, want)
		}
		if d.Number != fmt.Sprint(len(s.Phases)-c.subPhases(s)+1) {
			return fmt.Errorf("the job goes on with phase %s after %d", d.Number, len(s.Phases))
		}
		for n, other := range s.Phases {
			if other.Stage != StageFinished {
				return fmt.Errorf("phase %s is added while %s stands at %s", d.Number, n, other.Stage)
			}
		}
		c.setNext("none")
	case work.JobDecided:
		return c.jobDecided(s, p, e)
	}
	return nil
}

func (c *invariants) subPhases(s *State) int {
	n := 0
	for _, p := range s.Phases {
		if p.Parent != "" {
			n++
		}
	}
	return n
}

func (c *invariants) setNext(next string) {
	old := c.nextOfJob
	c.undo = append(c.undo, func() { c.nextOfJob = old })
	c.nextOfJob = next
}

func (c *invariants) jobDecided(s *State, p *Phase, e work.Event) error {
	var d JobDecidedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	end := c.completes[p.Number]
	number := 0
	for _, n := range s.Order {
		if s.Phases[n].Parent == "" {
			number++
		}
		if n == p.Number {
			break
		}
	}
	tactical := p.Plan.Kind == work.KindTactical
	at := "later_strategic"
	switch {
	case end:
		at = "job_complete"
	case tactical:
		at = "tactical"
	case number == 1:
		at = "initial_strategic"
	}
	if string(d.At) != at {
		return fmt.Errorf("the end of phase %s counts as %q, it is %q", p.Number, d.At, at)
	}
	gate := gates.PointPlanLater
	if tactical {
		gate = gates.PointTactical
	} else if number == 1 {
		gate = gates.PointPlanInitial
	}
	policy := c.policyAt(c.w.s, p.Number)
	human := policy.At(gate) == gates.Human || end && policy.At(gates.PointFinal) == gates.Human
	answer, by := d.Answer, strings.HasPrefix(d.By, "person:") || d.By == byChecks && d.Answer == work.CheckpointChangesRequested
	switch {
	case human && !by && len(c.stops[p.Number]) == 0:
		return fmt.Errorf("a person has to be asked after phase %s, and %s goes on", p.Number, d.By)
	case by && answer != c.said[p.Number]:
		return fmt.Errorf("after phase %s the answer is %s, said was %s", p.Number, answer, c.said[p.Number])
	case !by && answer != work.CheckpointApproved:
		return fmt.Errorf("nobody said %s after phase %s", answer, p.Number)
	case d.Merge != (answer == work.CheckpointApproved):
		return fmt.Errorf("after %s phase %s is merged: %v", answer, p.Number, d.Merge)
	}
	if check := c.w.treeOf(p.Last).todos; answer == work.CheckpointApproved && tactical && (check == nil || len(check.Problems) > 0 || len(check.Done) < check.Total) {
		return fmt.Errorf("phase %s ends with todos that are not done", p.Number)
	} else if answer == work.CheckpointApproved && !tactical && !end && (check == nil || len(check.Problems) > 0 || check.Total < 5 || check.Total > 20) {
		return fmt.Errorf("phase %s stages todos that cannot be used", p.Number)
	}
	next := map[string]string{
		"initial_strategic approved": "tactical staged", "later_strategic approved": "tactical staged", "tactical approved": "strategic transition", "job_complete approved": "end",
		"initial_strategic changes_requested": "none", "later_strategic changes_requested": "none",
		"tactical changes_requested": "strategic resume", "job_complete changes_requested": "strategic resume",
		"initial_strategic rejected": "cancelled", "later_strategic rejected": "cancelled", "tactical rejected": "cancelled", "job_complete rejected": "failed",
	}[at+" "+string(answer)]
	c.setNext(next)
	note(c, c.stops, p.Number, nil)
	if answer == work.CheckpointChangesRequested {
		note(c, c.spent, p.Number, 0) // a round has a budget of its own
		note(c, c.completes, p.Number, false)
	}
	return nil
}

// jobOver judges how a job may end.
func (c *invariants) jobOver(outcome work.RunOutcome) error {
	if outcome == work.RunCompleted && c.nextOfJob != "end" {
		return fmt.Errorf("the job completes, and %q is due", c.nextOfJob)
	}
	return nil
}

// observedJob notes what an iteration of a job claims in truth.
func (c *invariants) observedJob(p *Phase, it IterationDone) {
	var said []string
	for _, raw := range it.Report.Signals.JobComplete {
		if _, err := work.ParseCompletion(raw); err != nil {
			said = nil
			break
		}
		said = append(said, string(raw))
	}
	kept := it.Report.Outcome == work.OutcomeOK || it.Report.Outcome == work.OutcomePostResult
	complete := kept && len(slices.Compact(said)) == 1
	if p.Kind == IterationWork || complete {
		note(c, c.completes, p.Number, complete)
	}
	if complete {
		note(c, c.claims, p.Number, true)
	}
}
