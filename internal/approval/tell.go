package approval

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Tell leaves a message for the agent of a phase and says where the run stands.
// Without a phase it is for the one that is worked on. The process that drives
// the run, or will, takes it. One that nobody would read is refused.
func Tell(ctx context.Context, p *project.Checkout, run string, m work.Message, by, door string) (work.Told, journal.RunRow, error) {
	none := journal.RunRow{}
	m.Text = strings.TrimSpace(m.Text)
	switch {
	case text.Blank(m.Text):
		return work.Told{}, none, refusal.New("say it: forge tell RUN PHASE -m TEXT", "the message is empty")
	case len(m.Text) > work.MaxMessage:
		return work.Told{}, none, refusal.New("shorten it, or put it into a file of the repository and name that", "the message has %d bytes, at most %d are taken", len(m.Text), work.MaxMessage)
	}
	row, s, err := p.StandOf(ctx, run)
	if err != nil {
		return work.Told{}, row, err
	}
	if m.Phase == "" {
		if m.Phase, err = addressee(s); err != nil {
			return work.Told{}, row, err
		}
	}
	if why := s.CannotTell(m.Phase); why != "" {
		return work.Told{}, row, refusal.New("forge status shows the phases, forge tell RUN PHASE names one", "nobody would read it: %s", why)
	}
	m.ID = strings.ToLower(rand.Text()[:10])
	if err := p.Journal.Tell(ctx, row.ID, work.Answer{By: by, Door: door, At: p.Now(), Message: &m}); err != nil {
		return work.Told{}, row, err
	}
	row, err = p.PickRun(ctx, row.ID)
	return stands(s, m.Phase, m.ID, m.Now), row, err
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
	return stands(s, t.Phase, t.ID, t.Now), s.WhyRefused(t.ID), nil
}

// stands is how far the message of a phase has come.
func stands(s *orchestrator.State, phase, id string, now bool) work.Told {
	t := work.Told{Run: s.Run, Phase: phase, ID: id, Now: now, State: work.MessageQueued, Iteration: 1}
	for _, cp := range s.Open {
		if cp.Phase == phase {
			t.Waits = cp.ID
		}
	}
	if ph := s.Phases[phase]; ph != nil {
		t.Iteration = ph.Iteration + 1
	}
	if t.Midway = !now && s.Listens(phase); t.Midway {
		t.Iteration--
	}
	for _, m := range s.Messages(phase) {
		if m.ID != id {
			continue
		}
		t.Taken = true
		if m.Missed != "" && m.Missed == s.Phases[phase].Command && t.Midway {
			t.Midway, t.Iteration = false, t.Iteration+1
		}
		if m.With == 0 {
			continue
		}
		t.Midway = m.Midway
		t.State, t.Iteration = work.MessageDelivered, m.With
		if m.Read {
			t.State = work.MessageRead
		}
	}
	return t
}
