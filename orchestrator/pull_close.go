package orchestrator

import (
	"cmp"
	"path"
	"slices"

	"forge/internal/work"
)

// A pull request that nobody can merge any more is closed, with a word on why:
// its phase was rejected or cancelled, or has gone on without it. That is done
// once it stands in the journal, and holds nobody up but the end of the run.

// PullClose is a pull request that is to be closed.
type PullClose struct {
	Marker string // of the one pull request
	Branch string
	Base   string
	Number int64  // 0 = it is not known whether there is one
	Key    string // of the word on why, the same each time
	Why    string
}

// Leaving is a pull request that nobody can merge any more.
type Leaving struct {
	Phase, Branch string
	// Repository is set where it is of a part of a result, as people call it.
	Repository string `json:",omitempty"`
	Number     int64  `json:",omitempty"`
	Why        string
	Tries      int
	// Left is why it may be open still, where nobody tries to close it any more.
	Left *work.PullTrouble `json:",omitempty"`
}

// CloseFinishedData is the payload of close.finished.
type CloseFinishedData struct {
	Command work.CommandID    `json:"command"`
	Branch  string            `json:"branch"`
	Number  int64             `json:"number,omitempty"`
	Trouble *work.PullTrouble `json:"trouble,omitempty"` // it may be open still
}

// mostCloses is how often a host is asked that does not answer; once where the
// run is being aborted.
const mostCloses = 3

// shown says that people may see a pull request of u: what was begun may have
// come to be, whatever was heard of it.
func (u *Pull) shown() bool { return u != nil && (u.Number != 0 || len(u.Known) > 0) }

// leavePull gives p's pull request up.
func (s *State) leavePull(p *Phase, why string) {
	if u := p.Pull; u.shown() && u.Merged == "" {
		s.Leaving = append(slices.Clip(s.Leaving), Leaving{Phase: p.Number, Branch: u.Branch, Number: u.Number, Why: why})
	}
	p.Pull = nil
}

// leaves gives up the pull request of a phase that is over, where the phase's
// next attempt cannot go on with it.
func (s *State) leaves(p *Phase, d work.PhaseFinishedData) {
	switch {
	case p.Pull == nil:
	case d.Outcome == work.PhaseFailed && d.Reason == work.ReasonRejected:
		s.leavePull(p, cmp.Or("This was rejected: "+d.Detail, "This was rejected."))
	case d.Outcome == work.PhaseCancelled, d.Outcome == work.PhaseSkipped:
		s.leavePull(p, "Forge does not go on with this: "+cmp.Or(d.Detail, string(d.Outcome))+".")
	case d.Outcome == work.PhaseDone && s.Job == nil:
		s.leavePull(p, "Forge goes on without this: "+cmp.Or(d.Detail, "it is done")+".")
	}
}

// applyStopping begins the end of a run. One that ends for good gives up what
// its failed phases left for a next attempt, which will not come.
func applyStopping(s *State, _ *Phase, _ work.Event, d RunStoppingData) {
	s.Stopping = &d
	if !d.Outcome.Final() {
		return
	}
	for _, n := range s.Order {
		if p := s.Phases[n]; p.Stage == StageFinished && p.Pull != nil {
			s.leavePull(p, "Forge does not go on with this: "+cmp.Or(d.Reason, string(d.Outcome))+".")
		}
	}
	s.leaveResults("Forge does not go on with this: " + cmp.Or(d.Reason, string(d.Outcome)) + ".")
}

// pendingCloses are the pull requests that are to be closed.
func (s *State) pendingCloses() []Command {
	if s.Stopping != nil && !s.Stopping.Outcome.Final() {
		return nil
	}
	var out []Command
	for _, l := range s.Leaving {
		if l.Left == nil {
			out = append(out, s.closeCommand(l))
		}
	}
	return out
}

func (s *State) closeCommand(l Leaving) Command {
	c := Command{ID: s.id(l.Phase, l.Tries+1, 0, string(StepClose)+"-"+path.Base(l.Branch)), Phase: l.Phase, Attempt: l.Tries + 1, Step: StepClose}
	if l.Repository == "" {
		return c
	}
	c.ID += work.CommandID("-" + l.Repository)
	if l.Repository != work.HomeRepository {
		c.Repository = l.Repository
	}
	return c
}

// leavingBy is the pull request that a command closes.
func (s *State) leavingBy(id work.CommandID) int {
	return slices.IndexFunc(s.Leaving, func(l Leaving) bool { return s.closeCommand(l).ID == id })
}

func (d *decision) closeDone(f CloseDone) {
	at := d.s.leavingBy(f.Command.ID)
	if !d.awaited(f.Command) || at < 0 {
		return
	}
	l := d.s.Leaving[at]
	d.emit(work.CloseFinished, f.Command, CloseFinishedData{Command: f.Command.ID, Branch: l.Branch, Number: l.Number, Trouble: clipTrouble(f.Trouble)})
}

func applyClosed(s *State, _ *Phase, _ work.Event, d CloseFinishedData) {
	at := s.leavingBy(d.Command)
	if at < 0 {
		return
	}
	left := slices.Clone(s.Leaving)
	left[at].Tries++
	switch {
	case d.Trouble == nil, d.Trouble.Kind == work.HostNoPull:
		left = slices.Delete(left, at, at+1)
	case !d.Trouble.Passes || s.Stopping != nil || left[at].Tries%mostCloses == 0:
		left[at].Left = d.Trouble
	}
	if s.Leaving = left; len(left) == 0 {
		s.Leaving = nil // as it comes back from a snapshot
	}
}

// closesAgain lets what could not be closed be tried again.
func (s *State) closesAgain() {
	left := slices.Clone(s.Leaving)
	for i := range left {
		left[i].Left = nil
	}
	s.Leaving = left
}
