package orchestrator

import (
	"fmt"
	"slices"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// Controls that there was no time for at a claim are tried at the end of the run,
// before anybody is asked about the result and before it is delivered, each phase's
// within a budget of its own. What they find counts as at the claim. A phase that
// has landed cannot fail any more: what would have refuted its claim holds the
// result, and no policy lets that pass.

// Rest is what there was no time for at the claim of a phase that landed since, on
// what it was about.
type Rest struct {
	Phase     string
	Iteration int
	On        work.VerifyOn
	Commit    string
	Base      string            // that its change was held against
	Moves     int               // of the trusted state so far
	Parts     []work.ProvenPart `json:",omitempty"`
	Millis    int64             // that its verify took
	Key       string            `json:",omitempty"` // of that verify
	Skipped   string            `json:",omitempty"` // what ablation said of it
	Left      work.ControlLeft
}

// restOf is what controls of p leave for the end of the run; nil = nothing. Of a
// part of a phase it is nothing: the phase as a whole is controlled.
func (s *State) restOf(p *Phase, d work.ControlFinishedData) *Rest {
	if d.Left.Empty() || p.Parent != "" {
		return nil
	}
	r := &Rest{
		Phase: p.Number, Iteration: p.Iteration, On: work.OnSnapshot, Commit: p.judgedCommit(), Base: p.Base,
		Moves: len(s.Moves), Parts: p.Parts, Millis: p.Proving.Millis, Key: p.Proving.Key, Left: *d.Left,
	}
	if p.Merge != nil {
		r.On, r.Base = work.OnMerged, p.Merge.Head
	}
	if d.Ablation != nil {
		r.Skipped = d.Ablation.Skipped
	}
	return r
}

// pendingRest is the next of what was left, once all phases are done. Where one is
// not, the result is not delivered as done, and what was left stays for whoever
// resumes the run.
func (s *State) pendingRest() (Command, bool) {
	if len(s.Rests) == 0 || s.Final.Stage != FinalNone || !s.allDone() {
		return Command{}, false
	}
	r := s.Rests[0]
	c := Command{Step: StepRest, Phase: r.Phase, Iteration: r.Iteration, Attempt: s.Rested + 1, On: r.On, Commit: r.Commit}
	c.ID = s.id(c.Phase, c.Attempt, c.Iteration, string(StepRest)+"-"+string(c.On))
	return c, true
}

// Resting is the phase whose controls are being gone on with; "" = none.
func (s *State) Resting() string {
	if c, due := s.pendingRest(); due && s.Live && s.Stopping == nil {
		return c.Phase
	}
	return ""
}

// restEffect goes on with the controls of the claim that they were left at.
func (s *State) restEffect(c Command, p *Phase) (Effect, error) {
	if len(s.Rests) == 0 {
		return nil, fmt.Errorf("carry out %s: nothing is left", c.ID)
	}
	r := s.Rests[0]
	of := s.proof(c, p)
	of.Evidence.Base, of.Evidence.Parts, of.Evidence.Moves = r.Base, r.Parts, s.movesIn(p.Plan.Repository, r.Moves)
	e := s.controlOf(c, of, r.Millis)
	e.Request.Rest, e.Request.RestSecs = &r.Left, s.settingsOf(p.Plan.Repository).Proof.RestSecs
	return e, nil
}

func (d *decision) restFinished(c Command, data work.RestFinishedData) {
	if len(data.Lost) > 0 {
		// Nobody accounts for tests there; whatever is lost says that none can be red.
		data.Deaf = clipList(append(slices.Clone(data.Deaf), data.Lost...), 8, 120)
	}
	if len(data.Deaf) > 0 {
		data.Problem = text.ClipJSON("with this work in place the tests cannot fail any more: "+data.Deaf[0], 500)
	}
	d.emit(work.RestFinished, c, data)
}

// applyRested folds what came of what was left. What stood against the result for
// want of time is replaced by what is known now.
func applyRested(s *State, p *Phase, _ work.Event, d work.RestFinishedData) {
	c, due := s.pendingRest()
	if !due || d.ID != c.ID {
		return
	}
	r := s.Rests[0]
	s.Rests, s.Rested = append([]Rest(nil), s.Rests[1:]...), s.Rested+1
	if d.Failed != "" {
		kind := work.DoubtUnproven
		if r.Left.Own || r.Left.Commands || r.Left.Changed || len(r.Left.Runners) > 0 {
			kind = work.DoubtDisturbed // nobody knows whether the tests can fail
		}
		s.doubtRest(p, work.Doubt{Kind: kind, What: "the controls of phase " + p.Number + " that were left for the end could not be tried: " + d.Failed})
		return
	}

	if p.Record.Control != nil {
		both := p.Record.Control.With(d.ControlReport)
		p.Record.Control = &both
	}
	waits := slices.ContainsFunc(s.Rests, func(other Rest) bool { return other.Skipped == r.Skipped })
	// A report that tried none of it knows no more than before.
	looked := d.Ablation != nil && (d.Ablation.Tried > 0 || d.Ablation.Skipped != "")
	if r.Skipped != "" && looked && !waits {
		known := func(one work.Doubt) bool {
			return one == work.Doubt{Kind: work.DoubtUnproven, What: notLookedAt(r.Skipped)}
		}
		s.Doubts, p.Record.Doubts = without(s.Doubts, known), without(p.Record.Doubts, known)
	}
	for _, what := range d.Deaf {
		s.doubtRest(p, work.Doubt{Kind: work.DoubtDisturbed, What: "with the work of phase " + p.Number + " in place a test cannot fail any more: " + what})
	}
	for _, one := range s.doubtsOf(p, d.ControlReport) {
		s.doubtRest(p, one)
	}
}

// doubtRest notes a doubt about what has landed, for the result and for whoever
// looks at the phase.
func (s *State) doubtRest(p *Phase, d work.Doubt) {
	if !slices.Contains(s.Doubts, d) {
		s.Doubts = append(slices.Clip(s.Doubts), d)
	}
	if !slices.Contains(p.Record.Doubts, d) {
		p.Record.Doubts = append(slices.Clip(p.Record.Doubts), d)
	}
}

// without are the doubts but for those; none is nil, as in a state that was kept.
func without(all []work.Doubt, those func(work.Doubt) bool) []work.Doubt {
	kept := slices.DeleteFunc(slices.Clone(all), those)
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// allDone says that all phases, or the job, came to a good end.
func (s *State) allDone() bool {
	if s.Job != nil && (!s.Job.Over || s.Job.Status != gates.JobCompleted) {
		return false
	}
	return !slices.ContainsFunc(s.Order, func(n string) bool {
		p := s.Phases[n]
		return p.Parent == "" && p.Outcome != work.PhaseDone
	})
}
