package project

import (
	"context"
	"encoding/json"
	"fmt"

	"forge/factory/triage"
	"forge/internal/journal"
	"forge/internal/refusal"
	"forge/internal/work"
)

// TriageRun is a thread as its events tell it.
func (p *Checkout) TriageRun(ctx context.Context, id string) (*triage.State, error) {
	s, _, err := p.TriageEvents(ctx, id)
	return s, err
}

// TriageEvents is a triage run with its events.
func (p *Checkout) TriageEvents(ctx context.Context, id string) (*triage.State, []work.Event, error) {
	evs, err := p.Journal.Events(ctx, id, 0)
	if err != nil {
		return nil, nil, err
	}
	s, err := p.BeginThread(ctx, id, evs)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range evs {
		if err := triage.Apply(s, e); err != nil {
			return nil, nil, err
		}
	}
	return s, evs, nil
}

// BeginThread is a thread before its first event.
func (p *Checkout) BeginThread(ctx context.Context, id string, evs []work.Event) (*triage.State, error) {
	if len(evs) == 0 || evs[0].Kind != triage.Started {
		return nil, fmt.Errorf("%w: %s does not begin with %s", journal.ErrBroken, id, triage.Started)
	}
	var data triage.StartedData
	if err := work.Decode(evs[0], &data); err != nil {
		return nil, err
	}
	if data.Spec == nil {
		text, err := p.Journal.Blob(ctx, data.Blob)
		if err != nil {
			return nil, fmt.Errorf("read what %s was opened with: %w", id, err)
		}
		data.Spec = &triage.Spec{}
		if err := json.Unmarshal(text, data.Spec); err != nil {
			return nil, fmt.Errorf("read what %s was opened with: %w", id, err)
		}
	}
	return triage.NewState(id, *data.Spec), nil
}

// NoRun refuses what is only for runs.
func NoRun(id string) error {
	return refusal.New("forge why "+id+" shows it, forge checkpoints what it asks", "%s is the triage of an issue, not a run", id)
}
