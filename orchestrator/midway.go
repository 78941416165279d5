package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// What a person says reaches an agent that listens while it works. Two records
// tell how far it came: that the agent's program took it, and, with the end of the
// iteration, that the model was given it. Only the second counts as read: an
// iteration that dies before is done again with all of it in its prompt, and what
// was taken but not given stands in the next one.

// TellEffect hands a message to the agent of an iteration that is under way. Its
// fact is TellDone.
type TellEffect struct {
	Command Command
	Request work.TellRequest
}

// TellStartedData is the payload of tell.started.
type TellStartedData struct {
	Command work.CommandID `json:"command"`
	ID      string         `json:"id"` // of the message
}

// TellFinishedData is the payload of tell.finished.
type TellFinishedData struct {
	Command work.CommandID `json:"command"`
	ID      string         `json:"id"`
	Taken   bool           `json:"taken"`         // by the agent's program
	Why     string         `json:"why,omitempty"` // it was not: the next prompt holds it
}

// Listens says that the agent of a phase works on an iteration and takes what a
// person says meanwhile.
func (s *State) Listens(number string) bool {
	p := s.Phases[number]
	return p != nil && p.Stage == StageIterate && p.Begun && s.Spec.Settings.Agents[p.Set.Agent].Listens
}

// pendingTell is the oldest message that the agent of p is to be given midway: not
// one that its prompt held, that it took, or that it did not take in this try.
func (s *State) pendingTell(p *Phase) (Command, bool) {
	if !s.Listens(p.Number) {
		return Command{}, false
	}
	for _, m := range p.Messages {
		if m.Read || m.Now || m.Anew || m.With == p.Iteration || m.Missed == p.Command {
			continue
		}
		c := Command{Step: StepTell, Phase: p.Number, Iteration: p.Iteration, Attempt: p.Tries[p.Iteration], Message: m.ID}
		c.ID = s.id(c.Phase, c.Attempt, c.Iteration, string(StepTell)+"-"+m.ID)
		return c, true
	}
	return Command{}, false
}

func (s *State) tellEffect(c Command, p *Phase) (Effect, error) {
	for _, m := range p.Messages {
		if m.ID != c.Message {
			continue
		}
		var b strings.Builder
		m.write(&b)
		return TellEffect{Command: c, Request: work.TellRequest{
			Run: s.Run, Phase: c.Phase, Iteration: c.Iteration, Attempt: c.Attempt, ID: m.ID, Text: strings.TrimSpace(b.String()),
		}}, nil
	}
	return nil, fmt.Errorf("carry out %s: there is no message %q", c.ID, c.Message)
}

// tellDone records what became of a message. What comes after the end of its
// iteration is dropped: that end says what the agent was given.
func (d *decision) tellDone(f TellDone) {
	if !d.s.Live || !d.s.expects(f.Command) {
		return
	}
	data := TellFinishedData{Command: f.Command.ID, ID: f.Command.Message, Taken: f.Report.Taken}
	if !data.Taken {
		data.Why = text.ClipJSON(f.Report.Why, 300)
	}
	d.emit(work.TellFinished, f.Command, data)
}

func applyTellFinished(_ *State, p *Phase, e work.Event, d TellFinishedData) {
	if !p.Begun || e.Iteration != p.Iteration || e.Attempt != p.Tries[e.Iteration] {
		return
	}
	p.Messages = slices.Clone(p.Messages)
	for i := range p.Messages {
		switch m := &p.Messages[i]; {
		case m.ID != d.ID || m.Read || m.With == p.Iteration:
		case d.Taken:
			m.With, m.Midway = p.Iteration, true
		default:
			m.Missed = p.Command
		}
	}
}

// ToldOf is how far a message has come.
func (s *State) ToldOf(m work.Message) work.Told {
	phase := m.Phase
	t := work.Told{Run: s.Run, Phase: phase, ID: m.ID, Now: m.Now, Anew: m.Anew, State: work.MessageQueued, Iteration: 1}
	for _, cp := range s.Open {
		if cp.Phase == phase {
			t.Waits = cp.ID
		}
	}
	if ph := s.Phases[phase]; ph != nil {
		t.Iteration = ph.Iteration + 1
	}
	if t.Midway = !m.Now && !m.Anew && s.Listens(phase); t.Midway {
		t.Iteration--
	}
	for _, is := range s.Messages(phase) {
		if is.ID != m.ID {
			continue
		}
		t.Taken = true
		if is.Missed != "" && is.Missed == s.Phases[phase].Command && t.Midway {
			t.Midway, t.Iteration = false, t.Iteration+1
		}
		if is.With == 0 {
			continue
		}
		t.Midway = is.Midway
		t.State, t.Iteration = work.MessageDelivered, is.With
		if is.Read {
			t.State = work.MessageRead
		}
	}
	return t
}

func (e TellEffect) Of() Command { return e.Command }

func (TellEffect) effect() {}
