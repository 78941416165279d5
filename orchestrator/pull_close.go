package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"time"

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
	Number        int64 `json:",omitempty"`
	Why           string
	Tries         int
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

// CloseWait is how long a run that ends at once waits for its host.
const CloseWait = 5 * time.Second

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
	return Command{ID: s.id(l.Phase, l.Tries+1, 0, string(StepClose)+"-"+path.Base(l.Branch)), Phase: l.Phase, Attempt: l.Tries + 1, Step: StepClose}
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

func (r *session) closeJob(c Command) func(context.Context) Fact {
	s := r.s
	l := s.Leaving[s.leavingBy(c.ID)]
	req := PullClose{
		Marker: s.Run + " " + l.Branch, Branch: l.Branch, Base: s.Spec.Branch, Number: l.Number,
		Key: s.Run + " close " + l.Branch, Why: l.Why,
	}
	ending := s.Stopping != nil
	return func(ctx context.Context) Fact {
		if r.Host == nil {
			return CloseDone{Command: c, Trouble: &work.PullTrouble{Kind: work.HostUnreachable, What: errNoHost.Error(), Fix: "close it there"}}
		}
		ctx, done := unhurried(ctx, ending)
		defer done()
		trouble, err := r.Host.Close(ctx, req)
		if err != nil {
			trouble = unreached("close the pull request", err)
		}
		return CloseDone{Command: c, Trouble: trouble}
	}
}

// unhurried is a context for what is tried even when the run ends, though not
// for long then: where it ends already, or from the moment at which ctx is
// cancelled.
func unhurried(ctx context.Context, ending bool) (context.Context, func()) {
	own := context.WithoutCancel(ctx)
	cause := fmt.Errorf("no answer in %v", CloseWait)
	if ending {
		return context.WithTimeoutCause(own, CloseWait, cause)
	}
	own, cancel := context.WithCancelCause(own)
	stop := context.AfterFunc(ctx, func() {
		late := time.NewTimer(CloseWait)
		defer late.Stop()
		select {
		case <-late.C:
			cancel(cause)
		case <-own.Done():
		}
	})
	return own, func() {
		stop()
		cancel(nil)
	}
}
