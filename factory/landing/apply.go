package landing

import (
	"encoding/json"
	"fmt"
	"strings"

	"forge/factory"
	"forge/internal/work"
)

// Apply folds one event of the run. It is total, and never decides: those of other
// kinds, and those that do not fit, change nothing but the sequence.
func Apply(s *State, e work.Event) error {
	if e.Seq != s.Seq+1 {
		return fmt.Errorf("apply event %d of the landing of run %s: %d was due", e.Seq, s.Run, s.Seq+1)
	}
	s.Seq = e.Seq
	if strings.HasPrefix(string(e.Kind), "landing.") {
		s.At = e.Time
	}
	var err error
	switch e.Kind {
	case work.LandingBegan:
		err = fold(e, s.began)
	case work.LandingFinished:
		err = fold(e, s.finished)
	case work.LandingDecided:
		err = fold(e, s.decided)
	}
	if err != nil {
		return fmt.Errorf("apply event %d (%s) of run %s: %w", e.Seq, e.Kind, s.Run, err)
	}
	return nil
}

func fold[T any](e work.Event, apply func(T)) error {
	var d T
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return fmt.Errorf("read its data: %w", err)
	}
	apply(d)
	return nil
}

func (s *State) began(d BeganData) {
	if d.Try != s.Of.Try+1 {
		return
	}
	if s.Row++; !d.Moved {
		s.Row = 0
	}
	if d.Retry {
		s.Handed, s.Probes = nil, nil
	}
	s.Of, s.Stage = d, StageLook
	s.Look, s.Proof, s.Made, s.Check = nil, nil, nil, nil
}

func (s *State) finished(d FinishedData) {
	if p := d.Probe; p != nil && d.Step == StepProbe && s.awaits(Command{ID: d.Command, Step: StepProbe, Commit: p.Commit}) {
		s.probed(*p)
		return
	}
	c, due := Pending(s)
	if !due || c.ID != d.Command {
		return
	}
	switch {
	case c.Step == StepTidy:
		s.Stage = StageOver // that a branch stays is no harm
	case d.Look != nil && c.Step == StepLook:
		s.Look = d.Look
		if p := d.Look.Pull; p != nil && p.Mark != "" && s.Of.For != ForAgain {
			s.Mark = &Mark{Mark: p.Mark, Show: s.Of.For == ForShow}
		}
	case d.Proof != nil && c.Step == StepProve:
		s.Proof = d.Proof
		if p := d.Proof; p.Verdict == Green && len(p.With) == 0 {
			s.probed(Probe{Onto: p.Onto, Commit: p.Commit, Tree: p.Tree, Verdict: Green, Trusted: p.Trusted})
		}
	case d.Made != nil && c.Step == StepLand:
		s.Made = d.Made
	case d.Check != nil && c.Step == StepCheck:
		s.Check = d.Check
	}
}

func (s *State) decided(d DecidedData) {
	if d.Try != s.Of.Try || s.Stage == StageOver || s.Stage == StageNone {
		return
	}
	s.Stage = d.To
	if !d.Decision.Ends() {
		return
	}
	s.Last = &d
	if d.Hold == factory.HoldLandingRed {
		s.Probes = green(s.Probes)
	}
	switch {
	case d.Decision == DecideLanded:
		s.Landed, s.Handed = &d, nil
	case d.Decision == DecideAgain && s.Of.For != ForAgain:
		s.Handed = s.handing(d.Hold)
	}
	if s.Away++; d.Until.IsZero() || d.Decision != DecideWait {
		s.Away = 0
	}
}

// handing is what Handed becomes when another run is wanted for a reason.
func (s *State) handing(hold string) *Handed {
	h := Handed{Hold: hold, At: s.at(), Times: 1}
	if s.Look != nil {
		h.Onto = s.Look.Onto
	}
	if was := s.Handed; was != nil && was.Hold == h.Hold && was.Onto == h.Onto && was.At == h.At {
		h.Times += was.Times
	}
	return &h
}
