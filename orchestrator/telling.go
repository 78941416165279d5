package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// A person may say something to the agent of a phase while it works. It stands
// in the next prompt of the phase, and nothing of the phase lands before its
// agent was given it. A message that is urgent ends the iteration, whose work is
// kept, so that the next one begins with it. An agent that listens is given any
// other one midway, see midway.go.

// maxMessages is how many messages one phase takes.
const maxMessages = 20

// gateMessage is the rule that lets nothing be done before a message was read.
const gateMessage = "message"

func messageGate() gate {
	return gate{
		names: []string{gateMessage}, stages: []Stage{StageJudge, StageProven, StageTurn}, ownWords: true,
		decide: (*decision).hears, fold: foldMessage,
		moves: map[string][]Stage{decideRework: {StageGate}, decideGo: {StageGate}, decideNone: {StageGate}},
		leads: func(_ *State, p *Phase, d work.GateDecidedData) Stage {
			if d.Decision == decideRework || p.Kind.Free() {
				return StageGate
			}
			return ""
		},
	}
}

// Message is what a person said to the agent of a phase.
type Message struct {
	ID   string
	By   string
	Text string
	// With is the iteration that began with it in its prompt, or whose agent took
	// it midway; 0 = none yet.
	With int  `json:",omitempty"`
	Read bool `json:",omitempty"` // that iteration came to a result

	Now    bool           `json:",omitempty"` // it ends the iteration
	Anew   bool           `json:",omitempty"` // it is read by a new session; Text may be empty
	Midway bool           `json:",omitempty"` // it was taken midway
	Missed work.CommandID `json:",omitempty"` // the last iteration whose agent did not take it

	Attached []work.Attached `json:",omitempty"` // files and lines that go with it
}

// ToldData is the payload of phase.told: a message for the agent of a phase.
type ToldData struct {
	ID      string `json:"id"`
	By      string `json:"by"`
	Door    string `json:"door"`
	Text    string `json:"text,omitempty"`
	Now     bool   `json:"now,omitempty"`     // it ends the iteration that is under way
	Anew    bool   `json:"anew,omitempty"`    // a new session goes on, whether or not there is a text
	Midway  bool   `json:"midway,omitempty"`  // its agent is given it while it works
	Refused string `json:"refused,omitempty"` // why the agent never gets it

	Attached []work.Attached `json:"attached,omitempty"` // files and lines that go with it, whole
}

// CannotTell says why a message to a phase would be read by nobody; "" = its
// agent gets it.
func (s *State) CannotTell(number string) string {
	p := s.Phases[number]
	switch {
	case p == nil:
		return fmt.Sprintf("there is no phase %s", text.Label(number))
	case s.Outcome.Final() && s.Outcome != work.RunFailed:
		return "the run is " + string(s.Outcome)
	case p.Stage == StageFinished && p.Outcome == work.PhaseFailed:
		return fmt.Sprintf("phase %s failed; forge resume opens it again, and then hears you", number)
	case p.Stage == StageFinished:
		return fmt.Sprintf("phase %s is %s", number, p.Outcome)
	case p.Stage == StageLand, p.Stage == StageLanded, p.Merge != nil, s.merging(number):
		return fmt.Sprintf("phase %s is being merged", number)
	case len(p.Messages) >= maxMessages:
		return fmt.Sprintf("phase %s was told %d times, which is the most", number, maxMessages)
	}
	return ""
}

// CanTell are the phases whose agents work, or are about to: those that a message
// without a phase can mean.
func (s *State) CanTell() []string {
	var out []string
	for _, n := range s.working {
		if s.CannotTell(n) == "" && s.Phases[n].Stage != StageSub {
			out = append(out, n)
		}
	}
	return out
}

// SnapshotOf is the commit that holds what a phase has done so far: its last
// snapshot, or what it begins with.
func (s *State) SnapshotOf(number string) string {
	if p := s.Phases[number]; p != nil && cmp.Or(p.Last, p.Base) != "" {
		return cmp.Or(p.Last, p.Base)
	}
	return cmp.Or(s.HeadOf(s.RepositoryOf(number)), s.Spec.Base.Commit)
}

// Messages are what people said to the agent of a phase, oldest first.
func (s *State) Messages(number string) []Message {
	if p := s.Phases[number]; p != nil {
		return slices.Clone(p.Messages)
	}
	return nil
}

// told takes a message for the agent of a phase.
func (d *decision) told(a work.Answer) {
	m := a.Message
	data := ToldData{
		ID: text.ClipJSON(m.ID, 60), By: text.ClipJSON(a.By, 200), Door: text.ClipJSON(a.Door, 40),
		Text: text.ClipJSON(strings.TrimSpace(m.Text), work.MaxMessage), Now: m.Now, Anew: m.Anew,
	}
	number := text.ClipJSON(m.Phase, 40)
	p := d.s.Phases[number]
	switch {
	case text.Blank(data.Text) && (!data.Anew || len(m.Attached) > 0):
		data.Refused = "it says nothing"
	case work.CheckAttached(m.Attached) != nil:
		data.Refused = text.ClipJSON("what goes with it: "+work.CheckAttached(m.Attached).Error(), 300)
	case p != nil && slices.ContainsFunc(p.Messages, func(b Message) bool { return b.ID == data.ID }):
		data.Refused = "it was said before"
	default:
		data.Refused = d.s.CannotTell(number)
	}
	if p == nil {
		number = ""
	}
	if data.Refused == "" {
		data.Attached = m.Attached
	}
	data.Midway = data.Refused == "" && !data.Now && !data.Anew && d.s.Listens(number)
	d.phase(number, work.PhaseTold, data)
}

// refuse remembers why a person's wish comes to nothing.
func (s *State) refuse(id, why string) {
	s.RefusedMessages = append(slices.Clip(s.RefusedMessages), RefusedMessage{ID: id, Why: why})
	s.RefusedMessages = s.RefusedMessages[max(len(s.RefusedMessages)-maxRefused, 0):]
}

// RefusedMessage is a message, or a wish to set a phase back, that was refused.
type RefusedMessage struct{ ID, Why string }

// maxRefused is how many of them a run remembers; the events hold them all.
const maxRefused = 20

// WhyRefused is why nobody reads a message, or why nothing was set back; "" = it was not refused.
func (s *State) WhyRefused(id string) string {
	for _, u := range s.RefusedMessages {
		if u.ID == id {
			return u.Why
		}
	}
	return ""
}

func applyTold(s *State, p *Phase, _ work.Event, d ToldData) {
	if d.Refused != "" || p == nil {
		s.refuse(d.ID, d.Refused)
		return
	}
	p.Messages = append(slices.Clip(p.Messages), Message{ID: d.ID, By: d.By, Text: d.Text, Now: d.Now, Anew: d.Anew, Attached: d.Attached})
	who := d.By
	if who == "" {
		who = "somebody"
	}
	if d.Anew && p.Begun {
		p.Past.Anew = true
	} else if d.Anew {
		p.Session = ""
	}
	if text.Blank(d.Text) {
		p.happened("%s asked for a new session.", who)
		return
	}
	p.happened("%s said something to you.", who) // whoever is told of this is given the words, whole
}

// unread says that a person said something that the agent was not given yet.
func (p *Phase) unread() bool {
	return slices.ContainsFunc(p.Messages, func(m Message) bool { return !m.Read && !text.Blank(m.Text) })
}

// unreadIDs are the messages that the next prompt holds.
func (p *Phase) unreadIDs() []string {
	var out []string
	for _, m := range p.Messages {
		if !m.Read {
			out = append(out, m.ID)
		}
	}
	return out
}

// giveMessages notes with which iteration the agent was given what.
func (p *Phase) giveMessages(ids []string, iteration int) {
	p.Messages = slices.Clone(p.Messages)
	for i, m := range p.Messages {
		if slices.Contains(ids, m.ID) {
			p.Messages[i].With, p.Messages[i].Midway = iteration, false
		}
	}
}

// readMessages notes that an iteration which was given messages is over, and
// which of them its model was given midway. What was taken and not given stands
// in the next prompt.
func (p *Phase) readMessages(iteration int, heard []string) {
	p.Messages = slices.Clone(p.Messages)
	for i := range p.Messages {
		switch m := &p.Messages[i]; {
		case m.Read:
		case slices.Contains(heard, m.ID) && (m.Midway || m.With != iteration):
			m.With, m.Midway, m.Read = iteration, true, true
		case m.Midway:
			m.With, m.Midway = 0, false
		default:
			m.Read = m.With == iteration
		}
	}
}

// handOver parts what the agent of p did not read, for the phase that goes on
// from it, from what it did.
func (p *Phase) handOver() (unread, read []Message) {
	for _, m := range p.Messages {
		if m.Read {
			read = append(read, m)
			continue
		}
		m.With, m.Midway, m.Missed = 0, false, ""
		unread = append(unread, m)
	}
	return unread, read
}

// hears puts what a person said before whatever would end the phase; false when
// nothing was said, or nothing stands against the next iteration.
func (d *decision) hears(p *Phase) bool {
	if !p.unread() || p.Stage == StageJudge && p.atItsLimit() {
		return false
	}
	switch p.Stage {
	case StageProven, StageTurn:
		if d.s.merging(p.Number) {
			return false
		}
		if j := d.s.Job; j != nil && p.Parent == "" && j.Then != nil && j.Then.Next != gates.JobEnd {
			return false // the phase that follows is told
		}
		d.rule(p.Number, gateMessage, decideRework, "a person said something that its agent has not read")
	case StageJudge:
		switch {
		case p.Kind.Free() && p.Judged.Outcome == work.OutcomeTold:
			d.rule(p.Number, gateMessage, decideGo, "it was ended, so that its agent reads what a person said")
		case p.Kind.Free():
			return false // what it makes is proven first
		case p.Judged.Claim == ClaimDue && p.claims():
			d.rule(p.Number, gateMessage, decideNone, "it was claimed before its agent read what a person said")
		case p.Judged.Stalling || p.Spent >= p.Budget:
			d.rule(p.Number, gateMessage, decideGo, "a person said something that its agent has not read")
		default:
			return false
		}
	default:
		return false
	}
	return true
}

// foldMessage folds what follows from an unread message: one more iteration.
func foldMessage(s *State, p *Phase, d folded) {
	if d.Decision == decideRework {
		s.dropTurn(p)
		if s.Job != nil && p.Parent == "" {
			s.Job.Then, s.Job.Claim = nil, nil
		}
		if u := p.Pull; u != nil {
			u.Approved, u.Taken = "", ""
		}
		p.Kind = IterationRework
		return
	}
	if p.Kind.Free() {
		return
	}
	if d.Decision == decideNone {
		p.note("Your promise does not count: a person said something meanwhile. Make it again when you are done.")
		p.Judged.Obstacle = d.Reason
		p.Complete = nil
	}
	p.Judged.Claim, p.Judged.Stalling = ClaimNone, false
	p.steered()
	p.Blocked = gates.BlockerTracker{}
	if p.Spent < p.Budget {
		return
	}
	for q := p; q != nil; q = s.Phases[q.Parent] {
		q.Budget++
	}
}

// writeMessages gives what people said since the last prompt.
func writeMessages(b *strings.Builder, p *Phase) {
	for _, m := range p.Messages {
		if !m.Read {
			m.write(b)
		}
	}
}

func (m Message) write(b *strings.Builder) {
	if !text.Blank(m.Text) {
		section(b, "A person says to you, while you work", m.Text)
		m.writeAttached(b)
	}
}

// writeAttached gives what goes with a message. All of it stands in the fence: names
// of files are whatever somebody called them.
func (m Message) writeAttached(b *strings.Builder) {
	for _, a := range m.Attached {
		title := "A file that goes with it"
		switch {
		case a.From > 0:
			title = "The lines that this is about, as they stood then"
		case a.Commit != "":
			title = "The file that this is about, as it stood then"
		}
		section(b, title, a.String()+"\n\n"+a.Text)
	}
}

// writeRead tells a new session what people said before: their words are never
// lost with the session that read them.
func writeRead(b *strings.Builder, p *Phase) {
	for _, m := range p.Messages {
		if m.Read && !text.Blank(m.Text) {
			section(b, "A person said to you before", m.Text)
			m.writeAttached(b)
		}
	}
}
