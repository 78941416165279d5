package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// todosInitial are the todos of a job's first phase.
const todosInitial gates.TodoSet = "initial"

// JobState is where a job stands: its phases are not planned, each follows from
// the end of the one before.
type JobState struct {
	Phases int // so far
	Rounds int // of feedback in a row
	// Next is the phase that is to be added; nil = none yet, or the job is over.
	Next *NextPhase
	// Then is what follows when the phase that stands at its end is merged.
	Then   *JobDecidedData
	Over   bool
	Status gates.JobStatus // once it is over
	Claim  *work.Completion
	// Feedback is what people said where they asked for changes, the last of it.
	Feedback []work.JobFeedback `json:",omitempty"`
}

// maxFeedback is how many words of people are kept in a job's documents.
const maxFeedback = 20

// NextPhase is a phase of a job that is to be added.
type NextPhase struct {
	Kind  work.PhaseKind `json:"kind"`
	Todos gates.TodoSet  `json:"todos"`
	// Carry is the phase whose unmerged work it goes on from.
	Carry   string `json:"carry,omitempty"`
	Comment string `json:"comment,omitempty"` // of a person, for its first prompt
}

// PhaseAddedData is the payload of phase.added: a job goes on with one more
// phase.
type PhaseAddedData struct {
	Number string `json:"number"`
	Name   string `json:"name"`
	Budget int    `json:"budget"`
	NextPhase
}

// JobDecidedData is the payload of job.decided: what follows at the end of a
// job's phase, by the policy or by a person's answer.
type JobDecidedData struct {
	At      gates.FreezeContext   `json:"at"`
	Frozen  bool                  `json:"frozen"` // a person was asked
	Answer  work.CheckpointStatus `json:"answer"` // approved where nobody was asked
	Next    gates.NextKind        `json:"next"`
	Kind    work.PhaseKind        `json:"kind,omitempty"`
	Todos   gates.TodoSet         `json:"todos,omitempty"`
	Status  gates.JobStatus       `json:"status"`
	Merge   bool                  `json:"merge"`
	Comment string                `json:"comment,omitempty"`
	Round   int                   `json:"round,omitempty"` // of feedback, from 1
	By      string                `json:"by"`
}

// newJob begins a job with its first strategic phase.
func newJob(sp Spec) *JobState {
	if sp.Job == nil {
		return nil
	}
	return &JobState{Next: &NextPhase{Kind: work.KindStrategic, Todos: todosInitial}}
}

// ofJob says that p is a phase of a job, not of a plan and no part of one.
func (s *State) ofJob(p *Phase) bool { return s.Job != nil && p.Parent == "" }

// boundary is the end of p, as the policy judges it.
func (s *State) boundary(p *Phase) gates.Boundary {
	return gates.Boundary{Kind: p.Plan.Kind, Number: s.ordinal(p), JobComplete: p.Complete != nil, End: s.endOf(p)}
}

// ordinal is the place of p among the phases of the job that plan, or that do:
// a strategic phase with feedback on the first plan is not the first one.
func (s *State) ordinal(p *Phase) int {
	return slices.Index(s.jobPhases(), p.Number) + 1
}

// jobPhases are the phases of the job in their order, without sub-phases.
func (s *State) jobPhases() []string {
	var out []string
	for _, n := range s.Order {
		if s.Phases[n].Parent == "" {
			out = append(out, n)
		}
	}
	return out
}

// placeOf is where a job is at the end of b, whether it freezes there or not.
func placeOf(b gates.Boundary) gates.FreezeContext {
	switch {
	case b.JobComplete:
		return gates.AtJobEnd
	case b.Kind == work.KindTactical:
		return gates.AfterTactical
	case b.Number <= 1:
		return gates.InitialStrategic
	}
	return gates.LaterStrategic
}

func applyPhaseAdded(s *State, _ *Phase, _ work.Event, d PhaseAddedData) {
	if s.Job == nil || s.Phases[d.Number] != nil {
		return
	}
	set := s.Spec.Job.Phase
	set.Budget = d.Budget
	p := s.newPhase(work.Phase{
		Number: d.Number, Name: d.Name, Kind: d.Kind, Budget: d.Budget,
		Promise: fmt.Sprintf("phase %s of job %s is done", d.Number, s.Run),
	}, set, "")
	p.Stage, p.Todos = StageReady, d.Todos
	if d.Comment != "" {
		p.comment(d.Comment)
	}
	if last := s.lastOfJob(); d.Kind == work.KindTactical && last != nil && last.Check != nil {
		p.Staged = last.Check.Open
	}
	if last := s.lastOfJob(); last != nil {
		p.Messages, last.Messages = last.handOver()
	}
	if from := s.Phases[d.Carry]; from != nil {
		// Its work is not merged yet: it lands with this phase's.
		p.Base, p.Last, p.Tree, p.Check = from.Base, from.Last, from.Tree, from.Check
		p.Pull, p.PullRev, from.Pull = from.Pull, from.PullRev, nil
	}
	s.Phases[d.Number] = p
	s.Order = append(s.Order, d.Number)
	s.Job.Phases++
	s.Job.Next = nil
	s.enter(p)
}

func applyJobDecided(s *State, p *Phase, _ work.Event, d JobDecidedData) {
	j := s.Job
	if j == nil || p == nil {
		return
	}
	p.Stops = nil
	if d.Answer == work.CheckpointApproved || strings.HasPrefix(d.By, "person:") {
		s.ended(p, d.By)
	}
	j.Rounds = d.Round
	if d.Answer == work.CheckpointChangesRequested && d.Comment != "" {
		said := work.JobFeedback{By: strings.TrimPrefix(d.By, "person:"), Phase: p.Number, Comment: d.Comment}
		j.Feedback = append(slices.Clip(j.Feedback), said)
		j.Feedback = j.Feedback[max(len(j.Feedback)-maxFeedback, 0):]
	}
	if d.At == gates.AtJobEnd && d.Answer == work.CheckpointApproved {
		j.Claim = p.Complete
	} else {
		// What is sent back is not complete.
		p.Complete = nil
	}
	switch {
	case d.Merge:
		j.Then = &d
		p.Stage = StageTurn
		s.Turns = append(s.Turns, p.Number)
	case d.Next == gates.ReworkStrategic:
		// With a budget of its own, a new session that is told what feedback
		// asks for, and an end that has to be claimed again.
		p.Todos, p.Kind, p.Stage = d.Todos, IterationWork, StageGate
		p.Spent, p.Session, p.Stale.Pivoted = 0, "", false
		p.steered()
		p.comment(d.Comment)
		p.happened("%s asked for changes: %s", asks(d.By), text.FirstLine(text.Plain(d.Comment), 200))
	case d.Next == gates.FeedbackStrategic:
		j.Next = &NextPhase{Kind: d.Kind, Todos: d.Todos, Carry: p.Number, Comment: d.Comment}
	default:
		j.Over, j.Status = true, d.Status
	}
}

// goOn sets what follows a phase of the job that has ended.
func (j *JobState) goOn(outcome work.PhaseOutcome) {
	then := j.Then
	j.Then = nil
	switch {
	case j.Over || j.Next != nil:
	case outcome != work.PhaseDone || then == nil:
		j.Over, j.Status = true, gates.JobFailed
	case then.Next == gates.JobEnd:
		j.Over, j.Status = true, then.Status
	default:
		j.Next = &NextPhase{Kind: then.Kind, Todos: then.Todos}
	}
}
