package orchestrator

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/work"
)

// person judges what is done in the name of a person: every answer was given
// in truth, once, for that revision, and nothing else speaks where the policy
// wants a person.
func (c *invariants) person(s *State, e work.Event) error {
	switch e.Kind {
	case work.CheckpointOpened:
		var cp work.Checkpoint
		if err := read(c, e, &cp); err != nil {
			return err
		}
		if _, twice := c.asked[cp.ID]; twice {
			return fmt.Errorf("checkpoint %s is opened twice", cp.ID)
		}
		note(c, c.asked, cp.ID, cp)
	case work.CheckpointOverdue:
		var d CheckpointOverdueData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if len(c.answers[d.ID]) > 0 {
			return fmt.Errorf("checkpoint %s expires, and a door accepted an answer to it", d.ID)
		}
		cp := c.asked[d.ID]
		note(c, c.resolved, d.ID, true)
		cp.ID = d.Again
		c.undo = append(c.undo, func() { c.again = nil })
		c.again = &cp
	case work.CheckpointAnswered:
		var d CheckpointAnsweredData
		if err := read(c, e, &d); err != nil || d.Refused != "" {
			return err
		}
		if c.resolved[d.ID] {
			return fmt.Errorf("checkpoint %s is answered twice", d.ID)
		}
		note(c, c.resolved, d.ID, true)
		if !slices.ContainsFunc(c.answers[d.ID], func(a work.Answer) bool {
			return a.Status == d.Status && (a.Revision == 0 || a.Revision == c.asked[d.ID].Revision)
		}) {
			return fmt.Errorf("checkpoint %s is %s, which nobody said", d.ID, d.Status)
		}
		note(c, c.said, e.Phase, d.Status)
		for _, pt := range c.asked[d.ID].Points {
			note(c, c.stops, e.Phase, slices.DeleteFunc(slices.Clone(c.stops[e.Phase]), func(s string) bool { return s == pt }))
		}
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if err := leadsAsRuled(s, e, d); err != nil {
			return err
		}
		return c.decided(s, e, d)
	}
	return nil
}

// leadsAsRuled: a decision leads where the rule of its gate does, at the time when
// it is folded. What an event does not say, as those of earlier versions do not,
// the rule says.
func leadsAsRuled(s *State, e work.Event, d work.GateDecidedData) error {
	p := s.Phases[e.Phase]
	g := theGates.named(d.Gate, p == nil)
	if g == nil || d.To == "" {
		return nil
	}
	want := g.leadsTo(s, p, d)
	if want == "" && p != nil {
		want = p.Stage
	}
	if Stage(d.To) != want {
		return fmt.Errorf("gate %s decides %s, which leads phase %q to %s, and its rule to %s", d.Gate, d.Decision, e.Phase, d.To, want)
	}
	return nil
}

// heldOn: what expired is asked again at once, word for word, and whatever
// waited for it waits on.
func (c *invariants) heldOn(s *State, e work.Event) error {
	if c.again == nil {
		return nil
	}
	want := *c.again
	c.again = nil
	var got work.Checkpoint
	if e.Kind != work.CheckpointOpened || read(c, e, &got) != nil || got.ID != want.ID {
		return fmt.Errorf("after an expiry comes %s, and %s was to be asked", e.Kind, want.ID)
	}
	p, end := s.Phases[e.Phase], got.ExpiresAt
	switch {
	case p != nil && p.Stage != StageAsked, p == nil && s.Final.Stage != FinalAsked && s.Baseline.Stage != BaselineAsked:
		return fmt.Errorf("what waited for an answer went on when the checkpoint before %s expired", want.ID)
	case end == nil || !end.After(got.OpenedAt):
		return fmt.Errorf("checkpoint %s is asked again until %v", got.ID, end)
	}
	got.OpenedAt, got.ExpiresAt = want.OpenedAt, want.ExpiresAt
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("asked again was %+v instead of %+v", got, want)
	}
	return nil
}

// means are the decisions that each answer may lead to.
var means = map[string]map[work.CheckpointStatus][]string{
	string(gates.PointPhaseStart): {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideGo}, work.CheckpointRejected: {decideReject}},
	string(gates.PointIteration): {
		work.CheckpointApproved: {decideApprove}, work.CheckpointChangesRequested: {decideApprove}, work.CheckpointRejected: {decideReject}},
	string(gates.PointStale): {
		work.CheckpointApproved: {decideContinue}, work.CheckpointChangesRequested: {decidePivot}, work.CheckpointRejected: {decideStop}},
	string(gates.PointSubPhase): {
		work.CheckpointApproved: {decideApprove}, work.CheckpointChangesRequested: {decideReject}, work.CheckpointRejected: {decideReject}},
	string(gates.PointDecompose): {
		work.CheckpointApproved: {decideApprove}, work.CheckpointChangesRequested: {decideRework}, work.CheckpointRejected: {decideReject}},
	string(gates.PointTries): {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideRework}, work.CheckpointRejected: {decideReject}},
	string(gates.PointPhaseTransition): {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideRework}, work.CheckpointRejected: {decideReject}},
	string(gates.PointFinal): {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideRework, decideReject}, work.CheckpointRejected: {decideReject}},
	string(gates.PointFindings): {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideFix}, work.CheckpointRejected: {decideReject}},
	"ckpt.deliverable": {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideRework}, work.CheckpointRejected: {decideReject}},
	"ckpt.notes": {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideRework}, work.CheckpointRejected: {decideReject}},
	string(gates.PointQuestion): {
		work.CheckpointApproved: {decideAnswer}, work.CheckpointChangesRequested: {decideAnswer}, work.CheckpointRejected: {decideAlone}},
	string(gates.PointBlocker): {
		work.CheckpointApproved: {decideAnswer}, work.CheckpointChangesRequested: {decideAnswer}, work.CheckpointRejected: {decideReject}},
	string(gates.PointPlanInitial): {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideRework}, work.CheckpointRejected: {decideReject}},
	string(gates.PointPlanLater): {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideRework}, work.CheckpointRejected: {decideReject}},
	string(gates.PointTactical): {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideRework}, work.CheckpointRejected: {decideReject}},
	string(gates.PointPromote): {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideRework, decideReject}, work.CheckpointRejected: {decideReject}},
	string(gates.PointEvidence): {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideRework, decideReject}, work.CheckpointRejected: {decideReject}},
	PointBaseline: {
		work.CheckpointApproved: {decideGo}, work.CheckpointChangesRequested: {decideGo}, work.CheckpointRejected: {decideStop}},
}

func (c *invariants) decided(s *State, e work.Event, d work.GateDecidedData) error {
	c.w.gates[d.Gate+" "+d.Decision]++
	by, _, _ := strings.Cut(d.By, ":")
	point := gates.Point(d.Gate)
	if p := s.Phases[e.Phase]; point == gates.PointPhaseStart && p != nil && p.Parent != "" {
		point = gates.PointSubPhase // may this sub-phase run?
		if p.Try > 0 {
			point = "" // its phase may
		}
	}
	policy := c.policyAt(s, e.Phase)
	human := policy.At(point) == gates.Human
	if point == gates.PointIteration && s.Phases[e.Phase].Kind == IterationWork {
		// A yes is for one iteration of one opening of the phase.
		asks := human || s.Phases[e.Phase].Set.AskIteration && policy.At(gates.PointPhaseStart) == gates.Human
		this := fmt.Sprintf("%d/%d", s.Phases[e.Phase].Reopened, c.counted[e.Phase]+1)
		switch {
		case d.Decision == decideApprove:
			note(c, c.allowed, e.Phase, this)
		case d.Decision == decideGo && asks && by != "flag" && c.allowed[e.Phase] != this:
			return fmt.Errorf("iteration %s of phase %s goes on without a yes of its own", this, e.Phase)
		}
	}
	if point == gates.PointFindings && d.Decision == decideGo {
		if by != "person" {
			return fmt.Errorf("%s lets the findings against phase %s pass", d.By, e.Phase)
		}
		p := s.Phases[e.Phase]
		if _, critical := c.truth(p, c.w.commits[p.Review.Commit]); (critical || p.Review.Evidence != "") && d.Reason == "" {
			return fmt.Errorf("a critical finding of phase %s is accepted without a reason", e.Phase)
		}
		note(c, c.let, e.Phase, c.w.commits[p.Review.Commit])
	}
	switch {
	case d.Gate == gateClaim && d.Decision == decideClaimed && s.Phases[e.Phase].Kind == IterationWork && !c.claims[e.Phase]:
		return fmt.Errorf("phase %s is said to have claimed its promise, and has not", e.Phase)
	case by == "person" && d.Reason == tellApproved:
		return c.asPushed(s, e, d)
	case by == "person":
		status, abort := c.said[e.Phase], false
		for _, a := range c.answers {
			abort = abort || slices.ContainsFunc(a, func(a work.Answer) bool { return a.Choice == ChoiceAbort })
		}
		// A rework is decided for the run, and then for the phase that does it.
		if aboutResult(d.Gate) && (s.Job == nil || point == gates.PointEvidence) {
			status = c.said[""]
			if d.Decision == decideGo {
				note(c, c.approved, s.Head, true)
			}
		}
		if !slices.Contains(means[d.Gate][status], d.Decision) && !(abort && d.Decision == decideStop) {
			return fmt.Errorf("gate %s of phase %q is decided %s after the answer %q", d.Gate, e.Phase, d.Decision, status)
		}
	case d.By == byChecks: // of the host, which send back and let nothing pass
		if d.Decision != decideRework {
			return fmt.Errorf("checks of the host decide %s at %s", d.Decision, d.Gate)
		}
	case d.Decision == decideAsk || !human:
	case by == "flag":
		if !gates.AnsweredByYes(point) || !c.w.spec.AnswerYes {
			return fmt.Errorf("--yes answers at %s", d.Gate)
		}
	case by == "strategy" && d.By != "strategy:interactive":
		return fmt.Errorf("gate %s is human, and %s decides %s", d.Gate, d.By, d.Decision)
	case isStop(d.Gate) && d.Decision == decideGo:
		return fmt.Errorf("gate %s is human, and %s decides %s", d.Gate, d.By, d.Decision)
	case d.Gate == string(gates.PointPhaseTransition), d.Gate == string(gates.PointFinal) && d.Decision == decideGo && c.allDone(s):
		return fmt.Errorf("gate %s is human, and %s decides %s", d.Gate, d.By, d.Decision)
	}
	return nil
}

// asPushed: an approval on the pull request of an earlier result speaks for what
// was pushed there, by the one who gave it, and for no other content.
func (c *invariants) asPushed(s *State, e work.Event, d work.GateDecidedData) error {
	i := c.w.spec.Issue
	if i == nil || i.Pushed == nil || d.By != "person:"+i.Pushed.Approved || i.Pushed.Approved == "" || d.Decision != decideGo {
		return fmt.Errorf("gate %s of phase %q is decided %s by %s, who approved nothing", d.Gate, e.Phase, d.Decision, d.By)
	}
	at := s.Head
	if p := s.Phases[e.Phase]; p != nil {
		at = p.Last
	}
	if starts := d.Gate == string(gates.PointPhaseStart); starts && e.Phase == s.topo[0] {
		return nil
	}
	if c.w.commits[at] != i.Pushed.Tree {
		return fmt.Errorf("gate %s of phase %q passes %s, and %s was approved", d.Gate, e.Phase, c.w.commits[at], i.Pushed.Tree)
	}
	return nil
}

func (c *invariants) allDone(s *State) bool {
	for _, p := range s.Phases {
		if p.Parent == "" && p.Outcome != work.PhaseDone {
			return false
		}
	}
	return true
}

// leftOver judges what a process leaves behind, on disk alone.
func (c *invariants) leftOver(s *State) error {
	if s.Outcome != work.RunCompleted && s.Outcome != work.RunFailed {
		return nil
	}
	for _, row := range c.w.inbox {
		if row.Answer.Checkpoint == "" {
			continue // a level, for whoever resumes it
		}
		if _, open := s.Open[row.Answer.Checkpoint]; open || !c.resolved[row.Answer.Checkpoint] {
			return fmt.Errorf("the run is %s, and the answer to %s was never heard", s.Outcome, row.Answer.Checkpoint)
		}
	}
	return nil
}

// lost judges what a dead process leaves behind: an answer that a door accepted
// is in the journal, or still in the inbox.
func (c *invariants) lost(s *State) error {
	for id := range c.answers {
		if _, open := s.Open[id]; open && !slices.ContainsFunc(c.w.inbox, func(row inboxRow) bool { return row.Answer.Checkpoint == id }) {
			return fmt.Errorf("the answer to %s is lost", id)
		}
	}
	return nil
}

// after judges the state that an event left.
func (c *invariants) after(s *State) error {
	busy := map[string]bool{}
	for _, u := range c.w.under {
		// Reviews of a phase that is over are being ended, and to show people
		// something takes no place; nor does to ask a hook about what is not under
		// way.
		if p := s.Phases[u.Phase]; p != nil && u.Step != StepPublish && u.Step != StepClose && !(u.Step == StepReview && p.Stage == StageFinished) && !(p.Stopped != "" && p.Stage == StageFinished) && !(u.Step == StepHook && !slices.Contains(s.working, p.Number)) {
			busy[s.place(p).Number] = true
		}
	}
	if n, most := len(busy), c.w.spec.Settings.MaxParallel; n > most {
		return fmt.Errorf("%d phases run at once, %d may", n, most)
	}
	merging := 0
	for _, p := range s.Phases {
		if p.Merge != nil && p.Stage != StageFinished {
			merging++
		}
		if p.Spent > p.Budget {
			return fmt.Errorf("phase %s spent %d of %d iterations", p.Number, p.Spent, p.Budget)
		}
		if p.Spawned > maxSubPhases {
			return fmt.Errorf("phase %s spawned %d sub-phases", p.Number, p.Spawned)
		}
		if p.Parent != "" && p.Spawned > 0 {
			return fmt.Errorf("sub-phase %s has sub-phases of its own", p.Number)
		}
	}
	if err := c.together(s, merging); err != nil {
		return err
	}
	if merging > 1 && s.Train == nil {
		return fmt.Errorf("%d phases merge at once", merging)
	}
	return nil
}
