package orchestrator

import (
	"cmp"
	"context"
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
	Number        int64 `json:",omitempty"`
	Why           string
	Tries         int
}

// CloseFinishedData is the payload of close.finished.
type CloseFinishedData struct {
	Command work.CommandID    `json:"command"`
	Branch  string            `json:"branch"`
	Number  int64             `json:"number,omitempty"`
	Trouble *work.PullTrouble `json:"trouble,omitempty"` // it may be open still
}

// mostCloses is how often a host is asked that does not answer.
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

// pendingCloses are the pull requests that are to be closed.
func (s *State) pendingCloses() []Command {
	if s.Stopping != nil && !s.Stopping.Outcome.Final() {
		return nil
	}
	var out []Command
	for _, l := range s.Leaving {
		out = append(out, s.closeCommand(l))
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
	if left[at].Tries++; d.Trouble == nil || !d.Trouble.Passes || left[at].Tries >= mostCloses {
		left = slices.Delete(left, at, at+1)
	}
	if s.Leaving = left; len(left) == 0 {
		s.Leaving = nil // as it comes back from a snapshot
	}
}

func (r *session) closeJob(c Command) func(context.Context) Fact {
	s := r.s
	l := s.Leaving[s.leavingBy(c.ID)]
	req := PullClose{
		Marker: s.Run + " " + l.Branch, Branch: l.Branch, Base: s.Spec.Branch, Number: l.Number,
		Key: s.Run + " close " + l.Branch, Why: l.Why,
	}
	return func(ctx context.Context) Fact {
		if r.Host == nil {
			return CloseDone{Command: c, Trouble: &work.PullTrouble{Kind: work.HostUnreachable, What: errNoHost.Error(), Fix: "close it there"}}
		}
		trouble, err := r.Host.Close(context.WithoutCancel(ctx), req)
		if err != nil {
			trouble = unreached("close the pull request", err)
		}
		return CloseDone{Command: c, Trouble: trouble}
	}
}
