package approval

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Tell leaves a message for the agent of a phase and says where the run stands.
// Without a phase it is for the one that is worked on. The process that drives
// the run, or will, takes it. One that nobody would read is refused. A door that may
// hear the same words twice gives them an id of their own: they are told once.
func Tell(ctx context.Context, p *project.Checkout, run string, m work.Message, by, door string) (work.Told, journal.RunRow, error) {
	none := journal.RunRow{}
	m.Text = strings.TrimSpace(m.Text)
	switch {
	case text.Blank(m.Text) && (!m.Anew || len(m.Attached) > 0):
		return work.Told{}, none, refusal.New("say it: forge tell RUN PHASE -m TEXT", "the message is empty")
	case text.JSONSize(m.Text) > work.MaxMessage: // as it stands in its event, where what is longer would be cut
		return work.Told{}, none, refusal.New("shorten it, or put it into a file of the repository and name that", "the message has %d bytes, at most %d are taken", text.JSONSize(m.Text), work.MaxMessage)
	}
	row, s, err := p.StandOf(ctx, run)
	if err != nil {
		return work.Told{}, row, err
	}
	if m.ID != "" {
		phase, before, err := toldBefore(ctx, p, s, m.ID)
		if err != nil || before {
			m.Phase = phase
			return s.ToldOf(m), row, err
		}
	}
	if m.Phase == "" {
		if m.Phase, err = addressee(s); err != nil {
			return work.Told{}, row, err
		}
	}
	if why := s.CannotTell(m.Phase); why != "" {
		return work.Told{}, row, refusal.New("forge status shows the phases, forge tell RUN PHASE names one", "nobody would read it: %s", why)
	}
	if m.Attached, err = attach(ctx, p, s, m); err != nil {
		return work.Told{}, row, err
	}
	if m.ID == "" {
		m.ID = strings.ToLower(rand.Text()[:10])
	}
	if err := p.Journal.Tell(ctx, row.ID, work.Answer{By: by, Door: door, At: p.Now(), Message: &m}); err != nil {
		return work.Told{}, row, err
	}
	row, err = p.PickRun(ctx, row.ID)
	return s.ToldOf(m), row, err
}

// toldBefore says whether a run holds a message, or is about to, and for which phase.
func toldBefore(ctx context.Context, p *project.Checkout, s *orchestrator.State, id string) (phase string, before bool, err error) {
	for _, n := range s.Order {
		if slices.ContainsFunc(s.Messages(n), func(m orchestrator.Message) bool { return m.ID == id }) {
			return n, true, nil
		}
	}
	if s.WhyRefused(id) != "" {
		return "", true, nil
	}
	rows, err := p.Journal.Inbox(ctx, s.Run)
	for _, row := range rows {
		if m := row.Answer.Message; m != nil && m.ID == id {
			return m.Phase, true, nil
		}
	}
	return "", false, err
}

// addressee is the one phase that a message without a phase can mean.
func addressee(s *orchestrator.State) (string, error) {
	switch phases := s.CanTell(); len(phases) {
	case 1:
		return phases[0], nil
	case 0:
		return "", refusal.New("forge tell RUN PHASE names one that has not begun, forge status shows them", "no phase of run %s is worked on", s.Run)
	default:
		return "", refusal.New("forge tell "+s.Run+" PHASE names one", "several phases of run %s are worked on: %s", s.Run, strings.Join(phases, ", "))
	}
}

// Heard says how far a message has come by now; refused is why its agent never
// gets it.
func Heard(ctx context.Context, p *project.Checkout, t work.Told) (now work.Told, refused string, err error) {
	_, s, err := p.StandOf(ctx, t.Run)
	if err != nil {
		return t, "", fmt.Errorf("look how far the message is: %w", err)
	}
	return s.ToldOf(work.Message{ID: t.ID, Phase: t.Phase, Now: t.Now, Anew: t.Anew}), s.WhyRefused(t.ID), nil
}

// Sent is a message, how far it has come, and what to do next, as forge tell says it.
type Sent struct {
	work.Told
	Driven bool   `json:"driven"` // a process goes on with the run by itself
	Next   string `json:"next"`
}

// Send is Tell, with a look within wait whether the process that drives the run has
// taken the message.
func Send(ctx context.Context, p *project.Checkout, run string, m work.Message, by, door string, wait time.Duration) (Sent, error) {
	told, row, err := Tell(ctx, p, run, m, by, door)
	if err != nil {
		return Sent{}, err
	}
	sent := Sent{Driven: project.Driven(row)}
	if sent.Driven {
		if told, err = AwaitTold(ctx, p, told, wait); err != nil {
			return Sent{}, err
		}
	}
	switch sent.Told = told; {
	case told.Waits != "":
		sent.Next = "forge show " + told.Waits + ": the phase waits for your answer, and goes on with both"
	case !sent.Driven:
		sent.Next = "forge resume " + row.ID
	default:
		sent.Next = "forge logs -f --run " + row.ID + " " + told.Phase
	}
	return sent, nil
}

func (s Sent) String() string {
	return text.Harmless(fmt.Sprintf("%s phase %s: %s\nNext: %s\n", s.Run, s.Phase, s.How(s.Driven), s.Next))
}

// SummaryOf is what a new session of a phase would be told of it by now.
type SummaryOf struct {
	Run   string `json:"run"`
	Phase string `json:"phase"`
	Bytes int    `json:"bytes"`
	Text  string `json:"text"`
}

// Summary is that of a phase, or of the one that is worked on.
func Summary(ctx context.Context, p *project.Checkout, run, phase string) (SummaryOf, error) {
	row, s, err := p.StandOf(ctx, run)
	if err != nil {
		return SummaryOf{}, err
	}
	if phase == "" {
		if phase, err = addressee(s); err != nil {
			return SummaryOf{}, err
		}
	}
	told, err := s.Summary(phase)
	if err != nil {
		return SummaryOf{}, refusal.New("forge status shows the phases", "%v", err)
	}
	if told == "" {
		told = "Nothing happened in phase " + phase + " so far."
	}
	return SummaryOf{Run: row.ID, Phase: phase, Bytes: len(told), Text: told}, nil
}

func (s SummaryOf) String() string { return text.Harmless(s.Text) + "\n" }
